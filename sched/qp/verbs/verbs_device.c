/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/verbs/verbs_endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) ? -errno : 0;
}

/* A member of a bond has no GIDs: the bond's device has. 0: none. */
static unsigned master_of(const char *dev)
{
	struct verbs_netdev netdev;

	verbs_netdev_read(&netdev, VERBS_NETDEV_SYSFS, dev);
	return netdev.master;
}

/* All GIDs of a device. *out is the caller's to free. Returns how many, or -errno. */
static ssize_t read_gids(struct ibv_context *context, struct ibv_gid_entry **out)
{
	struct ibv_device_attr device;
	struct ibv_port_attr port;
	size_t room = 0;
	ssize_t n;

	*out = NULL;
	if (ibv_query_device(context, &device))
		return -EIO;
	for (uint8_t p = 1; p <= device.phys_port_cnt; p++)
		if (!ibv_query_port(context, p, &port) && port.gid_tbl_len > 0)
			room += (size_t)port.gid_tbl_len;
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
	       (e->ndev_ifindex == ifindex || (master && e->ndev_ifindex == master)) &&
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

/* Whether the device is that of (p, s), and if so what it has to offer there. */
static bool look_at(struct qp_endpoint *ep, unsigned device, const struct ibv_gid_entry *gids,
		    ssize_t n, unsigned p, unsigned s)
{
	struct verbs_sub_port *sp = &ep->sub_ports[p][s];
	unsigned ifindex = if_nametoindex(ep->attr.dev[p][s]),
		 master = master_of(ep->attr.dev[p][s]);
	const struct ibv_gid_entry *gid = choose_gid(ep, gids, n, ifindex, master), *any = gid;
	struct ibv_port_attr port;

	for (ssize_t i = 0; !any && i < n; i++)
		if (ifindex &&
		    (gids[i].ndev_ifindex == ifindex || (master && gids[i].ndev_ifindex == master)))
			any = &gids[i];
	if (!any)
		return false;
	sp->device = device;
	sp->port = (uint8_t)any->port_num;
	sp->has_gid = gid != NULL;
	if (gid) {
		sp->gid = gid->gid;
		sp->gid_index = (uint8_t)gid->gid_index;
	}
	if (!ibv_query_port(ep->devices[device].context, sp->port, &port)) {
		sp->up = port.state == IBV_PORT_ACTIVE;
		sp->active_mtu = port.active_mtu;
	}
	return true;
}

static int prepare(struct verbs_device *d)
{
	int err;

	d->pd = ibv_alloc_pd(d->context);
	d->channel = d->pd ? ibv_create_comp_channel(d->context) : NULL;
	if (!d->channel)
		return errno ? -errno : -ENOMEM;
	err = set_nonblocking(d->channel->fd);
	return err ? err : set_nonblocking(d->context->async_fd);
}

static void close_device(struct verbs_device *d)
{
	if (d->channel)
		ibv_destroy_comp_channel(d->channel);
	if (d->pd)
		ibv_dealloc_pd(d->pd);
	if (d->context)
		ibv_close_device(d->context);
	memset(d, 0, sizeof(*d));
}

/* Keeps the device if some sub-port not yet found is on it. */
static int try_device(struct qp_endpoint *ep, struct ibv_context *context,
		      bool found[][FARE_MAX_SUB_PORTS])
{
	unsigned device = ep->n_devices;
	struct ibv_gid_entry *gids;
	bool wanted = false;
	ssize_t n = read_gids(context, &gids);

	ep->devices[device] = (struct verbs_device){.context = context};
	for (unsigned p = 0; n > 0 && p < ep->attr.n_planes; p++)
		for (unsigned s = 0; s < ep->attr.n_sub_ports[p]; s++)
			if (!found[p][s] && look_at(ep, device, gids, n, p, s))
				wanted = found[p][s] = true;
	free(gids);
	if (!wanted) {
		close_device(&ep->devices[device]);
		return 0;
	}
	ep->n_devices++; /* from here on closed with the endpoint */
	return prepare(&ep->devices[device]);
}

static int judge(const struct qp_endpoint *ep, bool found[][FARE_MAX_SUB_PORTS], int not_opened)
{
	bool any_gid = false;
	uint32_t mtu;

	for (unsigned p = 0; p < ep->attr.n_planes; p++) {
		for (unsigned s = 0; s < ep->attr.n_sub_ports[p]; s++) {
			if (!found[p][s])
				return not_opened ? not_opened : -ENODEV;
			any_gid |= ep->sub_ports[p][s].has_gid;
			mtu = 128u << ep->sub_ports[p][s].active_mtu;
			if (mtu < ep->attr.path_mtu)
				return -EMSGSIZE;
		}
	}
	return any_gid ? 0 : -EADDRNOTAVAIL;
}

/* The library tries more than one way to the device, and its errno is that of the last. */
static int why_not(const struct ibv_device *device)
{
	int err = errno ? -errno : -EIO;
	char path[96];

	snprintf(path, sizeof(path), "/dev/infiniband/%s", device->dev_name);
	return access(path, R_OK | W_OK) && errno == EACCES ? -EACCES : err;
}

int verbs_device_open_all(struct qp_endpoint *ep)
{
	bool found[FARE_MAX_PLANES][FARE_MAX_SUB_PORTS] = {0};
	struct ibv_device **list;
	int n = 0, err = 0, not_opened = 0;

	errno = 0;
	list = ibv_get_device_list(&n);
	if (!list)
		return errno ? -errno : -ENOSYS; /* ENOSYS: no RDMA in this kernel */
	for (int i = 0; !err && i < n && ep->n_devices < VERBS_MAX_DEVICES; i++) {
		struct ibv_context *context;

		errno = 0;
		context = ibv_open_device(list[i]);
		if (context)
			err = try_device(ep, context, found);
		else
			not_opened = why_not(list[i]);
	}
	ibv_free_device_list(list);
	return err ? err : judge(ep, found, not_opened);
}

void verbs_device_close_all(struct qp_endpoint *ep)
{
	for (unsigned d = 0; d < ep->n_devices; d++)
		close_device(&ep->devices[d]);
	ep->n_devices = 0;
}

/* ---- events ---- */

static void fail_qps(struct qp_endpoint *ep, unsigned device, unsigned port, int error)
{
	for (struct qp *qp = ep->qps.next; qp != &ep->qps; qp = qp->next)
		if (qp->device == device && (!port || qp->port == port) && !qp->error)
			qp->error = error;
}

static void on_port(struct qp_endpoint *ep, unsigned device, unsigned port, bool up)
{
	for (unsigned p = 0; p < ep->attr.n_planes; p++)
		for (unsigned s = 0; s < ep->attr.n_sub_ports[p]; s++)
			if (ep->sub_ports[p][s].device == device &&
			    ep->sub_ports[p][s].port == port)
				ep->sub_ports[p][s].up = up;
	if (!up)
		fail_qps(ep, device, port, -ENETDOWN);
}

/* A sub-port's address moved to another place in the table, changed, or went: QPs that used the old
 * one are no good. */
static void follow_gids(struct qp_endpoint *ep, unsigned device)
{
	struct ibv_gid_entry *gids;
	ssize_t n = read_gids(ep->devices[device].context, &gids);

	for (unsigned p = 0; n >= 0 && p < ep->attr.n_planes; p++) {
		for (unsigned s = 0; s < ep->attr.n_sub_ports[p]; s++) {
			struct verbs_sub_port *sp = &ep->sub_ports[p][s], old = *sp;

			if (sp->device != device)
				continue;
			if (!look_at(ep, device, gids, n, p, s))
				sp->has_gid = false;
			if (old.has_gid && (!sp->has_gid || sp->gid_index != old.gid_index ||
					    memcmp(&sp->gid, &old.gid, sizeof(old.gid))))
				for (struct qp *qp = ep->qps.next; qp != &ep->qps; qp = qp->next)
					if (qp->attr.plane == p && qp->attr.sub_port == s &&
					    !qp->error)
						qp->error = -EADDRNOTAVAIL;
		}
	}
	free(gids);
}

static void on_event(struct qp_endpoint *ep, unsigned device, const struct ibv_async_event *e)
{
	struct qp *qp;

	switch (e->event_type) {
	case IBV_EVENT_PORT_ERR:
		on_port(ep, device, (unsigned)e->element.port_num, false);
		break;
	case IBV_EVENT_PORT_ACTIVE:
		on_port(ep, device, (unsigned)e->element.port_num, true);
		follow_gids(ep, device);
		break;
	case IBV_EVENT_GID_CHANGE:
		follow_gids(ep, device);
		break;
	case IBV_EVENT_DEVICE_FATAL:
		fail_qps(ep, device, 0, -ENODEV);
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
		qp = e->element.qp->qp_context;
		if (!qp->error)
			qp->error = -EIO;
		break;
	default:
		break; /* of no consequence here */
	}
}

int verbs_device_events(struct qp_endpoint *ep, unsigned device)
{
	struct ibv_async_event e;
	int n = 0;

	for (; !ibv_get_async_event(ep->devices[device].context, &e); n++) {
		on_event(ep, device, &e);
		ibv_ack_async_event(&e);
	}
	return n;
}
