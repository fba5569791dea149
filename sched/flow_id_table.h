/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flow_id_table.h - 64-bit flow id -> 32-bit slot, 1k to 16M flows (pure; memory from mmap once, at
 * creation).
 *
 * Solely owns: its lines. In: any 64-bit ids, slots; out: slots. Threads: one writer, any number of
 * readers, as in conn_table.h, with the same promise: never a slot that was not this id's, never
 * "none" for an id that was there all along.
 *
 * A line is 64 bytes: four ids, their slots and epochs, a count of the entries that passed over
 * this line (overflow as in conn_table.h), and the line's generation. An id and its slot do not fit
 * one store, so a reader must not pair the id of one entry with the slot of the next one in that
 * place: the writer counts the generation up between storing a new id and its slot, and a reader
 * takes a slot only if the generation was the same before it read the id and after it read the
 * slot. A lane is empty when its slot is FLOW_ID_TABLE_NONE; erasing and moving are one store of
 * the slot. There is no odd or locked state: a writer that dies anywhere blocks nobody.
 *
 * Why not cuckoo hashing, which packs as tightly: it displaces entries, so a reader could miss one
 * in flight; and here a miss mostly ends at one line, not always at two. 21.3 bytes an entry at the
 * fullest (load 0.75).
 */
#ifndef FLOW_ID_TABLE_H
#define FLOW_ID_TABLE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "line_hash.h"
#include "simd.h"

#define FLOW_ID_TABLE_NONE	  UINT32_MAX
#define FLOW_ID_TABLE_MAX_ENTRIES (16u << 20)
#define FLOW_ID_TABLE_MAX_AGE	  253
#define FLOW_ID_TABLE_REACH                                                                        \
	256 /* lines that an entry may be from home: bounds every reader's work */
#define FLOW_ID_TABLE_RETRIES 64
#define FLOW_ID_TABLE_BATCH   32
#define FLOW_ID_TABLE_LANES   4

struct flow_id_line {
	_Alignas(64) _Atomic uint64_t id[FLOW_ID_TABLE_LANES];
	_Atomic uint32_t slot[FLOW_ID_TABLE_LANES];
	_Atomic uint64_t generation; /* ids replaced so far: 64 bits do not wrap */
	_Atomic uint32_t passed;
	uint8_t epoch[FLOW_ID_TABLE_LANES]; /* the writer's alone; 0: empty */
};

struct flow_id_table_attr {
	uint32_t max_entries; /* 1 .. FLOW_ID_TABLE_MAX_ENTRIES */
	uint32_t max_age;     /* passes, 1 .. FLOW_ID_TABLE_MAX_AGE; 0: the latter */
	uint64_t seed; /* random, if ids may come from somebody who would like them to collide */
	enum simd_isa isa;
};

/* To be read by the functions below alone; here so that they can be inline. */
struct flow_id_table {
	struct flow_id_line *lines;
	uint64_t n_lines;
	struct line_hash hash;
	uint32_t (*lookup)(const struct flow_id_table *t, uint64_t id);
	void (*lookup_batch)(const struct flow_id_table *t, const uint64_t *ids, uint32_t *slots,
			     size_t n);
	uint32_t (*match)(const _Atomic uint64_t *id, uint64_t want);
	/* the writer's */
	uint32_t n_entries, max_entries;
	uint32_t epoch, stale;
	uint64_t sweep_at;
	size_t bytes;
	enum simd_isa isa;
};

/* 0; -EINVAL; -ENOMEM; -ENOTSUP: no such instructions here. */
int flow_id_table_create(struct flow_id_table **out, const struct flow_id_table_attr *attr);
void flow_id_table_destroy(struct flow_id_table *t); /* no reader may be left; NULL is fine */

/*
 * Readers. The slot, or FLOW_ID_TABLE_NONE: absent (or, FLOW_ID_TABLE_RETRIES times in a row, the
 * writer put another flow into this very line between two loads).
 */
static inline uint32_t flow_id_table_lookup(const struct flow_id_table *t, uint64_t id)
{
	return t->lookup(t, id);
}
static inline void flow_id_table_lookup_batch(const struct flow_id_table *t, const uint64_t *ids,
					      uint32_t *slots, size_t n)
{
	t->lookup_batch(t, ids, slots, n);
}

/* Writer. 0; -EINVAL: slot is FLOW_ID_TABLE_NONE; -EEXIST; -ENOSPC. */
int flow_id_table_insert(struct flow_id_table *t, uint64_t id, uint32_t slot);
int flow_id_table_erase(struct flow_id_table *t, uint64_t id); /* 0 or -ENOENT */
int flow_id_table_move(struct flow_id_table *t, uint64_t id,
		       uint32_t slot);			       /* -ENOENT, -EINVAL; touches too */
int flow_id_table_touch(struct flow_id_table *t, uint64_t id); /* 0 or -ENOENT: used now */

/* As conn_table_sweep(). */
uint32_t flow_id_table_sweep(struct flow_id_table *t, uint64_t n_lines,
			     void (*on_expired)(void *context, uint64_t id, uint32_t slot),
			     void *context);

#endif
