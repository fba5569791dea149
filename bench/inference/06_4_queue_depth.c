/* SPDX-License-Identifier: BSD-2-Clause */
#include "inference/common.h"

static int run(struct trial *t)
{
	struct serving_options o = usual_service(t);
	struct serving_result r;
	int err;

	o.per_s = service_capacity(&o) * trial_number(t, "over");
	err = serving_run(t, &o, NULL, NULL, &r);
	if (!err) {
		add_service(t, &r);
		trial_hist(t, "burst_size", &r.burst_bytes);
		trial_one_way(t, "burst_duration", &r.burst_ns);
		trial_one_way(t, "burst_gap", &r.burst_gap_ns);
		trial_value(t, "peak_bandwidth", r.peak_bps / 8e6, 1);
		trial_missing(t, "ECN_PFC", "nothing marks or pauses on this fabric");
	}
	serving_fini(&r);
	return err;
}

static const struct param params[] = {{"over",
				       PARAM_NUMBER,
				       "",
				       "arrivals over what prefill can do",
				       {"1.0,1.5,2.0", "1.0,1.25,1.5,1.75,2.0", NULL}},
				      LIST_END};

static const struct kpi kpis[] = {
	{"burst_size", "KB", "DUT-PD", "transfers less than 20 ms apart, together", BETTER_NONE,
	 1e-3},
	{"burst_duration", "ms", "DUT-PD", "from the first to the last of a burst", BETTER_NONE,
	 1e-6},
	{"burst_gap", "ms", "DUT-PD", "between bursts", BETTER_NONE, 1e-6},
	{"peak_bandwidth", "MB/s", "DUT-F", "payload in the busiest 10 ms", BETTER_NONE, 0},
	KPI_FABRIC_BW,
	KPI_KV_LATENCY,
	KPI_TTFT,
	KPI_NOT("ECN_PFC", "", "packets marked, pause frames"),
	LIST_END};

static const struct view views[] = {{VIEW_LINES,
				     "Transfer latency over oversubscription",
				     "over",
				     "strategy",
				     NULL,
				     {"KV_xfer_latency@p99"},
				     false,
				     false,
				     NULL,
				     NULL},
				    {VIEW_TABLE,
				     "Bursts",
				     "over",
				     "strategy",
				     NULL,
				     {"burst_size@p50", "burst_duration@p50", "burst_gap@p50",
				      "peak_bandwidth", "fabric_bandwidth", "KV_xfer_latency@p99"},
				     false,
				     false,
				     NULL,
				     NULL},
				    VIEWS_END};

const struct test test_6_4 = {
	.id = "6.4",
	.name = "Prefill Queue Depth Impact on Transfer Latency",
	.clause = DRAFT "6.4",
	.dut = "SUT-E",
	.summary =
		"More requests than the emulated prefill can compute; bursts are of transfers as "
		"they become due.",
	.needs = NEED_TWO_SERVERS,
	.trials = {1, 10, 20},
	.seconds = {4, 20, 60},
	.params = params,
	.kpis = kpis,
	.views = views,
	.run = run,
};
