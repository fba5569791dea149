/* SPDX-License-Identifier: BSD-2-Clause */
#include "micro/sched/memory_floor.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "micro/sched/timing.h"

#define LINE	 64
#define WORDS(b) ((b) / LINE)

double memory_floor_dependent_ns(size_t bytes)
{
	size_t n = WORDS(bytes);
	uint64_t(*line)[LINE / 8] = timing_map(bytes), seed = 1, start, at = 0;

	if (!line)
		return -1;
	/* one cycle through all lines in random order (Sattolo) */
	for (size_t i = 0; i < n; i++)
		line[i][0] = i;
	for (size_t i = n - 1; i > 0; i--) {
		size_t j = timing_random(&seed) % i;
		uint64_t swap = line[i][0];

		line[i][0] = line[j][0];
		line[j][0] = swap;
	}
	for (size_t i = 0; i < n && i < MEMORY_FLOOR_LOADS; i++)
		at = line[at][0];
	start = clock_now_ns();
	for (unsigned i = 0; i < MEMORY_FLOOR_LOADS; i++)
		at = line[at][0];
	start = clock_now_ns() - start;
	timing_keep(at);
	timing_unmap(line, bytes);
	return (double)start / MEMORY_FLOOR_LOADS;
}

struct region {
	uint64_t (*line)[LINE / 8];
	uint64_t n;
	uint32_t *where; /* drawn beforehand: nothing but the load itself is measured */
	uint64_t at;
};

#define WHERE (1u << 22)

static int gather_create(void **out, const uint64_t *keys, size_t n)
{
	struct region *r = calloc(1, sizeof(*r));
	uint64_t seed = 11;

	(void)keys;
	*out = r;
	if (!r)
		return -ENOMEM;
	r->n = (n * 10 + 41) / 42;
	r->line = timing_map(r->n * LINE);
	r->where = timing_map(WHERE * sizeof(*r->where));
	if (!r->line || !r->where)
		return -ENOMEM;
	for (uint64_t i = 0; i < r->n; i++)
		r->line[i][0] = i;
	for (uint64_t i = 0; i < WHERE; i++)
		r->where[i] = (uint32_t)(timing_random(&seed) % r->n);
	return 0;
}

static void gather_destroy(void *table)
{
	struct region *r = table;

	if (r) {
		timing_unmap(r->line, r->n * LINE);
		timing_unmap(r->where, WHERE * sizeof(*r->where));
	}
	free(r);
}

static uint64_t gather(void *table, const uint64_t *keys, size_t n)
{
	struct region *r = table;
	uint64_t at = __atomic_fetch_add(&r->at, n, __ATOMIC_RELAXED) % WHERE, sum = 0;
	const uint32_t *where = r->where + (at + n <= WHERE ? at : 0);

	(void)keys;
	for (size_t i = 0; i < n; i++)
		sum += r->line[where[i]][0];
	return sum;
}

const struct lookup_peer memory_floor_gather = {"floor", gather_create, gather_destroy, gather,
						NULL};
