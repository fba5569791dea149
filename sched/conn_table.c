/* SPDX-License-Identifier: BSD-2-Clause */
#include "conn_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "line_match.h"
#include "line_memory.h"

#define COUNT	  7
#define KEY_MASK  CONN_LINE_MASK
#define SLOT(v)	  ((uint32_t)((v) >> 8) & 0xffff)
#define EPOCH(v)  ((uint32_t)(v)&0xff)
#define EPOCHS	  255u
#define BATCH	  CONN_TABLE_BATCH
#define LANE_BITS 0x7fu /* of a match: the count is no entry */

#define FULLEST 4u /* entries per line: one in fifty then stands beyond its home */

_Static_assert(sizeof(struct conn_line) == 64, "a line is a cache line");

static uint64_t lane_load(const struct conn_line *line, unsigned i)
{
	return atomic_load_explicit(&line->lane[i], memory_order_acquire);
}

static void lane_store(struct conn_line *line, unsigned i, uint64_t value)
{
	atomic_store_explicit(&line->lane[i], value, memory_order_release);
}

static inline uint64_t next_line(const struct conn_table *t, uint64_t at)
{
	return at + 1 < t->n_lines ? at + 1 : 0;
}

static inline uint64_t home_of(const struct conn_table *t, uint64_t key)
{
	return line_hash(t->hash, key, t->n_lines);
}

/*
 * Asks for the home lines of n keys. Not for the ones after them, though a few keys in a hundred go
 * on there: where memory is busy, twice the lines cost all keys more than those few wait.
 */
static inline void ask(const struct conn_table *t, const uint64_t *keys, uint32_t *home, size_t n)
{
	const struct conn_line *const lines = t->lines;
	const struct line_hash hash = t->hash;
	const uint64_t n_lines = t->n_lines;

	for (size_t i = 0; i < n; i++) {
		home[i] = (uint32_t)line_hash(hash, keys[i], n_lines);
		line_memory_ask(&lines[home[i]]);
	}
}

#if defined(__x86_64__)
LINE_TARGET_AVX512 static inline void ask_avx512(const struct conn_table *t, const uint64_t *keys,
						 uint32_t *home, size_t n)
{
	const struct conn_line *const lines = t->lines;
	const struct line_hash hash = t->hash;
	const uint64_t n_lines = t->n_lines;
	size_t i = 0;

	for (; i + 8 <= n; i += 8) {
		line_hash8_avx512(hash, keys + i, n_lines, home + i);
		for (size_t k = 0; k < 8; k++)
			line_memory_ask(&lines[home[i + k]]);
	}
	ask(t, keys + i, home + i, n - i);
}
#endif
#define ask_scalar ask
#define ask_sse2   ask
#define ask_avx2   ask
#define ask_neon   ask

/*
 * The lookup of one instruction set. The vector compare only says where to look: the lane is loaded
 * again, whole, and must hold the key and be in use (an empty lane looks like key 0). A batch asks
 * for BATCH lines before it looks into the BATCH before them, and into home lines alone
 * (conn_line_in), nearly always enough, by few instructions: between two lines that memory delivers
 * there is time for little more.
 */
