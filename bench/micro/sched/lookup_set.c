/* SPDX-License-Identifier: BSD-2-Clause */
#include "micro/sched/lookup_set.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "micro/sched/memory_floor.h"
#include "micro/sched/timing.h"

#define MAX_TABLES 12
#define WINDOW	   LOOKUP_SET_KEYS
#define WINDOWS	   4u /* taken in turn, so that one's lines are not what the next finds in cache */

struct lookup_table {
	const struct lookup_peer *peer;
	void *table; /* NULL: not filled yet */
};

struct lookup_set {
	uint64_t entries;
	uint64_t *keys, *stream[LOOKUP_PATTERNS];
	unsigned n_tables;
	struct lookup_table table[MAX_TABLES];
};

/* 1,024 destinations, and QPNs that follow each other. */
static uint64_t key_of(uint64_t i)
{
	return (i & 1023) << 24 | (0x100 + (i >> 10));
}

/* Rank by chance with probability as 1 / rank (Zipf, s = 1), ranks scattered over the keys. */
static uint64_t zipf(uint64_t *seed, uint64_t n)
{
	double u = (double)(timing_random(seed) >> 11) * 0x1p-53;
	uint64_t rank = (uint64_t)exp(u * log((double)n + 1)) - 1, scatter = rank;

	return timing_random(&scatter) % n;
}

static int make_keys(struct lookup_set *r)
{
	uint64_t n = r->entries, seed = 42;

	r->keys = timing_map(n * 8);
	for (int p = 0; p < LOOKUP_PATTERNS; p++)
		r->stream[p] = timing_map((size_t)WINDOW * WINDOWS * 8);
	if (!r->keys || !r->stream[0] || !r->stream[1] || !r->stream[2])
		return -ENOMEM;
	for (uint64_t i = 0; i < n; i++)
		r->keys[i] = key_of(i);
	for (uint64_t i = 0; i < (uint64_t)WINDOW * WINDOWS; i++) {
		r->stream[LOOKUP_UNIFORM_HIT][i] = key_of(timing_random(&seed) % n);
		r->stream[LOOKUP_UNIFORM_MISS][i] = key_of(timing_random(&seed) % n) | 0x800000;
		r->stream[LOOKUP_ZIPF_HIT][i] = key_of(zipf(&seed, n));
	}
	return 0;
}

/* What found its keys must have found their values: a wrong table is not measured. */
static bool sum_is_right(const struct lookup_set *r, enum lookup_pattern pattern, unsigned window,
			 uint64_t sum)
{
	uint64_t want = 0;

	for (uint64_t i = 0; i < WINDOW; i++) {
		uint64_t key = r->stream[pattern][(uint64_t)window * WINDOW + i];

		if (pattern == LOOKUP_UNIFORM_MISS)
			want++;
		else
			want += ((key >> 24) | ((key & 0xffffff) - 0x100) << 10) & 0xffff;
	}
	return sum == want;
}

struct second {
	pthread_barrier_t *start;
	uint64_t (*lookup)(void *table, const uint64_t *keys, size_t n);
	void *table;
	const uint64_t *keys;
	double ns;
};

static void *second_main(void *arg)
{
	struct second *s = arg;
	uint64_t start;

	pthread_barrier_wait(s->start);
	start = clock_now_ns();
	timing_keep(s->lookup(s->table, s->keys, WINDOW));
	s->ns = (double)(clock_now_ns() - start) / WINDOW;
	return NULL;
}

/* Two threads look up at once, each its own keys; the slower of them counts. */
static double two_threads(const struct lookup_table *t, const uint64_t *stream, unsigned window)
{
	struct second part[2];
	pthread_barrier_t start;
	pthread_t thread;

	timing_keep(t->peer->lookup(t->table, stream + (uint64_t)window * WINDOW, WINDOW));
	pthread_barrier_init(&start, NULL, 2);
	for (unsigned i = 0; i < 2; i++)
		part[i] = (struct second){&start, t->peer->lookup, t->table,
					  stream + (uint64_t)((window + 1 + i) % WINDOWS) * WINDOW,
					  0};
	if (pthread_create(&thread, NULL, second_main, &part[1]))
		return NAN;
	second_main(&part[0]);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&start);
	return part[0].ns > part[1].ns ? part[0].ns : part[1].ns;
}

