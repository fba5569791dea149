/* SPDX-License-Identifier: BSD-2-Clause */
#include "inference/soak.h"

static int run(struct trial *t)
{
	struct serving_options o = soak_service(t);
	struct serving_result r;
	double at_s = soak_at_s();
	int err = serving_run(t, &o, NULL, NULL, &r);

	if (!err) {
		add_service(t, &r);
		trial_value(t, "at_s", at_s, 1);
		trial_value(t, "TTFT_p99", hist_quantile(&r.ttft, 0.99) / 1e6, r.ttft.n);
		trial_value(t, "retransmissions", (double)r.books.retransmitted, r.books.messages);
		trial_value(t, "QP_errors", (double)r.books.path_deaths, 1);
	}
	serving_fini(&r);
	return err;
}

static int derive(struct rows *rows)
{
	return soak_slope(rows, "13.1", "TTFT_p99", "slope_TTFT");
}

static const struct kpi kpis[] = {
	{"at_s", "s", "", "when the sample began", BETTER_NONE, 0},
	{"TTFT_p99", "ms", "SUT-E", "of the sample", BETTER_LOWER, 0},
	KPI_ITL,
	KPI_TPS_OUTPUT,
	KPI_KV_LATENCY,
	KPI_FABRIC_BW,
	{"retransmissions", "packets", "DUT-N", "by the sending QPs", BETTER_LOWER, 0},
	{"QP_errors", "", "DUT-N", "paths of QP groups that died", BETTER_LOWER, 0},
	{"slope_TTFT", "ms/h", "SUT-E", "growth of TTFT_p99, least squares", BETTER_LOWER, 0},
	LIST_END};

static const struct view views[] = {{VIEW_TREND,
				     "TTFT over time",
				     "at_s",
				     "strategy",
				     NULL,
				     {"TTFT_p99"},
				     false,
				     false,
				     NULL,
				     NULL},
				    {VIEW_TABLE,
				     "Samples",
				     "strategy",
				     NULL,
				     NULL,
				     {"TTFT_p99", "ITL@p99", "TPS_output", "KV_xfer_latency@p99",
				      "retransmissions", "QP_errors", "slope_TTFT"},
				     false,
				     false,
				     NULL,
				     NULL},
				    VIEWS_END};

const struct test test_13_1 = {
	.id = "13.1",
	.name = "24-Hour Sustained Inference Load",
	.clause = DRAFT "13.1",
	.dut = "SUT-E",
	.summary = "A service at 80% of its bound, sampled again and again; how long stands in the "
		   "run's table. Compute emulated.",
	.needs = NEED_TWO_SERVERS,
	.trials = {4, 60, 96},
	.seconds = {3, 30, 900},
	.kpis = kpis,
	.views = views,
	.run = run,
	.derive = derive,
};
