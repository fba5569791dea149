/* SPDX-License-Identifier: BSD-2-Clause */
#include "resilience/observe_kernel.h"

#include <errno.h>
#include <limits.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"
#include "fabric/lab.h"

#define RECEIVE_BYTES (4 << 20)
#define MESSAGE_BYTES 65536

/* ---- messages -------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (z ^ (z >> 31)) | 1;
}

/* The next hop at *at, and the step to the one after it; false: there is none any more. */
static bool next_hop(const uint8_t **at, size_t *left, struct rtnexthop *hop)
{
	size_t step;

	if (*left < sizeof(*hop))
		return false;
	memcpy(hop, *at, sizeof(*hop));
	if (hop->rtnh_len < sizeof(*hop) || hop->rtnh_len > *left)
		return false;
	step = (size_t)RTNH_ALIGN(hop->rtnh_len);
	step = step < *left ? step : *left;
	*at += step;
	*left -= step;
	return true;
}

/*
 * Of next hops in any order: the sum of what each contributes. Weights count as multiples of the
 * least, in eighths: four times 25 is what four times 1 is.
 */
static uint64_t digest_of_hops(const struct rtattr *multipath)
{
	const uint8_t *at = RTA_DATA(multipath);
	size_t left = RTA_PAYLOAD(multipath);
	unsigned least = UINT_MAX;
	struct rtnexthop hop;
	uint64_t sum = 1;

	while (next_hop(&at, &left, &hop))
		if (hop.rtnh_hops + 1u < least)
			least = hop.rtnh_hops + 1u;
	at = RTA_DATA(multipath);
	left = RTA_PAYLOAD(multipath);
	while (next_hop(&at, &left, &hop))
		sum += mix((uint64_t)(uint32_t)hop.rtnh_ifindex << 16 |
			   ((hop.rtnh_hops + 1u) * 8 + least / 2) / least);
	return sum;
}

static struct observe_route *find_route(struct observe_kernel *k, const struct in6_addr *to)
{
	for (unsigned i = 0; i < k->n_routes; i++)
		if (!memcmp(&k->route[i].to, to, sizeof(*to)))
			return &k->route[i];
	return NULL;
}

static void on_route(struct observe_kernel *k, const struct nlmsghdr *m, size_t bytes)
{
	struct in6_addr to = {0};
	struct observe_route *r;
	struct rtmsg head;
	uint64_t digest = 1;
	uint32_t oif;
	int left;
	bool any = false, was_away;

	if (bytes < NLMSG_LENGTH(sizeof(head)))
		return;
	memcpy(&head, NLMSG_DATA(m), sizeof(head));
	if (head.rtm_table != RT_TABLE_MAIN ||
	    (head.rtm_family == AF_INET && head.rtm_dst_len != 32) ||
	    (head.rtm_family == AF_INET6 && head.rtm_dst_len != 128))
		return;
	left = (int)(bytes - NLMSG_LENGTH(sizeof(head)));
	for (const struct rtattr *a = (const struct rtattr *)((const uint8_t *)NLMSG_DATA(m) +
							      NLMSG_ALIGN(sizeof(head)));
	     RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		if (a->rta_type == RTA_DST && RTA_PAYLOAD(a) == 4) {
			to = address_of_v4(RTA_DATA(a));
			any = true;
		} else if (a->rta_type == RTA_DST && RTA_PAYLOAD(a) == 16) {
			memcpy(&to, RTA_DATA(a), 16);
			any = true;
		} else if (a->rta_type == RTA_OIF && RTA_PAYLOAD(a) == 4) {
			memcpy(&oif, RTA_DATA(a), 4);
			digest = 1 + mix((uint64_t)oif << 16 | 8);
		} else if (a->rta_type == RTA_MULTIPATH) {
			digest = digest_of_hops(a);
		}
	}
	r = any ? find_route(k, &to) : NULL;
	if (!r)
		return;
	was_away = r->now != r->first;
	r->now = m->nlmsg_type == RTM_DELROUTE ? 0 : digest;
	if (!k->following) {
		r->first = r->now;
	} else if (was_away != (r->now != r->first)) {
		k->n_routes_away += was_away ? -1u : 1u;
		k->on_routes(k->arg);
	}
}

