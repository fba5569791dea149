/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fake_verbs.h - a libibverbs of the test's own: one RDMA device on `lo` that does what the test
 * asks for, and what no software device can be made to do.
 *
 * The linker takes these functions instead of the library's. Work is carried out when a completion
 * queue is polled, unless held; a queue pair sends to any other of the device, in any endpoint.
 * A lock covers all: the provider's workers call in, too.
 */
#ifndef FAKE_VERBS_H
#define FAKE_VERBS_H

#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <net/if.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define FAKE_OBJECTS 64
#define FAKE_DEPTH   1024

struct fake_context {
	struct ibv_context c;
	bool ended; /* the kernel took the device away: EIO for everything */
	struct ibv_async_event events[16];
	unsigned n_events;
};

struct fake_cq {
	struct ibv_cq c;
	struct ibv_wc wc[FAKE_DEPTH];
	unsigned n;
	bool failed;
};

struct fake_qp {
	struct ibv_qp q;
	bool in_use;
	struct ibv_send_wr sq[FAKE_DEPTH];
	struct ibv_sge sge[FAKE_DEPTH];
	unsigned n_sq;
	uint64_t rq[FAKE_DEPTH];
	unsigned n_rq;
	enum ibv_qp_state state;
	uint32_t dest;
	struct ibv_ah_attr av;
	enum ibv_mtu path_mtu;
};

struct fake_mr {
	struct ibv_mr m;
	bool in_use, is_dmabuf;
	uint64_t iova;
	int access;
};

static struct fake {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct { /* the real library's struct is larger, and is looked into (mlx5dv) */
		struct ibv_device d;
		void *more[32];
	} device;
	bool unbound;
	bool held;	    /* work stays on the send queues */
	bool block_modify;  /* ibv_modify_qp() does not return */
	bool refuse_modify; /* it returns EINVAL */
	bool refuse_destroy;
	bool no_flush; /* a queue pair in error does not flush */
	int dmabuf_error;
	enum ibv_mtu active_mtu; /* of a port; 0: 4096 bytes */
	unsigned n_opened, n_closed, n_modify_blocked;
	uint32_t next_number;
	struct fake_context *contexts[FAKE_OBJECTS];
	struct fake_qp *qps[FAKE_OBJECTS];
	struct fake_mr *mrs[FAKE_OBJECTS];
} fake = {
	.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .next_number = 17};

/* Address k (2 and 3 are the device's GIDs), of this process alone: tests run beside each other. */
static const char *fake_address(unsigned k)
{
	static _Thread_local char text[FAKE_OBJECTS][64];

	snprintf(text[k], sizeof(text[k]), "::ffff:127.%u.%u.%u", (unsigned)getpid() >> 8 & 127,
		 (unsigned)getpid() & 255, k);
	return text[k];
}

#define FAKE_LOCKED(x)                                                                             \
	do {                                                                                       \
		pthread_mutex_lock(&fake.lock);                                                    \
		x;                                                                                 \
		pthread_cond_broadcast(&fake.changed);                                             \
		pthread_mutex_unlock(&fake.lock);                                                  \
	} while (0)

/* ---- devices ---- */

struct ibv_device **ibv_get_device_list(int *n)
{
	struct ibv_device **list = calloc(2, sizeof(*list));

	pthread_mutex_lock(&fake.lock);
	if (!fake.unbound)
		list[0] = &fake.device.d;
	snprintf(fake.device.d.name, sizeof(fake.device.d.name), "fake0");
	if (!fake.device.d.dev_path[0])
		snprintf(fake.device.d.dev_path, sizeof(fake.device.d.dev_path), "/");
	pthread_mutex_unlock(&fake.lock);
	if (n)
		*n = list[0] != NULL;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

static void fake_slot(void *slots, void *object)
{
	void **s = slots;

	for (unsigned i = 0; i < FAKE_OBJECTS; i++) {
		if (s[i])
			continue;
		s[i] = object;
		return;
	}
	abort();
}

static void fake_unslot(void *slots, void *object)
{
	void **s = slots;

	for (unsigned i = 0; i < FAKE_OBJECTS; i++)
		if (s[i] == object)
			s[i] = NULL;
}

/* ---- queue pairs ---- */

static void fake_complete(struct fake_qp *q, bool receive, uint64_t wr_id,
			  enum ibv_wc_status status, uint32_t imm, uint32_t bytes)
{
	struct fake_cq *cq = (struct fake_cq *)(receive ? q->q.recv_cq : q->q.send_cq);

