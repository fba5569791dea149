#include "qp/verbs/verbs_endpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RECV_ID	   UINT64_MAX /* wr_id of receives: an error completion has no other mark */
#define QPN_MASK   0xffffffu
#define PORT_FIRST 49152u
#define DRAIN_NS   UINT64_C(200000000)
#define POLL_BATCH 16

/* ---- making ---- */

static int attr_check(const struct qp_endpoint *ep, const struct qp_attr *attr)
{
	if (attr->plane == QP_ANY_PLANE)
		return -EOPNOTSUPP; /* a QP is its device's: the kernel's routing has no say */
	if (attr->plane >= ep->attr.n_planes ||
	    attr->sub_port >= ep->attr.n_sub_ports[attr->plane] || attr->timeout > 31 ||
	    attr->retry_cnt > 7 || (attr->udp_source_port && attr->udp_source_port < PORT_FIRST))
		return -EINVAL;
	if (!ep->sub_ports[attr->plane][attr->sub_port].has_gid)
		return -EADDRNOTAVAIL;
	return ep->sub_ports[attr->plane][attr->sub_port].up ? 0 : -ENETDOWN;
}

static int post_receive(struct qp *qp)
{
	struct ibv_recv_wr wr = {.wr_id = RECV_ID}, *bad;
	int err = ibv_post_recv(qp->ibv, &wr, &bad);

	qp->n_receives += !err;
	return -err;
}

static int to_init(struct qp *qp)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
				.port_num = qp->port,
				.qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
	int err = -ibv_modify_qp(
		qp->ibv, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);

	for (unsigned i = 0; !err && i < VERBS_RECV_DEPTH; i++)
		err = post_receive(qp);
	return err;
}

static int make(struct qp *qp)
{
	struct verbs_device *d = &qp->ep->devices[qp->device];
	struct ibv_qp_init_attr init = {
		.qp_context = qp,
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = {.max_send_wr = VERBS_SEND_DEPTH,
			.max_recv_wr = VERBS_RECV_DEPTH,
			.max_send_sge = 1,
			.max_recv_sge = 1},
	};

	errno = 0;
	qp->cq = ibv_create_cq(d->context, VERBS_SEND_DEPTH + VERBS_RECV_DEPTH, qp, d->channel, 0);
	if (!qp->cq)
		return errno ? -errno : -ENOMEM;
	init.send_cq = init.recv_cq = qp->cq;
	qp->ibv = ibv_create_qp(d->pd, &init);
	if (!qp->ibv)
		return errno ? -errno : -ENOMEM;
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
		qp->attr.udp_source_port = (uint16_t)(PORT_FIRST | verbs_endpoint_random());
	qp->device = sp->device;
	qp->port = sp->port;
	qp->gid_index = sp->gid_index;
	qp->first_psn = (uint32_t)verbs_endpoint_random() & QPN_MASK;
	err = make(qp);
	if (err) {
		if (qp->ibv)
			ibv_destroy_qp(qp->ibv);
		if (qp->cq)
			ibv_destroy_cq(qp->cq);
		free(qp);
		return err;
	}
	qp->prev = ep->qps.prev;
	qp->next = &ep->qps;
	qp->prev->next = qp->next->prev = qp;
	*out = qp;
	return 0;
}

/* ---- states ---- */

int verbs_qp_connect(struct qp *qp, const struct qp_remote *remote)
{
	if (qp->state != VERBS_QP_MADE || remote->qpn > QPN_MASK || remote->psn > QPN_MASK ||
	    !IN6_IS_ADDR_V4MAPPED(&qp->ep->attr.address) != !IN6_IS_ADDR_V4MAPPED(&remote->address))
		return -EINVAL;
	qp->remote = *remote;
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
		return qp->n_writes > 0; /* not yet reported as flushed */
	default:
		return 1;
	}
}

int verbs_qp_move(struct qp *qp, uint16_t sub_port)
{
	const struct qp_endpoint *ep = qp->ep;
	const struct verbs_sub_port *to;

	if (sub_port >= ep->attr.n_sub_ports[qp->attr.plane])
		return -EINVAL;
	to = &ep->sub_ports[qp->attr.plane][sub_port];
	if (to->device != qp->device || to->port != qp->port)
		return -EOPNOTSUPP;
	qp->attr.sub_port = sub_port; /* one device over both: it chooses its link itself */
	return 0;
}

