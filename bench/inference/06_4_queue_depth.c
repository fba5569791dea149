/* SPDX-License-Identifier: BSD-2-Clause */
#include "procedure/load.h"
#include "procedure/service.h"
#include "suite/kpis.h"

static int queue_depth_run(struct trial *t)
{
	struct serving_options o = service_usual(t);
	int err = load_marks_begin(t);

	o.per_s = service_capacity(&o) * trial_number(t, "over");
	if (!err)
		err = service_run(t, &o, "KV_BW");
	return err ? err : load_add_marks(t);
}

const struct test test_6_4 = {
	INFERENCE_CLAUSE("6.4"),
	.name = "Prefill Queue Depth Impact on Transfer Latency",
	.dut = "SUT-E",
	.summary = "More requests than the emulated prefill can compute; bursts are of transfers "
		   "as they become due.",
	.needs = NEED_TWO_SERVERS,
	.trials = {1, 10, 50}, /* of bursts: section 1.3 */
	.seconds = {4, 20, 60},
	.params = PARAMS(PARAM("over", PARAM_NUMBER, "", "arrivals over what prefill can do",
			       "1.0,1.5,2.0", "1.0,1.25,1.5,1.75,2.0")),
	.kpis = KPIS(
		{"burst_size", "KB", "DUT-PD", "transfers less than 20 ms apart, together",
		 BETTER_NONE, 1e-3},
		{"burst_duration", "ms", "DUT-PD", "from the first to the last of a burst",
		 BETTER_NONE, 1e-6},
		{"burst_gap", "ms", "DUT-PD", "between bursts", BETTER_NONE, 1e-6},
		{"peak_bandwidth", "MB/s", "DUT-F", "payload in the busiest 10 ms", BETTER_NONE, 0},
		KPI_FABRIC_BW, KPI_KV_LATENCY, KPI_TTFT, KPI_OFFERED, KPI_KV_BW, KPI_UNFINISHED,
		KPI_MARKS, KPI_MARKED, KPI_PAUSES, KPI_MODEL("KV_BW", "MB/s")),
	.views = VIEWS(VIEW(VIEW_LINES, "Transfer latency over oversubscription", "over",
			    "strategy", NULL, "KV_xfer_latency@p99"),
		       {VIEW_FIELDS(VIEW_CDF, "Distribution of burst sizes", NULL, "over",
				    "strategy", "burst_size"),
			.log_x = true},
		       VIEW(VIEW_TABLE, "Bursts", "over", "strategy", NULL, "burst_size@p50",
			    "burst_size@max", "burst_duration@p50", "burst_gap@p50", "KV_BW",
			    "model", "model_ratio"),
		       VIEW(VIEW_TABLE, "Fabric", "over", "strategy", NULL, "peak_bandwidth",
			    "fabric_bandwidth", "KV_xfer_latency@p99", "ECN_marking_rate",
			    "ECN_marks", "PFC_frame_count")),
	.run = queue_depth_run,
};
