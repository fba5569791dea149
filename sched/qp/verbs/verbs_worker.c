/* SPDX-License-Identifier: BSD-2-Clause */
/* verbs_worker.c - a thread per plane for the calls that may block (verbs_endpoint.h) */
#include "qp/verbs/verbs_endpoint.h"

#include <errno.h>
#ifdef HAVE_MLX5DV
#include <infiniband/mlx5dv.h>
#endif
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define HOP_LIMIT 64
#define RNR_TIMER 12 /* 0.64 ms */
#define MAX_RETRY 6  /* 7 means "for ever" to some devices */
#define PORT_BITS 0x3fffu

static enum ibv_mtu mtu_code(uint32_t bytes)
{
	enum ibv_mtu code = IBV_MTU_256;

	for (; bytes > 256; bytes >>= 1)
		code++;
	return code;
}

/*
 * The UDP source port 0xC000 | p is asked for by a flow label whose low 14 bits, folded with its
 * high ones, give p. 0 would leave the choice to the device.
 */
static uint32_t flow_label(uint16_t source_port)
{
	uint32_t p = source_port & PORT_BITS;

	return p ? p : 1u << 14 | 1;
}

static int to_ready_to_receive(struct qp *qp)
{
	const struct in6_addr *to = IN6_IS_ADDR_UNSPECIFIED(&qp->remote.device)
					    ? &qp->remote.address
					    : &qp->remote.device;
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = mtu_code(qp->path_mtu),
		.dest_qp_num = qp->remote.qpn,
		.rq_psn = qp->remote.psn,
		.max_dest_rd_atomic = QP_MAX_READS,
		.min_rnr_timer = RNR_TIMER,
		.ah_attr = {.is_global = 1,
			    .port_num = qp->port,
			    .sl = qp->attr.service_level,
			    .grh = {.sgid_index = qp->gid_index,
				    .flow_label = flow_label(qp->attr.udp_source_port),
				    .hop_limit = HOP_LIMIT,
				    .traffic_class = (uint8_t)ROCE_TRAFFIC_CLASS(qp->attr.dscp)}},
	};

	memcpy(&a.ah_attr.grh.dgid, to, sizeof(a.ah_attr.grh.dgid));
	return -ibv_modify_qp(qp->ibv, &a,
			      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				      IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				      IBV_QP_MIN_RNR_TIMER);
}

/*
 * What the flow label asks for, said outright where the device's own library has a call for it. A
 * device that refuses keeps what the label gave.
 */
static void set_source_port(struct qp *qp)
{
#ifdef HAVE_MLX5DV
	if (mlx5dv_is_supported(qp->ibv->context->device))
		(void)mlx5dv_modify_qp_udp_sport(qp->ibv, qp->attr.udp_source_port);
#else
	(void)qp;
#endif
}

static int connect_qp(struct qp *qp)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = qp->first_psn,
		.timeout = qp->attr.timeout,
		.retry_cnt = qp->attr.retry_cnt < MAX_RETRY ? qp->attr.retry_cnt : MAX_RETRY,
		/* 7: for ever, as a receiver that does not poll is back-pressure and no fault */
		.rnr_retry = qp->attr.rnr_limit ? qp->attr.rnr_limit - 1 : 7,
		.max_rd_atomic = QP_MAX_READS,
	};
	int err = to_ready_to_receive(qp); /* resolves the neighbour: this is what may block */

	if (err)
		return err;
	err = -ibv_modify_qp(qp->ibv, &a,
			     IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				     IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
	if (!err)
		set_source_port(qp);
	return err;
}

static int to_state(struct qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr a = {.qp_state = state};

	return -ibv_modify_qp(qp->ibv, &a, IBV_QP_STATE);
}

/* A QP that the device does not reset is ended. */
static int halt(struct qp *qp)
{
	int err;

	if (!to_state(qp, IBV_QPS_RESET))
		return 0;
	err = -ibv_destroy_qp(qp->ibv);
	if (!err)
		qp->ibv = NULL;
	return err;
}

