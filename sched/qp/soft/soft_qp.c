/* SPDX-License-Identifier: BSD-2-Clause */
/* soft_qp.c - QPs: made, connected, moved; work is posted */
#include "soft_protocol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "base/clock.h"
#include "soft_sock.h"

#define WINDOW_DEFAULT	     (128u << 10)
#define NOTIFICATIONS_PER_QP 256
#define QPN_MASK	     0xffffffu
#define REFUSED_NS	     UINT64_C(100000000)

static bool attr_is_valid(const struct qp_endpoint *ep, const struct qp_attr *attr)
{
	if (attr->plane != QP_ANY_PLANE && (attr->plane >= ep->attr.n_planes ||
					    attr->sub_port >= ep->attr.n_sub_ports[attr->plane]))
		return false;
	if (attr->udp_source_port && attr->udp_source_port < ROCE_SOURCE_PORT_FIRST)
		return false;
	if (attr->dscp > DSCP_MAX || attr->service_level > QP_MAX_SERVICE_LEVEL)
		return false;
	return attr->timeout < 32 && attr->retry_cnt < 8 && attr->rnr_limit < 8 &&
	       attr->receives <= QP_MAX_RECEIVES && !(attr->order_free && attr->receives);
}

/*
 * What a QP sends before others have their turn: payload that fills a super-packet, whole packets,
 * within both of its limits.
 */
static uint32_t batch_bytes(const struct qp *qp)
{
	uint32_t mtu = qp->path_mtu;
	uint32_t packets = SOFT_GSO_BYTES / (mtu + ROCE_HEADER_MAX + ROCE_ICRC_BYTES),
		 queue = soft_sockets_burst_bytes(&qp->ep->sockets, qp->socket->key) / mtu;

	packets = packets < SOFT_GSO_SEGMENTS ? packets : SOFT_GSO_SEGMENTS;
	packets = packets < queue ? packets : queue;
	return (packets ? packets : 1) * mtu;
}

static uint32_t window_of(const struct qp *qp)
{
	return qp->attr.window_bytes ? qp->attr.window_bytes : WINDOW_DEFAULT;
}

static struct rc_requester_config config_of(struct qp *qp)
{
	const struct qp_attr *attr = &qp->attr;

	return (struct rc_requester_config){
		.path_mtu = qp->path_mtu,
		.window_bytes = window_of(qp),
		.batch_bytes = qp->batch_bytes,
		.timeout_ns = attr->timeout ? 4096ull << attr->timeout : 0,
		.retry_cnt = attr->retry_cnt,
		.rnr_limit = attr->rnr_limit,
		.regions = &qp->ep->regions,
		.first_psn = qp->first_psn,
		.remote_qpn = qp->remote.qpn,
		.stats = &qp->ep->stats,
		.on_complete = soft_cq_complete,
		.arg = qp,
	};
}

static int socket_at(struct qp *qp, const struct qp_path *path, struct soft_socket **out)
{
	struct soft_socket_key key = {qp->attr.plane, path->sub_port, path->udp_source_port,
				      qp->attr.dscp};
	/* the kernel counts its own overhead too: ample for a window and answers */
	uint32_t tx_bytes = window_of(qp) * 2 + (256u << 10);

	return soft_sockets_get(&qp->ep->sockets, key, tx_bytes, out);
}

static int get_socket(struct qp *qp)
{
	struct qp_path path = {qp->attr.sub_port, qp->attr.udp_source_port};
	int err = socket_at(qp, &path, &qp->socket);

	if (!err)
		qp->attr.udp_source_port = qp->socket->key.port;
	return err;
}

/* Receives that a QP may have claimed. */
static size_t receives_of(const struct qp *qp)
{
	return qp->attr.receives ? qp->attr.receives : NOTIFICATIONS_PER_QP;
}

static int soft_qp_make_room(struct qp *qp)
{
	struct qp_endpoint *ep = qp->ep;
	size_t n = ep->n_qps + 1;
	int err = soft_state_make_buckets(ep);

	soft_cq_allow(&ep->cq, n * RC_QUEUE_DEPTH, ep->n_receives + receives_of(qp));
	return err ? err : timers_reserve(&ep->alarm.timers, n);
}

