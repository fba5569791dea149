/* SPDX-License-Identifier: BSD-2-Clause */
/* verbs_qp.c - QPs on devices: made, posted to, polled, ended (verbs_endpoint.h) */
#include "qp/verbs/verbs_endpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define RECV_ID	   UINT64_MAX /* wr_id of receives: an error completion has no other mark */
#define QPN_MASK   0xffffffu
#define DRAIN_NS   UINT64_C(200000000)
#define POLL_BATCH 16

/* ---- making ---- */

static int attr_check(const struct qp_endpoint *ep, const struct qp_attr *attr)
{
	if (attr->plane == QP_ANY_PLANE)
		return -EOPNOTSUPP; /* a QP is its device's: the kernel's routing has no say */
	if (attr->order_free)
		return -EOPNOTSUPP; /* a device's responder takes packets in their order only */
	if (attr->plane >= ep->attr.n_planes ||
	    attr->sub_port >= ep->attr.n_sub_ports[attr->plane] || attr->timeout > 31 ||
	    attr->retry_cnt > 7 || attr->rnr_limit > 7 || attr->receives > QP_MAX_RECEIVES ||
	    attr->notifications > QP_MAX_RECEIVES || attr->dscp > DSCP_MAX ||
	    attr->service_level > QP_MAX_SERVICE_LEVEL ||
	    (attr->udp_source_port && attr->udp_source_port < ROCE_SOURCE_PORT_FIRST))
		return -EINVAL;
	if (ep->devices[ep->sub_ports[attr->plane][attr->sub_port].device].state != VERBS_DEVICE_UP)
		return -ENODEV; /* lost: it is looked for */
	if (!ep->sub_ports[attr->plane][attr->sub_port].has_gid)
		return -EADDRNOTAVAIL;
	return ep->sub_ports[attr->plane][attr->sub_port].up ? 0 : -ENETDOWN;
}

static unsigned receive_room(const struct qp *qp)
{
	if (qp->attr.receives)
		return qp->attr.receives;
	return qp->attr.notifications ? qp->attr.notifications : VERBS_RECV_DEPTH;
}

/* sge NULL: one of zero bytes. */
static int post_receive(struct qp *qp, struct ibv_sge *sge)
{
	struct ibv_recv_wr wr = {.wr_id = RECV_ID, .sg_list = sge, .num_sge = sge != NULL}, *bad;
	int err = ibv_post_recv(qp->ibv, &wr, &bad);

	qp->n_receives += !err;
	return -err;
}

/* The provider's own: as many as there is room for. */
static int fill_receives(struct qp *qp)
{
	int err = 0;

	while (!err && !qp->attr.receives && qp->n_receives < receive_room(qp))
		err = post_receive(qp, NULL);
	return err;
}

static int to_init(struct qp *qp)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
				.port_num = qp->port,
				.qp_access_flags =
					IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ};
	int err = -ibv_modify_qp(
		qp->ibv, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);

	return err ? err : fill_receives(qp);
}

static int verbs_qp_make(struct qp *qp)
{
	const struct verbs_handle *h = qp->handle;
	struct ibv_qp_init_attr init = {
		.qp_context = qp,
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = {.max_send_wr = VERBS_SEND_DEPTH,
			.max_recv_wr = receive_room(qp),
			.max_send_sge = 1,
			.max_recv_sge = 1},
	};

	qp->receive_ids = calloc(receive_room(qp), sizeof(*qp->receive_ids));
	if (!qp->receive_ids)
		return -ENOMEM;
	errno = 0;
	qp->cq = ibv_create_cq(h->context, (int)(VERBS_SEND_DEPTH + receive_room(qp)), qp,
			       h->channel, 0);
	if (!qp->cq)
		return errno ? -errno : -ENOMEM;
	init.send_cq = init.recv_cq = qp->cq;
	qp->ibv = ibv_create_qp(h->pd, &init);
	if (!qp->ibv)
		return errno ? -errno : -ENOMEM;
	qp->qpn = qp->ibv->qp_num;
	return to_init(qp);
}

