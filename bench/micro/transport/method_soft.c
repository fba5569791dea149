/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The soft provider by itself: RC QPs of one plane, no group above them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "micro/transport/method.h"
#include "qp/provider.h"

#define P	     (&qp_soft_provider)
#define WINDOW_BYTES (512u << 10) /* of one QP; many share it */
#define WINDOW_MIN   (64u << 10)

struct soft_card {
	uint32_t qpn[TRANSPORT_MAX_QPS], psn[TRANSPORT_MAX_QPS], rkey;
	uint64_t base;
};

struct soft_method {
	const struct transport_end *end;
	struct qp_endpoint *ep;
	struct qp *qp[TRANSPORT_MAX_QPS];
	struct qp_mr mr;
	struct soft_card theirs;
	/* of a method that sends: memory of receives, so many to a QP */
	uint8_t *receive;
	struct qp_mr receive_mr;
	unsigned receives;
};

static int make_qps(struct soft_method *s, struct soft_card *mine)
{
	uint32_t window = WINDOW_BYTES * 4 / s->end->qps;
	int err = 0;

	for (unsigned i = 0; !err && i < s->end->qps; i++) {
		struct qp_attr attr = {.timeout = 15, /* as a group's */
				       .retry_cnt = 7,
				       .dscp = FARE_DSCP,
				       .receives = (uint16_t)s->receives,
				       .window_bytes = window > WINDOW_BYTES ? WINDOW_BYTES
						       : window < WINDOW_MIN ? WINDOW_MIN
									     : window};

		err = P->qp_create(s->ep, &attr, &s->qp[i]);
		if (!err) {
			mine->qpn[i] = P->qp_num(s->qp[i]);
			mine->psn[i] = P->qp_psn(s->qp[i]);
		}
	}
	return err;
}

/* wr_id: which of all receives, QP by QP. */
static int soft_receive(struct soft_method *s, uint64_t wr_id)
{
	struct qp_recv r = {.wr_id = wr_id,
			    .data = s->receive + wr_id * s->end->stride,
			    .lkey = s->receive_mr.lkey,
			    .length = (uint32_t)s->end->bytes};

	return P->post_recv(s->qp[wr_id / s->receives], &r);
}

static int soft_receives(struct soft_method *s)
{
	size_t n = (size_t)s->receives * s->end->qps;
	int err;

	if (!n)
		return 0;
	s->receive = aligned_alloc(4096, (n * s->end->stride + 4095) & ~(size_t)4095);
	err = s->receive ? P->mr_register(s->ep, s->receive, n * s->end->stride, 0, &s->receive_mr)
			 : -ENOMEM;
	for (uint64_t i = 0; !err && i < n; i++)
		err = soft_receive(s, i);
	return err;
}

static int soft_open(struct transport_end *end, void **state)
{
	struct qp_endpoint_attr attr = {.address = transport_address(end->local),
					.n_planes = 1,
					.n_sub_ports = {1},
					.dev = {{"p0"}},
					.path_mtu = TRANSPORT_PATH_MTU};
	struct soft_method *s = calloc(1, sizeof(*s));
	struct soft_card *mine = calloc(1, sizeof(*mine));
	int err = s && mine ? 0 : -ENOMEM;

	if (err)
		goto out;
	s->end = end;
	if (end->method->receives)
		s->receives = end->slots / end->qps + 1;
	err = P->endpoint_create(&s->ep, &attr);
	if (!err)
		err = P->mr_register(s->ep, end->memory, end->memory_bytes,
				     QP_ACCESS_REMOTE_WRITE | QP_ACCESS_REMOTE_READ, &s->mr);
	if (!err)
		err = make_qps(s, mine);
	if (!err)
		err = soft_receives(s);
	if (err)
		goto out;
	mine->rkey = s->mr.rkey;
	mine->base = (uintptr_t)end->memory;
	err = transport_exchange(end, mine, &s->theirs, sizeof(*mine));
	for (unsigned i = 0; !err && i < end->qps; i++) {
		struct qp_remote r = {.address = transport_address(end->remote),
				      .qpn = s->theirs.qpn[i],
				      .psn = s->theirs.psn[i]};

		err = P->qp_connect(s->qp[i], &r);
	}
out:
	*state = s;
	free(mine);
	return err;
}