	if (cq->failed)
		return;
	if (cq->n == FAKE_DEPTH)
		abort();
	cq->wc[cq->n++] =
		(struct ibv_wc){.wr_id = wr_id,
				.status = status,
				.opcode = receive ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RDMA_WRITE,
				.imm_data = imm,
				.byte_len = bytes,
				.wc_flags = receive && !status ? IBV_WC_WITH_IMM : 0};
}

static void fake_flush(struct fake_qp *q)
{
	for (unsigned i = 0; !fake.no_flush && i < q->n_sq; i++)
		fake_complete(q, false, q->sq[i].wr_id, IBV_WC_WR_FLUSH_ERR, 0, 0);
	for (unsigned i = 0; !fake.no_flush && i < q->n_rq; i++)
		fake_complete(q, true, q->rq[i], IBV_WC_WR_FLUSH_ERR, 0, 0);
	q->n_sq = q->n_rq = 0;
}

static struct fake_mr *fake_find_mr(uint32_t key)
{
	for (unsigned i = 0; i < FAKE_OBJECTS; i++)
		if (fake.mrs[i] && fake.mrs[i]->in_use && fake.mrs[i]->m.rkey == key)
			return fake.mrs[i];
	return NULL;
}

static struct fake_qp *fake_find_qp(uint32_t qpn)
{
	for (unsigned i = 0; i < FAKE_OBJECTS; i++)
		if (fake.qps[i] && fake.qps[i]->in_use && fake.qps[i]->q.qp_num == qpn)
			return fake.qps[i];
	return NULL;
}

static bool fake_mr_holds(const struct fake_mr *mr, int access, uint64_t at, uint64_t bytes)
{
	return mr && (mr->access & access) == access && at >= mr->iova &&
	       at + bytes <= mr->iova + mr->m.length;
}

/* The oldest work of the send queue. False: it waits (no receive at the other end). */
static bool fake_carry_out(struct fake_qp *q)
{
	const struct ibv_send_wr *wr = &q->sq[0];
	const struct ibv_sge *sge = &q->sge[0];
	bool imm = wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	struct fake_qp *to = fake_find_qp(q->dest);
	enum ibv_wc_status status = IBV_WC_SUCCESS;
	uint32_t bytes = wr->num_sge ? sge->length : 0;

	if (!to || (to->state != IBV_QPS_RTR && to->state != IBV_QPS_RTS))
		status = IBV_WC_RETRY_EXC_ERR;
	else if (imm && !to->n_rq)
		return false;
	else if (bytes && !fake_mr_holds(fake_find_mr(sge->lkey), 0, sge->addr, bytes))
		status = IBV_WC_LOC_PROT_ERR;
	else if (bytes && !fake_mr_holds(fake_find_mr(wr->wr.rdma.rkey), IBV_ACCESS_REMOTE_WRITE,
					 wr->wr.rdma.remote_addr, bytes))
		status = IBV_WC_REM_ACCESS_ERR;
	if (!status && bytes)
		memcpy((void *)(uintptr_t)wr->wr.rdma.remote_addr, (void *)(uintptr_t)sge->addr,
		       bytes);
	if (!status && imm) {
		fake_complete(to, true, to->rq[0], IBV_WC_SUCCESS, wr->imm_data, bytes);
		memmove(&to->rq[0], &to->rq[1], --to->n_rq * sizeof(to->rq[0]));
	}
	fake_complete(q, false, wr->wr_id, status, 0, bytes);
	memmove(&q->sq[0], &q->sq[1], --q->n_sq * sizeof(q->sq[0]));
	memmove(&q->sge[0], &q->sge[1], q->n_sq * sizeof(q->sge[0]));
	if (status) {
		q->state = IBV_QPS_ERR;
		fake_flush(q);
	}
	return true;
}

static void fake_work(void)
{
	for (unsigned i = 0; !fake.held && i < FAKE_OBJECTS; i++)
		while (fake.qps[i] && fake.qps[i]->in_use && fake.qps[i]->state == IBV_QPS_RTS &&
		       fake.qps[i]->n_sq && fake_carry_out(fake.qps[i]))
			;
}

static int fake_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct fake_qp *q = (struct fake_qp *)qp;

