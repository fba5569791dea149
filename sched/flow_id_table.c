/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow_id_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "line_match.h"
#include "line_memory.h"

#define LANES  FLOW_ID_TABLE_LANES
#define NONE   FLOW_ID_TABLE_NONE
#define BATCH  FLOW_ID_TABLE_BATCH
#define EPOCHS 255u

_Static_assert(sizeof(struct flow_id_line) == 64, "a line is a cache line");

static uint32_t slot_load(const struct flow_id_line *line, unsigned i)
{
	return atomic_load_explicit(&line->slot[i], memory_order_acquire);
}

static uint64_t generation_load(const struct flow_id_line *line)
{
	return atomic_load_explicit(&line->generation, memory_order_acquire);
}

static uint32_t passed_load(const struct flow_id_line *line)
{
	return atomic_load_explicit(&line->passed, memory_order_acquire);
}

static inline uint64_t next_line(const struct flow_id_table *t, uint64_t at)
{
	return at + 1 < t->n_lines ? at + 1 : 0;
}

static inline uint64_t home_of(const struct flow_id_table *t, uint64_t id)
{
	return line_hash(t->hash, id, t->n_lines);
}

/*
 * The slot of lane i if it is id's. Should the lane have been given to another flow, then either
 * the generation read first is newer, and so is the id that is read after it; or the slot is newer,
 * and so is the generation read after it. False: read again.
 */
static inline bool lane_read(const struct flow_id_line *line, unsigned i, uint64_t id,
			     uint32_t *slot)
{
	uint64_t generation = generation_load(line);

	*slot = NONE;
	if (atomic_load_explicit(&line->id[i], memory_order_acquire) != id)
		return true;
	*slot = slot_load(line, i);
	return generation_load(line) == generation;
}

/* Asks for the home line of an id, and for the one after it, which every eighth or so needs. */
static inline uint64_t ask(const struct flow_id_table *t, uint64_t id)
{
	uint64_t home = home_of(t, id);

	line_memory_ask(&t->lines[home]);
	line_memory_ask(&t->lines[home + 1]); /* of the last one nothing, which may be asked for */
	return home;
}

#define FLOW_ID_TABLE_LOOKUPS(isa, target)                                                         \
	target static inline uint32_t line_find_##isa(const struct flow_id_line *line,             \
						      uint64_t id)                                 \
	{                                                                                          \
		for (unsigned retry = 0; retry < FLOW_ID_TABLE_RETRIES; retry++) {                 \
			uint32_t hits = line_match4_##isa(line->id, id);                           \
			bool whole = true;                                                         \
                                                                                                   \
			for (; hits && whole; hits &= hits - 1) {                                  \
				uint32_t slot;                                                     \
                                                                                                   \
				whole = lane_read(line, (unsigned)__builtin_ctz(hits), id, &slot); \
				if (whole && slot != NONE)                                         \
					return slot;                                               \
			}                                                                          \
			if (whole)                                                                 \
				break;                                                             \
		}                                                                                  \
		return NONE;                                                                       \
	}                                                                                          \
	target static inline uint32_t lookup_from_##isa(const struct flow_id_table *t,             \
							uint64_t id, uint64_t at)                  \
	{                                                                                          \
		for (unsigned n = 0; n < FLOW_ID_TABLE_REACH; n++) {                               \
			const struct flow_id_line *line = &t->lines[at];                           \
			uint32_t slot = line_find_##isa(line, id);                                 \
                                                                                                   \
			if (slot != NONE || !passed_load(line))                                    \
				return slot;                                                       \
			at = next_line(t, at);                                                     \
		}                                                                                  \
		return NONE;                                                                       \
	}                                                                                          \
	target static uint32_t lookup_##isa(const struct flow_id_table *t, uint64_t id)            \
	{                                                                                          \
		return lookup_from_##isa(t, id, home_of(t, id));                                   \
	}                                                                                          \
	target static void batch_##isa(const struct flow_id_table *t, const uint64_t *ids,         \
				       uint32_t *slots, size_t n)                                  \
	{                                                                                          \
		uint64_t home[BATCH];                                                              \
		size_t ahead = n < BATCH ? n : BATCH;                                              \
                                                                                                   \
		for (size_t i = 0; i < ahead; i++)                                                 \
			home[i] = ask(t, ids[i]);                                                  \
		for (size_t i = 0; i < n; i++) {                                                   \
			uint64_t at = home[i % BATCH];                                             \
                                                                                                   \
			if (i + BATCH < n)                                                         \
				home[i % BATCH] = ask(t, ids[i + BATCH]);                          \
			slots[i] = lookup_from_##isa(t, ids[i], at);                               \
		}                                                                                  \
	}                                                                                          \
	target static uint32_t match_##isa(const _Atomic uint64_t *id, uint64_t want)              \
	{                                                                                          \
		return line_match4_##isa(id, want);                                                \
	}