int verbs_qp_create(struct qp_endpoint *ep, const struct qp_attr *attr, struct qp **out)
{
	struct verbs_sub_port *sp;
	struct qp *qp;
	int err = attr_check(ep, attr);

	*out = NULL;
	if (err)
		return err;
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return -ENOMEM;
	sp = &ep->sub_ports[attr->plane][attr->sub_port];
	qp->ep = ep;
	qp->attr = *attr;
	if (!qp->attr.udp_source_port)
		qp->attr.udp_source_port = (uint16_t)(ROCE_SOURCE_PORT_FIRST | verbs_random());
	qp->device = sp->device;
	qp->handle = ep->devices[sp->device].handle;
	qp->port = sp->port;
	qp->gid_index = sp->gid_index;
	qp->first_psn = (uint32_t)verbs_random() & QPN_MASK;
	err = verbs_qp_make(qp);
	if (err) {
		if (qp->ibv)
			ibv_destroy_qp(qp->ibv);
		if (qp->cq)
			ibv_destroy_cq(qp->cq);
		free(qp->receive_ids);
		free(qp);
		return err;
	}
	qp->handle->users++;
	qp->prev = ep->qps.prev;
	qp->next = &ep->qps;
	qp->prev->next = qp->next->prev = qp;
	*out = qp;
	return 0;
}

struct qp *verbs_qp_find(const struct qp_endpoint *ep, const void *context)
{
	for (struct qp *qp = ep->qps.next; qp != &ep->qps; qp = qp->next)
		if (qp == context)
			return qp;
	return NULL;
}

/* ---- states ---- */

int verbs_qp_connect(struct qp *qp, const struct qp_remote *remote)
{
	if (qp->state != VERBS_QP_MADE || remote->qpn > QPN_MASK || remote->psn > QPN_MASK ||
	    !IN6_IS_ADDR_V4MAPPED(&qp->ep->attr.address) != !IN6_IS_ADDR_V4MAPPED(&remote->address))
		return -EINVAL;
	if (remote->path_mtu && !qp_path_mtu_is_valid(remote->path_mtu))
		return -EINVAL;
	if (remote->order_free)
		return -EPROTONOSUPPORT;
	qp->remote = *remote;
	qp->path_mtu = qp_path_mtu_common(qp->ep->attr.path_mtu, remote->path_mtu);
	qp->peer = (struct verbs_key_peer){remote->address,
					   remote->udp_port ? remote->udp_port : FARE_CONTROL_PORT};
	/*
	 * the peer's device may have been lost and come back, and its regions have other keys: this
	 * QP is the first to meet them
	 */
	verbs_keys_forget(&qp->ep->keys, &qp->peer, qp->attr.plane, remote->sub_port);
	qp->state = VERBS_QP_CONNECTING;
	verbs_worker_submit(qp, VERBS_CONNECT);
	return 0;
}

int verbs_qp_status(struct qp *qp)
{
	switch (qp->state) {
	case VERBS_QP_MADE:
	case VERBS_QP_READY:
		return qp->error;
	case VERBS_QP_STOPPED:
		/* not yet reported as flushed */
		return qp->n_work > 0 || (qp->attr.receives && qp->n_receives);
	default:
		return 1;
	}
}

bool verbs_qp_refused(const struct qp *qp)
{
	return qp->refused;
}

int verbs_qp_move(struct qp *qp, uint16_t sub_port, uint16_t udp_source_port)
{
	const struct qp_endpoint *ep = qp->ep;
	const struct verbs_sub_port *to;

	if (sub_port >= ep->attr.n_sub_ports[qp->attr.plane])
		return -EINVAL;
	if (udp_source_port && udp_source_port != qp->attr.udp_source_port)
		return -EOPNOTSUPP; /* fixed when it was connected */
	to = &ep->sub_ports[qp->attr.plane][sub_port];
	if (to->device != qp->device || to->port != qp->port)
		return -EOPNOTSUPP;
	qp->attr.sub_port = sub_port; /* one device over both: it chooses its link itself */
	return 0;
}

