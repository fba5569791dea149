/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbs_device.c - the devices behind the sub-ports: found and opened, what they report (ports,
 * GIDs, QPs and completion queues that fail), lost, and opened again.
 *
 *   UP --fatal event, unbinding-> LOST --back-off over--> OPENING --found--> REGISTERING --> UP
 *                                     <------------- not there, or not fit
 */
#include "qp/verbs/verbs_endpoint.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"

#define BACKOFF_FIRST_NS UINT64_C(100000000)
#define BACKOFF_MAX_NS	 UINT64_C(5000000000)
#define CHECK_NS	 UINT64_C(250000000)
#define MAX_EVENTS	 64 /* a turn: the rest keeps the descriptor readable */

static void keep_handle(struct qp_endpoint *ep, unsigned device, struct verbs_handle *h)
{
	ep->devices[device].handle = h;
	h->next = ep->handles;
	ep->handles = h;
}

static int verbs_device_watch(struct qp_endpoint *ep, unsigned device, const struct verbs_handle *h)
{
	int err = verbs_watch(ep, h->channel->fd, VERBS_WATCH_CHANNEL, device);

	return err ? err : verbs_watch(ep, h->context->async_fd, VERBS_WATCH_ASYNC, device);
}

static void unwatch(struct qp_endpoint *ep, const struct verbs_handle *h)
{
	epoll_ctl(ep->epoll_fd, EPOLL_CTL_DEL, h->channel->fd, NULL);
	epoll_ctl(ep->epoll_fd, EPOLL_CTL_DEL, h->context->async_fd, NULL);
}

/* ---- the first time ---- */

/* Keeps the device if some sub-port not yet found is on it. */
static int try_device(struct qp_endpoint *ep, struct ibv_context *context,
		      bool found[][FARE_MAX_SUB_PORTS])
{
	struct verbs_device *device = &ep->devices[ep->n_devices];
	struct verbs_handle *h;
	struct ibv_gid_entry *gids;
	bool wanted = false;
	ssize_t n = verbs_gid_read(context, &gids);
	int err;

	for (unsigned p = 0; n > 0 && p < ep->attr.n_planes; p++) {
		for (unsigned s = 0; s < ep->attr.n_sub_ports[p]; s++) {
			if (found[p][s] || !verbs_gid_find(ep, context, gids, n, p, s))
				continue;
			ep->sub_ports[p][s].device = ep->n_devices;
			wanted = found[p][s] = true;
		}
	}
	free(gids);
	if (!wanted) {
		ibv_close_device(context);
		return 0;
	}
	snprintf(device->name, sizeof(device->name), "%s", ibv_get_device_name(context->device));
	err = verbs_handle_make(&h, context);
	if (err)
		return err;
	keep_handle(ep, ep->n_devices++, h); /* from here on closed with the endpoint */
	return verbs_device_watch(ep, ep->n_devices - 1, h);
}

/* The largest path MTU that all ports carry, and whose it is; 0 and "": none says. */
static uint32_t most_path_mtu(const struct qp_endpoint *ep, const char **dev)
{
	uint32_t most = 0;

	*dev = "";
	for (unsigned p = 0; p < ep->attr.n_planes; p++) {
		for (unsigned s = 0; s < ep->attr.n_sub_ports[p]; s++) {
			enum ibv_mtu code = ep->sub_ports[p][s].active_mtu;

			if (!code || (most && 128u << code >= most))
				continue;
			most = 128u << code;
			*dev = ep->attr.dev[p][s];
		}
	}
	return most;
}

/* What was asked for, or what ports carry. */
static int choose_path_mtu(struct qp_endpoint *ep)
{
	const char *dev;
	uint32_t most = most_path_mtu(ep, &dev);

	if (ep->attr.max_path_mtu)
		*ep->attr.max_path_mtu = most;
	if (ep->attr.max_path_mtu_dev)
		memcpy(ep->attr.max_path_mtu_dev, dev, strlen(dev) + 1);
	ep->attr.max_path_mtu = NULL; /* the caller's */
	ep->attr.max_path_mtu_dev = NULL;
	if (!ep->attr.path_mtu)
		ep->attr.path_mtu = most ? most : QP_PATH_MTU_DEFAULT;
	return most && ep->attr.path_mtu > most ? -EMSGSIZE : 0;
}