#define CONN_TABLE_LOOKUPS(isa, target)                                                            \
	target static inline uint32_t lookup_from_##isa(const struct conn_table *t, uint64_t key,  \
							uint64_t at)                               \
	{                                                                                          \
		for (unsigned n = 0; n < CONN_TABLE_REACH; n++) {                                  \
			const struct conn_line *line = &t->lines[at];                              \
			uint32_t hits = line_match8_##isa(line->lane, KEY_MASK, key << 24);        \
                                                                                                   \
			for (hits &= LANE_BITS; hits; hits &= hits - 1) {                          \
				uint64_t v = lane_load(line, (unsigned)__builtin_ctz(hits));       \
                                                                                                   \
				if (v >> 24 == key && EPOCH(v))                                    \
					return SLOT(v);                                            \
			}                                                                          \
			if (!lane_load(line, COUNT))                                               \
				break;                                                             \
			at = next_line(t, at);                                                     \
		}                                                                                  \
		return CONN_TABLE_NONE;                                                            \
	}                                                                                          \
	target __attribute__((noinline)) static uint32_t lookup_##isa(const struct conn_table *t,  \
								      uint64_t key)                \
	{                                                                                          \
		return lookup_from_##isa(t, key, home_of(t, key));                                 \
	}                                                                                          \
	target static void batch_##isa(const struct conn_table *t, const uint64_t *keys,           \
				       uint32_t *slots, size_t n)                                  \
	{                                                                                          \
		const struct conn_line *const lines = t->lines;                                    \
		uint32_t home[2][BATCH];                                                           \
		size_t now = n < BATCH ? n : BATCH, next;                                          \
                                                                                                   \
		ask_##isa(t, keys, home[0], now);                                                  \
		for (unsigned turn = 0; n; turn = !turn) {                                         \
			n -= now;                                                                  \
			next = n < BATCH ? n : BATCH;                                              \
			ask_##isa(t, keys + now, home[!turn], next);                               \
			for (size_t i = 0; i < now; i++) {                                         \
				uint64_t key = keys[i];                                            \
				uint32_t v = conn_line_in_##isa(&lines[home[turn][i]], key);       \
                                                                                                   \
				if (__builtin_expect(v && !(key >> CONN_TABLE_KEY_BITS), 1))       \
					slots[i] = v >> 8;                                         \
				else                                                               \
					slots[i] = lookup_##isa(t, key);                           \
			}                                                                          \
			keys += now;                                                               \
			slots += now;                                                              \
			now = next;                                                                \
		}                                                                                  \
	}                                                                                          \
	target static uint32_t match_##isa(const _Atomic uint64_t *lane, uint64_t mask,            \
					   uint64_t want)                                          \
	{                                                                                          \
		return line_match8_##isa(lane, mask, want) & LANE_BITS;                            \
	}

#define ONE_ISA(name, isa, target) CONN_TABLE_LOOKUPS(isa, target)
LINE_MATCH_ISAS(ONE_ISA)

#define USE_ISA(name, isa, target)                                                                 \
	case name:                                                                                 \
		t->lookup = lookup_##isa;                                                          \
		t->lookup_batch = batch_##isa;                                                     \
		t->match = match_##isa;                                                            \
		break;

static void use(struct conn_table *t, enum simd_isa isa)
{
	t->isa = isa == SIMD_AUTO ? simd_best() : isa;
	switch (t->isa) {
		LINE_MATCH_ISAS(USE_ISA)
	default:
		break;
	}
}

/* The epoch so many before e, in 1..255. */
static uint32_t epoch_before(uint32_t e, uint32_t ago)
{
	return (e - 1 + EPOCHS - ago) % EPOCHS + 1;
}

static uint64_t lines_for(uint32_t max_entries)
{
	return ((uint64_t)max_entries + FULLEST - 1) / FULLEST;
}

size_t conn_table_bytes(uint32_t max_entries)
{
	return lines_for(max_entries) * sizeof(struct conn_line);
}

static int take_memory(struct conn_table *t, void *memory)
{
	t->borrowed = memory != NULL;
	t->lines = memory;
	if (memory)
		return (uintptr_t)memory % sizeof(struct conn_line) ? -EINVAL : 0;
	t->lines = line_memory_take(t->bytes);
	return t->lines ? 0 : -ENOMEM;
}

int conn_table_create(struct conn_table **out, const struct conn_table_attr *attr)
{
	uint32_t max_age = attr->max_age ? attr->max_age : CONN_TABLE_MAX_AGE;
	struct conn_table *t;
	int err;

	*out = NULL;
	if (!attr->max_entries || attr->max_entries > CONN_TABLE_MAX_ENTRIES ||
	    max_age > CONN_TABLE_MAX_AGE)
		return -EINVAL;
	if (!simd_has(attr->isa))
		return -ENOTSUP;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->max_entries = attr->max_entries;
	t->n_lines = lines_for(attr->max_entries);
	t->hash = line_hash_from_seed(attr->seed);
	t->epoch = 1;
	t->stale = epoch_before(1, max_age + 1);
	t->bytes = t->n_lines * sizeof(*t->lines);
	err = take_memory(t, attr->memory);
	if (err) {
		free(t);
		return err;
	}
	use(t, attr->isa);
	*out = t;
	return 0;
}

