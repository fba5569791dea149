/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lookup.c - from a flow's key to its number: libfare's map, as flow_table.c calls it, and
 * absl's flat_hash_map.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/rng.h"
#include "flow_map.h"
#include "suite/trial.h"
#include "micro/sched/lookup_peer.h"
#include "micro/sched/rig.h"

/* Tables that take their memory from malloc get huge pages as libfare's does. */
#define HUGE_PAGES  "glibc.malloc.hugetlb=1"
#define WINDOW	    (1u << 20) /* keys looked up in one measurement */
#define WINDOWS	    4u /* taken in turn, so that one's lines are not what the next finds in cache */
#define PEERS	    2
#define MAX_ENTRIES (UINT64_C(1) << 24)

/* ---- libfare's ---- */

static void fare_destroy(void *table)
{
	flow_map_fini(table);
	free(table);
}

static int fare_create(void **out, const uint64_t *keys, size_t n)
{
	struct flow_map *map = malloc(sizeof(*map));
	int err = map ? flow_map_init(map, (uint32_t)n, 1) : -ENOMEM;

	if (err) {
		free(map);
		return err;
	}
	for (size_t i = 0; i < n; i++)
		flow_map_add(map, keys[i], i & 0xffff);
	*out = map;
	return 0;
}

static uint64_t fare_lookup(void *table, const uint64_t *keys, size_t n)
{
	const struct flow_map *map = table;
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t found = flow_map_find(map, keys[i]);

		sum += found == FLOW_MAP_NONE ? 1 : found;
	}
	return sum;
}

static const struct lookup_peer lookup_peer_fare = {"fare", fare_create, fare_destroy, fare_lookup};

static const struct lookup_peer *const peers[PEERS] = {
	&lookup_peer_fare,
#ifdef SCHED_HAVE_ABSL
	&lookup_peer_absl,
#endif
};

/* ---- tables over the same keys ---- */

struct lookup_set {
	uint64_t entries;
	uint64_t *keys, *stream; /* all; those looked up, WINDOWS after each other */
	void *table[PEERS];	 /* NULL: not filled yet */
};

/* 1,024 destinations, and QPNs that follow each other. */
static uint64_t lookup_key(uint64_t i)
{
	return (i & 1023) << 24 | (0x100 + (i >> 10));
}

/* What was inserted with lookup_key(i). */
static uint64_t lookup_value(uint64_t key)
{
	return ((key >> 24) | ((key & 0xffffff) - 0x100) << 10) & 0xffff;
}

static void lookup_close(void *state)
{
	struct lookup_set *set = state;

	if (!set)
		return;
	for (unsigned i = 0; i < PEERS; i++)
		if (set->table[i])
			peers[i]->destroy(set->table[i]);
	free(set->stream);
	free(set->keys);
	free(set);
}

static int lookup_open(struct lookup_set **out, uint64_t entries)
{
	struct lookup_set *set = calloc(1, sizeof(*set));
	uint64_t seed = 42;

	if (!set)
		return -ENOMEM;
	set->entries = entries;
	set->keys = calloc(entries, sizeof(*set->keys));
	set->stream = calloc((size_t)WINDOW * WINDOWS, sizeof(*set->stream));
	if (!set->keys || !set->stream) {
		lookup_close(set);
		return -ENOMEM;
	}
	for (uint64_t i = 0; i < entries; i++)
		set->keys[i] = lookup_key(i);
	for (uint64_t i = 0; i < (uint64_t)WINDOW * WINDOWS; i++)
		set->stream[i] = lookup_key(rng_next(&seed) % entries);
	*out = set;
	return 0;
}

/* Those of as many entries; those of other sizes go first: memory is for one size. */
static int lookup_set_of(struct trial *t, struct lookup_set **out)
{
	uint64_t entries = (uint64_t)trial_number(t, "entries");
	int err = 0;

	*out = *t->state;
	if (!entries || entries > MAX_ENTRIES)
		return -EINVAL;
	if (*out && (*out)->entries != entries) {
		lookup_close(*out);
		*t->state = *out = NULL;
	}
	if (!*out)
		err = lookup_open(out, entries);
	*t->state = *out;
	return err;
}

static int lookup_measure(const struct lookup_peer *peer, void *table, const uint64_t *stream,
			  unsigned window, double *ns)
{
	const uint64_t *keys = stream + (uint64_t)window * WINDOW;
	uint64_t start, sum, want = 0;

	/* others had the caches since: a pass over other keys first, so that each table is measured
	 * as in steady use */
	rig_keep(peer->lookup(table, stream + (uint64_t)((window + 1) % WINDOWS) * WINDOW, WINDOW));
	start = clock_now_ns();
	sum = peer->lookup(table, keys, WINDOW);
	*ns = (double)(clock_now_ns() - start) / WINDOW;
	for (uint64_t i = 0; i < WINDOW; i++)
		want += lookup_value(keys[i]);
	return sum == want ? 0 : -EBADMSG;
}

static int lookup_run(struct trial *t)
{
	const char *tunables = getenv("GLIBC_TUNABLES");
	struct lookup_set *set;
	unsigned i = 0;
	double ns;
	int err = lookup_set_of(t, &set);

	while (i < PEERS && peers[i] && strcmp(peers[i]->name, trial_text(t, "table")) != 0)
		i++;
	if (!err && (i == PEERS || !peers[i])) {
		trial_missing(t, NULL, "its library was not there when this was built");
		return 0;
	}
	if (!err && !set->table[i])
		err = peers[i]->create(&set->table[i], set->keys, set->entries);
	if (!err)
		err = lookup_measure(peers[i], set->table[i], set->stream, t->number % WINDOWS,
				     &ns);
	if (err) {
		fprintf(stderr, "farebench: sched-lookup: %s of %s: %s\n", trial_text(t, "table"),
			trial_text(t, "entries"), strerror(-err));
		return err;
	}
	trial_value(t, "lookup", ns, WINDOW);
	trial_set_text(t, "huge_pages", tunables && strstr(tunables, HUGE_PAGES) ? "yes" : "no");
	return 0;
}

const struct test test_sched_lookup = {
	.id = "sched-lookup",
	.name = "From a flow to its number",
	.clause = "FARE-in-SUN 3.1",
	.dut = "libfare",
	.summary = "A million random keys that are there, one at a time; libfare's map built as "
		   "libfare is, absl's flat_hash_map for this processor, both in huge pages where "
		   "the kernel gives them; values are checked. Real: processor and memory. Not "
		   "there: network.",
	.no_strategies = true,
	.no_fabric = true,
	.tunables = HUGE_PAGES,
	.trials = {7, 11, 15},
	.params = PARAMS(PARAM("entries", PARAM_SLOW_NAME, "", "flows in the table", "64K,1M",
			       "64K,1M,16M", "1K,4K,16K,64K,256K,1M,4M,16M"),
			 PARAM("table", PARAM_NAME, "", "whose", "fare,absl")),
	.kpis = KPIS({"lookup", "ns", "CPU", "of one key", BETTER_LOWER, 0},
		     {"huge_pages", "", "process",
		      "malloc() takes huge pages, for tables that use it", BETTER_NONE, 0}),
	.views = VIEWS(
		VIEW(VIEW_BARS, "Lookup", "table", "entries", NULL, "lookup"),
		VIEW(VIEW_TABLE, "Lookups", "table", "entries", NULL, "lookup", "huge_pages")),
	.run = lookup_run,
	.close = lookup_close,
};
