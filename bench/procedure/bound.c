/* SPDX-License-Identifier: BSD-2-Clause */
#include "procedure/bound.h"

#include <math.h>

#include "suite/derive.h"

#define BOUND_MAX_STRATEGIES 32

double bound_p99_ms(const struct hist *h)
{
	return hist_quantile(h, 0.99) / 1e6;
}

/* A value within a bucket that holds the objective cannot show that it was exceeded. */
static bool bound_exceeds(const struct hist *h, double most_ms)
{
	return h->n && (double)hist_floor((uint64_t)(bound_p99_ms(h) * 1e6)) > most_ms * 1e6;
}

struct bound_judged bound_judge(const struct serving_result *r, double ttft_ms, double itl_ms)
{
	return (struct bound_judged){.enough = r->requests >= BOUND_REQUESTS,
				     .ttft = bound_exceeds(&r->ttft, ttft_ms),
				     .itl = bound_exceeds(&r->itl, itl_ms),
				     .tokenless = r->tokenless > 0};
}

bool bound_is_met(struct bound_judged judged)
{
	return judged.enough && !judged.ttft && !judged.itl && !judged.tokenless;
}

const char *bound_text(struct bound_judged judged)
{
	if (judged.ttft && judged.itl)
		return "TTFT and ITL exceeded";
	if (judged.ttft)
		return "TTFT exceeded";
	if (judged.itl)
		return "ITL exceeded";
	if (judged.tokenless)
		return "requests without a token";
	return judged.enough ? "met" : "too few requests";
}

const char *bound_limit(const struct serving_result *r, struct bound_judged judged)
{
	double prefill = hist_mean(&r->prefill), transfer = hist_mean(&r->transfer),
	       decode = hist_mean(&r->decode_init);

	if (judged.ttft || judged.tokenless) {
		if (!r->prefill.n)
			return "";
		if (prefill >= transfer && prefill >= decode)
			return "TTFT: prefill and its queue";
		return transfer >= decode ? "TTFT: transfer (fabric)" : "TTFT: wait for a step";
	}
	if (judged.itl)
		return 2 * hist_quantile(&r->itl_fabric, 0.99) >= hist_quantile(&r->itl, 0.99)
			       ? "ITL: dispatch (fabric)"
			       : "ITL: compute of a step";
	return "";
}

double bound_floor(double seconds)
{
	return 2 * BOUND_REQUESTS / (seconds * (SERVING_LATENCY_TO - SERVING_COUNT_FROM));
}

bool bound_common(const struct rows *rows, bool largest, double *per_s)
{
	const struct rows_filter all = {.test = "11.1", .kpi = "Request_Rate", .trial = -1};
	struct row_param strategy[BOUND_MAX_STRATEGIES];
	size_t n = rows_levels(rows, &all, "strategy", strategy, BOUND_MAX_STRATEGIES);
	bool found = false;

	for (size_t i = 0; i < n; i++) {
		double rate =
			derive_median(rows, all.test, strategy[i].text, all.kpi, 0, NULL, 0.5);

		if (!isfinite(rate) || rate <= 0)
			continue;
		if (!found || (largest ? rate > *per_s : rate < *per_s))
			*per_s = rate;
		found = true;
	}
	return found;
}