void conn_table_destroy(struct conn_table *t)
{
	if (!t)
		return;
	if (!t->borrowed)
		line_memory_give(t->lines, t->bytes);
	free(t);
}

struct place {
	struct conn_line *line;
	unsigned lane;
};

/* Where key stands. *vacant (may be NULL): the first empty lane met on the way, line NULL if there
 * was none. */
static bool find(const struct conn_table *t, uint64_t key, struct place *at, struct place *vacant)
{
	uint64_t l = home_of(t, key);

	if (vacant)
		vacant->line = NULL;
	if (key >> CONN_TABLE_KEY_BITS) /* shifted, it would look like another */
		return false;
	for (unsigned n = 0; n < CONN_TABLE_REACH; n++, l = next_line(t, l)) {
		struct conn_line *line = &t->lines[l];
		uint32_t hits = t->match(line->lane, KEY_MASK, key << 24), empty;

		for (; hits; hits &= hits - 1) {
			unsigned i = (unsigned)__builtin_ctz(hits);

			if (!EPOCH(lane_load(line, i)))
				continue;
			*at = (struct place){line, i};
			return true;
		}
		if (vacant && !vacant->line && (empty = t->match(line->lane, ~UINT64_C(0), 0)) != 0)
			*vacant = (struct place){line, (unsigned)__builtin_ctz(empty)};
		if (!lane_load(line, COUNT))
			break;
	}
	return false;
}

/* The first empty lane within reach of home. */
static bool find_vacant(const struct conn_table *t, uint64_t home, struct place *vacant)
{
	for (unsigned n = 0; n < CONN_TABLE_REACH; n++, home = next_line(t, home)) {
		struct conn_line *line = &t->lines[home];
		uint32_t empty = t->match(line->lane, ~UINT64_C(0), 0);

		if (!empty)
			continue;
		*vacant = (struct place){line, (unsigned)__builtin_ctz(empty)};
		return true;
	}
	return false;
}

/* Adds to the counts of all lines from key's home up to, not including, line. */
static void count_passed(struct conn_table *t, uint64_t key, const struct conn_line *line,
			 uint64_t add)
{
	for (uint64_t l = home_of(t, key); &t->lines[l] != line; l = next_line(t, l)) {
		uint64_t count = lane_load(&t->lines[l], COUNT);

		lane_store(&t->lines[l], COUNT, count + add);
	}
}

static uint64_t lane_value(const struct conn_table *t, uint64_t key, uint16_t slot)
{
	return key << 24 | (uint64_t)slot << 8 | t->epoch;
}

int conn_table_insert(struct conn_table *t, uint64_t key, uint16_t slot)
{
	struct place at, vacant;

	if (key >> CONN_TABLE_KEY_BITS)
		return -EINVAL;
	if (find(t, key, &at, &vacant))
		return -EEXIST;
	if (t->n_entries >= t->max_entries)
		return -ENOSPC;
	if (!vacant.line && !find_vacant(t, home_of(t, key), &vacant))
		return -ENOSPC;
	/* counts first: from the moment the entry is there, every reader's way to it is open */
	count_passed(t, key, vacant.line, 1);
	lane_store(vacant.line, vacant.lane, lane_value(t, key, slot));
	t->n_entries++;
	return 0;
}

/* The entry first: while a reader may still find it, its way there stays open. */
static void erase_at(struct conn_table *t, uint64_t key, struct place at)
{
	lane_store(at.line, at.lane, 0);
	count_passed(t, key, at.line, (uint64_t)-1);
	t->n_entries--;
}

