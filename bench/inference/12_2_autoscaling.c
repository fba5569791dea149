/* SPDX-License-Identifier: BSD-2-Clause */
#include "inference/common.h"

static int run(struct trial *t)
{
	trial_missing(t, NULL, "no server can be added to a lab that runs");
	return 0;
}

static const struct param params[] = {
	{"event", PARAM_NAME, "", "workers join or leave", {"up,down", NULL, NULL}}, LIST_END};

static const struct kpi kpis[] = {
	{"fabric_convergence", "ms", "DUT-F", "until all know of it", BETTER_LOWER, 0},
	{"first_transfer", "ms", "DUT-PD", "from then to the first transfer", BETTER_LOWER, 0},
	{"steady_state", "ms", "SUT-E", "until throughput is steady", BETTER_LOWER, 0},
	KPI_DROPS,
	LIST_END};

static const struct view views[] = {{VIEW_TABLE,
				     "Scaling",
				     "event",
				     "strategy",
				     NULL,
				     {"fabric_convergence", "first_transfer", "steady_state"},
				     false,
				     false,
				     NULL,
				     NULL},
				    VIEWS_END};

const struct test test_12_2 = {
	.id = "12.2",
	.name = "Dynamic Autoscaling Response Time",
	.clause = DRAFT "12.2",
	.dut = "SUT-E",
	.summary = "Needs a fabric that servers can join.",
	.needs = NEED_TWO_SERVERS,
	.no_strategies = true,
	.trials = {1, 3, 20},
	.seconds = {1, 5, 60},
	.params = params,
	.kpis = kpis,
	.views = views,
	.run = run,
};
