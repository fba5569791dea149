/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * observe_kernel.h - one server kernel's links and routes, followed by netlink.
 *
 * Owns: a socket in the server's network namespace, and what the kernel said last. In: netlink
 * messages. Out: a call for each change. Thread: one.
 */
#ifndef OBSERVE_KERNEL_H
#define OBSERVE_KERNEL_H

#include <linux/netlink.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OBSERVE_KERNEL_MAX_LINKS 256

struct observe_route {
	struct in6_addr to; /* IPv4 as ::ffff:a.b.c.d */
	/*
	 * digest of the next hops and how their weights stand to each other; 0: there is no route
	 */
	uint64_t first, now;
};

struct observe_kernel {
	int fd;
	struct observe_route *route; /* the caller's */
	unsigned n_routes, n_routes_away;
	struct {
		int ifindex;
		bool first, now;
	} link[OBSERVE_KERNEL_MAX_LINKS];
	unsigned n_links, n_links_away;
	bool following; /* false: still reading what there is */
	void (*on_link)(void *arg, int ifindex, bool up);
	void (*on_routes)(void *arg);
	void *arg;
};

/*
 * Opens it in that namespace (this process stays in it) and reads what there is. k->route,
 * n_routes, on_link, on_routes and arg are set by the caller. 0 or -errno.
 */
int observe_kernel_open(struct observe_kernel *k, const char *netns);
/* Takes what the socket has, without waiting. 0 or -errno (-ENOBUFS: messages were lost). */
int observe_kernel_read(struct observe_kernel *k);

/* The pure half: one netlink message. Truncated or strange ones change nothing. */
void observe_kernel_message(struct observe_kernel *k, const struct nlmsghdr *message, size_t bytes);

#endif