static uint64_t look_up(const struct lookup_table *t, size_t at_once, const uint64_t *keys)
{
	return at_once > 1 ? t->peer->batch(t->table, keys, WINDOW, at_once)
			   : t->peer->lookup(t->table, keys, WINDOW);
}

/* One thread: one key at a time, or many. */
static int one_thread(const struct lookup_set *r, const struct lookup_table *t,
		      enum lookup_pattern pattern, size_t at_once, unsigned window, double *ns)
{
	const uint64_t *stream = r->stream[pattern];
	uint64_t start, sum;

	/* others had the caches since: a pass over other keys first, so that each table is measured
	 * as in steady use */
	timing_keep(look_up(t, at_once, stream + (uint64_t)((window + 1) % WINDOWS) * WINDOW));
	start = clock_now_ns();
	sum = look_up(t, at_once, stream + (uint64_t)window * WINDOW);
	*ns = (double)(clock_now_ns() - start) / WINDOW;
	if (t->peer == &memory_floor_gather || sum_is_right(r, pattern, window, sum))
		return 0;
	fprintf(stderr, "farebench: sched-lookup: %s found wrong values\n", t->peer->name);
	return -EBADMSG;
}

static void add_tables(struct lookup_set *set)
{
	set->table[set->n_tables++].peer = &memory_floor_gather;
	for (unsigned i = 0; lookup_peers[i] && set->n_tables < MAX_TABLES; i++)
		set->table[set->n_tables++].peer = lookup_peers[i];
}

int lookup_set_create(struct lookup_set **out, uint64_t entries)
{
	struct lookup_set *set;
	int err;

	if (!entries || entries > LOOKUP_SET_MAX_ENTRIES)
		return -EINVAL;
	set = calloc(1, sizeof(*set));
	if (!set)
		return -ENOMEM;
	set->entries = entries;
	add_tables(set);
	err = make_keys(set);
	if (err)
		lookup_set_destroy(set);
	else
		*out = set;
	return err;
}

void lookup_set_destroy(struct lookup_set *set)
{
	if (!set)
		return;
	for (unsigned i = 0; i < set->n_tables; i++)
		if (set->table[i].table)
			set->table[i].peer->destroy(set->table[i].table);
	for (unsigned p = 0; p < LOOKUP_PATTERNS; p++)
		if (set->stream[p])
			timing_unmap(set->stream[p], (size_t)WINDOW * WINDOWS * 8);
	if (set->keys)
		timing_unmap(set->keys, set->entries * 8);
	free(set);
}

uint64_t lookup_set_entries(const struct lookup_set *set)
{
	return set->entries;
}

static int fill(const struct lookup_set *set, struct lookup_table *t)
{
	int err = t->table ? 0 : t->peer->create(&t->table, set->keys, set->entries);

	if (err)
		fprintf(stderr, "farebench: sched-lookup: filling %s with %llu: %s\n",
			t->peer->name, (unsigned long long)set->entries, strerror(-err));
	return err;
}

int lookup_set_measure(struct lookup_set *set, const char *table, enum lookup_pattern pattern,
		       const struct lookup_way *way, unsigned repetition, double *ns)
{
	unsigned window = repetition % WINDOWS;
	struct lookup_table *t = NULL;
	int err;

	for (unsigned i = 0; i < set->n_tables && !t; i++)
		if (strcmp(set->table[i].peer->name, table) == 0)
			t = &set->table[i];
	if (!t)
		return -ENOENT;
	if (way->at_once > 1 && !t->peer->batch)
		return -EOPNOTSUPP;
	err = fill(set, t);
	if (err)
		return err;
	if (way->threads == 1)
		return one_thread(set, t, pattern, way->at_once, window, ns);
	*ns = two_threads(t, set->stream[pattern], window);
	return isfinite(*ns) ? 0 : -EAGAIN;
}
