/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flow_map.h - flow key -> number, for as many flows as it was made for (pure; memory once, at
 * creation).
 *
 * Solely owns: its lines. In: any 64-bit keys, numbers; out: numbers. One thread.
 *
 * A line is a cache line: four keys, in halves, their numbers, and a count. An entry stands in its
 * home line or, if that was full when it came, in the first line after it that had room; every
 * line that it passed counts it. So nothing is ever displaced and no tombstones remain: a look-up
 * goes on to the next line only while the count is not 0, which one in thirty needs. It compares
 * the four keys of a line at once, with vectors that every processor has, and without a branch:
 * the processor is at the next look-up while this one waits for memory.
 */
#ifndef FLOW_MAP_H
#define FLOW_MAP_H

#include <stdint.h>

#define FLOW_MAP_NONE  UINT32_MAX
#define FLOW_MAP_LANES 4

typedef uint32_t flow_map_lanes __attribute__((vector_size(16)));

struct flow_map_line {
	_Alignas(64) flow_map_lanes low; /* halves of the keys */
	flow_map_lanes high;
	flow_map_lanes number; /* + 1; 0: the lane is empty, whatever its key is */
	uint32_t passed;       /* entries from here or before that stand behind this line */
};

/* To be read by the functions below alone; here so that the look-up can be inline. */
struct flow_map {
	struct flow_map_line *lines;
	uint64_t n_lines;
	uint64_t plain, turned; /* secrets of the hash */
};

/*
 * Room for max_entries, 1 .. 2^31. seed: random, if keys may be chosen so that they collide.
 * 0; -ENOMEM.
 */
int flow_map_init(struct flow_map *m, uint32_t max_entries, uint64_t seed);
void flow_map_fini(struct flow_map *m); /* also of one that is all zero */
/* key is not there, and there are fewer than max_entries; number is below FLOW_MAP_NONE. */
void flow_map_add(struct flow_map *m, uint64_t key, uint32_t number);
void flow_map_remove(struct flow_map *m, uint64_t key); /* what is not there is ignored */

/*
 * The home line of a key. Keys are anything but random (consecutive QPNs, destinations in the high
 * bits), and an application must not be able to pick colliding ones: hence two secrets. A key
 * times a constant would map evenly spaced keys to evenly spaced lines, few of them with some
 * constants. So the key is multiplied with itself, its halves exchanged, each under a secret, and
 * the halves of the product are folded into one.
 */
static inline uint64_t flow_map_home(const struct flow_map *m, uint64_t key)
{
	uint64_t turned = ((key << 32 | key >> 32) ^ m->turned) + key;
	unsigned __int128 product = (unsigned __int128)(key + m->plain) * turned;

	return (uint32_t)(product ^ product >> 64) * m->n_lines >> 32;
}

/* What the line holds for the key, + 1; 0: nothing. At most one lane does. */
static inline uint32_t flow_map_in_line(const struct flow_map_line *line, uint64_t key)
{
	const flow_map_lanes none = {0}, low = none + (uint32_t)key,
			     high = none + (uint32_t)(key >> 32);
	union {
		flow_map_lanes lanes;
		uint64_t half[2];
	} found = {.lanes = (flow_map_lanes)(line->low == low) &
			    (flow_map_lanes)(line->high == high) & line->number};
	uint64_t both = found.half[0] | found.half[1];

	return (uint32_t)(both | both >> 32);
}

/* What stands behind the home line; of flow_map_find() alone. */
uint32_t flow_map_find_behind(const struct flow_map *m, uint64_t key);

/* FLOW_MAP_NONE: it is not there. */
static inline uint32_t flow_map_find(const struct flow_map *m, uint64_t key)
{
	const struct flow_map_line *line = &m->lines[flow_map_home(m, key)];
	uint32_t found = flow_map_in_line(line, key);

	if (__builtin_expect(found || !line->passed, 1))
		return found - 1;
	return flow_map_find_behind(m, key);
}

#endif
