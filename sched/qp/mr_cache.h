/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mr_cache.h - memory regions kept for the next use, because registering costs more than a small
 * transfer.
 *
 * Solely owns the table of regions by address range and rights, and how many users each has. In:
 * ranges that are about to be used, are not used any more, or whose pages change. Out: regions that
 * the provider has registered. The endpoint's thread.
 *
 * A request is served by any region that covers its range and has all its rights. Ranges are not
 * rounded to pages: otherwise peers could reach bytes beside a region with remote rights. A region
 * without users is kept until its place is needed; the one that has been unused for longest goes
 * first.
 *
 * Consequence: peers may reach a region with remote rights for as long as it is kept, until
 * mr_cache_invalidate().
 *
 * The cache cannot see that memory is freed or mapped anew. Call mr_cache_invalidate() before that.
 * Otherwise a later request for the same addresses is served by a region of the old pages.
 */
#ifndef MR_CACHE_H
#define MR_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "qp/provider.h"

struct mr_cache;

/* One region. A user may read the fields above the line. */
struct mr_cache_entry {
	struct qp_mr mr;
	uintptr_t addr;
	size_t length;
	unsigned access; /* QP_ACCESS_... */
	/* ---- */
	unsigned users;
	bool stale; /* was invalidated: serves no request, and is removed with its last user */
	struct mr_cache_entry *next, *prev; /* list of unused regions, or of stale ones */
};

/* For regions of that endpoint, at most max_regions (1 or more). 0 or -ENOMEM. */
int mr_cache_create(struct mr_cache **out, const struct qp_provider *provider,
		    struct qp_endpoint *ep, unsigned max_regions);
/* Removes all regions, also those that have users. NULL is fine. */
void mr_cache_destroy(struct mr_cache *cache);
/*
 * Gives a region that covers [addr, addr + length) with these rights; the caller is its user until
 * mr_cache_put(). 0, or -EINVAL (the range is empty or wraps around), -ENOSPC (the limit is reached
 * and all regions have users), -ENOMEM, or what mr_register() returned. If that is -ENOSPC or
 * -ENOMEM, unused regions are removed and it is called again.
 */
int mr_cache_get(struct mr_cache *cache, void *addr, size_t length, unsigned access,
		 struct mr_cache_entry **out);
void mr_cache_put(struct mr_cache *cache, struct mr_cache_entry *entry);
/*
 * The pages of [addr, addr + length) change: no region that overlaps the range serves another
 * request. Regions with users are removed with their last mr_cache_put(), the others at once.
 * Returns how many regions overlapped.
 */
unsigned mr_cache_invalidate(struct mr_cache *cache, const void *addr, size_t length);

#endif
