/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft_ring.h - memory of a ring whose items are named by counters that only grow: item i lies at
 * i modulo the room.
 *
 * Owns the memory; the items and the counters are the user's. In: how many items there are to be.
 * Out: room for them. Pure; one thread.
 *
 * An idle QP should cost next to nothing: a ring begins without memory, doubles as it fills, and
 * gives back what is large once it is empty.
 */
#ifndef SOFT_RING_H
#define SOFT_RING_H

#include <stddef.h>
#include <stdint.h>

struct soft_ring {
	uint8_t *items;
	uint32_t room; /* 0 or a power of two */
};

static inline void *soft_ring_at(const struct soft_ring *ring, size_t item_bytes, uint64_t i)
{
	return ring->items + (i & (ring->room - 1)) * item_bytes;
}

/* Room for n items from first on, of which those before end are there. 0 or -ENOMEM. */
int soft_ring_reserve(struct soft_ring *ring, size_t item_bytes, uint64_t first, uint64_t end,
		      uint32_t n);
/* It is empty: no more than keep items stay. */
void soft_ring_trim(struct soft_ring *ring, uint32_t keep);
void soft_ring_fini(struct soft_ring *ring);

#endif
