/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * conn_table.h - (destination, QPN) -> slot for 1k to 16M connections (pure; memory given, or from
 * mmap once).
 *
 * Solely owns: its lines. In: 40-bit keys, 16-bit slots; out: slots. Threads: one writer (insert,
 * erase, move, touch, sweep), any number of readers (lookup), none of which waits for anybody.
 *
 * A line is 64 bytes: seven lanes of 8 bytes and a count. A lane is a whole entry, key (40 bits),
 * slot (16) and epoch of last use (8), so an entry changes by one aligned 8-byte store and no
 * reader can see half of one. An entry stands in its home line or, if that was full when it came,
 * in the first line after it that had room; every line it had to pass counts it. So nothing is ever
 * displaced and no tombstones remain: a lookup goes on to the next line only while the count is not
 * 0. At the fullest (four entries a line, load 0.57) an entry costs 16 bytes.
 *
 * What readers are promised, beside a writer at any instruction: a slot that is returned was this
 * key's slot at some moment during the call; "none" is returned only if the key was absent at some
 * moment during the call. (An entry keeps its lane as long as it lives, and every line from home to
 * it keeps a count, so a scan cannot miss it.)
 *
 * Idle expiry: one epoch is one pass of conn_table_sweep() over all lines. What was not touched for
 * max_age whole passes is erased. Readers do not write, so whoever sees the traffic tells the
 * writer.
 *
 * FARE-in-SUN 3.1 (connection table, burst-gap expiry).
 */
#ifndef CONN_TABLE_H
#define CONN_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "line_hash.h"
#include "line_match.h"
#include "simd.h"

#define CONN_TABLE_NONE	       UINT32_MAX
#define CONN_TABLE_MAX_ENTRIES (16u << 20)
#define CONN_TABLE_KEY_BITS    40
#define CONN_TABLE_MAX_AGE     253 /* epochs 1..255, cyclic; 0 is an empty lane */
#define CONN_TABLE_REACH       64  /* lines an entry may be from home: bounds every reader's work */
#define CONN_TABLE_BATCH       32

struct conn_line {
	_Alignas(64) _Atomic uint64_t lane[8]; /* [7]: entries that passed over this line */
};

struct conn_table;

struct conn_table_attr {
	uint32_t max_entries; /* 1 .. CONN_TABLE_MAX_ENTRIES */
	uint32_t max_age;     /* passes, 1 .. CONN_TABLE_MAX_AGE; 0: CONN_TABLE_MAX_AGE */
	uint64_t seed; /* random, if keys may come from somebody who would like them to collide */
	enum simd_isa isa;
	/*
	 * Where the lines stand: NULL for memory of its own; else conn_table_bytes() that others
	 * map too, 64-byte aligned, borrowed until destroyed. All zero is an empty table.
	 */
	void *memory;
};

/* To be read by the functions below alone; here so that they can be inline. */
struct conn_table {
	struct conn_line *lines;
	uint64_t n_lines;
	struct line_hash hash;
	uint32_t (*lookup)(const struct conn_table *t, uint64_t key);
	void (*lookup_batch)(const struct conn_table *t, const uint64_t *keys, uint32_t *slots,
			     size_t n);
	uint32_t (*match)(const _Atomic uint64_t *lane, uint64_t mask, uint64_t want);
	/* the writer's */
	uint32_t n_entries, max_entries;
	uint32_t epoch, stale; /* now, and the one that is too old */
	uint64_t sweep_at;
	size_t bytes;
	enum simd_isa isa;
	bool borrowed;
};

/* 0; -EINVAL; -ENOMEM; -ENOTSUP: no such instructions here. */
int conn_table_create(struct conn_table **out, const struct conn_table_attr *attr);
void conn_table_destroy(struct conn_table *t); /* no reader may be left; NULL is fine */
size_t conn_table_bytes(uint32_t max_entries); /* that the lines take */

/*
 * A new writer takes over lines that another left, dead at any instruction or hostile: keeps what
 * stands where a lookup finds it, erases the rest, puts the counts right, beside readers that miss
 * nothing of what is kept. All that is kept counts as used now. Same max_entries and seed as
 * before. Returns how many entries there are; -ENOMEM.
 */
int64_t conn_table_adopt(struct conn_table *t);

