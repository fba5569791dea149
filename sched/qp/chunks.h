/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chunks.h - the chunks of a group: their store, and the lists that they wait in (pure).
 *
 * Owns: the array of chunks and its free list. A chunk is named by its index, which stays while the
 * array grows; it is in one list at most.
 */
#ifndef QP_CHUNKS_H
#define QP_CHUNKS_H

#include <stdint.h>

struct chunk_list;
struct fare_group;

/* A new chunk of that message. NO_CHUNK: no memory, or max_chunks are in use. */
uint32_t chunk_alloc(struct fare_group *group, uint32_t message, uint32_t length);
void chunk_free(struct fare_group *group, uint32_t i);

void chunk_append(struct fare_group *group, struct chunk_list *list, uint32_t i);
void chunk_prepend(struct fare_group *group, struct chunk_list *list, uint32_t i);
/* Removes and returns the first chunk. NO_CHUNK: the list is empty. */
uint32_t chunk_take(struct fare_group *group, struct chunk_list *list);

#endif
