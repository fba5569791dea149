/* SPDX-License-Identifier: BSD-2-Clause */
#include "soft_endpoint.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "soft_mtu.h"
#include "soft_sock.h"

#define DEVICES_REFRESH_NS 1000000000u
#define MTUS_REFRESH_NS	   1000000000u
#define IDLE_MAX	   64
/* from here on: the caller does not wait for the descriptor before it calls */
#define IDLE_SPINNING 8
#define PUT_OFF_NS    50000u
/* however long the conversation: far below a sender's shortest time-out */
#define PUT_OFF_MOST_NS 1000000u
/* the acknowledgement of more than a few small messages opens a window */
#define PUT_OFF_BYTES 2048u

int soft_endpoint_random(void *out, size_t bytes)
{
	return getrandom(out, bytes, 0) == (ssize_t)bytes ? 0 : -EIO;
}

static void set_timer(struct qp_endpoint *ep, uint64_t when_ns)
{
	struct itimerspec t = {
		.it_value = {.tv_sec = (time_t)(when_ns / 1000000000u),
			     .tv_nsec = (long)(when_ns % 1000000000u)},
	};

	timerfd_settime(ep->timer_fd, TFD_TIMER_ABSTIME, &t, NULL);
	ep->armed_ns = when_ns;
}

bool soft_endpoint_is_spinning(const struct qp_endpoint *ep)
{
	return ep->idleness >= IDLE_SPINNING;
}

/*
 * An eventfd, not a timer that is due at once: those cost a virtual machine tens of microseconds.
 */
static void set_awake(struct qp_endpoint *ep, bool awake)
{
	uint64_t count = 1;

	if (ep->is_awake == awake)
		return;
	if ((awake ? write(ep->wake_fd, &count, sizeof(count))
		   : read(ep->wake_fd, &count, sizeof(count))) == sizeof(count))
		ep->is_awake = awake;
}

void soft_endpoint_wake(struct qp_endpoint *ep)
{
	if (!ep->in_progress)
		set_awake(ep, true);
}

void soft_endpoint_rearm(struct qp_endpoint *ep)
{
	uint64_t next = timers_next(&ep->timers);

	/* an alarm that comes too early is harmless, and cheaper than moving it */
	if (!ep->in_progress && next && (!ep->armed_ns || next < ep->armed_ns))
		set_timer(ep, next);
}

/* At the end of progress: also quietens an alarm that has gone off. */
static void rearm_after(struct qp_endpoint *ep, uint64_t now_ns)
{
	bool is_due = !soft_link_is_alone(&ep->runnable) || !soft_link_is_alone(&ep->answering);
	bool rang = ep->armed_ns && ep->armed_ns <= now_ns;
	uint64_t next = timers_next(&ep->timers);

	set_awake(ep, is_due);
	if (next != ep->armed_ns && (rang || (next && (!ep->armed_ns || next < ep->armed_ns))))
		set_timer(ep, next);
}

static int run_timers(struct qp_endpoint *ep, uint64_t now_ns)
{
	struct timer *timer;
	int n = 0;

	for (; (timer = timers_expire(&ep->timers, now_ns)); n++)
		soft_qp_on_timer(soft_link_owner(timer, struct qp, timer), now_ns);
	return n;
}

/*
 * To what just arrived. A caller that spins comes back at once, and then they go out with its next
 * call, after what it posts in reply; or, if it does reply, in a pause. late: some were due before
 * this call.
 */
static bool answers_are_due(struct qp_endpoint *ep, bool late, bool received, uint64_t now_ns)
{
	const struct soft_put_off *p = &ep->put_off;

	if (ep->attr.acknowledge_now || !soft_endpoint_is_spinning(ep))
		return true;
	if (!late) {
		ep->put_off.since_ns = now_ns;
		return false;
	}
	if (p->urgent || p->bytes > PUT_OFF_BYTES || !(p->replied || p->converses) ||
	    now_ns >= p->since_ns + PUT_OFF_MOST_NS)
		return true;
	return !received && now_ns >= p->since_ns + PUT_OFF_NS;
}

