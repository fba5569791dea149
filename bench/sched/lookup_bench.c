/* SPDX-License-Identifier: BSD-2-Clause */
#include "lookup_bench.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lookup_peer.h"
#include "memory_floor.h"
#include "stats.h"
#include "timing.h"

#define MAX_TABLES 12
#define MAX_N	   99
#define WINDOW	   (1u << 20) /* keys looked up in one measurement */
#define WINDOWS	   4u /* taken in turn, so that one's lines are not what the next finds in cache */

enum pattern { UNIFORM_HIT, UNIFORM_MISS, ZIPF_HIT, PATTERNS };
enum mode { SINGLE, BATCH32, BATCH64, TWO_THREADS, MODES };

static const char *const pattern_names[PATTERNS] = {"uniform-hit", "uniform-miss", "zipf-hit"};
static const char *const mode_names[MODES] = {"single", "batch32", "batch64", "single"};
static const size_t mode_at_once[MODES] = {0, 32, LOOKUP_PEER_BATCH, 0};

struct run {
	const struct lookup_bench *bench;
	uint64_t *keys, *stream[PATTERNS];
	const struct lookup_peer *peer[MAX_TABLES];
	void *table[MAX_TABLES];
	unsigned n_tables;
	double ns[MAX_TABLES][PATTERNS][MODES][MAX_N];
};

int lookup_bench_listed(const char *list, const char *name)
{
	size_t length = strlen(name);

	for (; list && *list; list += strcspn(list, ",") + (list[strcspn(list, ",")] == ','))
		if (strcspn(list, ",") == length && !strncmp(list, name, length))
			return 1;
	return 0;
}

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

static int make_keys(struct run *r)
{
	uint64_t n = r->bench->entries, seed = 42;

	r->keys = timing_map(n * 8);
	for (int p = 0; p < PATTERNS; p++)
		r->stream[p] = timing_map((size_t)WINDOW * WINDOWS * 8);
	if (!r->keys || !r->stream[0] || !r->stream[1] || !r->stream[2])
		return -ENOMEM;
	for (uint64_t i = 0; i < n; i++)
		r->keys[i] = key_of(i);
	for (uint64_t i = 0; i < (uint64_t)WINDOW * WINDOWS; i++) {
		r->stream[UNIFORM_HIT][i] = key_of(timing_random(&seed) % n);
		r->stream[UNIFORM_MISS][i] = key_of(timing_random(&seed) % n) | 0x800000;
		r->stream[ZIPF_HIT][i] = key_of(zipf(&seed, n));
	}
	return 0;
}

static int make_tables(struct run *r)
{
	const struct lookup_peer *all[MAX_TABLES] = {&memory_floor_gather};
	unsigned n = 1;

	for (unsigned i = 0; lookup_peers[i]; i++)
		all[n++] = lookup_peers[i];
	for (unsigned i = 0; i < n; i++) {
		int err;

		if (i && r->bench->tables && !lookup_bench_listed(r->bench->tables, all[i]->name))
			continue;
		progress_step(r->bench->progress, "filling %s with %llu", all[i]->name,
			      (unsigned long long)r->bench->entries);
		err = all[i]->create(&r->table[r->n_tables], r->keys, r->bench->entries);
		r->peer[r->n_tables++] = all[i];
		if (err) {
			fprintf(stderr, "farebench sched: %s: %s\n", all[i]->name, strerror(-err));
			return err;
		}
	}
	return 0;
}

/* What found its keys must have found their values: a wrong table is not measured. */
static bool sum_is_right(const struct run *r, enum pattern pattern, unsigned window, uint64_t sum)
{
	uint64_t want = 0;

	for (uint64_t i = 0; i < WINDOW; i++) {
		uint64_t key = r->stream[pattern][(uint64_t)window * WINDOW + i];

		if (pattern == UNIFORM_MISS)
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
	start = timing_now_ns();
	timing_keep(s->lookup(s->table, s->keys, WINDOW));
	s->ns = (double)(timing_now_ns() - start) / WINDOW;
	return NULL;
}

/* Two threads look up at once, each its own keys; the slower of them counts. */
static double two_threads(const struct run *r, unsigned t, unsigned window)
{
	struct second part[2];
	pthread_barrier_t start;
	pthread_t thread;

	timing_keep(r->peer[t]->lookup(r->table[t],
				       r->stream[UNIFORM_HIT] + (uint64_t)window * WINDOW, WINDOW));
	pthread_barrier_init(&start, NULL, 2);
	for (unsigned i = 0; i < 2; i++)
		part[i] = (struct second){&start, r->peer[t]->lookup, r->table[t],
					  r->stream[UNIFORM_HIT] +
						  (uint64_t)((window + 1 + i) % WINDOWS) * WINDOW,
					  0};
	if (pthread_create(&thread, NULL, second_main, &part[1]))
		return NAN;
	second_main(&part[0]);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&start);
	return part[0].ns > part[1].ns ? part[0].ns : part[1].ns;
}