int conn_table_erase(struct conn_table *t, uint64_t key)
{
	struct place at;

	if (!find(t, key, &at, NULL))
		return -ENOENT;
	erase_at(t, key, at);
	return 0;
}

int conn_table_move(struct conn_table *t, uint64_t key, uint16_t slot)
{
	struct place at;

	if (!find(t, key, &at, NULL))
		return -ENOENT;
	lane_store(at.line, at.lane, lane_value(t, key, slot));
	return 0;
}

int conn_table_touch(struct conn_table *t, uint64_t key)
{
	struct place at;
	uint64_t v;

	if (!find(t, key, &at, NULL))
		return -ENOENT;
	v = lane_load(at.line, at.lane);
	/* mostly it was used in this epoch already: do not dirty the line that others read */
	if (EPOCH(v) != t->epoch)
		lane_store(at.line, at.lane, lane_value(t, key, (uint16_t)SLOT(v)));
	return 0;
}

uint32_t conn_table_sweep(struct conn_table *t, uint64_t n_lines,
			  void (*on_expired)(void *context, uint64_t key, uint16_t slot),
			  void *context)
{
	uint32_t before = t->n_entries;

	n_lines = n_lines < t->n_lines ? n_lines : t->n_lines;
	for (; n_lines; n_lines--) {
		struct conn_line *line = &t->lines[t->sweep_at];
		uint32_t hits = t->match(line->lane, 0xff, t->stale);

		for (; hits; hits &= hits - 1) {
			struct place at = {line, (unsigned)__builtin_ctz(hits)};
			uint64_t v = lane_load(at.line, at.lane);

			if (on_expired)
				on_expired(context, v >> 24, (uint16_t)SLOT(v));
			erase_at(t, v >> 24, at);
		}
		t->sweep_at = next_line(t, t->sweep_at);
		if (t->sweep_at)
			continue;
		/* A pass is an epoch: all that is left was touched within max_age epochs, so none
		 * goes unseen. */
		t->epoch = t->epoch % EPOCHS + 1;
		t->stale = t->stale % EPOCHS + 1;
	}
	return before - t->n_entries;
}

/* Is it within reach of its home, and does a lookup find it, not another of its key before it? */
static bool reachable(const struct conn_table *t, uint64_t key, uint64_t line, unsigned lane)
{
	uint64_t l = home_of(t, key);

	for (unsigned n = 0; n < CONN_TABLE_REACH; n++, l = next_line(t, l)) {
		uint32_t hits = t->match(t->lines[l].lane, KEY_MASK, key << 24);

		for (; hits; hits &= hits - 1) {
			unsigned i = (unsigned)__builtin_ctz(hits);

			if (EPOCH(lane_load(&t->lines[l], i)))
				return l == line && i == lane;
		}
		if (l == line)
			break;
	}
	return false;
}

static void adopt_line(struct conn_table *t, uint64_t l, uint64_t *passed)
{
	for (unsigned i = 0; i < COUNT; i++) {
		uint64_t v = lane_load(&t->lines[l], i), key = v >> 24;

		if (!v)
			continue;
		if (!EPOCH(v) || t->n_entries >= t->max_entries || !reachable(t, key, l, i)) {
			lane_store(&t->lines[l], i, 0);
			continue;
		}
		lane_store(&t->lines[l], i, lane_value(t, key, (uint16_t)SLOT(v)));
		t->n_entries++;
		for (uint64_t at = home_of(t, key); at != l; at = next_line(t, at))
			passed[at]++;
	}
}

int64_t conn_table_adopt(struct conn_table *t)
{
	uint64_t *passed = calloc(t->n_lines, sizeof(*passed));

	if (!passed)
		return -ENOMEM;
	t->n_entries = 0;
	for (uint64_t l = 0; l < t->n_lines; l++)
		adopt_line(t, l, passed);
	for (uint64_t l = 0; l < t->n_lines; l++)
		if (lane_load(&t->lines[l], COUNT) != passed[l])
			lane_store(&t->lines[l], COUNT, passed[l]);
	free(passed);
	return t->n_entries;
}
