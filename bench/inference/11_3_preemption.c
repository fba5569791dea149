/* SPDX-License-Identifier: BSD-2-Clause */
#include "procedure/bound.h"
#include "procedure/service.h"
#include "suite/kpis.h"

/* The lengths are those of 11.1: its bound is one of them alone. Of several strategies it is the
 * highest, so that it is too much for each, and all have the same load. */
static int preemption_run(struct trial *t)
{
	struct serving_options o = service_usual(t);
	double bound;

	if (!bound_common(t->rows, true, &bound)) {
		trial_missing(t, NULL,
			      "test 11.1 has found no rate by any strategy in this run: run both");
		return 0;
	}
	o.kv_tokens = 12000;
	o.per_s = bound * trial_number(t, "over") / 100;
	return service_run(t, &o, "TPS_output");
}

const struct test test_11_3 = {
	INFERENCE_CLAUSE("11.3"),
	.name = "Goodput Under Preemption and Eviction",
	.dut = "SUT-E",
	.summary =
		"More load than 11.1 found possible by any strategy, the same for all, and 12,000 "
		"tokens of cache at a decode worker; who came last is preempted and computed anew. "
		"Compute emulated.",
	.needs = NEED_TWO_SERVERS,
	.trials = {1, 10, 20},
	.seconds = {4, 20, 60},
	.params = PARAMS(PARAM("over", PARAM_COUNT, "%", "of the highest rate of test 11.1",
			       "110,200", "110,125,150,200")),
	.kpis = KPIS(
		KPI_OFFERED, KPI_GOODPUT, KPI_TPS_OUTPUT,
		{"evictions", "1/s", "SUT-E", "caches dropped for want of memory", BETTER_LOWER, 0},
		{"preemptions", "1/s", "SUT-E", "requests that began anew", BETTER_LOWER, 0},
		{"wasted_bandwidth", "MB/s", "DUT-F", "of caches that were dropped", BETTER_LOWER,
		 0},
		{"efficiency", "", "SUT-E", "Inference_Goodput over TPS_output", BETTER_HIGHER, 0},
		KPI_MODEL("TPS_output", "tokens/s")),
	.views = VIEWS(VIEW(VIEW_LINES, "Goodput over load", "over", "strategy", NULL,
			    "Inference_Goodput"),
		       VIEW(VIEW_TABLE, "Preemption", "over", "strategy", NULL, "Offered_rate",
			    "Inference_Goodput", "TPS_output", "efficiency", "evictions",
			    "preemptions", "wasted_bandwidth", "model", "model_ratio")),
	.run = preemption_run,
};