void soft_endpoint_send_answers(struct qp_endpoint *ep)
{
	ep->put_off = (struct soft_put_off){.converses = ep->put_off.replied};
	soft_tx_answers(ep);
}

int soft_endpoint_progress(struct qp_endpoint *ep)
{
	uint64_t now_ns = clock_now_ns();
	bool late = !soft_link_is_alone(&ep->answering);
	int did, received;

	if (ep->in_progress) /* called from on_control */
		return 0;
	ep->in_progress = true;
	/* of a caller that spins: what it posted since its last call has waited long enough */
	did = soft_endpoint_is_spinning(ep) ? soft_tx_run(ep, now_ns) : 0;
	received = soft_rx_run(ep, now_ns);
	did += received;
	did += soft_tx_unblock(ep);
	did += run_timers(ep, now_ns);
	did += soft_tx_run(ep, now_ns);
	if (answers_are_due(ep, late, received, now_ns))
		soft_endpoint_send_answers(ep);
	ep->in_progress = false;
	if (!did)
		ep->idleness += ep->idleness < IDLE_MAX;
	else
		ep->idleness -= ep->idleness < 2 ? ep->idleness : 2;
	soft_endpoint_read_mtus(ep, now_ns, MTUS_REFRESH_NS);
	rearm_after(ep, now_ns);
	return did;
}

void soft_endpoint_read_mtus(struct qp_endpoint *ep, uint64_t now_ns, uint64_t interval_ns)
{
	if (now_ns - ep->mtus_read_ns < interval_ns)
		return;
	ep->mtus_read_ns = now_ns;
	if (soft_mtu_read(&ep->mtus, &ep->attr, ep->rx_fd))
		soft_endpoint_wake(ep);
}

bool soft_endpoint_find_device(struct qp_endpoint *ep, unsigned ifindex, uint16_t *plane,
			       uint16_t *sub_port)
{
	uint64_t now_ns = clock_now_ns();

	for (;;) {
		for (uint16_t p = 0; p < ep->attr.n_planes; p++) {
			for (uint16_t s = 0; s < ep->attr.n_sub_ports[p]; s++) {
				if (!ifindex || ep->ifindex[p][s] != ifindex)
					continue;
				*plane = p;
				*sub_port = s;
				return true;
			}
		}
		/* devices come and go; but not every stranger's packet may make us look */
		if (ep->devices_read_ns && now_ns - ep->devices_read_ns < DEVICES_REFRESH_NS)
			return false;
		ep->devices_read_ns = now_ns;
		for (uint16_t p = 0; p < ep->attr.n_planes; p++)
			for (uint16_t s = 0; s < ep->attr.n_sub_ports[p]; s++)
				ep->ifindex[p][s] = if_nametoindex(ep->attr.dev[p][s]);
	}
}

static bool attr_is_valid(const struct qp_endpoint_attr *attr)
{
	if ((attr->path_mtu && !qp_path_mtu_is_valid(attr->path_mtu)) ||
	    attr->n_planes > FARE_MAX_PLANES || attr->control_dscp > DSCP_MAX)
		return false;
	for (unsigned p = 0; p < attr->n_planes; p++)
		if (attr->n_sub_ports[p] > FARE_MAX_SUB_PORTS)
			return false;
	return true;
}