static void verbs_qp_stop(struct qp *qp)
{
	qp->state = VERBS_QP_STOPPING;
	verbs_worker_submit(qp, VERBS_STOP);
}

void verbs_qp_error(struct qp *qp)
{
	if (qp->state == VERBS_QP_CONNECTING)
		qp->stop_wanted = true;
	else if (qp->state == VERBS_QP_MADE)
		qp->state = VERBS_QP_STOPPED; /* no peer was ever named to the device */
	else if (qp->state == VERBS_QP_READY)
		verbs_qp_stop(qp);
}

static void start_draining(struct qp *qp)
{
	qp->state = VERBS_QP_DRAINING;
	qp->drain_until_ns = clock_now_ns() + DRAIN_NS;
	qp->ep->n_draining++;
	/*
	 * all may have been used up until now: that one is flushed is how we know that nothing is
	 * placed any more
	 */
	if (qp->n_receives)
		return;
	qp->marked = !post_receive(qp, NULL);
	qp->cq_failed |= !qp->marked; /* there is no knowing */
}

static void stop_draining(struct qp *qp, enum verbs_qp_state state)
{
	qp->state = state;
	qp->ep->n_draining--;
	if (qp->marked)
		qp->n_receives = 0;
	qp->marked = false;
}

static void halt(struct qp *qp)
{
	qp->state = VERBS_QP_HALTING;
	verbs_worker_submit(qp, VERBS_HALT);
}

int verbs_qp_check_drains(struct qp_endpoint *ep, uint64_t now_ns)
{
	int n = 0;

	for (struct qp *qp = ep->qps.next; ep->n_draining && qp != &ep->qps; qp = qp->next) {
		bool refused = qp->state == VERBS_QP_HALTING && qp->job.kind == VERBS_IDLE;

		if (!refused && qp->state != VERBS_QP_DRAINING)
			continue;
		if (now_ns < qp->drain_until_ns && (refused || !qp->cq_failed))
			continue;
		halt(qp);
		n++;
	}
	return n;
}

/*
 * A device that refused is asked again. One that is gone has ended its QPs: the kernel answers EIO
 * for it, and reports the loss only when all that was made on it has been ended.
 */
static void on_halted(struct qp *qp)
{
	if (qp->job.result && !(qp->handle->lost && qp->job.result == -EIO)) {
		qp->drain_until_ns = clock_now_ns() + DRAIN_NS;
		return;
	}
	stop_draining(qp, VERBS_QP_STOPPED);
}

static void free_qp(struct qp *qp)
{
	verbs_handle_put(qp->ep, qp->handle);
	free(qp->receive_ids);
	free(qp);
}

void verbs_qp_on_done(struct qp *qp)
{
	enum verbs_job_kind kind = qp->job.kind;

	qp->job.kind = VERBS_IDLE;
	if (kind == VERBS_DESTROY) {
		free_qp(qp);
	} else if (qp->is_destroyed) {
		verbs_worker_submit(qp, VERBS_DESTROY);
	} else if (kind == VERBS_CONNECT) {
		qp->state = VERBS_QP_READY;
		if (!qp->error)
			qp->error = qp->job.result;
		if (qp->stop_wanted)
			verbs_qp_stop(qp);
	} else if (kind == VERBS_STOP) {
		start_draining(qp);
	} else if (kind == VERBS_HALT) {
		on_halted(qp);
	}
}

/* ---- the end ---- */

/* A stopped QP keeps its number as long as there is room: what is late in the fabric finds nobody.
 */
static void quarantine(struct qp *qp)
{
	struct qp_endpoint *ep = qp->ep;
	struct qp **oldest = &ep->quarantined[ep->next_quarantined++ % VERBS_QUARANTINED];

	if (*oldest)
		verbs_worker_submit(*oldest, VERBS_DESTROY);
	*oldest = qp;
}

