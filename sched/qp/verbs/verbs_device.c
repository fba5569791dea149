/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbs_device.c - the devices behind the sub-ports: found and opened, lost, and opened again.
 *
 *   UP --fatal event, unbinding-> LOST --back-off over--> OPENING --found--> REGISTERING --> UP
 *                                     <------------- not there, or not fit
 */
#include "qp/verbs/verbs_endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#define BACKOFF_FIRST_NS UINT64_C(100000000)
#define BACKOFF_MAX_NS	 UINT64_C(5000000000)
#define CHECK_NS	 UINT64_C(250000000)

/* ---- contexts ---- */

static int set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) ? -errno : 0;
}

/*
 * Of a lost device each of these may be refused; closing its descriptor ends what is left in the
 * kernel.
 */
static void close_handle(struct verbs_handle *h)
{
	for (unsigned i = 0; h->mr && i < VERBS_MAX_REGIONS; i++)
		if (h->mr[i])
			ibv_dereg_mr(h->mr[i]);
	if (h->channel)
		ibv_destroy_comp_channel(h->channel);
	if (h->pd)
		ibv_dealloc_pd(h->pd);
	ibv_close_device(h->context);
	free(h->mr);
	free(h);
}

void verbs_handle_put(struct qp_endpoint *ep, struct verbs_handle *h)
{
	struct verbs_handle **link = &ep->handles;

	if (--h->users)
		return;
	while (*link && *link != h)
		link = &(*link)->next;
	if (*link)
		*link = h->next;
	close_handle(h);
}

static void keep_handle(struct qp_endpoint *ep, unsigned device, struct verbs_handle *h)
{
	ep->devices[device].handle = h;
	h->next = ep->handles;
	ep->handles = h;
}

static bool is_in_sysfs(const struct ibv_context *device)
{
	return !access(device->device->dev_path, F_OK);
}

/* Takes the device: it is closed if that fails. */
static int make_handle(struct verbs_handle **out, struct ibv_context *device)
{
	struct verbs_handle *h = calloc(1, sizeof(*h));
	int err;

	*out = NULL;
	if (!h) {
		ibv_close_device(device);
		return -ENOMEM;
	}
	h->context = device;
	h->users = 1;
	h->in_sysfs = is_in_sysfs(device);
	errno = 0;
	h->mr = calloc(VERBS_MAX_REGIONS, sizeof(*h->mr));
	h->pd = h->mr ? ibv_alloc_pd(device) : NULL;
	h->channel = h->pd ? ibv_create_comp_channel(device) : NULL;
	err = h->channel ? set_nonblocking(h->channel->fd) : errno ? -errno : -ENOMEM;
	if (!err)
		err = set_nonblocking(device->async_fd);
	if (err) {
		close_handle(h);
		return err;
	}
	*out = h;
	return 0;
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
	err = make_handle(&h, context);
	if (!err)
		keep_handle(ep, ep->n_devices++, h); /* from here on closed with the endpoint */
	return err;
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

static int judge(struct qp_endpoint *ep, bool found[][FARE_MAX_SUB_PORTS], int not_opened)
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

/* The library tries more than one way to the device, and its errno is that of the last. */
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
	return err ? err : judge(ep, found, not_opened);
}

void verbs_device_close_all(struct qp_endpoint *ep)
{
	for (unsigned d = 0; d < ep->n_devices; d++)
		if (ep->devices[d].handle)
			verbs_handle_put(ep, ep->devices[d].handle);
	ep->n_devices = 0;
}

/* ---- lost, and back ---- */

static void set_state(struct qp_endpoint *ep, struct verbs_device *d, enum verbs_device_state to)
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

void verbs_device_lose(struct qp_endpoint *ep, unsigned device)
{
	struct verbs_device *d = &ep->devices[device];
	struct verbs_handle *h = d->handle;

	verbs_endpoint_unwatch(ep, h);
	h->lost = true;
	for (unsigned p = 0; p < ep->attr.n_planes; p++)
		for (unsigned s = 0; s < ep->attr.n_sub_ports[p]; s++)
			if (ep->sub_ports[p][s].device == device)
				ep->sub_ports[p][s].up = ep->sub_ports[p][s].has_gid = false;
	verbs_qp_lose_all(ep, h);
	d->handle = NULL;
	d->gids_due = false; /* they are read when it is back */
	set_state(ep, d, VERBS_DEVICE_LOST);
	wait_longer(d);
	verbs_handle_put(ep, h);
}

