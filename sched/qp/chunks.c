/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/chunks.h"

#include <errno.h>
#include <stdlib.h>

#include "qp/internal.h"

/* Doubles the array. Indices of chunks stay. -ENOMEM; -ENOBUFS: it has max_chunks. */
static int grow(struct fare_group *group)
{
	uint32_t n = group->n_chunks ? 2 * group->n_chunks : 16;
	struct chunk *chunks;

	if (group->n_chunks == group->max_chunks)
		return -ENOBUFS;
	if (n > group->max_chunks)
		n = group->max_chunks;
	chunks = realloc(group->chunks, n * sizeof(*chunks));
	if (!chunks)
		return -ENOMEM;
	group->chunks = chunks;
	for (uint32_t i = group->n_chunks; i < n; i++)
		chunks[i].next = i + 1 < n ? i + 1 : NO_CHUNK;
	group->free_chunk = group->n_chunks;
	group->n_chunks = n;
	return 0;
}

uint32_t chunk_alloc(struct fare_group *group, uint32_t message, uint32_t length)
{
	uint32_t i;

	if (group->free_chunk == NO_CHUNK && grow(group))
		return NO_CHUNK;
	i = group->free_chunk;
	group->free_chunk = group->chunks[i].next;
	group->chunks[i] = (struct chunk){.next = NO_CHUNK,
					  .lane = UINT16_MAX,
					  .flow = UINT64_MAX,
					  .message = message,
					  .length = length};
	return i;
}

void chunk_free(struct fare_group *group, uint32_t i)
{
	group->chunks[i].next = group->free_chunk;
	group->free_chunk = i;
}

void chunk_append(struct fare_group *group, struct chunk_list *list, uint32_t i)
{
	group->chunks[i].next = NO_CHUNK;
	if (list->n++)
		group->chunks[list->tail].next = i;
	else
		list->head = i;
	list->tail = i;
}

void chunk_prepend(struct fare_group *group, struct chunk_list *list, uint32_t i)
{
	group->chunks[i].next = list->n ? list->head : NO_CHUNK;
	if (!list->n++)
		list->tail = i;
	list->head = i;
}

uint32_t chunk_take(struct fare_group *group, struct chunk_list *list)
{
	uint32_t i = list->head;

	if (!list->n)
		return NO_CHUNK;
	list->head = group->chunks[i].next;
	list->n--;
	return i;
}
