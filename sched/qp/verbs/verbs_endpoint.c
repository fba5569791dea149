/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/verbs/verbs_endpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define EVENTS		32
#define RECHECK_NS	20000000  /* while QPs drain */
#define RECHECK_LOST_NS 100000000 /* while a device is lost */

/* ---- making ---- */

static int attr_check(const struct qp_endpoint_attr *attr)
{
	if ((attr->path_mtu && !qp_path_mtu_is_valid(attr->path_mtu)) || !attr->n_planes ||
	    attr->n_planes > FARE_MAX_PLANES || attr->control_dscp > DSCP_MAX)
		return -EINVAL;
	for (unsigned p = 0; p < attr->n_planes; p++)
		if (attr->n_sub_ports[p] > FARE_MAX_SUB_PORTS)
			return -EINVAL;
	return 0;
}

static int open_descriptors(struct qp_endpoint *ep)
{
	ep->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	ep->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (ep->epoll_fd < 0 || ep->timer_fd < 0)
		return -errno;
	return verbs_watch(ep, ep->timer_fd, VERBS_WATCH_TIMER, 0);
}

static void init(struct qp_endpoint *ep, const struct qp_endpoint_attr *attr)
{
	ep->attr = *attr;
	for (unsigned p = 0; p < FARE_MAX_PLANES; p++)
		for (unsigned s = 0; s < FARE_MAX_SUB_PORTS; s++)
			ep->attr.dev[p][s][FARE_DEV_NAME_MAX - 1] = '\0';
	ep->qps.prev = ep->qps.next = &ep->qps;
	ep->epoll_fd = ep->timer_fd = ep->control_fd = ep->done_fd = -1;
	memset(ep->tx_fd, 0xff, sizeof(ep->tx_fd));
	pthread_mutex_init(&ep->done_lock, NULL);
	ep->next_nonce = verbs_random();
}

static void verbs_endpoint_destroy(struct qp_endpoint *ep);

static int verbs_endpoint_create(struct qp_endpoint **out, const struct qp_endpoint_attr *attr)
{
	struct qp_endpoint *ep;
	int err = attr_check(attr);

	*out = NULL;
	if (err)
		return err;
	ep = calloc(1, sizeof(*ep));
	if (!ep)
		return -ENOMEM;
	init(ep, attr);
	ep->regions = calloc(VERBS_MAX_REGIONS, sizeof(*ep->regions));
	err = ep->regions ? open_descriptors(ep) : -ENOMEM;
	if (!err)
		err = verbs_device_open_all(ep);
	if (!err)
		err = verbs_control_open(ep);
	if (!err)
		err = verbs_watch(ep, ep->control_fd, VERBS_WATCH_CONTROL, 0);
	if (!err)
		err = verbs_worker_start_all(ep);
	if (!err)
		err = verbs_watch(ep, ep->done_fd, VERBS_WATCH_DONE, 0);
	if (err) {
		verbs_endpoint_destroy(ep);
		return err;
	}
	ep->info.fd = ep->epoll_fd;
	ep->info.path_mtu = ep->attr.path_mtu;
	ep->info.stats = &ep->stats;
	*out = ep;
	return 0;
}

/* Jobs that the workers have done; > 0 if there were any. */
static int take_done(struct qp_endpoint *ep)
{
	struct verbs_job *job = verbs_worker_take_done(ep), *next;
	int n = 0;

	for (; job; job = next, n++) {
		next = job->next;
		if (job->kind == VERBS_OPEN)
			verbs_device_on_reopened(ep);
		else
			verbs_qp_on_done(job->qp);
	}
	return n;
}

