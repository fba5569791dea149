/* SPDX-License-Identifier: BSD-2-Clause */
#include "link_neighbors.h"

#include <errno.h>
#include <ifaddrs.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Pairs of neighbour (upper half) and interface, sorted. */
struct link_neighbors_table {
	uint64_t *pairs;
	size_t n, room;
};

struct link_neighbors {
	const struct bgp_source_config *config;
	int fd;
	bool current; /* nothing has been said since the table was made */
	struct link_neighbors_table table;
};

/* ---- the table ---- */

/* The bytes of an IPv4 or IPv6 socket address, and how many; NULL for another family. */
static const uint8_t *link_neighbors_bytes(const struct sockaddr *sa, size_t *out_n)
{
	if (!sa)
		return NULL;
	if (sa->sa_family == AF_INET) {
		*out_n = 4;
		return (const uint8_t *)&((const struct sockaddr_in *)(const void *)sa)->sin_addr;
	}
	if (sa->sa_family == AF_INET6) {
		*out_n = 16;
		return ((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr.s6_addr;
	}
	return NULL;
}

/* Whether neighbour shares the subnet of that interface address. */
static bool link_neighbors_same_subnet(const struct ifaddrs *a, const struct in6_addr *neighbor)
{
	const uint8_t *address, *mask, *theirs;
	size_t n = 0, mask_n = 0;

	address = link_neighbors_bytes(a->ifa_addr, &n);
	mask = link_neighbors_bytes(a->ifa_netmask, &mask_n);
	if (!address || !mask || n != mask_n || (n == 4) != !!IN6_IS_ADDR_V4MAPPED(neighbor))
		return false;
	theirs = neighbor->s6_addr + 16 - n;
	for (size_t i = 0; i < n; i++)
		if ((address[i] ^ theirs[i]) & mask[i])
			return false;
	return true;
}

static uint64_t link_neighbors_pair(uint32_t ifindex, unsigned neighbor)
{
	return (uint64_t)neighbor << 32 | ifindex;
}

static int link_neighbors_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int link_neighbors_add(struct link_neighbors_table *t, uint64_t pair)
{
	size_t room = t->room ? 2 * t->room : 64;
	uint64_t *more;

	if (t->n == t->room) {
		more = realloc(t->pairs, room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		t->pairs = more;
		t->room = room;
	}
	t->pairs[t->n++] = pair;
	return 0;
}

/* An interface that is gone by now has no index any more, and is left out. */
static int link_neighbors_add_address(struct link_neighbors_table *t,
				      const struct bgp_source_config *config,
				      const struct ifaddrs *a)
{
	uint32_t ifindex = 0;

	for (unsigned i = 0; i < config->n_neighbors; i++) {
		const struct bgp_neighbor *n = &config->neighbors[i];

		if (!link_neighbors_same_subnet(a, &n->address) ||
		    (IN6_IS_ADDR_LINKLOCAL(&n->address) && strcmp(n->dev, a->ifa_name) != 0))
			continue;
		if (!ifindex)
			ifindex = if_nametoindex(a->ifa_name);
		if (ifindex && link_neighbors_add(t, link_neighbors_pair(ifindex, i)))
			return -ENOMEM;
	}
	return 0;
}

static int link_neighbors_make(const struct bgp_source_config *config,
			       struct link_neighbors_table *out)
{
	struct ifaddrs *all;
	int rc = 0;

	if (getifaddrs(&all))
		return -errno;
	for (const struct ifaddrs *a = all; a && !rc; a = a->ifa_next)
		rc = link_neighbors_add_address(out, config, a);
	freeifaddrs(all);
	if (out->n)
		qsort(out->pairs, out->n, sizeof(*out->pairs), link_neighbors_compare);
	return rc;
}

/* ---- what the kernel says ---- */

/*
 * Takes all that is there. What it says does not matter, nor what of it was lost: only that there
 * was something.
 */
static bool link_neighbors_receive(int fd)
{
	bool received = false;
	ssize_t n;
	char byte;

	do {
		n = recv(fd, &byte, sizeof(byte), MSG_DONTWAIT);
		received |= n >= 0 || errno == ENOBUFS;
	} while (n >= 0 || errno == ENOBUFS || errno == EINTR);
	return received;
}

int link_neighbors_refresh(struct link_neighbors *l)
{
	struct link_neighbors_table table = {0};
	int rc;

	if (link_neighbors_receive(l->fd))
		l->current = false;
	if (l->current)
		return 0;
	rc = link_neighbors_make(l->config, &table);
	if (rc) {
		free(table.pairs);
		return rc;
	}
	free(l->table.pairs);
	l->table = table;
	l->current = true;
	return 0;
}

bool link_neighbors_has(const struct link_neighbors *l, uint32_t ifindex, unsigned neighbor)
{
	uint64_t pair = link_neighbors_pair(ifindex, neighbor);

	return l->table.n &&
	       bsearch(&pair, l->table.pairs, l->table.n, sizeof(pair), link_neighbors_compare);
}

/* ---- life ---- */

int link_neighbors_create(struct link_neighbors **out, const struct bgp_source_config *config)
{
	const struct sockaddr_nl address = {.nl_family = AF_NETLINK,
					    .nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR};
	struct link_neighbors *l = calloc(1, sizeof(*l));
	int err;

	*out = NULL;
	if (!l)
		return -ENOMEM;
	l->config = config;
	l->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (l->fd < 0 || bind(l->fd, (const struct sockaddr *)&address, sizeof(address))) {
		err = -errno;
		link_neighbors_destroy(l);
		return err;
	}
	*out = l;
	return 0;
}

void link_neighbors_destroy(struct link_neighbors *l)
{
	if (!l)
		return;
	if (l->fd >= 0)
		close(l->fd);
	free(l->table.pairs);
	free(l);
}