	*bad = wr;
	pthread_mutex_lock(&fake.lock);
	q->sq[q->n_sq] = *wr;
	if (wr->num_sge)
		q->sge[q->n_sq] = *wr->sg_list;
	q->n_sq++;
	pthread_mutex_unlock(&fake.lock);
	return 0;
}

static int fake_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct fake_qp *q = (struct fake_qp *)qp;

	*bad = wr;
	pthread_mutex_lock(&fake.lock);
	q->rq[q->n_rq++] = wr->wr_id;
	if (q->state == IBV_QPS_ERR)
		fake_flush(q);
	pthread_mutex_unlock(&fake.lock);
	return 0;
}

static int fake_poll_cq(struct ibv_cq *c, int max, struct ibv_wc *wc)
{
	struct fake_cq *cq = (struct fake_cq *)c;
	int n = 0;

	pthread_mutex_lock(&fake.lock);
	fake_work();
	for (; n < max && (unsigned)n < cq->n; n++)
		wc[n] = cq->wc[n];
	cq->n -= (unsigned)n;
	memmove(&cq->wc[0], &cq->wc[n], cq->n * sizeof(cq->wc[0]));
	if (cq->failed)
		n = -1;
	pthread_mutex_unlock(&fake.lock);
	return n;
}

static int fake_req_notify_cq(struct ibv_cq *cq, int solicited)
{
	(void)cq;
	(void)solicited;
	return 0;
}

static bool fake_ended(struct ibv_context *c)
{
	return ((struct fake_context *)c)->ended;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int vector)
{
	struct fake_cq *cq;

	(void)vector;
	if (fake_ended(context)) {
		errno = EIO;
		return NULL;
	}
	cq = calloc(1, sizeof(*cq));
	cq->c = (struct ibv_cq){
		.context = context, .channel = channel, .cq_context = cq_context, .cqe = cqe};
	return &cq->c;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	free(cq); /* a real library leaks it if the device is gone: so that no leak is reported */
	return 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct fake_qp *q = calloc(1, sizeof(*q));

	q->q.context = pd->context;
	q->q.qp_context = attr->qp_context;
	q->q.send_cq = attr->send_cq;
	q->q.recv_cq = attr->recv_cq;
	q->in_use = true;
	FAKE_LOCKED(q->q.qp_num = fake.next_number++; fake_slot(fake.qps, q));
	return &q->q;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct fake_qp *q = (struct fake_qp *)qp;
	int err = 0;

	pthread_mutex_lock(&fake.lock);
	fake.n_modify_blocked += fake.block_modify;
	pthread_cond_broadcast(&fake.changed);
	while (fake.block_modify)
		pthread_cond_wait(&fake.changed, &fake.lock);
	if (fake_ended(qp->context))
		err = EIO;
	else if (fake.refuse_modify)
		err = EINVAL;
	if (!err && mask & IBV_QP_STATE)
		q->state = attr->qp_state;
	if (!err && mask & IBV_QP_PATH_MTU)
		q->path_mtu = attr->path_mtu;
	if (!err && mask & IBV_QP_AV)
		q->av = attr->ah_attr;
	if (!err && mask & IBV_QP_DEST_QPN)
		q->dest = attr->dest_qp_num;
	if (!err && q->state == IBV_QPS_ERR)
		fake_flush(q);
	if (!err && q->state == IBV_QPS_RESET)
		q->n_sq = q->n_rq = 0;
	pthread_mutex_unlock(&fake.lock);
	return err;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	struct fake_qp *q = (struct fake_qp *)qp;
	int err = 0;

	pthread_mutex_lock(&fake.lock);
	if (fake_ended(qp->context))
		err = EIO;
	else if (fake.refuse_destroy)
		err = EBUSY;
	if (!err)
		fake_unslot(fake.qps, q);
	pthread_mutex_unlock(&fake.lock);
	if (!err)
		free(q);
	return err;
}

