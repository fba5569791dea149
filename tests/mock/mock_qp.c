/* SPDX-License-Identifier: BSD-2-Clause */
/* mock_qp.c - queue pairs; carries out what is posted. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mock_objects.h"

/* ---- completions ---- */

static enum ibv_wc_opcode opcode_of(const struct ibv_send_wr *wr)
{
	return wr->opcode == IBV_WR_RDMA_READ ? IBV_WC_RDMA_READ
	       : wr->opcode == IBV_WR_SEND || wr->opcode == IBV_WR_SEND_WITH_IMM
		       ? IBV_WC_SEND
		       : IBV_WC_RDMA_WRITE;
}

/* The oldest work of the send queue is over. */
static void complete_send(struct mock_qp *qp, unsigned status)
{
	const struct mock_send *s = &qp->sends[0];
	const struct ibv_wc wc = {.wr_id = s->wr.wr_id,
				  .status = (enum ibv_wc_status)status,
				  .opcode = opcode_of(&s->wr),
				  .byte_len = s->sge.length,
				  .qp_num = qp->q.qp_num};
	uint64_t mute_from = qp->context->device->mute_from;

	if (!mute_from || s->number < mute_from)
		mock_cq_complete(qp->q.send_cq, &wc);
	memmove(&qp->sends[0], &qp->sends[1], --qp->n_sends * sizeof(*qp->sends));
}

/* The oldest receive is over. */
static void complete_receive(struct mock_qp *qp, const struct ibv_wc *what)
{
	struct ibv_wc wc = *what;

	wc.wr_id = qp->receives[0].wr_id;
	wc.qp_num = qp->q.qp_num;
	mock_cq_complete(qp->q.recv_cq, &wc);
	memmove(&qp->receives[0], &qp->receives[1], --qp->n_receives * sizeof(*qp->receives));
}

void mock_qp_flush(struct mock_qp *qp)
{
	const struct ibv_wc flushed = {.status = IBV_WC_WR_FLUSH_ERR};

	if (qp->context->device->no_flush) {
		qp->n_sends = qp->n_receives = 0;
		return;
	}
	while (qp->n_sends)
		complete_send(qp, IBV_WC_WR_FLUSH_ERR);
	while (qp->n_receives)
		complete_receive(qp, &flushed);
}

/* ---- work ---- */

static struct verbs_mock_device *device_of_gid(const union ibv_gid *gid)
{
	for (unsigned i = 0; i < VERBS_MOCK_DEVICES; i++)
		for (unsigned g = 0; mock_devices[i].in_use && g < mock_devices[i].n_gids; g++)
			if (!memcmp(&mock_devices[i].gids[g], gid, sizeof(*gid)))
				return &mock_devices[i];
	return NULL;
}

struct mock_qp *mock_qp_find(struct verbs_mock_device *d, uint32_t qpn)
{
	for (struct mock_context *c = d->contexts; c; c = c->next)
		for (struct mock_qp *qp = c->qps; qp && !c->ended; qp = qp->next)
			if (qp->q.qp_num == qpn)
				return qp;
	return NULL;
}

static bool port_is_up(const struct verbs_mock_device *d)
{
	return !d->port_state || d->port_state == IBV_PORT_ACTIVE;
}

/* The other end, if it answers. */
static struct mock_qp *peer_of(const struct mock_qp *qp)
{
	struct verbs_mock_device *own = qp->context->device, *d;
	struct mock_qp *to;

	d = device_of_gid(&qp->av.grh.dgid);
	if (!d || !port_is_up(d) || !port_is_up(own))
		return NULL;
	to = mock_qp_find(d, qp->dest);
	if (!to || (to->state != IBV_QPS_RTR && to->state != IBV_QPS_RTS) ||
	    to->dest != qp->q.qp_num || device_of_gid(&to->av.grh.dgid) != own)
		return NULL;
	return to;
}

static bool has_imm(const struct ibv_send_wr *wr)
{
	return wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM || wr->opcode == IBV_WR_SEND_WITH_IMM;
}

static bool is_send(const struct ibv_send_wr *wr)
{
	return wr->opcode == IBV_WR_SEND || wr->opcode == IBV_WR_SEND_WITH_IMM;
}