/* The plane of the first of its sub-ports: its worker has little else to do now. */
static unsigned plane_of(const struct qp_endpoint *ep, unsigned device)
{
	for (unsigned p = 0; p < ep->attr.n_planes; p++)
		for (unsigned s = 0; s < ep->attr.n_sub_ports[p]; s++)
			if (ep->sub_ports[p][s].device == device)
				return p;
	return 0;
}

static bool is_ours(const struct qp_endpoint *ep, unsigned device, struct ibv_context *context)
{
	struct ibv_gid_entry *gids;
	ssize_t n = verbs_gid_read(context, &gids);
	bool ours = false;

	for (unsigned p = 0; n > 0 && p < ep->attr.n_planes; p++)
		for (unsigned s = 0; s < ep->attr.n_sub_ports[p]; s++)
			ours |= ep->sub_ports[p][s].device == device &&
				verbs_gid_is_device_of(ep, gids, n, p, s);
	free(gids);
	return ours;
}

/* Of another slot: not to be opened in vain. It may have another name than before. */
static bool is_taken(const struct qp_endpoint *ep, unsigned device, const char *name)
{
	for (unsigned d = 0; d < ep->n_devices; d++)
		if (d != device && !strcmp(ep->devices[d].name, name))
			return true;
	return false;
}

/*
 * On a worker. Of the endpoint it reads what does not change while it runs: the configuration,
 * which slot a sub-port belongs to, and names, as no other device is opened meanwhile.
 */
int verbs_device_reopen(struct qp_endpoint *ep, unsigned device)
{
	struct verbs_device *d = &ep->devices[device];
	struct ibv_device **list = ibv_get_device_list(NULL);
	int err = -ENODEV;

	if (!list)
		return errno ? -errno : -ENODEV;
	for (unsigned i = 0; err && list[i]; i++) {
		struct ibv_context *context;

		if (is_taken(ep, device, ibv_get_device_name(list[i])))
			continue;
		context = ibv_open_device(list[i]);
		if (!context)
			continue;
		if (is_ours(ep, device, context))
			err = make_handle(&d->opened, context);
		else
			ibv_close_device(context);
	}
	ibv_free_device_list(list);
	return err;
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
	err = verbs_endpoint_watch(ep, device, h);
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
		set_state(ep, d, VERBS_DEVICE_REGISTERING);
		return;
	}
	if (h)
		verbs_handle_put(ep, h);
	set_state(ep, d, VERBS_DEVICE_LOST);
	wait_longer(d);
}

static int step(struct qp_endpoint *ep, unsigned device, uint64_t now_ns)
{
	struct verbs_device *d = &ep->devices[device];

	switch (d->state) {
	case VERBS_DEVICE_UP:
	case VERBS_DEVICE_OPENING:
		return 0;
	case VERBS_DEVICE_LOST:
		if (now_ns < d->due_ns || ep->open_job.kind != VERBS_IDLE)
			return 0;
		set_state(ep, d, VERBS_DEVICE_OPENING);
		verbs_worker_submit_open(ep, device, plane_of(ep, device));
		return 1;
	case VERBS_DEVICE_REGISTERING:
		/* one a turn: to pin much memory takes long, and other planes carry meanwhile */
		if (!verbs_region_restore_next(ep, device, &d->next_region)) {
			set_state(ep, d, VERBS_DEVICE_UP);
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
	return d->handle && d->handle->in_sysfs && !is_in_sysfs(d->handle->context);
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
			verbs_event_follow_gids(ep, d);
		}
	}
	return n;
}

int verbs_device_step(struct qp_endpoint *ep, uint64_t now_ns)
{
	int n = check_all(ep, now_ns);

	for (unsigned d = 0; ep->n_lost && d < ep->n_devices; d++)
		n += step(ep, d, now_ns);
	return n;
}