void verbs_qp_destroy(struct qp *qp)
{
	struct qp_endpoint *ep = qp->ep;

	if (ep->turn == qp)
		ep->turn = NULL;
	qp->prev->next = qp->next;
	qp->next->prev = qp->prev;
	qp->is_destroyed = true;
	if (qp->state == VERBS_QP_DRAINING || qp->state == VERBS_QP_HALTING)
		ep->n_draining--;
	if (qp->job.kind != VERBS_IDLE)
		return; /* verbs_qp_on_done() goes on */
	if (qp->state == VERBS_QP_STOPPED && !qp->handle->lost)
		quarantine(qp);
	else
		verbs_worker_submit(qp, VERBS_DESTROY);
}

void verbs_qp_destroy_all(struct qp_endpoint *ep)
{
	while (ep->qps.next != &ep->qps)
		verbs_qp_destroy(ep->qps.next);
	for (unsigned i = 0; i < VERBS_QUARANTINED; i++)
		if (ep->quarantined[i])
			verbs_worker_submit(ep->quarantined[i], VERBS_DESTROY);
	memset(ep->quarantined, 0, sizeof(ep->quarantined));
}

void verbs_qp_lose_all(struct qp_endpoint *ep, const struct verbs_handle *handle)
{
	for (struct qp *qp = ep->qps.next; qp != &ep->qps; qp = qp->next)
		if (qp->handle == handle && !qp->error)
			qp->error = -ENODEV;
	for (unsigned i = 0; i < VERBS_QUARANTINED; i++) {
		if (!ep->quarantined[i] || ep->quarantined[i]->handle != handle)
			continue;
		verbs_worker_submit(ep->quarantined[i], VERBS_DESTROY);
		ep->quarantined[i] = NULL;
	}
}

/* ---- work ---- */

/* The rkey on the device that the QP leads to. 0, -EAGAIN (asked for), -EACCES. */
static int find_rkey(struct qp *qp, uint32_t key, uint32_t *rkey)
{
	struct qp_endpoint *ep = qp->ep;
	uint64_t nonce;
	int err = verbs_keys_lookup(&ep->keys, &qp->peer, key, qp->attr.plane, qp->remote.sub_port,
				    clock_now_ns(), ep->next_nonce, rkey, &nonce);

	if (nonce) {
		verbs_control_ask(ep, qp, key, nonce);
		ep->next_nonce = verbs_random();
	}
	return err;
}

static enum ibv_wr_opcode opcode_of(const struct qp_work *w)
{
	if (w->op == QP_OP_READ)
		return IBV_WR_RDMA_READ;
	if (w->op == QP_OP_SEND)
		return w->flags & QP_WR_IMM ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
	return w->flags & QP_WR_IMM ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
}

int verbs_qp_post(struct qp *qp, const struct qp_work *w)
{
	static const unsigned known[] = {[QP_OP_WRITE] = QP_WR_IMM | QP_WR_MORE | QP_WR_LATER,
					 [QP_OP_SEND] = QP_WR_IMM,
					 [QP_OP_READ] = 0};
	unsigned last = (qp->first + qp->n_work) % VERBS_SEND_DEPTH;
	struct ibv_sge sge = {.addr = (uintptr_t)w->data, .length = w->length};
	/* wr_id: the order says which; RECV_ID is what matters */
	struct ibv_send_wr wr = {.opcode = opcode_of(w), .imm_data = htonl(w->imm)}, *bad;
	int err;

	if (w->flags & ~known[w->op])
		return -EINVAL;
	if (qp->state != VERBS_QP_READY || qp->error)
		return -ENOTCONN;
	if (qp->n_work == VERBS_SEND_DEPTH)
		return -ENOBUFS;
	if (w->length > 1u << 31)
		return -EINVAL;
	if (w->length) {
		if (verbs_region_lkey(qp->ep, w->lkey, qp->handle, &sge.lkey))
			return -EINVAL;
		wr.wr.rdma.remote_addr = w->remote_addr;
		err = w->op == QP_OP_SEND ? 0 : find_rkey(qp, w->rkey, &wr.wr.rdma.rkey);
		if (err)
			return err;
		wr.sg_list = &sge;
		wr.num_sge = 1;
	}
	err = ibv_post_send(qp->ibv, &wr, &bad);
	if (err)
		return err == ENOMEM ? -ENOBUFS : -err;
	qp->wr_ids[last] = w->wr_id;
	qp->lengths[last] = w->length;
	qp->n_work++;
	if (w->op != QP_OP_READ)
		qp->ep->stats.tx_bytes += w->length;
	return 0;
}