#define ONE_ISA(name, isa, target) FLOW_ID_TABLE_LOOKUPS(isa, target)
LINE_MATCH_ISAS(ONE_ISA)

#define USE_ISA(name, isa, target)                                                                 \
	case name:                                                                                 \
		t->lookup = lookup_##isa;                                                          \
		t->lookup_batch = batch_##isa;                                                     \
		t->match = match_##isa;                                                            \
		break;

static void use(struct flow_id_table *t, enum simd_isa isa)
{
	t->isa = isa == SIMD_AUTO ? simd_best() : isa;
	switch (t->isa) {
		LINE_MATCH_ISAS(USE_ISA)
	default:
		break;
	}
}

/* Fresh memory is all zero, but an empty lane says so by its slot. */
static void lines_clear(struct flow_id_table *t)
{
	for (uint64_t l = 0; l < t->n_lines; l++)
		for (unsigned i = 0; i < LANES; i++)
			atomic_init(&t->lines[l].slot[i], NONE);
}

int flow_id_table_create(struct flow_id_table **out, const struct flow_id_table_attr *attr)
{
	uint32_t max_age = attr->max_age ? attr->max_age : FLOW_ID_TABLE_MAX_AGE;
	struct flow_id_table *t;

	*out = NULL;
	if (!attr->max_entries || attr->max_entries > FLOW_ID_TABLE_MAX_ENTRIES ||
	    max_age > FLOW_ID_TABLE_MAX_AGE)
		return -EINVAL;
	if (!simd_has(attr->isa))
		return -ENOTSUP;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->max_entries = attr->max_entries;
	t->n_lines = ((uint64_t)attr->max_entries + 2) / 3; /* 4 lanes x 0.75 */
	t->hash = line_hash_from_seed(attr->seed);
	t->epoch = 1;
	t->stale = EPOCHS - max_age;
	t->bytes = t->n_lines * sizeof(*t->lines);
	t->lines = line_memory_take(t->bytes);
	if (!t->lines) {
		free(t);
		return -ENOMEM;
	}
	lines_clear(t);
	use(t, attr->isa);
	*out = t;
	return 0;
}

void flow_id_table_destroy(struct flow_id_table *t)
{
	if (!t)
		return;
	line_memory_give(t->lines, t->bytes);
	free(t);
}

struct place {
	struct flow_id_line *line;
	unsigned lane;
};

static bool line_vacant(struct flow_id_line *line, struct place *vacant)
{
	for (unsigned i = 0; i < LANES; i++) {
		if (line->epoch[i])
			continue;
		*vacant = (struct place){line, i};
		return true;
	}
	return false;
}

/* Where id stands. *vacant (may be NULL): the first empty lane met on the way, line NULL if there
 * was none. */
static bool find(const struct flow_id_table *t, uint64_t id, struct place *at, struct place *vacant)
{
	uint64_t l = home_of(t, id);

	if (vacant)
		vacant->line = NULL;
	for (unsigned n = 0; n < FLOW_ID_TABLE_REACH; n++, l = next_line(t, l)) {
		struct flow_id_line *line = &t->lines[l];
		uint32_t hits = t->match(line->id, id);

		for (; hits; hits &= hits - 1) {
			unsigned i = (unsigned)__builtin_ctz(hits);

			if (!line->epoch[i])
				continue;
			*at = (struct place){line, i};
			return true;
		}
		if (vacant && !vacant->line)
			line_vacant(line, vacant);
		if (!passed_load(line))
			break;
	}
	return false;
}

