/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory.c - what memory itself costs: no table can be faster.
 */
#include <errno.h>
#include <stdio.h>

#include "micro/sched/memory_floor.h"
#include "suite/trial.h"

#define MIN_BYTES 4096.
#define MAX_BYTES 4294967296.

static int run(struct trial *t)
{
	double bytes = trial_number(t, "size"), ns;

	if (bytes < MIN_BYTES || bytes > MAX_BYTES) {
		fprintf(stderr, "farebench: sched-memory: size=%s: 4K to 4G are expected\n",
			trial_text(t, "size"));
		return -EINVAL;
	}
	ns = memory_floor_dependent_ns((size_t)bytes);
	if (ns < 0) {
		fprintf(stderr, "farebench: sched-memory: no memory for %s\n",
			trial_text(t, "size"));
		return -ENOMEM;
	}
	trial_value(t, "load", ns, MEMORY_FLOOR_LOADS);
	return 0;
}

static const struct param params[] = {PARAM("size", PARAM_BYTES, "bytes",
					    "of memory that loads go to",
					    "16K,512K,2M,16M,64M,256M"),
				      LIST_END};

static const struct kpi kpis[] = {
	{"load", "ns", "CPU", "of a load whose address comes from the one before", BETTER_LOWER, 0},
	LIST_END};

static const struct view views[] = {
	{VIEW_FIELDS(VIEW_LINES, "A load whose address comes from the one before", "size", NULL,
		     NULL, "load"),
	 .log_x = true, .log_y = true},
	VIEW(VIEW_TABLE, "Latency of memory", "size", NULL, NULL, "load"),
	VIEWS_END};

const struct test test_sched_memory = {
	.id = "sched-memory",
	.name = "Latency of memory",
	.clause = "none",
	.dut = "machine",
	.summary = "One random cycle through all cache lines, in huge pages where the kernel gives "
		   "them. Real: processor and memory.",
	.no_strategies = true,
	.no_fabric = true,
	.trials = {3, 7, 15},
	.seconds = {0, 0, 0},
	.params = params,
	.kpis = kpis,
	.views = views,
	.run = run,
};