static int do_job(struct qp_endpoint *ep, struct verbs_job *job)
{
	struct qp *qp = job->qp;

	switch (job->kind) {
	case VERBS_CONNECT:
		return connect_qp(qp);
	case VERBS_STOP:
		return to_state(qp, IBV_QPS_ERR);
	case VERBS_HALT:
		return halt(qp);
	case VERBS_DESTROY:
		if (qp->ibv)
			ibv_destroy_qp(qp->ibv);
		ibv_destroy_cq(qp->cq);
		return 0;
	case VERBS_OPEN:
		return verbs_handle_reopen(ep, job->device);
	case VERBS_IDLE:
		break;
	}
	return -EINVAL;
}

static void hand_back(struct qp_endpoint *ep, struct verbs_job *job)
{
	uint64_t one = 1;

	pthread_mutex_lock(&ep->done_lock);
	job->next = ep->done;
	ep->done = job;
	pthread_mutex_unlock(&ep->done_lock);
	while (write(ep->done_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

static struct verbs_job *next_job(struct verbs_worker *w)
{
	struct verbs_job *job;

	pthread_mutex_lock(&w->lock);
	while (!w->first && !w->quit)
		pthread_cond_wait(&w->wake, &w->lock);
	job = w->first;
	if (job)
		w->first = job->next;
	pthread_mutex_unlock(&w->lock);
	return job;
}

static void *work(void *arg)
{
	struct verbs_worker *w = arg;
	struct verbs_job *job;

	while ((job = next_job(w))) {
		job->result = do_job(w->ep, job);
		hand_back(w->ep, job);
	}
	return NULL;
}

static int verbs_worker_start(struct verbs_worker *w)
{
	sigset_t all, old;
	int err;

	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->wake, NULL);
	/* the application's signals are the application's */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = -pthread_create(&w->thread, NULL, work, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	w->running = !err;
	return err;
}

int verbs_worker_start_all(struct qp_endpoint *ep)
{
	int err = 0;

	ep->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (ep->done_fd < 0)
		return -errno;
	for (unsigned p = 0; !err && p < ep->attr.n_planes; p++) {
		ep->workers[p].ep = ep;
		err = verbs_worker_start(&ep->workers[p]);
	}
	return err;
}

void verbs_worker_stop_all(struct qp_endpoint *ep)
{
	for (unsigned p = 0; p < FARE_MAX_PLANES; p++) {
		struct verbs_worker *w = &ep->workers[p];

		if (!w->running)
			continue;
		pthread_mutex_lock(&w->lock);
		w->quit = true;
		pthread_cond_signal(&w->wake);
		pthread_mutex_unlock(&w->lock);
		pthread_join(w->thread, NULL);
		w->running = false;
		pthread_cond_destroy(&w->wake);
		pthread_mutex_destroy(&w->lock);
	}
	ep->closing = true;
}

static void verbs_worker_enqueue(struct qp_endpoint *ep, unsigned plane, struct verbs_job *job)
{
	struct verbs_worker *w = &ep->workers[plane];

	if (ep->closing) {
		job->result = do_job(ep, job);
		hand_back(ep, job);
		return;
	}
	pthread_mutex_lock(&w->lock);
	if (w->first)
		w->last->next = job;
	else
		w->first = job;
	w->last = job;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
}

void verbs_worker_submit(struct qp *qp, enum verbs_job_kind kind)
{
	qp->job = (struct verbs_job){.kind = kind, .qp = qp};
	verbs_worker_enqueue(qp->ep, qp->attr.plane, &qp->job);
}

void verbs_worker_submit_open(struct qp_endpoint *ep, unsigned device, unsigned plane)
{
	ep->open_job = (struct verbs_job){.kind = VERBS_OPEN, .device = device};
	verbs_worker_enqueue(ep, plane, &ep->open_job);
}

struct verbs_job *verbs_worker_take_done(struct qp_endpoint *ep)
{
	struct verbs_job *jobs;
	uint64_t count;

	if (read(ep->done_fd, &count, sizeof(count)) < 0)
		return NULL;
	pthread_mutex_lock(&ep->done_lock);
	jobs = ep->done;
	ep->done = NULL;
	pthread_mutex_unlock(&ep->done_lock);
	return jobs;
}
