/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * prefix_cache.h - which blocks of prompts a worker has: those used last, up to a number.
 *
 * Owns: a set of block ids in the order of their use. In: the ids of a prompt's blocks, the first
 * one first (an id stands for a block and all before it); out: how many of them are there from the
 * first on. Thread: one.
 */
#ifndef PREFIX_CACHE_H
#define PREFIX_CACHE_H

#include <stdint.h>

struct prefix_cache_entry;

struct prefix_cache {
	struct prefix_cache_entry *entry;
	uint32_t *bucket; /* of entries by their id */
	uint32_t room, n, n_buckets;
	uint32_t newest, oldest;
	uint64_t factor; /* of the hash, odd, drawn: a file cannot choose ids of one bucket */
};

/* -ENOMEM, -EIO. Zeroes: one without room, in which nothing is ever found. */
int prefix_cache_init(struct prefix_cache *cache, uint32_t room);
void prefix_cache_fini(struct prefix_cache *cache);
uint32_t prefix_cache_match(const struct prefix_cache *cache, const uint64_t *id, uint32_t n);
/* All of them are there from now on, as far as there is room; the first of them leaves last. */
void prefix_cache_use(struct prefix_cache *cache, const uint64_t *id, uint32_t n);

#endif