/* ---- memory ---- */

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct ibv_pd *pd = calloc(1, sizeof(*pd));

	pd->context = context;
	return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	free(pd);
	return 0;
}

static struct ibv_mr *fake_reg(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			       int access, bool is_dmabuf)
{
	struct fake_mr *mr;

	if (fake_ended(pd->context)) {
		errno = EIO;
		return NULL;
	}
	mr = calloc(1, sizeof(*mr));
	mr->m = (struct ibv_mr){.context = pd->context, .pd = pd, .addr = addr, .length = length};
	mr->iova = iova;
	mr->access = access;
	mr->is_dmabuf = is_dmabuf;
	mr->in_use = true;
	FAKE_LOCKED(mr->m.lkey = mr->m.rkey = fake.next_number++; fake_slot(fake.mrs, mr));
	return &mr->m;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return fake_reg(pd, addr, length, (uintptr_t)addr, access, false);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned access)
{
	return fake_reg(pd, addr, length, iova, (int)access, false);
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
				 int fd, int access)
{
	(void)offset;
	(void)fd;
	errno = fake.dmabuf_error;
	return errno ? NULL : fake_reg(pd, NULL, length, iova, access, true);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	int err;

	pthread_mutex_lock(&fake.lock);
	err = fake_ended(mr->context) ? EIO : 0;
	if (!err)
		fake_unslot(fake.mrs, mr);
	pthread_mutex_unlock(&fake.lock);
	if (!err)
		free(mr);
	return err;
}

/* ---- contexts and events ---- */

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct ibv_comp_channel *c = calloc(1, sizeof(*c));

	c->context = context;
	c->fd = eventfd(0, EFD_CLOEXEC);
	return c;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *c)
{
	close(c->fd);
	free(c);
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *c, struct ibv_cq **cq, void **context)
{
	(void)c;
	*cq = NULL;
	*context = NULL;
	errno = EAGAIN;
	return -1;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned n)
{
	(void)cq;
	(void)n;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct fake_context *c = calloc(1, sizeof(*c));

	c->c.device = device;
	c->c.async_fd = eventfd(0, EFD_CLOEXEC);
	c->c.ops.poll_cq = fake_poll_cq;
	c->c.ops.req_notify_cq = fake_req_notify_cq;
	c->c.ops.post_send = fake_post_send;
	c->c.ops.post_recv = fake_post_recv;
	FAKE_LOCKED(fake.n_opened++; fake_slot(fake.contexts, c));
	return &c->c;
}