static void stop(struct qp *qp)
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
		stop(qp);
}

static void start_draining(struct qp *qp)
{
	qp->state = VERBS_QP_DRAINING;
	qp->drain_until_ns = verbs_endpoint_now_ns() + DRAIN_NS;
	qp->ep->n_draining++;
}

static void stop_draining(struct qp *qp, enum verbs_qp_state state)
{
	qp->state = state;
	qp->ep->n_draining--;
}

int verbs_qp_check_drains(struct qp_endpoint *ep, uint64_t now_ns)
{
	int n = 0;

	for (struct qp *qp = ep->qps.next; ep->n_draining && qp != &ep->qps; qp = qp->next) {
		if (qp->state != VERBS_QP_DRAINING || now_ns < qp->drain_until_ns)
			continue;
		stop_draining(qp, VERBS_QP_HALTING);
		verbs_worker_submit(qp, VERBS_HALT);
		n++;
	}
	return n;
}

void verbs_qp_on_done(struct qp *qp)
{
	enum verbs_job_kind kind = qp->job.kind;

	qp->job.kind = VERBS_IDLE;
	if (kind == VERBS_DESTROY) {
		free(qp);
	} else if (qp->doomed) {
		verbs_worker_submit(qp, VERBS_DESTROY);
	} else if (kind == VERBS_CONNECT) {
		qp->state = VERBS_QP_READY;
		if (!qp->error)
			qp->error = qp->job.result;
		if (qp->stop_wanted)
			stop(qp);
	} else if (kind == VERBS_STOP) {
		start_draining(qp);
	} else if (kind == VERBS_HALT) {
		qp->state = VERBS_QP_STOPPED;
	}
}

/* ---- the end ---- */

/* A stopped QP keeps its number as long as there is room: what is late in the fabric finds nobody.
 */
static void bury(struct qp *qp)
{
	struct qp_endpoint *ep = qp->ep;
	struct qp **grave = &ep->graves[ep->next_grave++ % VERBS_GRAVES];

	if (*grave)
		verbs_worker_submit(*grave, VERBS_DESTROY);
	*grave = qp;
}

void verbs_qp_destroy(struct qp *qp)
{
	struct qp_endpoint *ep = qp->ep;

	if (ep->turn == qp)
		ep->turn = NULL;
	qp->prev->next = qp->next;
	qp->next->prev = qp->prev;
	qp->doomed = true;
	if (qp->state == VERBS_QP_DRAINING)
		ep->n_draining--;
	if (qp->job.kind != VERBS_IDLE)
		return; /* verbs_qp_on_done() goes on */
	if (qp->state == VERBS_QP_STOPPED)
		bury(qp);
	else
		verbs_worker_submit(qp, VERBS_DESTROY);
}

void verbs_qp_bury_all(struct qp_endpoint *ep)
{
	while (ep->qps.next != &ep->qps)
		verbs_qp_destroy(ep->qps.next);
	for (unsigned i = 0; i < VERBS_GRAVES; i++)
		if (ep->graves[i])
			verbs_worker_submit(ep->graves[i], VERBS_DESTROY);
	memset(ep->graves, 0, sizeof(ep->graves));
}

/* ---- work ---- */