static int verbs_device_judge(struct qp_endpoint *ep, bool found[][FARE_MAX_SUB_PORTS],
			      int not_opened)
{
	bool any_gid = false;
	int err;

	for (unsigned p = 0; p < ep->attr.n_planes; p++) {
		for (unsigned s = 0; s < ep->attr.n_sub_ports[p]; s++) {
			if (!found[p][s])
				return not_opened ? not_opened : -ENODEV;
			any_gid |= ep->sub_ports[p][s].has_gid;
		}
	}
	err = choose_path_mtu(ep);
	if (err)
		return err;
	return any_gid ? 0 : -EADDRNOTAVAIL;
}

/* The library tries more than one path to the device, and its errno is that of the last. */
static int why_not(const struct ibv_device *device)
{
	int err = errno ? -errno : -EIO;
	char path[96];

	snprintf(path, sizeof(path), "/dev/infiniband/%s", device->dev_name);
	if (!access(path, R_OK | W_OK) || err == -EACCES)
		return err;
	return errno == EACCES ? -EACCES : errno == ENOENT ? -ENXIO : err;
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
	return err ? err : verbs_device_judge(ep, found, not_opened);
}

void verbs_device_close_all(struct qp_endpoint *ep)
{
	for (unsigned d = 0; d < ep->n_devices; d++)
		if (ep->devices[d].handle)
			verbs_handle_put(ep, ep->devices[d].handle);
	ep->n_devices = 0;
}

/* ---- lost, and back ---- */

static void verbs_device_set_state(struct qp_endpoint *ep, struct verbs_device *d,
				   enum verbs_device_state to)
{
	ep->n_lost += (d->state == VERBS_DEVICE_UP) - (to == VERBS_DEVICE_UP);
	d->state = to;
}

static void wait_longer(struct verbs_device *d)
{
	uint64_t twice = 2 * d->backoff_ns;

	d->backoff_ns = !twice ? BACKOFF_FIRST_NS : twice < BACKOFF_MAX_NS ? twice : BACKOFF_MAX_NS;
	d->due_ns = clock_now_ns() + d->backoff_ns;
}

/*
 * The device is gone, or does not work any more: its QPs have failed, its quarantined ones end. Its
 * regions stay registered until its last QP is gone: a peer's packet that met none would be
 * answered as an error of the peer's. It is opened again in verbs_device_step().
 */
static void verbs_device_lose(struct qp_endpoint *ep, unsigned device)
{
	struct verbs_device *d = &ep->devices[device];
	struct verbs_handle *h = d->handle;

	unwatch(ep, h);
	h->lost = true;
	for (unsigned p = 0; p < ep->attr.n_planes; p++)
		for (unsigned s = 0; s < ep->attr.n_sub_ports[p]; s++)
			if (ep->sub_ports[p][s].device == device)
				ep->sub_ports[p][s].up = ep->sub_ports[p][s].has_gid = false;
	verbs_qp_lose_all(ep, h);
	d->handle = NULL;
	d->gids_due = false; /* they are read when it is back */
	verbs_device_set_state(ep, d, VERBS_DEVICE_LOST);
	wait_longer(d);
	verbs_handle_put(ep, h);
}

/* ---- what devices report (IBTA 11.6.3) ---- */

static void fail(struct qp *qp, int error)
{
	if (qp && !qp->error)
		qp->error = error;
}

static void fail_port(struct qp_endpoint *ep, unsigned device, unsigned port, int error)
{
	for (struct qp *qp = ep->qps.next; qp != &ep->qps; qp = qp->next)
		if (qp->device == device && qp->port == port)
			fail(qp, error);
}

static void on_port(struct qp_endpoint *ep, unsigned device, unsigned port, bool up)
{
	for (unsigned p = 0; p < ep->attr.n_planes; p++)
		for (unsigned s = 0; s < ep->attr.n_sub_ports[p]; s++)
			if (ep->sub_ports[p][s].device == device &&
			    ep->sub_ports[p][s].port == port)
				ep->sub_ports[p][s].up = up;
	if (!up)
		fail_port(ep, device, port, -ENETDOWN);
}

