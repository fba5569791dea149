/* SPDX-License-Identifier: BSD-2-Clause */
#include "soft_ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 4

int soft_ring_reserve(struct soft_ring *ring, size_t item_bytes, uint64_t first, uint64_t end,
		      uint32_t n)
{
	struct soft_ring larger = {.room = ring->room ? ring->room : FIRST_ROOM};

	if (n <= ring->room)
		return 0;
	while (larger.room < n)
		larger.room *= 2;
	larger.items = malloc(larger.room * item_bytes);
	if (!larger.items)
		return -ENOMEM;
	for (uint64_t i = first; i != end; i++)
		memcpy(soft_ring_at(&larger, item_bytes, i), soft_ring_at(ring, item_bytes, i),
		       item_bytes);
	free(ring->items);
	*ring = larger;
	return 0;
}

void soft_ring_trim(struct soft_ring *ring, uint32_t keep)
{
	if (ring->room > keep)
		soft_ring_fini(ring);
}

void soft_ring_fini(struct soft_ring *ring)
{
	free(ring->items);
	memset(ring, 0, sizeof(*ring));
}
