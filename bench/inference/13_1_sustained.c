/* SPDX-License-Identifier: BSD-2-Clause */
#include "procedure/soak.h"
#include "suite/kpis.h"

static int sustained_run(struct trial *t)
{
	return soak_sample(t, NULL, NULL);
}

static int sustained_derive(const struct test *test, struct rows *rows)
{
	int err = soak_slope(rows, test->id, "TTFT_p99", "slope_TTFT");

	if (!err)
		err = soak_slope(rows, test->id, "TTFT_median", "slope_TTFT_median");
	if (!err)
		err = soak_length(rows, test->id);
	return err ? err : soak_variation(rows, test->id, "TTFT_p99", "TTFT_variation");
}

const struct test test_13_1 = {
	INFERENCE_CLAUSE("13.1"),
	.name = "24-Hour Sustained Inference Load",
	.dut = "SUT-E",
	.summary =
		"A service at 80% of the least bound that 11.1 found, the same load for all, "
		"sampled "
		"again and again; soak_length says how long, Objectives whether they were met. A "
		"trend per hour takes ten samples within ten minutes. Compute emulated.",
	.needs = NEED_TWO_SERVERS,
	.trials = {4, 60, 96},
	.seconds = {3, 30, 900},
	.sample_s = 60,
	.kpis = KPIS(KPI_AT_S, KPI_SOAK_LENGTH, KPI_OBJECTIVES, KPI_TTFT_JUDGED, KPI_TTFT,
		     KPI_TTFT_P99, KPI_TTFT_MEDIAN, KPI_ITL, KPI_TPS_OUTPUT, KPI_OFFERED,
		     KPI_KV_LATENCY, KPI_FABRIC_BW, KPI_LINK_USE, KPI_SWITCH_LOAD, KPI_MARKS,
		     KPI_PAUSES, KPI_RETRANSMISSIONS,
		     {"QP_errors", "", "DUT-N", "paths of QP groups that died", BETTER_LOWER, 0},
		     KPI_FLAPS,
		     {"slope_TTFT", "ms/h", "SUT-E", "growth of TTFT_p99, least squares",
		      BETTER_LOWER, 0},
		     {"slope_TTFT_median", "ms/h", "SUT-E", "growth of TTFT_median, the same",
		      BETTER_LOWER, 0},
		     {"TTFT_variation", "%", "SUT-E",
		      "largest less smallest TTFT_p99 of the samples, over their median: to be "
		      "looked into above 1",
		      BETTER_LOWER, 0},
		     KPI_MODEL("TPS_output", "tokens/s")),
	.correlated = NAMES("ITL"),
	.views = VIEWS(
		VIEW(VIEW_TREND, "TTFT over time", "at_s", "strategy", NULL, "TTFT@p99",
		     "TTFT_median"),
		VIEW(VIEW_TREND, "ITL over time", "at_s", "strategy", NULL, "ITL@p99"),
		VIEW(VIEW_TREND, "Output tokens over time", "at_s", "strategy", NULL, "TPS_output"),
		VIEW(VIEW_TREND, "KV transfers over time", "at_s", "strategy", NULL,
		     "KV_xfer_latency@p99"),
		VIEW(VIEW_TREND, "Links over time", "at_s", "strategy", NULL, "Link_utilization"),
		VIEW(VIEW_TREND, "Marked packets over time", "at_s", "strategy", NULL,
		     "ECN_marking_rate"),
		VIEW(VIEW_TREND, "Pause frames over time", "at_s", "strategy", NULL,
		     "PFC_frame_count"),
		VIEW(VIEW_TREND, "Switches' processors over time", "at_s", "strategy", NULL,
		     "Switch_CPU"),
		VIEW(VIEW_TREND, "Switches' memory over time", "at_s", "strategy", NULL,
		     "Switch_memory"),
		VIEW(VIEW_TREND, "Counters over time", "at_s", "strategy", NULL, "retransmissions",
		     "QP_errors", "flaps"),
		{VIEW_FIELDS(VIEW_CDF, "Distribution of TTFT, all samples", NULL, "strategy", NULL,
			     "TTFT"),
		 .log_x = true},
		VIEW(VIEW_TABLE, "Samples", "strategy", NULL, NULL, "Offered_rate", "Objectives",
		     "TTFT_judged", "TTFT@p99", "TTFT_p99", "ITL@p99", "TPS_output",
		     "KV_xfer_latency@p99", "QP_errors", "flaps", "model", "model_ratio"),
		VIEW(VIEW_TABLE, "Trends", "strategy", NULL, NULL, "soak_length", "slope_TTFT",
		     "slope_TTFT_median", "TTFT_variation"),
		VIEW(VIEW_TABLE, "The fabric in the samples", "strategy", NULL, NULL,
		     "Link_utilization", "Switch_CPU", "Switch_memory", "ECN_marking_rate",
		     "PFC_frame_count", "retransmissions")),
	.run = sustained_run,
	.derive = sustained_derive,
};
