/* SPDX-License-Identifier: BSD-2-Clause */
#include "addresses.h"

#include <errno.h>
#include <ev.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "config.h"

#define V4_BITS	 96 /* of a mapped address, before the IPv4 address itself */
#define FAMILIES 2
#define RETRY_S	 0.5 /* after a dump that the kernel refused or that changed under way */

/* One address of this server. */
struct entry {
	int ifindex;
	struct in6_addr own;	/* IPv4 as ::ffff:a.b.c.d */
	struct in6_addr subnet; /* an address in it: the other end's, if point to point */
	uint8_t length;		/* counts from the mapped form's first bit */
	bool is_tentative, is_duplicate;
};

struct addresses {
	struct ev_loop *loop;
	const struct config *config;
	struct addresses_handlers handlers;
	void *arg;
	struct nl_sock *events, *dumps;
	ev_io io;
	ev_timer again;
	struct entry *entries;
	size_t n;
	struct entry *next; /* of the dump that is being read */
	size_t n_next, room;
	bool is_cut; /* of a dump: memory was short, or it was interrupted */
	int ifindex[FARE_MAX_LOCAL_GPUS][FARE_MAX_PLANES][FARE_MAX_SUB_PORTS];
	uint8_t gpus[FARE_MAX_LOCAL_GPUS][FAMILIES]; /* enum address_fault, last said */
	uint8_t sub_ports[FARE_MAX_LOCAL_GPUS][FARE_MAX_PLANES][FARE_MAX_SUB_PORTS][FAMILIES];
};

/* ---- judging ------------------------------------------------------------- */

static bool in_subnet(const struct entry *e, const struct in6_addr *address)
{
	return IN6_IS_ADDR_V4MAPPED(&e->own) == IN6_IS_ADDR_V4MAPPED(address) &&
	       address_in_prefix(address, &e->subnet, e->length);
}

static enum address_fault fault_of(const struct entry *e)
{
	return e->is_duplicate	 ? ADDRESS_DUPLICATE
	       : e->is_tentative ? ADDRESS_TENTATIVE
				 : ADDRESS_OK;
}

static enum address_fault gpu_fault(const struct addresses *a, const struct in6_addr *address)
{
	enum address_fault fault = ADDRESS_MISSING;

	if (IN6_IS_ADDR_UNSPECIFIED(address))
		return ADDRESS_OK;
	for (size_t i = 0; i < a->n; i++)
		if (IN6_ARE_ADDR_EQUAL(&a->entries[i].own, address) &&
		    fault_of(&a->entries[i]) < fault)
			fault = fault_of(&a->entries[i]);
	return fault;
}

/* Whether a sub-port of another plane of that GPU has an address in the same subnet. */
static bool is_shared(const struct addresses *a, uint32_t gpu, uint32_t plane,
		      const struct entry *e)
{
	const struct config_gpu *config = &a->config->gpus[gpu];

	if (IN6_IS_ADDR_LINKLOCAL(&e->own))
		return false;
	for (size_t i = 0; i < a->n; i++) {
		if (a->entries[i].ifindex == e->ifindex || !in_subnet(e, &a->entries[i].own))
			continue;
		for (uint32_t p = 0; p < config->n_planes; p++)
			for (uint32_t s = 0; p != plane && s < config->planes[p].n_sub_ports; s++)
				if (a->ifindex[gpu][p][s] == a->entries[i].ifindex)
					return true;
	}
	return false;
}

/* Toward one neighbour. */
static enum address_fault neighbor_fault(const struct addresses *a, const struct bgp_neighbor *n,
					 int ifindex)
{
	enum address_fault fault = ADDRESS_MISSING, found;

	for (size_t i = 0; i < a->n; i++) {
		const struct entry *e = &a->entries[i];

		if (e->ifindex != ifindex ||
		    IN6_IS_ADDR_V4MAPPED(&e->own) != IN6_IS_ADDR_V4MAPPED(&n->address))
			continue;
		found = !in_subnet(e, &n->address)		  ? ADDRESS_OFF_SUBNET
			: fault_of(e) != ADDRESS_OK		  ? fault_of(e)
			: is_shared(a, n->local_gpu, n->plane, e) ? ADDRESS_SHARED
								  : ADDRESS_OK;
		/* the device makes its link-local address itself: it says nothing of a subnet */
		if (found == ADDRESS_OFF_SUBNET && IN6_IS_ADDR_LINKLOCAL(&e->own))
			continue;
		if (found < fault)
			fault = found;
	}
	return fault;
}

/*
 * Neighbours of the routes' own family count; where a sub-port has none, those of the other (RFC
 * 8950). One that shares a subnet with the sub-port is enough.
 */
