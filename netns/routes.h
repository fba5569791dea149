/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * routes.h - a snapshot of the kernel's routing table, for questions about host routes.
 *
 * Owns the snapshot. In: the namespace that the calling thread is in. Out: over how many live next
 * hops a host route goes. libnl's codes become -errno here.
 */
#ifndef ROUTES_H
#define ROUTES_H

struct routes;

int routes_read(struct routes **out);
void routes_free(struct routes *routes);

/* Next hops of the host route to that address, not counting dead ones or those without carrier; 0:
 * no route. */
unsigned routes_nexthops(const struct routes *routes, const char *address);

#endif