/* 0: not known. */
static double line_bps(const struct qp *qp)
{
	const struct qp_endpoint_attr *of = &qp->ep->attr;
	double sum = 0;

	if (qp->attr.plane == QP_ANY_PLANE)
		return 0;
	for (unsigned i = 0; qp->attr.order_free && i < of->n_sub_ports[qp->attr.plane]; i++)
		sum += (double)of->bps[qp->attr.plane][i];
	return qp->attr.order_free ? sum : (double)of->bps[qp->attr.plane][qp->attr.sub_port];
}

static int make_pace(struct qp *qp)
{
	double bps = line_bps(qp);
	struct dcqcn_config config;

	if (!qp->attr.dcqcn.is_on || bps <= 0)
		return 0;
	qp->pace = calloc(1, sizeof(*qp->pace));
	if (!qp->pace)
		return -ENOMEM;
	config = dcqcn_tuned(bps, &qp->attr.dcqcn);
	dcqcn_init(&qp->pace->rate, &config);
	return 0;
}

static int init_qp(struct qp *qp)
{
	int err = soft_sock_random(&qp->first_psn, sizeof(qp->first_psn));

	qp->first_psn &= ROCE_PSN_MASK;
	if (!err)
		err = soft_qp_make_room(qp);
	if (!err)
		err = get_socket(qp);
	if (!err)
		err = soft_protocol_create(qp);
	if (!err)
		err = make_pace(qp);
	return err ? err : soft_state_assign_qpn(qp->ep, qp);
}

static void soft_qp_release(struct qp *qp)
{
	soft_protocol_destroy(qp);
	soft_sockets_put(&qp->ep->sockets, qp->socket);
	free(qp->pace);
	free(qp);
}

int soft_qp_create(struct qp_endpoint *ep, const struct qp_attr *attr, struct qp **out)
{
	struct qp *qp;
	int err;

	*out = NULL;
	if (!attr_is_valid(ep, attr))
		return -EINVAL;
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return -ENOMEM;
	qp->ep = ep;
	qp->attr = *attr;
	soft_link_init(&qp->all);
	soft_link_init(&qp->runnable);
	soft_link_init(&qp->answering);
	soft_link_init(&qp->waiting);
	err = init_qp(qp);
	if (err) {
		soft_qp_release(qp);
		return err;
	}
	soft_link_append(&ep->qps, &qp->all);
	ep->n_qps++;
	ep->n_receives += receives_of(qp);
	*out = qp;
	return 0;
}

int soft_qp_connect(struct qp *qp, const struct qp_remote *remote)
{
	const struct in6_addr *local = &qp->ep->attr.address;
	uint16_t port = remote->udp_port ? remote->udp_port : ROCE_UDP_PORT;
	struct rc_requester_config config;
	int err;

	if (qp->state != SOFT_QP_RESET || remote->qpn > QPN_MASK || remote->psn > ROCE_PSN_MASK ||
	    !IN6_IS_ADDR_V4MAPPED(local) != !IN6_IS_ADDR_V4MAPPED(&remote->address))
		return -EINVAL;
	if (remote->path_mtu && !qp_path_mtu_is_valid(remote->path_mtu))
		return -EINVAL;
	if (qp->attr.order_free != remote->order_free)
		return -EPROTONOSUPPORT;
	qp->remote = *remote;
	qp->remote_at_bytes = address_to_socket(&remote->address, port, &qp->remote_at);
	qp->flow = (struct roce_flow){
		.source = *local,
		.destination = remote->address,
		.source_port = qp->attr.udp_source_port,
		.destination_port = port,
	};
	qp->path_mtu = qp_path_mtu_common(qp->ep->attr.path_mtu, remote->path_mtu);
	qp->batch_bytes = batch_bytes(qp);
	config = config_of(qp);
	err = soft_protocol_start(qp, &config);
	if (!err)
		qp->state = SOFT_QP_RTS;
	return err;
}

