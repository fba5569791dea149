/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "procedure/dispatch.h"
#include "procedure/load.h"
#include "suite/kpis.h"

/* QPs of a pair in either mode (appendix E), as far as they are as many on each sub-port. */
static unsigned routing_qps(const struct trial *t, bool low)
{
	unsigned ports = load_sub_ports(t->fabric->topo), qps = low ? 8 : 24;

	return qps < ports ? ports : qps / ports * ports;
}

static int routing_run(struct trial *t)
{
	bool low = strcmp(trial_text(t, "mode"), "low-latency") == 0,
	     one_size = t->editions.newer[EDITION_INFERENCE]; /* -05: of all modes */
	int routing = moe_routing_parse(trial_text(t, "routing"));
	unsigned gpus = trial_gpus(t);

	if (routing < 0) {
		trial_missing(t, NULL, "%s is no routing of table 8", trial_text(t, "routing"));
		return 0;
	}
	return dispatch_run(t, &(struct dispatch){.config = "M3",
						  .qps = routing_qps(t, low),
						  .ep = gpus > 96 ? 96 : gpus,
						  .batch = low && !one_size ? 8 : 256,
						  .routing = (enum moe_routing)routing,
						  .skew = trial_number(t, "skew"),
						  .padded = low,
						  .modelled = true,
						  .stretch = trial_count(t, "stretch")});
}

const struct test test_7_2 = {
	INFERENCE_CLAUSE("7.2"),
	.name = "Routing Mode and Dispatch Mode Comparison",
	.dut = "DUT-F",
	.summary =
		"The dispatch of 7.1 (M3) under the routings of table 8, with experts of "
		"unequal popularity; 256 tokens a GPU; low-latency: 8 (edition 05: 256), every "
		"pair padded to the largest that this routing gives. 24 and 8 QPs of a pair. "
		"Latencies are of `stretch` times the bytes (8 in labs): to be divided by that in "
		"normal mode; low-latency dispatches are bound by hosts, and not to be divided.",
	.needs = NEED_TWO_SERVERS,
	.trials = {2, 10, 20},
	.seconds = {0.6, 4, 60},
	.params = PARAMS(PARAM("mode", PARAM_NAME, "",
			       "normal: what was routed; low-latency: padded to the largest",
			       "normal,low-latency"),
			 PARAM("routing", PARAM_NAME, "", "of table 8",
			       "top-k,expert-choice,token-drop,aux-loss"),
			 PARAM("skew", PARAM_NUMBER, "", "exponent of the experts' popularity",
			       "0.8", "0,0.8", "0,0.8"),
			 PARAM_STRETCH),
	.kpis = KPIS(
		KPI_EP_LATENCY_STRETCHED, KPI_EP_BANDWIDTH, KPI_OF_LINE,
		{"imbalance", "", "DUT-F", "bytes to the busiest GPU over the mean", BETTER_LOWER,
		 0},
		{"QPs", "", "DUT-N", "of a pair", BETTER_NONE, 0},
		{"Link_utilization_max", "%", "DUT-F", "of the busiest sub-port", BETTER_NONE, 0},
		KPI_DROPS, KPI_MARKS, KPI_PAUSES, KPI_VOLUME,
		{"model", "MB/s", "",
		 "EP_alltoall_bandwidth on an ideal fabric, computed: a bound of bandwidth alone, "
		 "in "
		 "which a message costs nothing but its bytes",
		 BETTER_NONE, 0},
		{"model_ratio", "", "",
		 "of EP_alltoall_bandwidth, measured over the model; low-latency dispatches of "
		 "some "
		 "KB are bound by what hosts take for a message, which beyond_bytes has, so that "
		 "it "
		 "is far below 1",
		 BETTER_NONE, 0},
		{"beyond_bytes", "us", "SUT-E",
		 "mean of a dispatch less its bytes over the model: messages, hosts and queues",
		 BETTER_LOWER, 0}),
	.views = VIEWS(VIEW(VIEW_BARS, "Dispatch latency by routing", "routing", "strategy", "mode",
			    "EP_alltoall_latency@p99"),
		       {VIEW_FIELDS(VIEW_TABLE, "Dispatches", "mode", "strategy", "routing", "QPs",
				    "EP_alltoall_latency@p50", "EP_alltoall_latency@p99",
				    "EP_alltoall_bandwidth", "imbalance", "Link_utilization_max",
				    "Packet_drop_rate", "ECN_marking_rate", "PFC_frame_count",
				    "beyond_bytes", "model_ratio"),
			.apart = true},
		       VIEW(VIEW_TABLE, "Bytes of a dispatch of one GPU", "routing", "mode", NULL,
			    "T_egress", "S_fabric")),
	.run = routing_run,
};