/*
 * A sub-port's address may have moved to another place in the table, have changed, or be gone: QPs
 * that used the old one have failed. If the device does not answer, all stays as it is, and it is
 * asked again (gids_due).
 */
static void follow_gids(struct qp_endpoint *ep, unsigned device)
{
	struct ibv_gid_entry *gids;
	struct ibv_context *context = ep->devices[device].handle->context;
	ssize_t n = verbs_gid_read(context, &gids);

	ep->devices[device].gids_due = n < 0;
	for (unsigned p = 0; n >= 0 && p < ep->attr.n_planes; p++) {
		for (unsigned s = 0; s < ep->attr.n_sub_ports[p]; s++) {
			struct verbs_sub_port *sp = &ep->sub_ports[p][s], old = *sp;

			if (sp->device != device)
				continue;
			if (!verbs_gid_find(ep, context, gids, n, p, s))
				sp->has_gid = false;
			if (old.has_gid && (!sp->has_gid || sp->gid_index != old.gid_index ||
					    memcmp(&sp->gid, &old.gid, sizeof(old.gid))))
				for (struct qp *qp = ep->qps.next; qp != &ep->qps; qp = qp->next)
					if (qp->attr.plane == p && qp->attr.sub_port == s)
						fail(qp, -EADDRNOTAVAIL);
		}
	}
	free(gids);
}

/* True: the device is lost. */
static bool verbs_device_on_event(struct qp_endpoint *ep, unsigned device,
				  const struct ibv_async_event *e)
{
	struct qp *qp;

	switch (e->event_type) {
	case IBV_EVENT_PORT_ERR:
		on_port(ep, device, (unsigned)e->element.port_num, false);
		return false;
	case IBV_EVENT_PORT_ACTIVE:
		on_port(ep, device, (unsigned)e->element.port_num, true);
		ep->devices[device].gids_due = true;
		return false;
	case IBV_EVENT_GID_CHANGE:
		ep->devices[device].gids_due = true;
		return false;
	case IBV_EVENT_DEVICE_FATAL:
		return true;
	case IBV_EVENT_CQ_ERR: /* each QP has its own: the QP made in its place gets another */
		qp = verbs_qp_find(ep, e->element.cq->cq_context);
		if (qp)
			qp->cq_failed = true;
		fail(qp, -EIO);
		return false;
	case IBV_EVENT_QP_REQ_ERR: /* of the peer (IBTA 11.6.3.2) */
	case IBV_EVENT_QP_ACCESS_ERR:
		qp = verbs_qp_find(ep, e->element.qp->qp_context);
		if (qp)
			qp->refused = true;
		fail(qp, -EIO);
		return false;
	case IBV_EVENT_QP_FATAL:
		fail(verbs_qp_find(ep, e->element.qp->qp_context), -EIO);
		return false;
	default:
		return false; /* of no consequence here */
	}
}

int verbs_device_take_events(struct qp_endpoint *ep, unsigned device)
{
	struct verbs_handle *handle = ep->devices[device].handle;
	struct ibv_async_event e;
	bool lost = false;
	int n = 0;

	if (!handle)
		return 0;
	for (; n < MAX_EVENTS && !lost; n++) {
		if (ibv_get_async_event(handle->context, &e)) {
			lost = errno != EAGAIN; /* unbound: nothing more will come */
			break;
		}
		lost = verbs_device_on_event(ep, device, &e);
		ibv_ack_async_event(&e);
	}
	if (lost)
		verbs_device_lose(ep, device);
	else if (ep->devices[device].gids_due)
		follow_gids(ep, device); /* once for all of them */
	return n + lost;
}

/* ---- opened again ---- */

/* The plane of the first of its sub-ports: its worker has little else to do now. */
static unsigned verbs_device_plane_of(const struct qp_endpoint *ep, unsigned device)
{
	for (unsigned p = 0; p < ep->attr.n_planes; p++)
		for (unsigned s = 0; s < ep->attr.n_sub_ports[p]; s++)
			if (ep->sub_ports[p][s].device == device)
				return p;
	return 0;
}