static int post_work(struct soft_method *s, unsigned slot, struct qp_work work)
{
	int err;

	work.wr_id = slot;
	work.data = s->end->memory + slot * s->end->stride;
	work.lkey = s->mr.lkey;
	work.length = (uint32_t)s->end->bytes;
	work.remote_addr = s->theirs.base + slot * s->end->stride;
	work.rkey = s->theirs.rkey;
	err = P->post(s->qp[slot % s->end->qps], &work);
	return err == -ENOBUFS ? -EAGAIN : err;
}

static int soft_post(void *state, unsigned slot)
{
	return post_work(state, slot, (struct qp_work){.op = QP_OP_WRITE});
}

static int soft_post_read(void *state, unsigned slot)
{
	return post_work(state, slot, (struct qp_work){.op = QP_OP_READ});
}

/* The slot goes along as immediate: a receive is whichever was posted first. */
static int soft_post_send(void *state, unsigned slot)
{
	return post_work(state, slot,
			 (struct qp_work){.op = QP_OP_SEND, .imm = slot, .flags = QP_WR_IMM});
}

/* A message arrived in a receive: to its place, its stamp (the last word) behind all else. */
static int soft_take(struct soft_method *s, const struct qp_wc *wc)
{
	const uint8_t *from = s->receive + wc->wr_id * s->end->stride;
	uint8_t *to = s->end->memory + wc->imm * s->end->stride;
	size_t bytes = s->end->bytes - sizeof(uint64_t);
	uint64_t stamp;

	if (!wc->has_imm || wc->imm >= s->end->slots || wc->byte_len != s->end->bytes)
		return -EPROTO;
	memcpy(to, from, bytes);
	memcpy(&stamp, from + bytes, sizeof(stamp));
	__atomic_store_n((uint64_t *)(void *)(to + bytes), stamp, __ATOMIC_RELEASE);
	return soft_receive(s, wc->wr_id);
}

static int soft_progress(void *state, unsigned *done, int max)
{
	struct soft_method *s = state;
	struct qp_wc wc[64];
	int n_done = 0, n = P->endpoint_progress(s->ep);

	if (n < 0)
		return n;
	n = P->poll(s->ep, wc, max < 64 ? max : 64);
	for (int i = 0; i < n; i++) {
		int err = 0;

		if (wc[i].status)
			return wc[i].status == QP_WC_RETRY_EXC_ERR ? -ETIMEDOUT : -EIO;
		if (wc[i].is_receive)
			err = soft_take(s, &wc[i]);
		else
			done[n_done++] = (unsigned)wc[i].wr_id;
		if (err)
			return err;
	}
	return n_done;
}

static int soft_fd(void *state)
{
	return P->endpoint_info(((struct soft_method *)state)->ep)->fd;
}

static void soft_close(void *state)
{
	struct soft_method *s = state;

	P->endpoint_destroy(s->ep);
	free(s->receive);
	free(s);
}

#define SOFT_METHOD(POST)                                                                          \
	.many_qps = true, .open = soft_open, .post = POST, .progress = soft_progress,              \
	.fd = soft_fd, .close = soft_close

const struct transport_method transport_soft = {
	.name = "soft", .what = "soft RoCEv2: RC QPs of one plane", SOFT_METHOD(soft_post)};
const struct transport_method transport_soft_read = {.name = "soft-read",
						     .what = "the same, fetched by RDMA READ",
						     .reads = true,
						     SOFT_METHOD(soft_post_read)};
const struct transport_method transport_soft_send = {
	.name = "soft-send",
	.what = "the same, by SEND into receives that the other end posts, and copied into place",
	.receives = true,
	SOFT_METHOD(soft_post_send)};