int verbs_qp_post(struct qp *qp, const struct qp_write *w)
{
	struct qp_endpoint *ep = qp->ep;
	struct ibv_sge sge = {.addr = (uintptr_t)w->data, .length = w->length};
	struct ibv_send_wr wr = {.opcode = w->flags & QP_WR_IMM ? IBV_WR_RDMA_WRITE_WITH_IMM
								: IBV_WR_RDMA_WRITE,
				 .imm_data = htonl(w->imm)},
			   *bad;
	uint64_t nonce;
	unsigned last = (qp->first + qp->n_writes) % VERBS_SEND_DEPTH;
	int err;

	if (qp->state != VERBS_QP_READY || qp->error)
		return -ENOTCONN;
	if (qp->n_writes == VERBS_SEND_DEPTH)
		return -ENOBUFS;
	if (w->flags & ~(unsigned)QP_WR_IMM || w->length > 1u << 31)
		return -EINVAL;
	if (w->length) {
		if (verbs_region_lkey(ep, w->lkey, qp->device, &sge.lkey))
			return -EINVAL;
		err = verbs_keys_lookup(&ep->keys, &qp->remote.address, w->rkey, qp->attr.plane,
					qp->remote.sub_port, verbs_endpoint_now_ns(),
					ep->next_nonce, &wr.wr.rdma.rkey, &nonce);
		if (nonce) {
			verbs_control_ask(ep, qp, w->rkey, nonce);
			ep->next_nonce = verbs_endpoint_random();
		}
		if (err)
			return err;
		wr.wr.rdma.remote_addr = w->remote_addr;
		wr.sg_list = &sge;
		wr.num_sge = 1;
	}
	err = ibv_post_send(qp->ibv, &wr, &bad);
	if (err)
		return err == ENOMEM ? -ENOBUFS : -err;
	qp->wr_ids[last] = w->wr_id;
	qp->lengths[last] = w->length;
	qp->n_writes++;
	ep->stats.tx_bytes += w->length;
	return 0;
}

/* The oldest outstanding write is over. */
static void report_write(struct qp *qp, enum qp_wc_status status, struct qp_wc *out)
{
	*out = (struct qp_wc){.qp = qp,
			      .context = qp->attr.context,
			      .wr_id = qp->wr_ids[qp->first],
			      .status = status,
			      .byte_len = qp->lengths[qp->first]};
	qp->first = (qp->first + 1) % VERBS_SEND_DEPTH;
	qp->n_writes--;
	if (status != QP_WC_SUCCESS && !qp->error)
		qp->error = -EIO;
	qp->ep->stats.timeouts += status == QP_WC_RETRY_EXC_ERR;
}

/* True if there is something to report. */
static bool on_completion(struct qp *qp, const struct ibv_wc *wc, struct qp_wc *out)
{
	if (wc->wr_id != RECV_ID) {
		if (!qp->n_writes)
			return false;
		report_write(qp, (enum qp_wc_status)wc->status, out);
		return true;
	}
	if (qp->n_receives)
		qp->n_receives--;
	if (wc->status != IBV_WC_SUCCESS) {
		if (!qp->error)
			qp->error = -EIO; /* in error, and it was not us: the peer did something
					     that it may not */
		return false;
	}
	*out = (struct qp_wc){.qp = qp,
			      .context = qp->attr.context,
			      .status = QP_WC_SUCCESS,
			      .is_receive = true,
			      .imm = ntohl(wc->imm_data),
			      .byte_len = wc->byte_len};
	qp->ep->stats.rx_bytes += wc->byte_len;
	if (qp->state <= VERBS_QP_READY)
		post_receive(qp);
	return true;
}

static int poll_one(struct qp *qp, struct qp_wc *out, int max)
{
	struct ibv_wc wc[POLL_BATCH];
	int n = ibv_poll_cq(qp->cq, max < POLL_BATCH ? max : POLL_BATCH, wc), reported = 0;

	for (int i = 0; i < n; i++)
		reported += on_completion(qp, &wc[i], &out[reported]);
	if (n > 0)
		qp->armed = false; /* look again before sleeping */
	if (qp->state == VERBS_QP_DRAINING && !qp->n_writes && !qp->n_receives)
		stop_draining(qp, VERBS_QP_STOPPED);
	/* a device that was reset flushes nothing: its completion queue being empty, the rest is
	 * ours to report */
	while (n == 0 && qp->state == VERBS_QP_STOPPED && qp->n_writes && reported < max)
		report_write(qp, QP_WC_FLUSH_ERR, &out[reported++]);
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

int verbs_qp_poll_all(struct qp_endpoint *ep, struct qp_wc *wc, int max)
{
	int n = poll_round(ep, wc, max);

	/* what came between the look and the arming has raised no event: look once more */
	return n || !arm(ep) ? n : poll_round(ep, wc, max);
}
