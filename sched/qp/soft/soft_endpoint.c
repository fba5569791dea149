/* SPDX-License-Identifier: BSD-2-Clause */
#include "soft_endpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "soft_mtu.h"
#include "soft_sock.h"

#define MTUS_REFRESH_NS 1000000000u
#define DELAYED_NS	50000u
/* however long the conversation: far below a sender's shortest time-out */
#define DELAYED_MOST_NS 1000000u
/* the acknowledgement of more than a few small messages opens a window */
#define DELAYED_BYTES 2048u

static int run_timers(struct qp_endpoint *ep, uint64_t now_ns)
{
	struct timer *timer;
	int n = 0;

	for (; (timer = timers_expire(&ep->alarm.timers, now_ns)); n++)
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
	const struct soft_delayed *p = &ep->delayed;

	if (ep->attr.acknowledge_now || !soft_alarm_is_spinning(&ep->alarm))
		return true;
	if (!late) {
		ep->delayed.since_ns = now_ns;
		return false;
	}
	if (p->urgent || p->bytes > DELAYED_BYTES || !(p->replied || p->converses) ||
	    now_ns >= p->since_ns + DELAYED_MOST_NS)
		return true;
	return !received && now_ns >= p->since_ns + DELAYED_NS;
}

static int soft_endpoint_progress(struct qp_endpoint *ep)
{
	uint64_t now_ns = clock_now_ns();
	bool late = !soft_link_is_alone(&ep->answering);
	int did, received;

	if (ep->alarm.in_progress) /* called from on_control */
		return 0;
	ep->alarm.in_progress = true;
	/* of a caller that spins: what it posted since its last call has waited long enough */
	did = soft_alarm_is_spinning(&ep->alarm) ? soft_tx_run(ep, now_ns) : 0;
	received = soft_rx_run(ep, now_ns);
	did += received;
	did += soft_tx_unblock(ep);
	did += run_timers(ep, now_ns);
	did += soft_tx_run(ep, now_ns);
	if (answers_are_due(ep, late, received, now_ns))
		soft_tx_answers(ep);
	soft_mtu_refresh(ep, now_ns, MTUS_REFRESH_NS);
	soft_alarm_end_progress(
		&ep->alarm, did,
		!soft_link_is_alone(&ep->runnable) || !soft_link_is_alone(&ep->answering), now_ns);
	return did;
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

/*
 * One process at an address is found where RDMA devices are. Those that start later take the next
 * port that is free.
 */
static int open_rx(struct qp_endpoint *ep)
{
	ep->info.port = ep->attr.udp_port ? ep->attr.udp_port : ROCE_UDP_PORT;
	return soft_sock_open_rx(&ep->attr.address, &ep->info.port,
				 ep->attr.udp_port ? 1 : FARE_PROCESS_PORTS);
}

static int open_descriptors(struct qp_endpoint *ep)
{
	int err = soft_alarm_open(&ep->alarm);

	if (err)
		return err;
	ep->sockets.epoll_fd = ep->info.fd = ep->alarm.epoll_fd;
	ep->rx_fd = open_rx(ep);
	return ep->rx_fd < 0 ? ep->rx_fd : soft_alarm_watch(&ep->alarm, ep->rx_fd);
}

static void init_endpoint(struct qp_endpoint *ep, const struct qp_endpoint_attr *attr)
{
	ep->attr = *attr;
	for (unsigned p = 0; p < FARE_MAX_PLANES; p++)
		for (unsigned s = 0; s < FARE_MAX_SUB_PORTS; s++)
			ep->attr.dev[p][s][FARE_DEV_NAME_MAX - 1] = '\0';
	ep->info.mtus = &ep->mtus;
	ep->info.stats = &ep->stats;
	ep->rx_fd = -1;
	soft_alarm_init(&ep->alarm);
	soft_sockets_init(&ep->sockets, &ep->attr);
	soft_link_init(&ep->qps);
	soft_link_init(&ep->runnable);
	soft_link_init(&ep->answering);
	ep->icrc_ids.any = attr->device_peers;
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
	ep->info.path_mtu = attr->path_mtu;
	return !most || attr->path_mtu > most ? -EMSGSIZE : 0;
}

static void soft_endpoint_leave(struct qp_endpoint *ep)
{
	soft_sockets_leave(&ep->sockets);
	close(ep->rx_fd);
	soft_alarm_leave(&ep->alarm);
}

static void soft_endpoint_destroy(struct qp_endpoint *ep)
{
	if (!ep)
		return;
	while (!soft_link_is_alone(&ep->qps))
		soft_qp_destroy(soft_link_owner(ep->qps.next, struct qp, all));
	soft_sockets_fini(&ep->sockets);
	if (ep->rx_fd >= 0)
		close(ep->rx_fd);
	soft_alarm_fini(&ep->alarm);
	mr_table_fini(&ep->regions);
	soft_cq_fini(&ep->cq);
	free(ep->buckets);
	free(ep->rx.bytes);
	free(ep);
}

static int soft_endpoint_create(struct qp_endpoint **out, const struct qp_endpoint_attr *attr)
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
	err = ep->rx.bytes ? soft_sock_random(&ep->next_qpn, sizeof(ep->next_qpn)) : -ENOMEM;
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

/* ---- the table ---- */

static const struct qp_endpoint_info *soft_endpoint_info(const struct qp_endpoint *ep)
{
	return &ep->info;
}

static int mr_register(struct qp_endpoint *ep, void *addr, size_t length, unsigned access,
		       struct qp_mr *out)
{
	int err = ep->n_keys ? 0 : soft_sock_random(ep->keys, sizeof(ep->keys));

	if (err)
		return err;
	ep->n_keys = ep->n_keys ? ep->n_keys : SOFT_KEYS;
	return mr_table_add(&ep->regions, addr, length, access, ep->keys[--ep->n_keys], out);
}

static int mr_deregister(struct qp_endpoint *ep, const struct qp_mr *mr)
{
	return mr_table_remove(&ep->regions, mr);
}

static uint32_t num(const struct qp *qp)
{
	return qp->qpn;
}

static bool refused(const struct qp *qp)
{
	return qp->state == SOFT_QP_REFUSING;
}

static uint32_t psn(const struct qp *qp)
{
	return qp->first_psn;
}

static uint16_t source_port(const struct qp *qp)
{
	return qp->attr.udp_source_port;
}

static int poll_completions(struct qp_endpoint *ep, struct qp_wc *wc, int max)
{
	return soft_cq_poll(&ep->cq, wc, max);
}

const struct qp_provider qp_soft_provider = {
	.name = "soft",
	.first_port = ROCE_UDP_PORT,
	.echoes_learn_ports = true,
	.endpoint_create = soft_endpoint_create,
	.endpoint_destroy = soft_endpoint_destroy,
	.endpoint_leave = soft_endpoint_leave,
	.endpoint_info = soft_endpoint_info,
	.endpoint_progress = soft_endpoint_progress,
	.mr_register = mr_register,
	.mr_deregister = mr_deregister,
	.qp_create = soft_qp_create,
	.qp_num = num,
	.qp_psn = psn,
	.qp_source_port = source_port,
	.qp_connect = soft_qp_connect,
	.qp_status = soft_qp_status,
	.qp_refused = refused,
	.qp_move = soft_qp_move,
	.qp_spread = soft_qp_spread,
	.qp_kick = soft_qp_kick,
	.qp_error = soft_state_error,
	.qp_destroy = soft_qp_destroy,
	.post = soft_qp_post,
	.post_recv = soft_qp_post_recv,
	.poll = poll_completions,
	.control_send = soft_control_send,
};
