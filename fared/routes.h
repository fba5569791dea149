/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * routes.h - by which devices the kernel routes to a host, reported whenever that changes.
 *
 * Solely owns: one rtnetlink socket subscribed to route changes, and one to ask by; it remembers
 * nothing. In: route messages. Out: on_route, for each host route (/32, /128) of the main table
 * that is added, replaced or deleted. Thread: the loop's. What was so before it was opened is not
 * reported, and the kernel drops messages when we are slow (ENOBUFS): on_lost then says that what
 * was reported may be so no longer. routes_ask() knows both.
 */
#ifndef ROUTES_H
#define ROUTES_H

#include <netinet/in.h>

#define ROUTES_MAX_HOPS 128

struct ev_loop;
struct routes;

struct routes_handlers {
	/*
	 * ifindex: n <= ROUTES_MAX_HOPS devices, as often as there are next hops by them; 0: the
	 * route is gone. IPv4 as ::ffff:a.b.c.d
	 */
	void (*on_route)(void *arg, const struct in6_addr *host, const int *ifindex, unsigned n);
	void (*on_lost)(void *arg);
};

/* handlers are copied. 0 or -errno. */
int routes_create(struct routes **out, struct ev_loop *loop, const struct routes_handlers *handlers,
		  void *arg);
/*
 * By which devices packets to host leave now, by whatever route: of a net, too. The kernel answers
 * at once. Returns how many, 0 if there is no route, or -errno.
 */
int routes_ask(struct routes *r, const struct in6_addr *host, int ifindex[ROUTES_MAX_HOPS]);
void routes_destroy(struct routes *r); /* NULL is fine */

#endif
