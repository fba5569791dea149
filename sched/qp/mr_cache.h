/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mr_cache.h - memory regions kept for the next use, because registering costs more than a small
 * transfer.
 *
 * Solely owns the table of regions by address range and rights, and who uses them. In: ranges that
 * are about to be used, are used no more, or are no longer what they were. Out: calls to register
 * and deregister (the owner's). Pure. One thread.
 *
 * A request is served by any region that covers its range and has all its rights. Ranges are not
 * rounded to pages: a region with remote rights would let peers in where nobody said so. A region
 * that nobody uses stays until the bound needs its place; the one unused for longest goes first.
 *
 * Consequence: peers may reach a region with remote rights for as long as it is kept, until
 * mr_cache_invalidate().
 *
 * The cache cannot see that memory is freed or mapped anew. Whoever does that must call
 * mr_cache_invalidate() first: else a later request for the same addresses is served by a region of
 * the old pages.
 */
#ifndef MR_CACHE_H
#define MR_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "qp/provider.h"

struct mr_cache;

/* One region. What is above the line may be read while it is held. */
struct mr_cache_entry {
	struct qp_mr mr;
	uintptr_t addr;
	size_t length;
	unsigned access; /* QP_ACCESS_... */
	/* ---- */
	unsigned users;
	bool stale; /* serves no request any more, ends with its last user */
	struct mr_cache_entry *next, *prev; /* of those unused, or of those stale */
};

struct mr_cache_attr {
	unsigned max_regions; /* at least 1 */
	uint64_t max_bytes;   /* of all regions together; 0: no bound */
	/* 0 or -errno, as mr_register of qp/provider.h */
	int (*add)(void *arg, void *addr, size_t length, unsigned access, struct qp_mr *out);
	void (*remove)(void *arg, const struct qp_mr *mr);
	void *arg;
};

struct mr_cache_stats {
	uint64_t hits, misses, evictions, invalidations;
	unsigned regions; /* registered now, stale ones too */
	uint64_t bytes;
};

/* 0, -EINVAL, -ENOMEM. attr is copied. */
int mr_cache_create(struct mr_cache **out, const struct mr_cache_attr *attr);
/* Removes all regions. Entries that are still held are void. NULL is fine. */
void mr_cache_destroy(struct mr_cache *cache);
/*
 * A region that covers [addr, addr + length) with these rights: held until mr_cache_put(). 0, or
 * -EINVAL (empty, or it wraps), -ENOSPC (the bound is reached and all regions are in use), -ENOMEM,
 * or what add said. If that is -ENOSPC or -ENOMEM, unused regions go first.
 */
int mr_cache_get(struct mr_cache *cache, void *addr, size_t length, unsigned access,
		 struct mr_cache_entry **out);
void mr_cache_put(struct mr_cache *cache, struct mr_cache_entry *entry);
/*
 * [addr, addr + length) is no longer what it was, or is about to be: no region that meets it serves
 * another request. Those in use are removed when they are put. Returns how many it met.
 */
unsigned mr_cache_invalidate(struct mr_cache *cache, const void *addr, size_t length);
/* Removes what nobody uses. */
void mr_cache_trim(struct mr_cache *cache);
void mr_cache_stats(const struct mr_cache *cache, struct mr_cache_stats *out);

#endif
