/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chunks.h - the chunks of a group: their store, and the lists that they wait in (pure).
 *
 * Owns: the array of chunks and its free list. A chunk is named by its index, which stays while the
 * array grows; it is in one list at most.
 */
#ifndef QP_CHUNKS_H
#define QP_CHUNKS_H

#include <stdbool.h>
#include <stdint.h>

#define NO_CHUNK UINT32_MAX

struct chunk {
	uint32_t next;	  /* in its list */
	uint32_t message; /* index into messages */
	uint32_t length;
	uint64_t offset;
	uint64_t flow;
	uint16_t lane, qp;
	bool is_record;
};

struct chunk_list {
	uint32_t head, tail, n;
};

struct chunk_store {
	struct chunk *at;
	uint32_t n, max, free;
};

void chunks_init(struct chunk_store *store, uint32_t max);
void chunks_fini(struct chunk_store *store);
void chunk_list_init(struct chunk_list *list);

/* A new chunk of that message. NO_CHUNK: no memory, or max are in use. */
uint32_t chunk_alloc(struct chunk_store *store, uint32_t message, uint32_t length);
void chunk_free(struct chunk_store *store, uint32_t i);

void chunk_append(struct chunk_store *store, struct chunk_list *list, uint32_t i);
void chunk_prepend(struct chunk_store *store, struct chunk_list *list, uint32_t i);
/* Removes and returns the first chunk. NO_CHUNK: the list is empty. */
uint32_t chunk_take(struct chunk_store *store, struct chunk_list *list);

#endif
