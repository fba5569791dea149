/* SPDX-License-Identifier: BSD-2-Clause */
#include "procedure/service.h"
#include "suite/kpis.h"

static int prompt_lengths_run(struct trial *t)
{
	const struct model *model = model_find(trial_text(t, "model"));
	struct serving_options o = service_usual(t);

	if (!model) {
		trial_missing(t, NULL, "%s is none of CFG-A to CFG-D", trial_text(t, "model"));
		return 0;
	}
	o.model = model;
	o.trace = NULL; /* lengths of its own */
	o.prompt = (struct lengths){LENGTHS_FIXED, trial_count(t, "prompt"), 0, 0};
	o.output = (struct lengths){LENGTHS_FIXED, 1, 0, 0};
	o.per_s = 0; /* no load beside */
	return service_run(t, &o, "TTFT");
}

const struct test test_10_1 = {
	INFERENCE_CLAUSE("10.1"),
	.name = "TTFT Under Varying Prompt Lengths",
	.dut = "SUT-E",
	.summary =
		"One request at a time; a trial has as many as its time allows. Compute emulated.",
	.needs = NEED_TWO_SERVERS,
	.trials = {1, 10, 100},
	.seconds = {3, 10, 30},
	.params = PARAMS(PARAM("prompt", PARAM_COUNT, "tokens", "of every request", "128,1024,8192",
			       "128,256,512,1024,2048,4096,8192,16384"),
			 PARAM("model", PARAM_TEXT, "", "of table 9", "CFG-B", "CFG-A,CFG-B,CFG-D",
			       "CFG-A,CFG-B,CFG-C,CFG-D")),
	.kpis = KPIS(KPI_TTFT, KPI_T_PREFILL, KPI_T_TRANSFER, KPI_T_DECODE_INIT,
		     KPI_FABRIC_FRACTION, KPI_TTFT_FABRIC, KPI_OFFERED, KPI_UNFINISHED,
		     KPI_MODEL("TTFT", "ms")),
	.views = VIEWS(
		{VIEW_FIELDS(VIEW_SHADED, "TTFT over prompt length, transfer shaded", "prompt",
			     NULL, "strategy", "TTFT@p50", "TTFT@p99", "T_transfer@p50"),
		 .log_x = true},
		VIEW(VIEW_TABLE, "TTFT", "prompt", "model", "strategy", "TTFT@p50", "TTFT@p95",
		     "TTFT@p99", "T_transfer@p50", "T_transfer@p95", "T_transfer@p99",
		     "fabric_fraction", "model", "model_ratio"),
		VIEW(VIEW_TABLE, "The fabric's part of TTFT", "prompt", "model", "strategy",
		     "TTFT_fabric@p50", "TTFT_fabric@p95", "TTFT_fabric@p99", "unfinished")),
	.run = prompt_lengths_run,
};
