/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * all_to_all.c - how evenly sources that know nothing of each other fill the planes, against the
 * optimum.
 */
#include <stdio.h>
#include <string.h>

#include "micro/sched/assignment.h"
#include "suite/trial.h"

static int all_to_all_run(struct trial *t)
{
	struct assignment a = {
		.gpus = trial_count(t, "gpus"), .qps = trial_count(t, "qps"), .stride = 1};
	double over;
	int err;

	while (strcmp(assignment_choice_name(a.choice), trial_text(t, "choice")) != 0)
		a.choice++;
	err = assignment_all_to_all(&a, &over);
	if (err)
		fprintf(stderr,
			"farebench: sched-assignment: gpus=%s qps=%s: %s (2 to 256 GPUs, 1 to 64 "
			"QPs)\n",
			trial_text(t, "gpus"), trial_text(t, "qps"), strerror(-err));
	else
		trial_value(t, "over_optimum", over, 1);
	return err;
}

const struct test test_sched_assignment = {
	.id = "sched-assignment",
	.name = "Planes chosen for an all-to-all",
	.clause = "FARE-in-SUN 3.1",
	.dut = "libfare",
	.summary = "Computed, not measured: every GPU sends the same to every other over four "
		   "planes, one at half its bandwidth; flows share links as fluid. Real: the flow "
		   "tables that bind QPs. Not there: packets, transport.",
	.no_strategies = true,
	.no_fabric = true,
	.trials = {1, 1, 1},
	.params = PARAMS(PARAM("choice", PARAM_NAME, "",
			       "how a pair binds its QPs: libfare's flow tables, by turn, or all "
			       "pairs alike; a hash over planes, weighted or not",
			       "fare,all-alike,wecmp-hash,ecmp-hash"),
			 PARAM("qps", PARAM_COUNT, "", "of a pair", "1,4,16"),
			 PARAM("gpus", PARAM_COUNT, "", "that send to each other", "64")),
	.kpis = KPIS({"over_optimum", "", "computed", "time over that of full planes until the end",
		      BETTER_LOWER, 0}),
	.views = VIEWS(VIEW(VIEW_BARS, "All-to-all with one plane halved, time over the optimum",
			    "choice", "qps", NULL, "over_optimum"),
		       VIEW(VIEW_TABLE, "All-to-all with one plane halved", "choice", "qps", NULL,
			    "over_optimum")),
	.run = all_to_all_run,
};