static uint64_t look_up(const struct run *r, unsigned t, enum mode mode, const uint64_t *keys)
{
	return mode_at_once[mode] ? r->peer[t]->batch(r->table[t], keys, WINDOW, mode_at_once[mode])
				  : r->peer[t]->lookup(r->table[t], keys, WINDOW);
}

static int measure(struct run *r, unsigned t, enum pattern pattern, enum mode mode, unsigned rep)
{
	unsigned window = rep % WINDOWS;
	const uint64_t *keys = r->stream[pattern] + (uint64_t)window * WINDOW;
	uint64_t start, sum;

	if (mode == TWO_THREADS) {
		r->ns[t][pattern][mode][rep] = two_threads(r, t, window);
		return 0;
	}
	/* others had the caches since: a pass over other keys first, so that each table is measured
	 * as in steady use */
	timing_keep(look_up(r, t, mode,
			    r->stream[pattern] + (uint64_t)((window + 1) % WINDOWS) * WINDOW));
	start = timing_now_ns();
	sum = look_up(r, t, mode, keys);
	r->ns[t][pattern][mode][rep] = (double)(timing_now_ns() - start) / WINDOW;
	if (r->peer[t] != &memory_floor_gather && !sum_is_right(r, pattern, window, sum)) {
		fprintf(stderr, "farebench sched: %s found wrong values\n", r->peer[t]->name);
		return -EBADMSG;
	}
	return 0;
}

static bool applies(const struct run *r, unsigned t, enum pattern pattern, enum mode mode)
{
	return (!mode_at_once[mode] || r->peer[t]->batch) &&
	       (mode != TWO_THREADS || pattern == UNIFORM_HIT);
}

static int report(const struct run *r, json_t *out)
{
	for (unsigned t = 0; t < r->n_tables; t++)
		for (unsigned p = 0; p < PATTERNS; p++)
			for (unsigned m = 0; m < MODES; m++) {
				struct stats_summary s;

				if (!applies(r, t, p, m))
					continue;
				if (stats_summarise(r->ns[t][p][m], r->bench->n, &s))
					return -EINVAL;
				json_array_append_new(
					out,
					json_pack("{s:s, s:I, s:s, s:s, s:i, s:f, s:f, s:f, s:i}",
						  "table", r->peer[t]->name, "entries",
						  (json_int_t)r->bench->entries, "pattern",
						  pattern_names[p], "mode", mode_names[m],
						  "threads", m == TWO_THREADS ? 2 : 1,
						  "ns_per_lookup", s.median, "min_ns", s.min,
						  "max_ns", s.max, "n", (int)r->bench->n));
			}
	return 0;
}

int lookup_bench_run(const struct lookup_bench *bench, json_t *out)
{
	struct run *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->bench = bench;
	err = make_keys(r);
	if (!err)
		err = make_tables(r);
	for (unsigned rep = 0; !err && rep < bench->n; rep++) {
		progress_step(bench->progress, "lookup of %llu, %u of %u",
			      (unsigned long long)bench->entries, rep + 1, bench->n);
		for (unsigned p = 0; p < PATTERNS; p++)
			for (unsigned m = 0; m < MODES; m++)
				for (unsigned t = 0; !err && t < r->n_tables; t++)
					if (applies(r, t, p, m))
						err = measure(r, t, p, m, rep);
	}
	if (!err)
		err = report(r, out);
	for (unsigned t = 0; t < r->n_tables; t++)
		r->peer[t]->destroy(r->table[t]);
	for (unsigned p = 0; p < PATTERNS; p++)
		timing_unmap(r->stream[p], (size_t)WINDOW * WINDOWS * 8);
	timing_unmap(r->keys, bench->entries * 8);
	free(r);
	return err;
}
