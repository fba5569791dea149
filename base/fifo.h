/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fifo.h - memory of a queue whose items are numbered by counters that only grow: item i lies at i
 * modulo room.
 *
 * Owns the memory; items and counters are the user's. In: the number of items needed. Out: room for
 * them. Pure; one thread.
 *
 * A queue begins without memory, doubles when it is full, and can be made small again when it is
 * empty. So an idle one takes little memory.
 */
#ifndef FIFO_H
#define FIFO_H

#include <stddef.h>
#include <stdint.h>

struct fifo {
	uint8_t *items;
	uint32_t room; /* 0 or a power of two */
};

static inline void *fifo_at(const struct fifo *fifo, size_t item_bytes, uint64_t i)
{
	return fifo->items + (i & (fifo->room - 1)) * item_bytes;
}

/* Makes room for n items from first on; items first to end - 1 exist and are kept. 0 or -ENOMEM. */
int fifo_reserve(struct fifo *fifo, size_t item_bytes, uint64_t first, uint64_t end, uint32_t n);
/* The queue is empty: gives back the memory beyond keep items. */
void fifo_trim(struct fifo *fifo, uint32_t keep);
void fifo_fini(struct fifo *fifo);

#endif
