/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <stdio.h>

#include "core/search.h"
#include "procedure/bound.h"
#include "procedure/service.h"
#include "suite/kpis.h"

#define STEPS 5 /* of the search */

struct search {
	struct trial *t;
	struct serving_result held,
		failed;		    /* at the highest rate that held, the lowest that failed */
	struct bound_judged judged; /* of that */
	double lowest;		    /* rate that failed; INFINITY: none */
};

static struct bound_judged tokens_judge(const struct trial *t, const struct serving_result *r)
{
	return bound_judge(r, trial_number(t, "ttft"), trial_number(t, "itl"));
}

/* Every rate that was tried is a point of a curve. */
static void add_point(struct trial *t, double rate, const struct serving_result *r)
{
	char text[ROW_NAME_MAX];

	snprintf(text, sizeof(text), "%.1f", rate);
	trial_with(t, "rate", text);
	trial_one_way(t, "TTFT_at_rate", &r->ttft);
	trial_one_way(t, "ITL_at_rate", &r->itl);
	trial_value(t, "TPS_at_rate", (double)r->output_tokens / r->seconds, r->output_tokens);
	if (r->tokenless < r->requests)
		trial_one_way_value(t, "TTFT_judged_at_rate", bound_p99_ms(&r->ttft), r->ttft.n,
				    hist_quantile(&r->ttft, 0.5));
	trial_set_text(t, "Judged_at_rate", bound_text(tokens_judge(t, r)));
	trial_with(t, "rate", NULL);
}

/* Keeps what was measured at the highest rate that held and the lowest that did not: the last of
 * each. */
static int try_rate(void *arg, double rate, bool *held)
{
	struct search *search = arg;
	struct serving_options o = service_usual(search->t);
	struct serving_result r = {0}, *kept;
	int err;

	o.per_s = rate;
	err = serving_run(search->t, &o, NULL, NULL, &r);
	*held = !err && bound_is_met(tokens_judge(search->t, &r));
	if (err) {
		serving_fini(&r);
		return err;
	}
	add_point(search->t, rate, &r);
	kept = *held ? &search->held : &search->failed;
	serving_fini(kept);
	*kept = r;
	if (!*held) {
		search->judged = tokens_judge(search->t, &r);
		search->lowest = rate;
	}
	return 0;
}

/* What keeps the bound from being higher, and how far it may be off. */
static void add_limit(struct trial *t, const struct search *search, double rate)
{
	const char *limit = bound_limit(&search->failed, search->judged);

	if (!isfinite(search->lowest)) {
		trial_missing(t, "Rate_resolution", "no rate that was tried failed");
		trial_missing(t, "Limited_by", "no rate that was tried failed");
		return;
	}
	trial_value(t, "Rate_resolution", search->lowest - rate, search->failed.requests);
	if (*limit)
		trial_set_text(t, "Limited_by", limit);
	else
		trial_missing(t, "Limited_by", "%s at %.1f req/s", bound_text(search->judged),
			      search->lowest);
}

static void add_bound(struct trial *t, const struct search *search, double rate)
{
	struct serving_options o = service_usual(t);

	service_add(t, &search->held);
	trial_value(t, "Request_Rate", rate, search->held.requests);
	trial_value(t, "Requests_judged", (double)search->held.requests, 1);
	add_limit(t, search, rate);
	o.per_s = rate;
	service_model(t, "TPS_output", &o, &search->held);
}

/* The search begins where a trial has requests enough to be judged, and the floor is no bound. */
static int tokens_run(struct trial *t)
{
	struct serving_options o = service_usual(t);
	struct search search = {.t = t, .lowest = INFINITY};
	double rate, low = bound_floor(t->seconds),
		     most = service_capacity(&o) * 1.5; /* than prefill can compute */
	int err = 0;

	if (low >= most)
		trial_missing(t, NULL,
			      "a trial of %g s has %d requests from %.1f req/s on, beyond what "
			      "prefill computes",
			      t->seconds, BOUND_REQUESTS, low);
	else
		err = search_highest(low, most, STEPS, try_rate, &search, &rate);
	if (!err && low < most && !search.held.requests)
		trial_missing(
			t, NULL,
			"no bound: %s at %.1f req/s, the lowest rate tried (objectives %s and "
			"%s ms); below %.1f a trial of %g s has fewer than %d requests",
			bound_text(search.judged), search.lowest, trial_text(t, "ttft"),
			trial_text(t, "itl"), low, t->seconds, BOUND_REQUESTS);
	else if (!err && low < most)
		add_bound(t, &search, rate);
	serving_fini(&search.held);
	serving_fini(&search.failed);
	return err;
}