int verbs_qp_post_recv(struct qp *qp, const struct qp_recv *r)
{
	struct ibv_sge sge = {.addr = (uintptr_t)r->data, .length = r->length};
	unsigned last = (qp->first_receive + qp->n_receives) % receive_room(qp);
	int err;

	if (qp->state > VERBS_QP_READY || qp->error)
		return -ENOTCONN;
	if (!qp->attr.receives ||
	    (r->length && verbs_region_lkey(qp->ep, r->lkey, qp->handle, &sge.lkey)))
		return -EINVAL;
	if (qp->n_receives == qp->attr.receives)
		return -ENOBUFS;
	qp->receive_ids[last] = r->wr_id;
	err = post_receive(qp, r->length ? &sge : NULL);
	return err == -ENOMEM ? -ENOBUFS : err;
}

/* A device's status is reported as it is. */
#define SAME(name, ours)                                                                           \
	_Static_assert((int)(name) == (int)(ours), "qp_wc_status is not ibv_wc_status")
SAME(IBV_WC_SUCCESS, QP_WC_SUCCESS);
SAME(IBV_WC_LOC_LEN_ERR, QP_WC_LOC_LEN_ERR);
SAME(IBV_WC_LOC_PROT_ERR, QP_WC_LOC_PROT_ERR);
SAME(IBV_WC_WR_FLUSH_ERR, QP_WC_FLUSH_ERR);
SAME(IBV_WC_BAD_RESP_ERR, QP_WC_BAD_RESP_ERR);
SAME(IBV_WC_REM_INV_REQ_ERR, QP_WC_REM_INV_REQ_ERR);
SAME(IBV_WC_REM_ACCESS_ERR, QP_WC_REM_ACCESS_ERR);
SAME(IBV_WC_REM_OP_ERR, QP_WC_REM_OP_ERR);
SAME(IBV_WC_RETRY_EXC_ERR, QP_WC_RETRY_EXC_ERR);
SAME(IBV_WC_RNR_RETRY_EXC_ERR, QP_WC_RNR_RETRY_EXC_ERR);

/* The oldest outstanding work is over. */
static void report_work(struct qp *qp, enum qp_wc_status status, struct qp_wc *out)
{
	*out = (struct qp_wc){.qp = qp,
			      .context = qp->attr.context,
			      .wr_id = qp->wr_ids[qp->first],
			      .status = status,
			      .byte_len = qp->lengths[qp->first]};
	qp->first = (qp->first + 1) % VERBS_SEND_DEPTH;
	qp->n_work--;
	if (status != QP_WC_SUCCESS && !qp->error)
		qp->error = -EIO;
	qp->ep->stats.timeouts += status == QP_WC_RETRY_EXC_ERR;
}

/* The oldest receive is over. */
static void report_receive(struct qp *qp, enum qp_wc_status status, struct qp_wc *out)
{
	*out = (struct qp_wc){
		.qp = qp, .context = qp->attr.context, .status = status, .is_receive = true};
	qp->n_receives--;
	if (!qp->attr.receives)
		return;
	out->wr_id = qp->receive_ids[qp->first_receive];
	qp->first_receive = (qp->first_receive + 1) % qp->attr.receives;
}

static bool on_receive(struct qp *qp, const struct ibv_wc *wc, struct qp_wc *out)
{
	if (!qp->n_receives)
		return false;
	if (qp->marked) {
		qp->n_receives = 0;
		return false;
	}
	report_receive(qp, (enum qp_wc_status)wc->status, out);
	if (wc->status != IBV_WC_SUCCESS) {
		if (!qp->error)
			qp->error = -EIO; /* in error, and it was not us: the peer did something
					     that it may not */
		return qp->attr.receives; /* of the provider's own nobody knows */
	}
	out->has_imm = wc->wc_flags & IBV_WC_WITH_IMM;
	out->imm = out->has_imm ? ntohl(wc->imm_data) : 0;
	out->byte_len = wc->byte_len;
	qp->ep->stats.rx_bytes += wc->byte_len;
	qp->ep->refill_due |= !qp->attr.receives;
	return true;
}

