/* SPDX-License-Identifier: BSD-2-Clause */
#include "inference/common.h"

static int run(struct trial *t)
{
	trial_missing(t, NULL, "the leaves mark nothing");
	return 0;
}

static const struct param params[] = {{"senders",
				       PARAM_COUNT,
				       "",
				       "prefill GPUs toward one decode GPU",
				       {"2,3", "2,4,8", "2,4,8,16,32"}},
				      {"threshold",
				       PARAM_BYTES,
				       "bytes",
				       "at which the leaf marks",
				       {"100K", "100K,500K,1M", "100K,500K,1M,5M"}},
				      LIST_END};

static const struct kpi kpis[] = {
	{"ECN_marking_rate", "%", "DUT-S", "packets marked CE", BETTER_NONE, 0},
	{"marking_onset", "ms", "DUT-S", "from the first packet to the first mark", BETTER_NONE, 0},
	{"Buffer_utilization", "bytes", "DUT-S", "in the queue at the first mark", BETTER_NONE, 0},
	KPI_KV_BANDWIDTH,
	KPI_DROPS,
	LIST_END};

static const struct view views[] = {
	{VIEW_TABLE,
	 "Marking",
	 "senders",
	 "threshold",
	 "strategy",
	 {"ECN_marking_rate", "marking_onset", "Buffer_utilization", "KV_xfer_bandwidth"},
	 false,
	 false,
	 NULL,
	 NULL},
	VIEWS_END};

const struct test test_8_1 = {
	.id = "8.1",
	.name = "ECN Marking Under Inference Incast",
	.clause = DRAFT "8.1",
	.dut = "DUT-S",
	.summary = "Needs leaves that mark.",
	.needs = NEED_TWO_SERVERS | NEED_ECN,
	.trials = {3, 10, 20},
	.seconds = {1, 5, 60},
	.params = params,
	.kpis = kpis,
	.views = views,
	.run = run,
};