/* The peer's end refuses the request: it is in error, too. */
static unsigned refuse(struct mock_qp *to, unsigned status)
{
	const struct ibv_async_event e = {.element.qp = &to->q,
					  .event_type = IBV_EVENT_QP_ACCESS_ERR};

	to->state = IBV_QPS_ERR;
	mock_qp_flush(to);
	mock_raise(to->context, &e);
	return status;
}

static void copy(uint64_t to, uint64_t from, uint32_t bytes)
{
	memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes);
}

/* Where the bytes of a WRITE, SEND or READ go, or come from, at the other end. */
static unsigned transfer(const struct mock_qp *qp, const struct mock_send *s, struct mock_qp *to)
{
	const struct ibv_send_wr *wr = &s->wr;
	bool is_read = wr->opcode == IBV_WR_RDMA_READ;
	int access = is_read ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
	uint32_t bytes = s->sge.length;

	if (bytes && !mock_mr_find(qp->q.pd, s->sge.lkey, is_read ? IBV_ACCESS_LOCAL_WRITE : 0,
				   s->sge.addr, bytes))
		return IBV_WC_LOC_PROT_ERR;
	if (is_send(wr)) {
		const struct ibv_sge *at = &to->receives[0].sge;

		if (bytes > at->length)
			return refuse(to, IBV_WC_REM_INV_REQ_ERR);
		if (bytes &&
		    !mock_mr_find(to->q.pd, at->lkey, IBV_ACCESS_LOCAL_WRITE, at->addr, bytes))
			return refuse(to, IBV_WC_REM_OP_ERR);
		if (bytes)
			copy(at->addr, s->sge.addr, bytes);
		return IBV_WC_SUCCESS;
	}
	if (bytes &&
	    !mock_mr_find(to->q.pd, wr->wr.rdma.rkey, access, wr->wr.rdma.remote_addr, bytes))
		return refuse(to, IBV_WC_REM_ACCESS_ERR);
	if (bytes && is_read)
		copy(s->sge.addr, wr->wr.rdma.remote_addr, bytes);
	else if (bytes)
		copy(wr->wr.rdma.remote_addr, s->sge.addr, bytes);
	return IBV_WC_SUCCESS;
}

static bool is_to_fail(const struct verbs_mock_device *d, uint64_t number)
{
	return d->fail_count && number >= d->fail_from && number - d->fail_from < d->fail_count;
}

/* The oldest work of the send queue. False: it waits (no receive at the other end). */
static bool carry_out(struct mock_qp *qp)
{
	const struct verbs_mock_device *d = qp->context->device;
	const struct mock_send *s = &qp->sends[0];
	bool notifies = has_imm(&s->wr) || is_send(&s->wr);
	struct mock_qp *to = peer_of(qp);
	struct ibv_wc wc = {.opcode = is_send(&s->wr) ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM,
			    .byte_len = s->sge.length,
			    .imm_data = s->wr.imm_data,
			    .wc_flags = has_imm(&s->wr) ? IBV_WC_WITH_IMM : 0};
	unsigned status = IBV_WC_RETRY_EXC_ERR;

	if (is_to_fail(d, s->number))
		status = d->fail_status;
	else if (to && notifies && !to->n_receives)
		return false;
	else if (to)
		status = transfer(qp, s, to);
	if (!status && notifies)
		complete_receive(to, &wc);
	complete_send(qp, status);
	if (status) {
		qp->state = IBV_QPS_ERR;
		mock_qp_flush(qp);
	}
	return true;
}

static bool work_on(struct verbs_mock_device *d)
{
	bool any = false;

	for (struct mock_context *c = d->contexts; c; c = c->next)
		for (struct mock_qp *qp = c->qps; qp && !c->ended && !d->held; qp = qp->next)
			while (qp->state == IBV_QPS_RTS && qp->n_sends && carry_out(qp))
				any = true;
	return any;
}

void verbs_mock_work(void)
{
	for (unsigned i = 0; i < VERBS_MOCK_DEVICES; i++)
		if (mock_devices[i].in_use)
			work_on(&mock_devices[i]);
}

