/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft_ring.h - memory of a ring whose items are numbered by counters that only grow: item i lies
 * at i modulo room.
 *
 * Owns the memory; items and counters are the user's. In: the number of items needed. Out: room for
 * them. Pure; one thread.
 *
 * A ring begins without memory, doubles when it is full, and can be made small again when it is
 * empty. So an idle QP takes little memory.
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

/* Makes room for n items from first on; items first to end - 1 exist and are kept. 0 or -ENOMEM. */
int soft_ring_reserve(struct soft_ring *ring, size_t item_bytes, uint64_t first, uint64_t end,
		      uint32_t n);
/* The ring is empty: gives back the memory beyond keep items. */
void soft_ring_trim(struct soft_ring *ring, uint32_t keep);
void soft_ring_fini(struct soft_ring *ring);

#endif
