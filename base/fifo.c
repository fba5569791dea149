/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/fifo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 4

int fifo_reserve(struct fifo *fifo, size_t item_bytes, uint64_t first, uint64_t end, uint32_t n)
{
	struct fifo larger = {.room = fifo->room ? fifo->room : FIRST_ROOM};

	if (n <= fifo->room)
		return 0;
	while (larger.room < n)
		larger.room *= 2;
	larger.items = malloc(larger.room * item_bytes);
	if (!larger.items)
		return -ENOMEM;
	for (uint64_t i = first; i != end; i++)
		memcpy(fifo_at(&larger, item_bytes, i), fifo_at(fifo, item_bytes, i), item_bytes);
	free(fifo->items);
	*fifo = larger;
	return 0;
}

void fifo_trim(struct fifo *fifo, uint32_t keep)
{
	if (fifo->room > keep)
		fifo_fini(fifo);
}

void fifo_fini(struct fifo *fifo)
{
	free(fifo->items);
	memset(fifo, 0, sizeof(*fifo));
}
