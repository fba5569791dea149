/* SPDX-License-Identifier: BSD-2-Clause */
#include "suite/kpis.h"
#include "suite/trial.h"

static int pfc_storm_run(struct trial *t)
{
	trial_missing(t, NULL, "%s", fabric_cannot(t->fabric, NEED_PFC));
	return 0;
}

static const struct kpi kpis[] = {
	{"PFC_storm", "", "DUT-S", "whether one occurred", BETTER_NONE, 0},
	{"deadlock", "", "DUT-S", "whether one occurred", BETTER_NONE, 0},
	{"pause_depth", "hops", "DUT-S", "that a pause spread", BETTER_LOWER, 0},
	{"zero_throughput", "ms", "DUT-F", "longest time without a byte", BETTER_LOWER, 0},
	{"recovery", "ms", "DUT-F", "until traffic was as before", BETTER_LOWER, 0},
	KPI_PAUSES,
	LIST_END};

static const struct view views[] = {VIEW(VIEW_TABLE, "Storm", "strategy", NULL, NULL, "PFC_storm",
					 "deadlock", "pause_depth", "zero_throughput", "recovery"),
				    VIEWS_END};

const struct test test_8_4 = {
	.id = "8.4",
	.name = "PFC Storm and Deadlock Resilience",
	.clause = DRAFT "8.4",
	.dut = "DUT-S",
	.summary = "Needs priority flow control.",
	.needs = NEED_PFC,
	.trials = {1, 3, 3},
	.seconds = {3, 30, 300},
	.kpis = kpis,
	.views = views,
	.run = pfc_storm_run,
};
