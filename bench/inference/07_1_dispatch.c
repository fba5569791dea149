/* SPDX-License-Identifier: BSD-2-Clause */
#include "procedure/dispatch.h"
#include "suite/kpis.h"

static int dispatch_test_run(struct trial *t)
{
	return dispatch_run(t, &(struct dispatch){.config = trial_text(t, "config"),
						  .ep = trial_count(t, "ep"),
						  .batch = trial_count(t, "batch"),
						  .modelled = true,
						  .stretch = trial_count(t, "stretch")});
}

const struct test test_7_1 = {
	INFERENCE_CLAUSE("7.1"),
	.name = "AllToAll Dispatch Throughput",
	.dut = "DUT-F",
	.summary = "Every GPU sends the embeddings of its tokens to the GPUs of the experts that a "
		   "seeded top-k routing chose; a round begins when the one before has arrived. "
		   "Latencies are "
		   "of `stretch` times the bytes (8 in labs): to be divided by that.",
	.needs = NEED_TWO_SERVERS,
	.trials = {2, 10, 20},
	.seconds = {0.6, 4, 60},
	.params = PARAMS(PARAM("config", PARAM_TEXT, "", "of table 7", "M1,M4", "M1,M2,M3,M4"),
			 PARAM("ep", PARAM_COUNT, "GPUs", "of the group", "2,4", "2,4,8",
			       "8,16,32,48,64,96"),
			 PARAM("batch", PARAM_COUNT, "tokens", "of a GPU", "128", "32,128,512",
			       "32,64,128,256,512"),
			 PARAM_STRETCH),
	.kpis = KPIS(
		KPI_EP_BANDWIDTH, KPI_EP_LATENCY_STRETCHED, KPI_OF_LINE,
		{"BusBW", "MB/s", "DUT-F",
		 "of a GPU: its bytes x (n - 1) / n over the time of a dispatch; pairs send to "
		 "each other, no library",
		 BETTER_HIGHER, 0},
		{"parameters", "", "", "of the configuration, before the scale", BETTER_NONE, 0},
		{"GPU_idle", "us", "SUT-E",
		 "that a GPU waits for a dispatch, from its own first post until all has "
		 "arrived there, mean",
		 BETTER_LOWER, 0},
		KPI_VOLUME, KPI_MODEL("EP_alltoall_bandwidth", "MB/s")),
	.views = VIEWS(VIEW(VIEW_HEAT, "Throughput by group and batch", "batch", "ep", "strategy",
			    "EP_alltoall_bandwidth"),
		       {VIEW_FIELDS(VIEW_CDF, "Distribution of latency", NULL, "strategy", "ep",
				    "EP_alltoall_latency"),
			.log_x = true},
		       VIEW(VIEW_TABLE, "Dispatch", "config", "ep", "strategy",
			    "EP_alltoall_bandwidth", "BusBW", "EP_alltoall_latency@p50",
			    "EP_alltoall_latency@p99", "GPU_idle", "of_line", "model",
			    "model_ratio"),
		       VIEW(VIEW_TABLE, "Bytes of a dispatch of one GPU", "config", "ep", NULL,
			    "parameters", "T_egress", "S_fabric")),
	.run = dispatch_test_run,
};
