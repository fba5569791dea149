/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lookup.c - from a flow to its slot: libfare's table and others.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "micro/sched/lookup_set.h"
#include "suite/trial.h"

/* Tables that take their memory from malloc get huge pages as libfare's does. */
#define HUGE_PAGES "glibc.malloc.hugetlb=1"

static const char *const patterns[LOOKUP_PATTERNS] = {
	[LOOKUP_UNIFORM_HIT] = "uniform-hit",
	[LOOKUP_UNIFORM_MISS] = "uniform-miss",
	[LOOKUP_ZIPF_HIT] = "zipf-hit",
};

static const struct {
	const char *name;
	struct lookup_way way;
} modes[] = {{"single", {1, 1}},
	     {"batch32", {32, 1}},
	     {"batch64", {LOOKUP_PEER_BATCH, 1}},
	     {"two-threads", {1, 2}}};

static void close_set(void *state)
{
	lookup_set_destroy(state);
}

/* The tables of as many entries; those of other sizes go first: memory is for one size. */
static int set_of(struct trial *t, struct lookup_set **out)
{
	uint64_t entries = (uint64_t)trial_number(t, "entries");
	int err = 0;

	if (*t->state && lookup_set_entries(*t->state) != entries) {
		lookup_set_destroy(*t->state);
		*t->state = NULL;
	}
	if (!*t->state) {
		err = lookup_set_create(out, entries);
		if (err)
			fprintf(stderr, "farebench: sched-lookup: %s keys: %s\n",
				trial_text(t, "entries"), strerror(-err));
		else
			*t->state = *out;
	}
	*out = *t->state;
	return err;
}

static int run(struct trial *t)
{
	const char *tunables = getenv("GLIBC_TUNABLES");
	unsigned pattern = 0, mode = 0;
	struct lookup_set *set;
	double ns;
	int err = set_of(t, &set);

	while (strcmp(patterns[pattern], trial_text(t, "pattern")) != 0)
		pattern++;
	while (strcmp(modes[mode].name, trial_text(t, "mode")) != 0)
		mode++;
	if (!err)
		err = lookup_set_measure(set, trial_text(t, "table"), pattern, &modes[mode].way,
					 t->number, &ns);
	if (err == -ENOENT)
		trial_missing(t, NULL, "its library was not there when this was built");
	if (err == -EOPNOTSUPP)
		trial_missing(t, NULL, "this table looks up one key at a time");
	if (err)
		return err == -ENOENT || err == -EOPNOTSUPP ? 0 : err;
	trial_value(t, "lookup", ns, LOOKUP_SET_KEYS);
	trial_word(t, "huge_pages", tunables && strstr(tunables, HUGE_PAGES) ? "yes" : "no");
	return 0;
}

static const struct param params[] = {
	PARAM("entries", PARAM_SLOW_NAME, "", "flows in the table", "64K,1M", "64K,1M,16M",
	      "1K,4K,16K,64K,256K,1M,4M,16M"),
	PARAM("table", PARAM_NAME, "", "whose; floor: of memory", LOOKUP_SET_TABLES),
	PARAM("pattern", PARAM_NAME, "", "of keys", "uniform-hit",
	      "uniform-hit,uniform-miss,zipf-hit"),
	PARAM("mode", PARAM_NAME, "", "keys at a time, threads",
	      "single,batch32,batch64,two-threads"),
	LIST_END};

static const struct kpi kpis[] = {{"lookup", "ns", "CPU", "of one key", BETTER_LOWER, 0},
				  {"huge_pages", "", "process",
				   "malloc() takes huge pages, for tables that use it", BETTER_NONE,
				   0},
				  LIST_END};

static const struct view views[] = {
	VIEW(VIEW_BARS, "Lookup", "table", "mode", "entries", "lookup"),
	VIEW(VIEW_TABLE, "Lookups", "table", "mode", "entries", "lookup", "huge_pages"), VIEWS_END};

const struct test test_sched_lookup = {
	.id = "sched-lookup",
	.name = "From a flow to its slot",
	.clause = "FARE-in-SUN 3.1",
	.dut = "libfare",
	.summary = "A million lookups in a row; each table in its best configuration, built for "
		   "this processor, in huge pages where it grows beyond malloc's; values are "
		   "checked. Floor: one independent load a key from as much memory. Real: "
		   "processor and memory. Not there: network.",
	.no_strategies = true,
	.no_fabric = true,
	.tunables = HUGE_PAGES,
	.trials = {7, 9, 15},
	.seconds = {0, 0, 0},
	.params = params,
	.kpis = kpis,
	.views = views,
	.run = run,
	.close = close_set,
};