/* 0, or -errno: it cannot serve now. */
static int adopt(struct qp_endpoint *ep, unsigned device, struct verbs_handle *h)
{
	struct verbs_device *d = &ep->devices[device];
	struct ibv_gid_entry *gids;
	ssize_t n = verbs_gid_read(h->context, &gids);
	int err = n < 0 ? (int)n : 0;

	for (unsigned p = 0; !err && p < ep->attr.n_planes; p++) {
		for (unsigned s = 0; !err && s < ep->attr.n_sub_ports[p]; s++) {
			const struct verbs_sub_port *sp = &ep->sub_ports[p][s];

			if (sp->device == device && verbs_gid_find(ep, h->context, gids, n, p, s) &&
			    128u << sp->active_mtu < ep->attr.path_mtu)
				err = -EMSGSIZE;
		}
	}
	free(gids);
	if (err)
		return err;
	err = verbs_device_watch(ep, device, h);
	if (err)
		return err;
	keep_handle(ep, device, h);
	snprintf(d->name, sizeof(d->name), "%s", ibv_get_device_name(h->context->device));
	return 0;
}

void verbs_device_on_reopened(struct qp_endpoint *ep)
{
	unsigned device = ep->open_job.device;
	struct verbs_device *d = &ep->devices[device];
	struct verbs_handle *h = d->opened;
	int err = ep->open_job.result;

	ep->open_job.kind = VERBS_IDLE;
	d->opened = NULL;
	if (!err)
		err = ep->closing ? -ECANCELED : adopt(ep, device, h);
	if (!err) {
		d->next_region = 0;
		verbs_device_set_state(ep, d, VERBS_DEVICE_REGISTERING);
		return;
	}
	if (h)
		verbs_handle_put(ep, h);
	verbs_device_set_state(ep, d, VERBS_DEVICE_LOST);
	wait_longer(d);
}

static int bring_back(struct qp_endpoint *ep, unsigned device, uint64_t now_ns)
{
	struct verbs_device *d = &ep->devices[device];

	switch (d->state) {
	case VERBS_DEVICE_UP:
	case VERBS_DEVICE_OPENING:
		return 0;
	case VERBS_DEVICE_LOST:
		if (now_ns < d->due_ns || ep->open_job.kind != VERBS_IDLE)
			return 0;
		verbs_device_set_state(ep, d, VERBS_DEVICE_OPENING);
		verbs_worker_submit_open(ep, device, verbs_device_plane_of(ep, device));
		return 1;
	case VERBS_DEVICE_REGISTERING:
		/* one a turn: to pin much memory takes long, and other planes carry meanwhile */
		if (!verbs_region_restore_next(ep, device, &d->next_region)) {
			verbs_device_set_state(ep, d, VERBS_DEVICE_UP);
			d->backoff_ns = 0;
		}
		return 1;
	}
	return 0;
}

/*
 * A driver that cannot take a device away from its users reports nothing: to unbind it waits until
 * they have closed it. That it is to go shows in sysfs only.
 */
static bool is_unbinding(const struct verbs_device *d)
{
	return d->handle && d->handle->in_sysfs && !verbs_handle_is_in_sysfs(d->handle->context);
}

static int check_all(struct qp_endpoint *ep, uint64_t now_ns)
{
	int n = 0;

	if (now_ns < ep->check_due_ns)
		return 0;
	ep->check_due_ns = now_ns + CHECK_NS;
	for (unsigned d = 0; d < ep->n_devices; d++) {
		if (is_unbinding(&ep->devices[d])) {
			verbs_device_lose(ep, d);
			n++;
		} else if (ep->devices[d].handle && ep->devices[d].gids_due) {
			follow_gids(ep, d);
		}
	}
	return n;
}

int verbs_device_step(struct qp_endpoint *ep, uint64_t now_ns)
{
	int n = check_all(ep, now_ns);

	for (unsigned d = 0; ep->n_lost && d < ep->n_devices; d++)
		n += bring_back(ep, d, now_ns);
	return n;
}