void soft_qp_on_timer(struct qp *qp, uint64_t now_ns)
{
	enum qp_wc_status status = soft_protocol_on_timer(qp, now_ns);

	if (status) {
		soft_state_fail(qp, status);
		return;
	}
	if (qp->hold_until_ns <= now_ns)
		qp->hold_until_ns = 0;
	if (qp->pace && qp->pace->next_ns <= now_ns)
		qp->pace->next_ns = 0;
	soft_state_set_timer(qp);
	if (soft_protocol_has_unsent(qp) || soft_protocol_answer_due(qp))
		soft_state_schedule(qp);
}

static void run_soon(struct qp *qp)
{
	soft_state_schedule(qp);
	soft_alarm_wake(&qp->ep->alarm);
}

void soft_qp_kick(struct qp *qp)
{
	if (!soft_state_is_live(qp))
		return;
	soft_protocol_kick(qp, clock_now_ns());
	qp->hold_until_ns = 0;
	soft_state_set_timer(qp);
	run_soon(qp);
}

static int change_socket(struct qp *qp, uint16_t sub_port, uint16_t port)
{
	struct qp_path path = {sub_port, port};
	struct soft_socket *socket;
	int err = socket_at(qp, &path, &socket);

	if (err)
		return err;
	soft_link_remove(&qp->waiting);
	soft_sockets_put(&qp->ep->sockets, qp->socket);
	qp->socket = socket;
	qp->no_gso = false; /* another device, perhaps */
	qp->attr.sub_port = sub_port;
	qp->attr.udp_source_port = qp->flow.source_port = port;
	return 0;
}

int soft_qp_move(struct qp *qp, uint16_t sub_port, uint16_t udp_source_port)
{
	int err;

	if (qp->order_free) /* it has several: soft_qp_spread() */
		return -EOPNOTSUPP;
	if (qp->attr.plane == QP_ANY_PLANE || sub_port >= qp->ep->attr.n_sub_ports[qp->attr.plane])
		return -EINVAL;
	if (udp_source_port && udp_source_port < ROCE_SOURCE_PORT_FIRST)
		return -EINVAL;
	if (!soft_state_is_live(qp))
		return -ENOTCONN;
	err = change_socket(qp, sub_port,
			    udp_source_port ? udp_source_port : qp->attr.udp_source_port);
	soft_qp_kick(qp);
	return err;
}

/* As long as it would itself send again before it gives up: about as long as its peer does. */
static uint64_t refusing_ns(const struct qp *qp)
{
	return qp->attr.timeout ? (UINT64_C(4096) << qp->attr.timeout) * (qp->attr.retry_cnt + 1)
				: REFUSED_NS;
}

/*
 * A QP with nothing posted has no completion that reports the failure. It waits a while: its NAK
 * reports to the sender what was refused, and so which write failed. A sender whose QP is reset
 * first would send that write again elsewhere.
 */
int soft_qp_status(struct qp *qp)
{
	uint64_t wait_ns = qp->state == SOFT_QP_REFUSING ? refusing_ns(qp) : REFUSED_NS;

	return qp->failed_ns && clock_now_ns() - qp->failed_ns > wait_ns ? -EIO : 0;
}

void soft_qp_destroy(struct qp *qp)
{
	struct qp_endpoint *ep = qp->ep;

	soft_state_error(qp);
	soft_cq_purge(&ep->cq, qp);
	soft_state_forget(qp);
	soft_link_remove(&qp->all);
	ep->n_qps--;
	ep->n_receives -= receives_of(qp);
	soft_qp_release(qp);
}

static bool soft_qp_is_among(const struct qp_path *path, const struct qp_path *paths, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (paths[i].sub_port == path->sub_port &&
		    paths[i].udp_source_port == path->udp_source_port)
			return true;
	return false;
}

static int check_paths(const struct qp *qp, const struct qp_path *paths, unsigned n)
{
	if (!n || n > QP_MAX_PATHS || qp->attr.plane == QP_ANY_PLANE)
		return -EINVAL;
	for (unsigned i = 0; i < n; i++)
		if (paths[i].sub_port >= qp->ep->attr.n_sub_ports[qp->attr.plane] ||
		    paths[i].udp_source_port < ROCE_SOURCE_PORT_FIRST ||
		    soft_qp_is_among(&paths[i], paths, i))
			return -EINVAL;
	return 0;
}