static enum address_fault sub_port_fault(const struct addresses *a, uint32_t gpu, uint32_t plane,
					 uint32_t sub_port, bool is_v6)
{
	const struct bgp_source_config *bgp = &a->config->bgp;
	int ifindex = a->ifindex[gpu][plane][sub_port];
	enum address_fault best[FAMILIES] = {ADDRESS_MISSING, ADDRESS_MISSING}, fault;
	bool has[FAMILIES] = {false};

	if (IN6_IS_ADDR_UNSPECIFIED(&a->config->gpus[gpu].address[is_v6]))
		return ADDRESS_OK; /* no such routes */
	for (size_t i = 0; ifindex && i < bgp->n_neighbors; i++) {
		const struct bgp_neighbor *n = &bgp->neighbors[i];
		int family = !IN6_IS_ADDR_V4MAPPED(&n->address);

		if (n->local_gpu != gpu || n->plane != plane || n->sub_port != sub_port)
			continue;
		fault = neighbor_fault(a, n, ifindex);
		if (!has[family] || fault < best[family])
			best[family] = fault;
		has[family] = true;
	}
	if (has[is_v6])
		return best[is_v6];
	return has[!is_v6] ? best[!is_v6] : ADDRESS_OK;
}

static void judge(struct addresses *a)
{
	enum address_fault fault;

	for (uint32_t g = 0; g < a->config->n_gpus; g++)
		for (int v6 = 0; v6 < FAMILIES; v6++) {
			const struct config_gpu *gpu = &a->config->gpus[g];

			fault = gpu_fault(a, &gpu->address[v6]);
			if (fault != a->gpus[g][v6]) {
				a->gpus[g][v6] = (uint8_t)fault;
				a->handlers.on_gpu(a->arg, g, v6, fault);
			}
			for (uint32_t p = 0; p < gpu->n_planes; p++)
				for (uint32_t s = 0; s < gpu->planes[p].n_sub_ports; s++) {
					uint8_t *said = &a->sub_ports[g][p][s][v6];

					fault = sub_port_fault(a, g, p, s, v6);
					if (fault == *said)
						continue;
					*said = (uint8_t)fault;
					a->handlers.on_sub_port(a->arg, g, p, s, v6, fault);
				}
		}
}

/* ---- reading ------------------------------------------------------------- */

static bool entry_of(const struct nlmsghdr *header, struct entry *out)
{
	const struct ifaddrmsg *info = nlmsg_data(header);
	bool is_v4 = info->ifa_family == AF_INET;
	struct nlattr *attrs[IFA_MAX + 1], *own, *subnet;
	uint32_t flags;

	if ((!is_v4 && info->ifa_family != AF_INET6) || info->ifa_prefixlen > (is_v4 ? 32 : 128) ||
	    nlmsg_parse((struct nlmsghdr *)header, sizeof(*info), attrs, IFA_MAX, NULL) < 0)
		return false;
	own = attrs[IFA_LOCAL] ? attrs[IFA_LOCAL] : attrs[IFA_ADDRESS];
	subnet = attrs[IFA_ADDRESS] ? attrs[IFA_ADDRESS] : own;
	if (!own || nla_len(own) != (is_v4 ? 4 : 16) || nla_len(subnet) != nla_len(own))
		return false;
	flags = attrs[IFA_FLAGS] && nla_len(attrs[IFA_FLAGS]) == 4 ? nla_get_u32(attrs[IFA_FLAGS])
								   : info->ifa_flags;
	*out = (struct entry){
		.ifindex = (int)info->ifa_index,
		.length = (uint8_t)(info->ifa_prefixlen + (is_v4 ? V4_BITS : 0)),
		.is_duplicate = flags & IFA_F_DADFAILED,
		.is_tentative = flags & IFA_F_TENTATIVE && !(flags & IFA_F_OPTIMISTIC),
	};
	if (is_v4) {
		out->own = address_of_v4(nla_data(own));
		out->subnet = address_of_v4(nla_data(subnet));
	} else {
		memcpy(&out->own, nla_data(own), sizeof(out->own));
		memcpy(&out->subnet, nla_data(subnet), sizeof(out->subnet));
	}
	return true;
}

static int addresses_on_entry(struct nl_msg *msg, void *arg)
{
	struct addresses *a = arg;
	struct entry entry, *grown;

	if (nlmsg_hdr(msg)->nlmsg_type != RTM_NEWADDR || !entry_of(nlmsg_hdr(msg), &entry))
		return NL_OK;
	if (a->n_next == a->room) {
		grown = realloc(a->next, (a->room ? 2 * a->room : 64) * sizeof(*grown));
		if (!grown) {
			a->is_cut = true;
			return NL_OK;
		}
		a->next = grown;
		a->room = a->room ? 2 * a->room : 64;
	}
	a->next[a->n_next++] = entry;
	return NL_OK;
}