const struct test test_11_1 = {
	INFERENCE_CLAUSE("11.1"),
	.name = "Aggregate Tokens Per Second",
	.dut = "SUT-E",
	.summary =
		"The highest rate within the objectives, by five steps of a binary search from "
		"the rate on at which a trial has 40 requests on the mean; with fewer than 20 none "
		"is judged. A rate is judged by the P99 of its requests, which of fewer than 300 "
		"is "
		"next to the largest, and fails if the bucket of its histogram is beyond the "
		"objective. Compute emulated.",
	.needs = NEED_TWO_SERVERS,
	.trials = {1, 5, 20},
	.seconds = {6, 20, 60},
	.params = PARAMS(PARAM("ttft", PARAM_NUMBER, "ms", "objective of TTFT P99", "500"),
			 PARAM("itl", PARAM_NUMBER, "ms", "objective of ITL P99", "50")),
	.added = PARAMS(PARAM("rate", PARAM_NUMBER, "req/s", "of requests, tried", "")),
	.kpis = KPIS(
		{"Request_Rate", "req/s", "SUT-E", "highest rate that meets both objectives",
		 BETTER_HIGHER, 0},
		KPI_TPS_OUTPUT, KPI_TPS_INPUT, KPI_GOODPUT, KPI_TTFT, KPI_ITL, KPI_E2E,
		KPI_TPS_PER_GPU, KPI_KV_BW, KPI_OFFERED,
		{"Rate_resolution", "req/s", "SUT-E",
		 "from there to the lowest rate tried that failed: the bound is between",
		 BETTER_NONE, 0},
		{"Requests_judged", "", "SUT-E", "at that rate; 300 carry a P99", BETTER_NONE, 0},
		{"Limited_by", "", "SUT-E",
		 "which objective the next rate exceeded, and its largest part there", BETTER_NONE,
		 0},
		KPI_T_PREFILL, KPI_T_TRANSFER, KPI_T_DECODE_INIT, KPI_FABRIC_FRACTION,
		KPI_ITL_FABRIC, KPI_TTFT_JUDGED,
		{"TTFT_judged_at_rate", "ms", "SUT-E", "the same at a rate that was tried",
		 BETTER_LOWER, 0},
		{"Judged_at_rate", "", "SUT-E", "whether the objectives were met at a rate tried",
		 BETTER_NONE, 0},
		{"TTFT_at_rate", "ms", "SUT-E", "TTFT at a rate that was tried", BETTER_LOWER,
		 1e-6},
		{"ITL_at_rate", "ms", "SUT-E", "ITL at a rate that was tried", BETTER_LOWER, 1e-6},
		{"TPS_at_rate", "tokens/s", "SUT-E", "output tokens at a rate that was tried",
		 BETTER_NONE, 0},
		KPI_LINK_USE, KPI_MODEL("TPS_output", "tokens/s")),
	.correlated = NAMES("ITL", "ITL_at_rate"),
	.views = VIEWS(
		VIEW(VIEW_TABLE, "At the bound", "strategy", NULL, NULL, "Request_Rate",
		     "TPS_output", "TPS_per_GPU", "TPS_input", "Inference_Goodput", "TTFT@p99",
		     "ITL@p99", "E2E_latency@p99", "Link_utilization", "model", "model_ratio"),
		VIEW(VIEW_TABLE, "What the bound rests on, and what limits it", "strategy", NULL,
		     NULL, "Request_Rate", "Rate_resolution", "Requests_judged", "TTFT_judged",
		     "Limited_by", "fabric_fraction", "T_prefill@p50", "T_transfer@p50",
		     "T_decode_init@p50", "ITL_fabric@p50", "Link_utilization"),
		VIEW(VIEW_DUAL, "Tail TTFT and output tokens over the rates tried", "rate",
		     "strategy", NULL, "TTFT_at_rate@p99", "TPS_at_rate"),
		VIEW(VIEW_TABLE, "The rates tried", "rate", "strategy", NULL, "TTFT_at_rate@p99",
		     "TTFT_judged_at_rate", "ITL_at_rate@p99", "TPS_at_rate", "Judged_at_rate"),
		{VIEW_FIELDS(VIEW_CDF, "Distribution of TTFT at the bound", NULL, "strategy", NULL,
			     "TTFT"),
		 .log_x = true},
		VIEW(VIEW_BARS, "Output tokens a second at the bound", "strategy", NULL, NULL,
		     "TPS_output")),
	.run = tokens_run,
};