static int watch(struct qp_endpoint *ep, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};

	return epoll_ctl(ep->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

/*
 * One process at an address is found where RDMA devices are. Those that start later take the next
 * port that is free.
 */
static int open_rx(struct qp_endpoint *ep)
{
	ep->port = ep->attr.udp_port ? ep->attr.udp_port : ROCE_UDP_PORT;
	return soft_sock_open_rx(&ep->attr.address, &ep->port,
				 ep->attr.udp_port ? 1 : FARE_PROCESS_PORTS);
}

static int open_descriptors(struct qp_endpoint *ep)
{
	int err;

	ep->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (ep->epoll_fd < 0)
		return -errno;
	ep->sockets.epoll_fd = ep->epoll_fd;
	ep->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (ep->timer_fd < 0)
		return -errno;
	ep->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (ep->wake_fd < 0)
		return -errno;
	ep->rx_fd = open_rx(ep);
	if (ep->rx_fd < 0)
		return ep->rx_fd;
	err = watch(ep, ep->timer_fd);
	if (!err)
		err = watch(ep, ep->wake_fd);
	return err ? err : watch(ep, ep->rx_fd);
}

static void init_endpoint(struct qp_endpoint *ep, const struct qp_endpoint_attr *attr)
{
	ep->attr = *attr;
	for (unsigned p = 0; p < FARE_MAX_PLANES; p++)
		for (unsigned s = 0; s < FARE_MAX_SUB_PORTS; s++)
			ep->attr.dev[p][s][FARE_DEV_NAME_MAX - 1] = '\0';
	ep->epoll_fd = ep->timer_fd = ep->wake_fd = ep->rx_fd = -1;
	soft_sockets_init(&ep->sockets, &ep->attr);
	soft_link_init(&ep->qps);
	soft_link_init(&ep->runnable);
	soft_link_init(&ep->answering);
	ep->icrc_ids.any = attr->device_peers;
	mr_table_init(&ep->regions);
	soft_cq_init(&ep->cq);
	timers_init(&ep->timers);
}

/* What was asked for, or what most devices carry; QPs go by those that do. */
static int choose_path_mtu(struct qp_endpoint *ep)
{
	struct qp_endpoint_attr *attr = &ep->attr;
	const char *dev;
	uint32_t most;

	soft_mtu_read(&ep->mtus, attr, ep->rx_fd);
	ep->mtus_read_ns = clock_now_ns();
	most = soft_mtu_of_most(&ep->mtus, attr, &dev);
	if (attr->max_path_mtu)
		*attr->max_path_mtu = most == QP_MTU_UNKNOWN ? 0 : most;
	if (attr->max_path_mtu_dev)
		memcpy(attr->max_path_mtu_dev, dev, strlen(dev) + 1);
	attr->max_path_mtu = NULL; /* the caller's */
	attr->max_path_mtu_dev = NULL;
	if (!attr->path_mtu)
		attr->path_mtu = most == QP_MTU_UNKNOWN ? QP_PATH_MTU_DEFAULT : most;
	return !most || attr->path_mtu > most ? -EMSGSIZE : 0;
}

int soft_endpoint_create(struct qp_endpoint **out, const struct qp_endpoint_attr *attr)
{
	struct qp_endpoint *ep;
	int err;

	*out = NULL;
	if (!attr_is_valid(attr))
		return -EINVAL;
	ep = calloc(1, sizeof(*ep));
	if (!ep)
		return -ENOMEM;
	init_endpoint(ep, attr);
	ep->rx.bytes = aligned_alloc(4096, (size_t)SOFT_RX_MESSAGES * SOFT_RX_BYTES);
	err = ep->rx.bytes ? soft_endpoint_random(&ep->next_qpn, sizeof(ep->next_qpn)) : -ENOMEM;
	if (!err)
		err = open_descriptors(ep);
	if (!err)
		err = choose_path_mtu(ep);
	if (err) {
		soft_endpoint_destroy(ep);
		return err;
	}
	*out = ep;
	return 0;
}

static void close_if_open(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void close_descriptors(const struct qp_endpoint *ep)
{
	close_if_open(ep->rx_fd);
	close_if_open(ep->timer_fd);
	close_if_open(ep->wake_fd);
	close_if_open(ep->epoll_fd);
}

void soft_endpoint_leave(struct qp_endpoint *ep)
{
	soft_sockets_leave(&ep->sockets);
	close_descriptors(ep);
}

void soft_endpoint_destroy(struct qp_endpoint *ep)
{
	if (!ep)
		return;
	while (!soft_link_is_alone(&ep->qps))
		soft_qp_destroy(soft_link_owner(ep->qps.next, struct qp, all));
	soft_sockets_fini(&ep->sockets);
	close_descriptors(ep);
	mr_table_fini(&ep->regions);
	soft_cq_fini(&ep->cq);
	timers_fini(&ep->timers);
	free(ep->buckets);
	free(ep->rx.bytes);
	free(ep);
}