static bool find_vacant(const struct flow_id_table *t, uint64_t home, struct place *vacant)
{
	for (unsigned n = 0; n < FLOW_ID_TABLE_REACH; n++, home = next_line(t, home))
		if (line_vacant(&t->lines[home], vacant))
			return true;
	return false;
}

/* Adds to the counts of all lines from id's home up to, not including, line. */
static void count_passed(struct flow_id_table *t, uint64_t id, const struct flow_id_line *line,
			 uint32_t add)
{
	for (uint64_t l = home_of(t, id); &t->lines[l] != line; l = next_line(t, l))
		atomic_store_explicit(&t->lines[l].passed, passed_load(&t->lines[l]) + add,
				      memory_order_release);
}

int flow_id_table_insert(struct flow_id_table *t, uint64_t id, uint32_t slot)
{
	struct place at, v;

	if (slot == NONE)
		return -EINVAL;
	if (find(t, id, &at, &v))
		return -EEXIST;
	if (t->n_entries >= t->max_entries || (!v.line && !find_vacant(t, home_of(t, id), &v)))
		return -ENOSPC;
	count_passed(t, id, v.line, 1);
	/* id, generation, slot: the order that lane_read() relies on */
	atomic_store_explicit(&v.line->id[v.lane], id, memory_order_release);
	atomic_store_explicit(&v.line->generation, generation_load(v.line) + 1,
			      memory_order_release);
	atomic_store_explicit(&v.line->slot[v.lane], slot, memory_order_release);
	v.line->epoch[v.lane] = (uint8_t)t->epoch;
	t->n_entries++;
	return 0;
}

static void erase_at(struct flow_id_table *t, uint64_t id, struct place at)
{
	atomic_store_explicit(&at.line->slot[at.lane], NONE, memory_order_release);
	at.line->epoch[at.lane] = 0;
	count_passed(t, id, at.line, (uint32_t)-1);
	t->n_entries--;
}

int flow_id_table_erase(struct flow_id_table *t, uint64_t id)
{
	struct place at;

	if (!find(t, id, &at, NULL))
		return -ENOENT;
	erase_at(t, id, at);
	return 0;
}

int flow_id_table_move(struct flow_id_table *t, uint64_t id, uint32_t slot)
{
	struct place at;

	if (slot == NONE)
		return -EINVAL;
	if (!find(t, id, &at, NULL))
		return -ENOENT;
	atomic_store_explicit(&at.line->slot[at.lane], slot, memory_order_release);
	at.line->epoch[at.lane] = (uint8_t)t->epoch;
	return 0;
}

int flow_id_table_touch(struct flow_id_table *t, uint64_t id)
{
	struct place at;

	if (!find(t, id, &at, NULL))
		return -ENOENT;
	if (at.line->epoch[at.lane] != t->epoch) /* do not dirty the line that others read */
		at.line->epoch[at.lane] = (uint8_t)t->epoch;
	return 0;
}

uint32_t flow_id_table_sweep(struct flow_id_table *t, uint64_t n_lines,
			     void (*on_expired)(void *context, uint64_t id, uint32_t slot),
			     void *context)
{
	uint32_t before = t->n_entries;

	n_lines = n_lines < t->n_lines ? n_lines : t->n_lines;
	for (; n_lines; n_lines--) {
		struct flow_id_line *line = &t->lines[t->sweep_at];

		for (unsigned i = 0; i < LANES; i++) {
			uint64_t id = atomic_load_explicit(&line->id[i], memory_order_relaxed);

			if (line->epoch[i] != t->stale)
				continue;
			if (on_expired)
				on_expired(context, id, slot_load(line, i));
			erase_at(t, id, (struct place){line, i});
		}
		t->sweep_at = next_line(t, t->sweep_at);
		if (t->sweep_at)
			continue;
		t->epoch = t->epoch % EPOCHS + 1;
		t->stale = t->stale % EPOCHS + 1;
	}
	return before - t->n_entries;
}
