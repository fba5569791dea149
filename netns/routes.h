/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * routes.h - a snapshot of the kernel's routing table, for questions about host routes.
 *
 * Owns nothing. In: the namespace that the calling thread is in. Out: over how many live next
 * hops a host route goes. libnl's codes become -errno here.
 */
#ifndef ROUTES_H
#define ROUTES_H

struct nl_cache;

/* nl_cache_free() frees it. */
int routes_read(struct nl_cache **out);

/* Next hops of the host route to that address, not counting dead ones or those without carrier; 0:
 * no route. */
unsigned routes_nexthops(struct nl_cache *routes, const char *address);

#endif