int mock_post_send(struct ibv_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct mock_qp *qp = (struct mock_qp *)q;
	int err = 0;

	*bad = wr;
	pthread_mutex_lock(&verbs_mock_lock);
	if (qp->state != IBV_QPS_RTS && qp->state != IBV_QPS_ERR)
		err = EINVAL;
	else if (qp->n_sends == qp->cap.max_send_wr)
		err = ENOMEM;
	if (!err) {
		struct mock_send *s = &qp->sends[qp->n_sends++];

		*s = (struct mock_send){.wr = *wr, .number = ++qp->context->device->n_posted};
		if (wr->num_sge)
			s->sge = *wr->sg_list;
		if (qp->state == IBV_QPS_ERR)
			mock_qp_flush(qp);
		verbs_mock_work();
	}
	pthread_mutex_unlock(&verbs_mock_lock);
	return err;
}

int mock_post_recv(struct ibv_qp *q, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct mock_qp *qp = (struct mock_qp *)q;
	int err = 0;

	*bad = wr;
	pthread_mutex_lock(&verbs_mock_lock);
	if (qp->state == IBV_QPS_RESET)
		err = EINVAL;
	else if (qp->n_receives == qp->cap.max_recv_wr || qp->context->device->refuse_receive)
		err = ENOMEM;
	if (!err) {
		struct mock_receive *r = &qp->receives[qp->n_receives++];

		*r = (struct mock_receive){.wr_id = wr->wr_id};
		if (wr->num_sge)
			r->sge = *wr->sg_list;
		if (qp->state == IBV_QPS_ERR)
			mock_qp_flush(qp);
		verbs_mock_work();
	}
	pthread_mutex_unlock(&verbs_mock_lock);
	return err;
}

/* ---- queue pairs ---- */

void mock_qp_free(struct mock_qp *qp)
{
	free(qp->sends);
	free(qp->receives);
	free(qp);
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct mock_context *c = mock_context_of(pd->context);
	struct mock_qp *qp = calloc(1, sizeof(*qp));
	bool ended;

	if (!qp)
		return NULL;
	qp->sends = calloc(attr->cap.max_send_wr, sizeof(*qp->sends));
	qp->receives = calloc(attr->cap.max_recv_wr, sizeof(*qp->receives));
	qp->q.context = pd->context;
	qp->q.pd = pd;
	qp->q.qp_context = attr->qp_context;
	qp->q.send_cq = attr->send_cq;
	qp->q.recv_cq = attr->recv_cq;
	qp->q.qp_type = attr->qp_type;
	qp->cap = attr->cap;
	qp->context = c;
	pthread_mutex_lock(&verbs_mock_lock);
	ended = c->ended;
	if (!ended) {
		qp->q.qp_num = c->device->next_number++;
		qp->next = c->qps;
		c->qps = qp;
	}
	pthread_mutex_unlock(&verbs_mock_lock);
	if (ended) {
		mock_qp_free(qp);
		errno = EIO;
		return NULL;
	}
	return &qp->q;
}

static bool may_change(enum ibv_qp_state from, enum ibv_qp_state to)
{
	return to == IBV_QPS_RESET || to == IBV_QPS_ERR ||
	       (from == IBV_QPS_RESET && to == IBV_QPS_INIT) ||
	       (from == IBV_QPS_INIT && to == IBV_QPS_RTR) ||
	       (from == IBV_QPS_RTR && to == IBV_QPS_RTS);
}

static void wait_for_modify(struct verbs_mock_device *d)
{
	unsigned ms = d->modify_ms;

	d->n_modify_blocked += d->block_modify;
	pthread_cond_broadcast(&verbs_mock_changed);
	while (d->block_modify)
		pthread_cond_wait(&verbs_mock_changed, &verbs_mock_lock);
	if (!ms)
		return;
	pthread_mutex_unlock(&verbs_mock_lock);
	usleep(ms * 1000);
	pthread_mutex_lock(&verbs_mock_lock);
}

static int modify(struct mock_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	if (qp->context->ended)
		return EIO;
	if (qp->context->device->refuse_modify ||
	    (mask & IBV_QP_STATE && !may_change(qp->state, attr->qp_state)))
		return EINVAL;
	if (mask & IBV_QP_PATH_MTU)
		qp->path_mtu = attr->path_mtu;
	if (mask & IBV_QP_AV)
		qp->av = attr->ah_attr;
	if (mask & IBV_QP_DEST_QPN)
		qp->dest = attr->dest_qp_num;
	if (mask & IBV_QP_STATE)
		qp->state = attr->qp_state;
	qp->context->device->n_stopped += mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_ERR;
	if (qp->state == IBV_QPS_ERR)
		mock_qp_flush(qp);
	if (qp->state == IBV_QPS_RESET)
		qp->n_sends = qp->n_receives = 0;
	return 0;
}