static void observe_kernel_on_link(struct observe_kernel *k, const struct nlmsghdr *m, size_t bytes)
{
	struct ifinfomsg info;
	bool up;

	if (bytes < NLMSG_LENGTH(sizeof(info)))
		return;
	memcpy(&info, NLMSG_DATA(m), sizeof(info));
	up = info.ifi_flags & IFF_RUNNING;
	for (unsigned i = 0; i < k->n_links; i++) {
		if (k->link[i].ifindex != info.ifi_index)
			continue;
		if (k->link[i].now == up)
			return;
		k->link[i].now = up;
		k->n_links_away += up == k->link[i].first ? -1u : 1u;
		k->on_link(k->arg, info.ifi_index, up);
		return;
	}
	if (k->following || k->n_links == OBSERVE_KERNEL_MAX_LINKS)
		return;
	k->link[k->n_links].ifindex = info.ifi_index;
	k->link[k->n_links].first = k->link[k->n_links].now = up;
	k->n_links++;
}

void observe_kernel_message(struct observe_kernel *k, const struct nlmsghdr *message, size_t bytes)
{
	if (message->nlmsg_type == RTM_NEWROUTE || message->nlmsg_type == RTM_DELROUTE)
		on_route(k, message, bytes);
	else if (message->nlmsg_type == RTM_NEWLINK)
		observe_kernel_on_link(k, message, bytes);
}

/* ---- the socket ------------------------------------------------------------------------------ */

/* Takes messages until the socket is empty, or, in a dump, until the dump is over. */
static int observe_kernel_take(struct observe_kernel *k, bool dump)
{
	static _Alignas(struct nlmsghdr) uint8_t bytes[MESSAGE_BYTES];

	for (;;) {
		ssize_t n = recv(k->fd, bytes, sizeof(bytes), dump ? 0 : MSG_DONTWAIT);
		size_t at = 0;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -errno;
		while ((size_t)n - at >= sizeof(struct nlmsghdr)) {
			const struct nlmsghdr *m = (const struct nlmsghdr *)(bytes + at);

			if (m->nlmsg_len < sizeof(*m) || m->nlmsg_len > (size_t)n - at)
				break;
			if (dump && m->nlmsg_type == NLMSG_DONE)
				return 0;
			if (dump && m->nlmsg_type == NLMSG_ERROR)
				return -EIO;
			observe_kernel_message(k, m, m->nlmsg_len);
			at += NLMSG_ALIGN(m->nlmsg_len);
			if (at > (size_t)n)
				break;
		}
	}
}

static int dump(struct observe_kernel *k, uint16_t type, uint8_t family)
{
	struct {
		struct nlmsghdr head;
		struct rtgenmsg body;
	} request = {.head = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct rtgenmsg)),
			      .nlmsg_type = type,
			      .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		     .body = {.rtgen_family = family}};

	if (send(k->fd, &request, request.head.nlmsg_len, 0) < 0)
		return -errno;
	return observe_kernel_take(k, true);
}

int observe_kernel_open(struct observe_kernel *k, const char *netns)
{
	const struct sockaddr_nl name = {.nl_family = AF_NETLINK,
					 .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_ROUTE |
						      RTMGRP_IPV6_ROUTE};
	const int room = RECEIVE_BYTES;
	int rc = lab_enter(netns);

	k->fd = -1;
	if (rc)
		return rc;
	k->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (k->fd < 0)
		return -errno;
	if (setsockopt(k->fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) ||
	    bind(k->fd, (const struct sockaddr *)&name, sizeof(name)))
		rc = -errno;
	k->following = false;
	if (!rc)
		rc = dump(k, RTM_GETLINK, AF_UNSPEC);
	if (!rc)
		rc = dump(k, RTM_GETROUTE, AF_INET);
	if (!rc)
		rc = dump(k, RTM_GETROUTE, AF_INET6);
	k->following = true;
	if (rc) {
		close(k->fd);
		k->fd = -1;
	}
	return rc;
}

int observe_kernel_read(struct observe_kernel *k)
{
	return observe_kernel_take(k, false);
}
