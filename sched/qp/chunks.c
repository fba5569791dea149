/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/chunks.h"

#include <errno.h>
#include <stdlib.h>

void chunks_init(struct chunk_store *store, uint32_t max)
{
	*store = (struct chunk_store){.max = max, .free = NO_CHUNK};
}

void chunks_fini(struct chunk_store *store)
{
	free(store->at);
}

void chunk_list_init(struct chunk_list *list)
{
	*list = (struct chunk_list){NO_CHUNK, NO_CHUNK, 0};
}

/* Doubles the array. Indices of chunks stay. -ENOMEM; -ENOBUFS: it has max. */
static int chunks_grow(struct chunk_store *store)
{
	uint32_t n = store->n ? 2 * store->n : 16;
	struct chunk *chunks;

	if (store->n == store->max)
		return -ENOBUFS;
	if (n > store->max)
		n = store->max;
	chunks = realloc(store->at, n * sizeof(*chunks));
	if (!chunks)
		return -ENOMEM;
	store->at = chunks;
	for (uint32_t i = store->n; i < n; i++)
		chunks[i].next = i + 1 < n ? i + 1 : NO_CHUNK;
	store->free = store->n;
	store->n = n;
	return 0;
}

uint32_t chunk_alloc(struct chunk_store *store, uint32_t message, uint32_t length)
{
	uint32_t i;

	if (store->free == NO_CHUNK && chunks_grow(store))
		return NO_CHUNK;
	i = store->free;
	store->free = store->at[i].next;
	store->at[i] = (struct chunk){.next = NO_CHUNK,
				      .lane = UINT16_MAX,
				      .flow = UINT64_MAX,
				      .message = message,
				      .length = length};
	return i;
}

void chunk_free(struct chunk_store *store, uint32_t i)
{
	store->at[i].next = store->free;
	store->free = i;
}

void chunk_append(struct chunk_store *store, struct chunk_list *list, uint32_t i)
{
	store->at[i].next = NO_CHUNK;
	if (list->n++)
		store->at[list->tail].next = i;
	else
		list->head = i;
	list->tail = i;
}

void chunk_prepend(struct chunk_store *store, struct chunk_list *list, uint32_t i)
{
	store->at[i].next = list->n ? list->head : NO_CHUNK;
	if (!list->n++)
		list->tail = i;
	list->head = i;
}

uint32_t chunk_take(struct chunk_store *store, struct chunk_list *list)
{
	uint32_t i = list->head;

	if (!list->n)
		return NO_CHUNK;
	list->head = store->at[i].next;
	list->n--;
	return i;
}