static int addresses_on_interrupted(struct nl_msg *msg, void *arg)
{
	struct addresses *a = arg;

	(void)msg;
	a->is_cut = true;
	return NL_OK;
}

static struct nl_sock *open_socket(nl_recvmsg_msg_cb_t on_valid, struct addresses *a)
{
	struct nl_sock *s = nl_socket_alloc();

	if (!s)
		return NULL;
	nl_socket_disable_seq_check(s);
	if (nl_connect(s, NETLINK_ROUTE)) {
		nl_socket_free(s);
		return NULL;
	}
	nl_socket_modify_cb(s, NL_CB_VALID, NL_CB_CUSTOM, on_valid, a);
	nl_socket_modify_cb(s, NL_CB_DUMP_INTR, NL_CB_CUSTOM, addresses_on_interrupted, a);
	return s;
}

/*
 * The kernel makes its answer while it is being read: nobody is waited for. What is left of an
 * answer that could not be read goes with its socket, or it would be taken for the next one.
 */
static bool addresses_dump(struct addresses *a)
{
	struct ifaddrmsg info = {.ifa_family = AF_UNSPEC};

	a->n_next = 0;
	a->is_cut = false;
	if (!a->dumps)
		a->dumps = open_socket(addresses_on_entry, a);
	if (a->dumps &&
	    nl_send_simple(a->dumps, RTM_GETADDR, NLM_F_DUMP, &info, sizeof(info)) >= 0 &&
	    nl_recvmsgs_default(a->dumps) >= 0)
		return !a->is_cut;
	nl_socket_free(a->dumps);
	a->dumps = NULL;
	return false;
}

static void addresses_read(struct addresses *a)
{
	if (!addresses_dump(a)) {
		ev_timer_again(a->loop, &a->again); /* what is known stays */
		return;
	}
	ev_timer_stop(a->loop, &a->again);
	free(a->entries);
	a->entries = a->next;
	a->n = a->n_next;
	a->next = NULL;
	a->room = 0;
	judge(a);
}

static void on_again(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)loop;
	(void)revents;
	addresses_read(w->data);
}

static int ignore(struct nl_msg *msg, void *arg)
{
	(void)msg;
	(void)arg;
	return NL_OK;
}

static void addresses_on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
	struct addresses *a = w->data;
	int rc;

	(void)loop;
	(void)revents;
	do
		rc = nl_recvmsgs_default(a->events);
	while (rc != -NLE_AGAIN && rc >= 0);
	addresses_read(a);
}

/* ---- life ---------------------------------------------------------------- */

int addresses_create(struct addresses **out, struct ev_loop *loop, const struct config *config,
		     const struct addresses_handlers *handlers, void *arg)
{
	struct addresses *a = calloc(1, sizeof(*a));

	*out = NULL;
	if (!a)
		return -ENOMEM;
	a->loop = loop;
	a->config = config;
	a->handlers = *handlers;
	a->arg = arg;
	ev_init(&a->io, addresses_on_readable);
	ev_timer_init(&a->again, on_again, RETRY_S, RETRY_S);
	a->io.data = a->again.data = a;
	a->events = open_socket(ignore, a);
	if (!a->events ||
	    nl_socket_add_memberships(a->events, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, 0) ||
	    nl_socket_set_nonblocking(a->events)) {
		addresses_destroy(a);
		return -EIO;
	}
	ev_io_set(&a->io, nl_socket_get_fd(a->events), EV_READ);
	ev_io_start(loop, &a->io);
	*out = a;
	addresses_read(a);
	return 0;
}

void addresses_destroy(struct addresses *a)
{
	if (!a)
		return;
	ev_io_stop(a->loop, &a->io);
	ev_timer_stop(a->loop, &a->again);
	nl_socket_free(a->events);
	nl_socket_free(a->dumps);
	free(a->entries);
	free(a->next);
	free(a);
}

void addresses_set_config(struct addresses *a, const struct config *config)
{
	a->config = config;
	judge(a);
}

void addresses_link(struct addresses *a, uint32_t gpu, uint32_t plane, uint32_t sub_port,
		    int ifindex)
{
	if (a->ifindex[gpu][plane][sub_port] == ifindex)
		return;
	a->ifindex[gpu][plane][sub_port] = ifindex;
	judge(a);
}

enum address_fault addresses_sub_port(const struct addresses *a, uint32_t gpu, uint32_t plane,
				      uint32_t sub_port, bool is_v6)
{
	return a ? a->sub_ports[gpu][plane][sub_port][is_v6] : ADDRESS_OK;
}
