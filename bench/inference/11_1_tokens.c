/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "core/search.h"
#include "procedure/service.h"
#include "suite/kpis.h"

#define STEPS 5 /* of the search */

struct bound {
	struct trial *t;
	struct serving_result at;
};

static int one(struct trial *t, double rate, struct serving_result *r, bool *held)
{
	struct serving_options o = service_usual(t);
	int err;

	o.per_s = rate;
	err = serving_run(t, &o, NULL, NULL, r);
	*held = !err && r->tokenless == 0 &&
		hist_quantile(&r->ttft, 0.99) <= trial_number(t, "ttft") * 1e6 &&
		hist_quantile(&r->itl, 0.99) <= trial_number(t, "itl") * 1e6;
	return err;
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
	trial_with(t, "rate", NULL);
}

/* Keeps what was measured at the highest rate that held: the last of them. */
static int try_rate(void *arg, double rate, bool *held)
{
	struct bound *bound = arg;
	struct serving_result r = {0};
	int err = one(bound->t, rate, &r, held);

	if (!err)
		add_point(bound->t, rate, &r);
	if (err || !*held) {
		serving_fini(&r);
		return err;
	}
	serving_fini(&bound->at);
	bound->at = r;
	return 0;
}

static int tokens_run(struct trial *t)
{
	struct serving_options o = service_usual(t);
	struct bound bound = {.t = t};
	double rate, most = service_capacity(&o) * 1.5; /* than prefill can compute */
	int err = search_highest(0, most, STEPS, try_rate, &bound, &rate);

	if (!err && rate == 0) {
		trial_missing(t, NULL, "no rate met TTFT P99 %s ms and ITL P99 %s ms",
			      trial_text(t, "ttft"), trial_text(t, "itl"));
	} else if (!err) {
		service_add(t, &bound.at);
		trial_value(t, "Request_Rate", rate, bound.at.requests);
		o.per_s = rate;
		trial_model(t, "TPS_output", service_ideal(t, &o).tokens_per_s, "");
	}
	serving_fini(&bound.at);
	return err;
}

const struct test test_11_1 = {
	INFERENCE_CLAUSE("11.1"),
	.name = "Aggregate Tokens Per Second",
	.dut = "SUT-E",
	.summary = "The highest rate within the objectives, by five steps of a binary search. A "
		   "rate is judged by the P99 of its requests, which of few is next to the "
		   "largest. Compute emulated.",
	.needs = NEED_TWO_SERVERS,
	.trials = {1, 5, 20},
	.seconds = {3, 20, 60},
	.params = PARAMS(PARAM("ttft", PARAM_NUMBER, "ms", "objective of TTFT P99", "500"),
			 PARAM("itl", PARAM_NUMBER, "ms", "objective of ITL P99", "50")),
	.added = PARAMS(PARAM("rate", PARAM_NUMBER, "req/s", "of requests, tried", "")),
	.kpis = KPIS(
		{"Request_Rate", "req/s", "SUT-E", "highest rate that meets both objectives",
		 BETTER_HIGHER, 0},
		KPI_TPS_OUTPUT, KPI_TPS_INPUT, KPI_GOODPUT, KPI_TTFT, KPI_ITL, KPI_E2E,
		KPI_TPS_PER_GPU, KPI_KV_BW, KPI_OFFERED,
		{"TTFT_at_rate", "ms", "SUT-E", "TTFT at a rate that was tried", BETTER_LOWER,
		 1e-6},
		{"ITL_at_rate", "ms", "SUT-E", "ITL at a rate that was tried", BETTER_LOWER, 1e-6},
		{"TPS_at_rate", "tokens/s", "SUT-E", "output tokens at a rate that was tried",
		 BETTER_NONE, 0},
		KPI_LINK_USE, KPI_MODEL("TPS_output", "tokens/s")),
	.correlated = NAMES("ITL", "ITL_at_rate"),
	.views = VIEWS(VIEW(VIEW_TABLE, "At the bound", "strategy", NULL, NULL, "Request_Rate",
			    "TPS_output", "TPS_per_GPU", "TPS_input", "Inference_Goodput",
			    "TTFT@p99", "ITL@p99", "E2E_latency@p99", "Link_utilization", "model",
			    "model_ratio"),
		       VIEW(VIEW_DUAL, "Tail TTFT and output tokens over the rates tried", "rate",
			    "strategy", NULL, "TTFT_at_rate@p99", "TPS_at_rate"),
		       VIEW(VIEW_TABLE, "The rates tried", "rate", "strategy", NULL,
			    "TTFT_at_rate@p99", "ITL_at_rate@p99", "TPS_at_rate"),
		       {VIEW_FIELDS(VIEW_CDF, "Distribution of TTFT at the bound", NULL, "strategy",
				    NULL, "TTFT"),
			.log_x = true},
		       VIEW(VIEW_BARS, "Output tokens a second at the bound", "strategy", NULL,
			    NULL, "TPS_output")),
	.run = tokens_run,
};