static void close_if_open(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void verbs_endpoint_destroy(struct qp_endpoint *ep)
{
	if (!ep)
		return;
	verbs_worker_stop_all(ep);
	verbs_qp_destroy_all(ep);
	while (take_done(ep)) /* a job that comes back may make the next one */
		;
	verbs_region_free_all(ep);
	verbs_device_close_all(ep);
	verbs_control_close(ep);
	close_if_open(ep->done_fd);
	close_if_open(ep->timer_fd);
	close_if_open(ep->epoll_fd);
	pthread_mutex_destroy(&ep->done_lock);
	free(ep);
}

/* ---- progress ---- */

/* Completion queues are looked at by poll in any case: what matters here is that they are no longer
 * armed. */
static int take_channel(struct qp_endpoint *ep, const struct verbs_handle *h)
{
	struct ibv_cq *cq;
	void *context;
	int n = 0;

	for (; h && !ibv_get_cq_event(h->channel, &cq, &context); n++) {
		struct qp *qp = verbs_qp_find(ep, context);

		if (qp)
			qp->armed = false;
		ibv_ack_cq_events(cq, 1); /* the last touch: its destruction waits for this */
	}
	return n;
}

static int verbs_endpoint_take(struct qp_endpoint *ep, uint64_t what)
{
	unsigned index = (unsigned)(what & UINT32_MAX);
	uint64_t expirations;

	switch ((enum verbs_watch_kind)(what >> 32)) {
	case VERBS_WATCH_CHANNEL:
		return take_channel(ep, ep->devices[index].handle);
	case VERBS_WATCH_ASYNC:
		return verbs_device_take_events(ep, index);
	case VERBS_WATCH_CONTROL:
		return verbs_control_receive(ep);
	case VERBS_WATCH_DONE:
		return take_done(ep);
	case VERBS_WATCH_TIMER:
		return read(ep->timer_fd, &expirations, sizeof(expirations)) > 0;
	}
	return 0;
}

static int verbs_endpoint_progress(struct qp_endpoint *ep)
{
	struct itimerspec again = {.it_value.tv_nsec = RECHECK_NS};
	struct epoll_event e[EVENTS];
	int n = epoll_wait(ep->epoll_fd, e, EVENTS, 0), did = 0;
	uint64_t now_ns = clock_now_ns();

	for (int i = 0; i < n; i++)
		did += verbs_endpoint_take(ep, e[i].data.u64);
	did += verbs_device_step(ep, now_ns);
	if (ep->n_draining)
		did += verbs_qp_check_drains(ep, now_ns);
	else if (ep->n_lost)
		again.it_value.tv_nsec = RECHECK_LOST_NS;
	else
		return did;
	timerfd_settime(ep->timer_fd, 0, &again, NULL);
	return did;
}

/* ---- the table ---- */

static const struct qp_endpoint_info *verbs_endpoint_info(const struct qp_endpoint *ep)
{
	return &ep->info;
}

static int sub_port_address(struct qp_endpoint *ep, uint16_t plane, uint16_t sub_port,
			    struct in6_addr *out)
{
	if (plane >= ep->attr.n_planes || sub_port >= ep->attr.n_sub_ports[plane])
		return -EINVAL;
	if (!ep->sub_ports[plane][sub_port].has_gid)
		return -EADDRNOTAVAIL;
	memcpy(out, ep->sub_ports[plane][sub_port].gid.raw, sizeof(*out));
	return 0;
}

static uint32_t num(const struct qp *qp)
{
	return qp->qpn;
}

static uint32_t psn(const struct qp *qp)
{
	return qp->first_psn;
}

static uint16_t source_port(const struct qp *qp)
{
	return qp->attr.udp_source_port;
}

/* The device repeats by its own clock. */
static void kick(struct qp *qp)
{
	(void)qp;
}

const struct qp_provider qp_verbs_provider = {
	.name = "verbs",
	.first_port = FARE_CONTROL_PORT,
	.notify_per_qp = true,
	.endpoint_create = verbs_endpoint_create,
	.endpoint_destroy = verbs_endpoint_destroy,
	.endpoint_info = verbs_endpoint_info,
	.endpoint_progress = verbs_endpoint_progress,
	.sub_port_address = sub_port_address,
	.mr_register = verbs_region_register,
	.mr_register_dmabuf = verbs_region_register_dmabuf,
	.mr_deregister = verbs_region_deregister,
	.qp_create = verbs_qp_create,
	.qp_num = num,
	.qp_psn = psn,
	.qp_source_port = source_port,
	.qp_connect = verbs_qp_connect,
	.qp_status = verbs_qp_status,
	.qp_refused = verbs_qp_refused,
	.qp_move = verbs_qp_move,
	.qp_kick = kick,
	.qp_error = verbs_qp_error,
	.qp_destroy = verbs_qp_destroy,
	.post = verbs_qp_post,
	.post_recv = verbs_qp_post_recv,
	.poll = verbs_qp_poll_all,
	.control_send = verbs_control_send,
};