/* True if there is something to report. */
static bool on_completion(struct qp *qp, const struct ibv_wc *wc, struct qp_wc *out)
{
	if (wc->wr_id == RECV_ID)
		return on_receive(qp, wc, out);
	if (!qp->n_work)
		return false;
	report_work(qp, (enum qp_wc_status)wc->status, out);
	return true;
}

/*
 * A device that was reset, or never set going, flushes nothing: what it still held is ours to
 * report.
 */
static int report_rest(struct qp *qp, struct qp_wc *out, int max)
{
	int n = 0;

	while (n < max && qp->n_work)
		report_work(qp, QP_WC_FLUSH_ERR, &out[n++]);
	while (n < max && qp->attr.receives && qp->n_receives)
		report_receive(qp, QP_WC_FLUSH_ERR, &out[n++]);
	return n;
}

static int poll_one(struct qp *qp, struct qp_wc *out, int max)
{
	struct ibv_wc wc[POLL_BATCH];
	int n = ibv_poll_cq(qp->cq, max < POLL_BATCH ? max : POLL_BATCH, wc), reported = 0;

	for (int i = 0; i < n; i++)
		reported += on_completion(qp, &wc[i], &out[reported]);
	if (n > 0)
		qp->armed = false; /* look again before sleeping */
	if (n < 0 && !qp->cq_failed) {
		qp->cq_failed = true;
		qp->error = qp->error ? qp->error : -EIO;
	}
	if (qp->state == VERBS_QP_DRAINING && !qp->n_work && !qp->n_receives && !qp->cq_failed)
		stop_draining(qp, VERBS_QP_STOPPED);
	if (n <= 0 && qp->state == VERBS_QP_STOPPED) /* < 0: the queue failed */
		reported += report_rest(qp, out + reported, max - reported);
	return reported;
}

static int poll_round(struct qp_endpoint *ep, struct qp_wc *wc, int max)
{
	struct qp *start = ep->turn ? ep->turn : &ep->qps, *qp = start;
	int n = 0;

	/* a full array must not starve those at the end: the next round begins where this one
	 * stopped */
	do {
		if (qp != &ep->qps)
			n += poll_one(qp, wc + n, max - n);
		qp = qp->next;
	} while (qp != start && n < max);
	ep->turn = qp == &ep->qps ? NULL : qp;
	return n;
}

/* Nothing is left: from now on a completion makes the endpoint's descriptor readable. */
static bool arm(struct qp_endpoint *ep)
{
	bool any = false;

	for (struct qp *qp = ep->qps.next; qp != &ep->qps; qp = qp->next) {
		if (qp->armed || ibv_req_notify_cq(qp->cq, 0))
			continue;
		qp->armed = any = true;
	}
	return any;
}

/*
 * Receives that were used up, posted again only now that nothing waits on any QP: a peer is
 * acknowledged by the device, whether or not anybody polls here, and could else run any distance
 * ahead of what was read (qp/ring.h).
 */
static void refill(struct qp_endpoint *ep)
{
	ep->refill_due = false;
	for (struct qp *qp = ep->qps.next; qp != &ep->qps; qp = qp->next)
		if (qp->state <= VERBS_QP_READY && fill_receives(qp))
			ep->refill_due = true;
}

int verbs_qp_poll_all(struct qp_endpoint *ep, struct qp_wc *wc, int max)
{
	int n = poll_round(ep, wc, max);

	if (n)
		return n;
	if (ep->refill_due)
		refill(ep);
	/* what came between the look and the arming has raised no event: look once more */
	return arm(ep) ? poll_round(ep, wc, max) : 0;
}