/* Sockets for all n paths, or for none. */
static int get_paths(struct qp *qp, const struct qp_path *paths, unsigned n, struct soft_path *out)
{
	for (unsigned i = 0; i < n; i++) {
		int err = socket_at(qp, &paths[i], &out[i].socket);

		if (err) {
			while (i--)
				soft_sockets_put(&qp->ep->sockets, out[i].socket);
			return err;
		}
		out[i].path = paths[i];
	}
	return 0;
}

int soft_qp_spread(struct qp *qp, const struct qp_path *paths, unsigned n)
{
	struct soft_path found[QP_MAX_PATHS];
	int err = qp->order_free ? check_paths(qp, paths, n) : -EOPNOTSUPP;
	bool is_waiting;

	if (!err)
		err = get_paths(qp, paths, n, found);
	if (err)
		return err;
	is_waiting = !soft_link_is_alone(&qp->waiting); /* in a list of a socket that may end now */
	soft_link_remove(&qp->waiting);
	soft_protocol_set_paths(qp, found, n);
	qp->no_gso = false; /* other devices, perhaps */
	if (is_waiting)
		run_soon(qp);
	return 0;
}

static int accept_work(struct qp *qp, const struct qp_work *work)
{
	int err;

	if (qp->state != SOFT_QP_RTS)
		return -ENOTCONN;
	if (work->flags & ~(unsigned)(QP_WR_IMM | QP_WR_MORE | QP_WR_LATER) ||
	    work->length > ROCE_MAX_DMA_BYTES ||
	    !mr_table_local_ok(&qp->ep->regions, work->lkey, work->data, work->length))
		return -EINVAL;
	err = soft_cq_claim(&qp->ep->cq, false);
	if (err)
		return err;
	err = soft_protocol_post(qp, work);
	if (err)
		soft_cq_unclaim(&qp->ep->cq, false);
	return err;
}

int soft_qp_post(struct qp *qp, const struct qp_work *work)
{
	bool idle = qp->is_held || qp->is_deferred ||
		    (qp->state == SOFT_QP_RTS && soft_protocol_is_idle(qp));
	int err = accept_work(qp, work);

	if (err && (!qp->is_held || qp->state != SOFT_QP_RTS))
		return err;
	qp->is_held = !err && idle && (work->flags & QP_WR_MORE);
	if (qp->is_held)
		return 0;
	if (qp->is_deferred && !(work->flags & QP_WR_LATER))
		soft_link_remove(&qp->runnable); /* it goes now, with what waits */
	qp->is_deferred = idle && (work->flags & QP_WR_LATER);
	/*
	 * At once if next to nothing is under way (latency) or a batch is full; else more posts may
	 * still make the batch longer, and progress sends what they left.
	 */
	if (soft_link_is_alone(&qp->runnable) &&
	    ((idle && !(work->flags & QP_WR_LATER)) ||
	     soft_protocol_unsent_bytes(qp) >= qp->batch_bytes) &&
	    !soft_tx_burst(qp, clock_now_ns())) {
		soft_alarm_rearm(&qp->ep->alarm);
		return err;
	}
	run_soon(qp);
	return err;
}

int soft_qp_post_recv(struct qp *qp, const struct qp_recv *recv)
{
	int err;

	if (qp->state > SOFT_QP_RTS)
		return -ENOTCONN;
	if (!qp->attr.receives || recv->length > ROCE_MAX_DMA_BYTES ||
	    !mr_table_local_ok(&qp->ep->regions, recv->lkey, recv->data, recv->length))
		return -EINVAL;
	err = soft_cq_claim(&qp->ep->cq, true);
	if (err)
		return err;
	err = rc_receives_post(&qp->receives, recv);
	if (err)
		soft_cq_unclaim(&qp->ep->cq, true);
	return err;
}
