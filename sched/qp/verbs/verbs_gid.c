/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbs_gid.c - which device, port and GID a sub-port has: the device that has a GID on the
 * sub-port's netdev, or on its master.
 */
#include "qp/verbs/verbs_endpoint.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

/* All GIDs of a device. *out is the caller's to free. Returns how many, or -errno. */
ssize_t verbs_gid_read(struct ibv_context *context, struct ibv_gid_entry **out)
{
	struct ibv_device_attr device;
	struct ibv_port_attr port;
	size_t room = 0;
	ssize_t n;

	*out = NULL;
	if (ibv_query_device(context, &device))
		return -EIO;
	for (uint8_t p = 1; p <= device.phys_port_cnt; p++) {
		if (ibv_query_port(context, p, &port))
			return -EIO; /* which says nothing of what is there */
		room += port.gid_tbl_len > 0 ? (size_t)port.gid_tbl_len : 0;
	}
	if (!room)
		return 0;
	*out = calloc(room, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	n = ibv_query_gid_table(context, *out, room, 0);
	if (n < 0) {
		free(*out);
		*out = NULL;
	}
	return n;
}

static bool is_link_local(const union ibv_gid *gid)
{
	return gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80;
}

static bool fits(const struct in6_addr *address, const struct ibv_gid_entry *e, unsigned ifindex,
		 unsigned master)
{
	struct in6_addr gid;

	memcpy(&gid, e->gid.raw, sizeof(gid));
	return e->gid_type == IBV_GID_TYPE_ROCE_V2 && !is_link_local(&e->gid) &&
	       e->gid_index <= UINT8_MAX &&
	       ((ifindex && e->ndev_ifindex == ifindex) || (master && e->ndev_ifindex == master)) &&
	       !IN6_IS_ADDR_V4MAPPED(&gid) == !IN6_IS_ADDR_V4MAPPED(address);
}

/*
 * The GPU's own address if the device has it as a GID; else the first of its family. (An address on
 * the loopback makes no GID: then each sub-port answers to an address of its own, which the
 * handshake tells the peer.)
 */
static const struct ibv_gid_entry *choose_gid(const struct qp_endpoint *ep,
					      const struct ibv_gid_entry *gids, ssize_t n,
					      unsigned ifindex, unsigned master)
{
	const struct ibv_gid_entry *best = NULL;

	for (ssize_t i = 0; i < n; i++) {
		if (!fits(&ep->attr.address, &gids[i], ifindex, master))
			continue;
		if (!memcmp(gids[i].gid.raw, &ep->attr.address, 16))
			return &gids[i];
		if (!best || gids[i].gid_index < best->gid_index)
			best = &gids[i];
	}
	return best;
}

/* A member of a bond has no GIDs: the bond's device has. */
static void indexes_of(const struct qp_endpoint *ep, unsigned p, unsigned s, unsigned *ifindex,
		       unsigned *master)
{
	struct verbs_netdev netdev;

	*ifindex = if_nametoindex(ep->attr.dev[p][s]);
	verbs_netdev_read(&netdev, VERBS_NETDEV_SYSFS, ep->attr.dev[p][s]);
	*master = netdev.master;
}

/* Any GID of the sub-port's netdev or its master, of whatever kind. */
static const struct ibv_gid_entry *any_gid(const struct ibv_gid_entry *gids, ssize_t n,
					   unsigned ifindex, unsigned master)
{
	for (ssize_t i = 0; ifindex && i < n; i++)
		if (gids[i].ndev_ifindex == ifindex || (master && gids[i].ndev_ifindex == master))
			return &gids[i];
	return NULL;
}

bool verbs_gid_is_device_of(const struct qp_endpoint *ep, const struct ibv_gid_entry *gids,
			    ssize_t n, unsigned p, unsigned s)
{
	unsigned ifindex, master;

	indexes_of(ep, p, s, &ifindex, &master);
	return any_gid(gids, n, ifindex, master) != NULL;
}

bool verbs_gid_find(struct qp_endpoint *ep, struct ibv_context *context,
		    const struct ibv_gid_entry *gids, ssize_t n, unsigned p, unsigned s)
{
	struct verbs_sub_port *sp = &ep->sub_ports[p][s];
	const struct ibv_gid_entry *gid, *any;
	struct ibv_port_attr port;
	unsigned ifindex, master;

	indexes_of(ep, p, s, &ifindex, &master);
	gid = choose_gid(ep, gids, n, ifindex, master);
	any = gid ? gid : any_gid(gids, n, ifindex, master);
	if (!any)
		return false;
	sp->port = (uint8_t)any->port_num;
	sp->has_gid = gid != NULL;
	if (gid) {
		sp->gid = gid->gid;
		sp->gid_index = (uint8_t)gid->gid_index;
	}
	if (!ibv_query_port(context, sp->port, &port)) {
		sp->up = port.state == IBV_PORT_ACTIVE;
		sp->active_mtu = port.active_mtu;
	}
	return true;
}