int ibv_modify_qp(struct ibv_qp *q, struct ibv_qp_attr *attr, int mask)
{
	struct mock_qp *qp = (struct mock_qp *)q;
	int err;

	pthread_mutex_lock(&verbs_mock_lock);
	wait_for_modify(qp->context->device);
	err = modify(qp, attr, mask);
	pthread_mutex_unlock(&verbs_mock_lock);
	return err;
}

int ibv_destroy_qp(struct ibv_qp *q)
{
	struct mock_qp *qp = (struct mock_qp *)q, **link = &qp->context->qps;
	int err;

	pthread_mutex_lock(&verbs_mock_lock);
	err = qp->context->ended ? EIO : qp->context->device->refuse_destroy ? EBUSY : 0;
	while (!err && *link != qp)
		link = &(*link)->next;
	if (!err) {
		*link = qp->next;
		mock_drop_events(qp->context, q);
	}
	while (!err && qp->n_acked != qp->n_reported)
		pthread_cond_wait(&verbs_mock_changed, &verbs_mock_lock);
	pthread_mutex_unlock(&verbs_mock_lock);
	if (!err)
		mock_qp_free(qp);
	return err;
}

/* ---- what a test makes happen ---- */

void verbs_mock_qp_error(struct verbs_mock_device *d, uint32_t qpn, unsigned type)
{
	struct mock_qp *qp;

	pthread_mutex_lock(&verbs_mock_lock);
	qp = mock_qp_find(d, qpn);
	if (qp) {
		const struct ibv_async_event e = {.element.qp = &qp->q,
						  .event_type = (enum ibv_event_type)type};

		qp->state = IBV_QPS_ERR;
		if (type)
			mock_raise(qp->context, &e);
	}
	pthread_mutex_unlock(&verbs_mock_lock);
}

void verbs_mock_cq_error(struct verbs_mock_device *d, uint32_t qpn, bool event)
{
	struct mock_qp *qp;

	pthread_mutex_lock(&verbs_mock_lock);
	qp = mock_qp_find(d, qpn);
	if (qp && event)
		mock_cq_fail((struct mock_cq *)qp->q.send_cq);
	else if (qp)
		((struct mock_cq *)qp->q.send_cq)->failed = true;
	pthread_mutex_unlock(&verbs_mock_lock);
}

unsigned verbs_mock_qp(struct verbs_mock_device *d, uint32_t qpn, struct verbs_mock_qp *out)
{
	unsigned n = 0;

	pthread_mutex_lock(&verbs_mock_lock);
	for (struct mock_context *c = d->contexts; c; c = c->next) {
		for (struct mock_qp *qp = c->qps; qp && !c->ended; qp = qp->next) {
			if (qpn && qp->q.qp_num != qpn)
				continue;
			*out = (struct verbs_mock_qp){.state = qp->state,
						      .path_mtu = qp->path_mtu,
						      .av = qp->av,
						      .n_sends = qp->n_sends,
						      .n_receives = qp->n_receives};
			n++;
		}
	}
	pthread_mutex_unlock(&verbs_mock_lock);
	return n;
}

unsigned verbs_mock_pending(struct verbs_mock_device *d, const void *from, uint64_t length)
{
	uint64_t begin = (uintptr_t)from;
	unsigned n = 0;

	pthread_mutex_lock(&verbs_mock_lock);
	for (struct mock_context *c = d->contexts; c; c = c->next)
		for (struct mock_qp *qp = c->qps; qp && !c->ended; qp = qp->next)
			for (unsigned i = 0; i < qp->n_sends; i++)
				n += qp->sends[i].sge.length &&
				     qp->sends[i].sge.addr < begin + length &&
				     begin < qp->sends[i].sge.addr + qp->sends[i].sge.length;
	pthread_mutex_unlock(&verbs_mock_lock);
	return n;
}