/* qpn: 24 bits. */
static inline uint64_t conn_table_key(uint16_t destination, uint32_t qpn)
{
	return (uint64_t)destination << 24 | (qpn & 0xffffff);
}

/*
 * What follows the key in its lane of this line, or 0: it is not in the line, or it is key 0, which
 * an empty lane looks like. Keys of 40 bits only. One for each instruction set.
 */
#define CONN_LINE_MASK (~UINT64_C(0) << 24)
#define CONN_LINE_IN(isa, target)                                                                  \
	target static inline uint32_t conn_line_in_##isa(const struct conn_line *line,             \
							 uint64_t key)                             \
	{                                                                                          \
		uint32_t hits = line_match8_##isa(line->lane, CONN_LINE_MASK, key << 24) & 0x7f;   \
		uint64_t v;                                                                        \
                                                                                                   \
		if (__builtin_expect(!hits, 0))                                                    \
			return 0;                                                                  \
		v = atomic_load_explicit(&line->lane[__builtin_ctz(hits)], memory_order_acquire);  \
		return v >> 24 == key ? (uint32_t)v & 0xffffff : 0;                                \
	}

CONN_LINE_IN(scalar, LINE_TARGET_SCALAR)
#if defined(__x86_64__)
CONN_LINE_IN(sse2, LINE_TARGET_SSE2)
CONN_LINE_IN(avx2, LINE_TARGET_AVX2)
LINE_TARGET_AVX512 static inline uint32_t conn_line_in_avx512(const struct conn_line *line,
							      uint64_t key)
{
	return (uint32_t)line_take7_avx512(line->lane, CONN_LINE_MASK, key << 24);
}
#elif defined(__aarch64__)
CONN_LINE_IN(neon, LINE_TARGET_NEON)
#endif

#if defined(__AVX512F__) || defined(__AVX2__)
/*
 * For a caller that is itself built for such a processor: the home line without a call, the rest
 * with one.
 */
static inline uint32_t conn_table_lookup_here(const struct conn_table *t, uint64_t key)
{
	const struct conn_line *line = &t->lines[line_hash(t->hash, key, t->n_lines)];
#if defined(__AVX512F__)
	uint32_t v = conn_line_in_avx512(line, key);
#else
	uint32_t v = conn_line_in_avx2(line, key);
#endif

	if (__builtin_expect(v != 0 && !(key >> CONN_TABLE_KEY_BITS), 1))
		return v >> 8;
	if (key && !atomic_load_explicit(&line->lane[7], memory_order_acquire))
		return CONN_TABLE_NONE;
	return t->lookup(t, key);
}
#endif

/* Readers. The slot, or CONN_TABLE_NONE. Keys above 40 bits are in no table. */
static inline uint32_t conn_table_lookup(const struct conn_table *t, uint64_t key)
{
#if defined(__AVX512F__) || defined(__AVX2__)
	return conn_table_lookup_here(t, key);
#else
	return t->lookup(t, key);
#endif
}
/*
 * The same for n keys at once, so many memory accesses overlapping: CONN_TABLE_BATCH pay, twice and
 * four times that pay better.
 */
static inline void conn_table_lookup_batch(const struct conn_table *t, const uint64_t *keys,
					   uint32_t *slots, size_t n)
{
	t->lookup_batch(t, keys, slots, n);
}

/* Writer. 0; -EINVAL: key too large; -EEXIST; -ENOSPC: max_entries, or no room within reach. */
int conn_table_insert(struct conn_table *t, uint64_t key, uint16_t slot);
int conn_table_erase(struct conn_table *t, uint64_t key); /* 0 or -ENOENT */
int conn_table_move(struct conn_table *t, uint64_t key,
		    uint16_t slot);			  /* 0 or -ENOENT; touches too */
int conn_table_touch(struct conn_table *t, uint64_t key); /* 0 or -ENOENT: used now */

/*
 * Goes over the next n_lines lines (all of them at most) and erases what was idle too long;
 * on_expired (may be NULL) is told of each before it goes, and must not change the table. Returns
 * how many went.
 */
uint32_t conn_table_sweep(struct conn_table *t, uint64_t n_lines,
			  void (*on_expired)(void *context, uint64_t key, uint16_t slot),
			  void *context);

#endif
