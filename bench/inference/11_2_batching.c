/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "procedure/service.h"
#include "suite/kpis.h"

static int batching_run(struct trial *t)
{
	struct serving_options o = service_usual(t);
	struct model model = *o.model;

	o.batch = trial_count(t, "batch");
	model.step_s = model_batch_step_s(o.model, o.batch);
	o.model = &model;
	o.static_batch = strcmp(trial_text(t, "batching"), "static") == 0;
	o.trace = NULL; /* lengths of its own */
	o.prompt = (struct lengths){LENGTHS_UNIFORM, 128, 1024, 0};
	o.per_s = service_capacity(&o) * 0.6;
	return service_run(t, &o, "TPS_output");
}

const struct test test_11_2 = {
	INFERENCE_CLAUSE("11.2"),
	.name = "Batch Size Scaling and Continuous Batching Impact",
	.dut = "SUT-E",
	.summary = "Batches of decode workers, refilled at every step or only when all have ended. "
		   "Compute emulated: a step takes what a full batch of the level would.",
	.needs = NEED_TWO_SERVERS,
	.trials = {1, 5, 20},
	.seconds = {3, 15, 60},
	.params = PARAMS(
		PARAM("batch", PARAM_COUNT, "requests", "that a decode worker steps at once",
		      "1,8,64", "1,4,16,64,128", "1,4,8,16,32,64,128"),
		PARAM("batching", PARAM_NAME, "", "when new requests join", "static,continuous")),
	.kpis = KPIS(KPI_TPS_OUTPUT, KPI_TTFT, KPI_FABRIC_BW,
		     {"peak_transfers", "", "DUT-PD", "under way at once", BETTER_NONE, 0},
		     KPI_TPS_PER_GPU, KPI_OFFERED, KPI_MODEL("TPS_output", "tokens/s")),
	.views = VIEWS({VIEW_FIELDS(VIEW_LINES, "Output tokens over batch size", "batch",
				    "batching", "strategy", "TPS_output"),
			.log_x = true},
		       VIEW(VIEW_TABLE, "Batching", "batch", "batching", "strategy", "Offered_rate",
			    "TPS_output", "TPS_per_GPU", "TTFT@p99", "fabric_bandwidth",
			    "peak_transfers", "model", "model_ratio")),
	.run = batching_run,
};