/* What was made on it and not ended goes with it, as in the kernel. */
int ibv_close_device(struct ibv_context *context)
{
	pthread_mutex_lock(&fake.lock);
	for (unsigned i = 0; i < FAKE_OBJECTS; i++) {
		if (fake.qps[i] && fake.qps[i]->q.context == context) {
			free(fake.qps[i]);
			fake.qps[i] = NULL;
		}
		if (fake.mrs[i] && fake.mrs[i]->m.context == context) {
			free(fake.mrs[i]);
			fake.mrs[i] = NULL;
		}
	}
	fake_unslot(fake.contexts, context);
	fake.n_closed++;
	pthread_mutex_unlock(&fake.lock);
	close(context->async_fd);
	free(context);
	return 0;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	*attr = (struct ibv_device_attr){.phys_port_cnt = 1};
	return fake_ended(context) ? EIO : 0;
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *out)
{
	struct ibv_port_attr *attr = (struct ibv_port_attr *)out;

	(void)port;
	attr->state = IBV_PORT_ACTIVE;
	attr->active_mtu = fake.active_mtu ? fake.active_mtu : IBV_MTU_4096;
	attr->gid_tbl_len = 4;
	return fake_ended(context) ? EIO : 0;
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t max,
			     uint32_t flags, size_t size)
{
	(void)context;
	(void)flags;
	(void)size;
	for (size_t i = 0; i < 2 && i < max; i++) {
		entries[i] = (struct ibv_gid_entry){.gid_index = (uint32_t)i,
						    .port_num = 1,
						    .gid_type = IBV_GID_TYPE_ROCE_V2,
						    .ndev_ifindex = if_nametoindex("lo")};
		inet_pton(AF_INET6, fake_address(2 + (unsigned)i), entries[i].gid.raw);
	}
	return 2;
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *out)
{
	struct fake_context *c = (struct fake_context *)context;
	uint64_t count;
	int n;

	pthread_mutex_lock(&fake.lock);
	n = (int)c->n_events;
	if (n) {
		*out = c->events[0];
		memmove(&c->events[0], &c->events[1], --c->n_events * sizeof(c->events[0]));
	} else if (read(context->async_fd, &count, sizeof(count)) < 0) {
		errno = EAGAIN;
	}
	pthread_mutex_unlock(&fake.lock);
	if (!n)
		errno = EAGAIN;
	return n ? 0 : -1;
}

void ibv_ack_async_event(struct ibv_async_event *e)
{
	(void)e;
}

/* ---- what the test makes happen ---- */

static void fake_raise(struct fake_context *c, struct ibv_async_event e)
{
	uint64_t one = 1;

	c->events[c->n_events++] = e;
	if (write(c->c.async_fd, &one, sizeof(one)) != sizeof(one))
		abort();
}

static void fake_end(struct fake_context *c)
{
	c->ended = true;
	for (unsigned i = 0; i < FAKE_OBJECTS; i++) {
		if (fake.qps[i] && fake.qps[i]->q.context == &c->c)
			fake.qps[i]->in_use = false;
		if (fake.mrs[i] && fake.mrs[i]->m.context == &c->c)
			fake.mrs[i]->in_use = false;
	}
}

/*
 * The device reports that it is broken, to those who opened it first and last as counted from 0.
 * ended: and the kernel takes it away.
 */
static void fake_fatal_to(bool ended, unsigned first, unsigned last)
{
	pthread_mutex_lock(&fake.lock);
	fake.unbound = ended;
	for (unsigned i = first; i <= last && i < FAKE_OBJECTS; i++) {
		struct fake_context *c = fake.contexts[i];

		if (!c || c->ended)
			continue;
		if (ended)
			fake_end(c);
		fake_raise(c, (struct ibv_async_event){.event_type = IBV_EVENT_DEVICE_FATAL});
	}
	pthread_mutex_unlock(&fake.lock);
}

static void fake_fatal(bool ended)
{
	fake_fatal_to(ended, 0, FAKE_OBJECTS - 1);
}

static void fake_cq_error(uint32_t qpn)
{
	struct fake_qp *q;

	pthread_mutex_lock(&fake.lock);
	q = fake_find_qp(qpn);
	((struct fake_cq *)q->q.send_cq)->failed = true;
	fake_raise((struct fake_context *)q->q.context,
		   (struct ibv_async_event){.event_type = IBV_EVENT_CQ_ERR,
					    .element.cq = q->q.send_cq});
	pthread_mutex_unlock(&fake.lock);
}

#endif
