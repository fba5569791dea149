/* SPDX-License-Identifier: BSD-2-Clause */
#include "suite/kpis.h"
#include "suite/trial.h"

static int pfc_run(struct trial *t)
{
	trial_missing(t, NULL, "%s", fabric_cannot(t->fabric, NEED_PFC));
	return 0;
}

static const struct param params[] = {
	PARAM("burst", PARAM_COUNT, "", "transfers at once", "4,8", "4,8,16", "4,8,16,32"),
	PARAM("window", PARAM_NUMBER, "ms", "in which they begin", "1", "0.1,1,10"), LIST_END};

static const struct kpi kpis[] = {
	{"PFC_frame_count", "frames", "DUT-S", "pause frames", BETTER_LOWER, 0},
	{"pause", "us", "DUT-S", "in which a class was stopped", BETTER_LOWER, 0},
	{"blocking", "us", "DUT-S", "that other classes waited", BETTER_LOWER, 0},
	KPI_KV_LATENCY,
	{"Buffer_utilization", "bytes", "DUT-S", "in the queue of the leaf, at most", BETTER_LOWER,
	 0},
	KPI_DROPS,
	LIST_END};

static const struct view views[] = {VIEW(VIEW_TABLE, "Pauses", "burst", "window", "strategy",
					 "PFC_frame_count", "pause", "blocking",
					 "KV_xfer_latency@p99"),
				    VIEWS_END};

const struct test test_8_2 = {
	.id = "8.2",
	.name = "PFC Behavior Under Bursty KV Cache Transfers",
	.clause = DRAFT "8.2",
	.dut = "DUT-S",
	.summary = "Needs priority flow control.",
	.needs = NEED_PFC,
	.trials = {3, 10, 20},
	.seconds = {1, 5, 60},
	.params = params,
	.kpis = kpis,
	.views = views,
	.run = pfc_run,
};
