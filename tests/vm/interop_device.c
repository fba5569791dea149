/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * interop_device.c - the device's end of the conformance test: plain libibverbs, none of our code.
 *
 *   interop_device OWN-ADDRESS PEER-ADDRESS          (IPv4 as ::ffff:a.b.c.d; the peer listens)
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "interop.h"

#define RECEIVES 64
#define READS	 4

struct device {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *source_mr, *target_mr;
	uint8_t *source, *target;
	int gid_index, fd;
	struct in6_addr own, peer;
};

static void die(const char *what)
{
	fprintf(stderr, "interop_device: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void open_device(struct device *d)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_gid_entry gids[64];
	ssize_t n;

	if (!list || !list[0])
		die("no device");
	d->context = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	n = d->context ? ibv_query_gid_table(d->context, gids, 64, 0) : 0;
	d->gid_index = -1;
	for (ssize_t i = 0; i < n; i++)
		if (gids[i].gid_type == IBV_GID_TYPE_ROCE_V2 &&
		    !memcmp(gids[i].gid.raw, &d->own, 16))
			d->gid_index = (int)gids[i].gid_index;
	if (d->gid_index < 0)
		die("no GID of that address");
	d->pd = ibv_alloc_pd(d->context);
	d->cq = ibv_create_cq(d->context, 256, NULL, NULL, 0);
	d->source = calloc(1, INTEROP_BYTES);
	d->target = calloc(1, INTEROP_BYTES);
	d->source_mr = ibv_reg_mr(d->pd, d->source, INTEROP_BYTES, IBV_ACCESS_LOCAL_WRITE);
	d->target_mr = ibv_reg_mr(d->pd, d->target, INTEROP_BYTES,
				  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
					  IBV_ACCESS_REMOTE_READ);
	if (!d->cq || !d->source_mr || !d->target_mr)
		die("no resources");
}

static void to_rts(struct device *d, const struct interop_ask *ask, uint32_t psn)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
				.port_num = 1,
				.qp_access_flags =
					IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ};
	struct ibv_recv_wr wr = {.wr_id = UINT64_MAX}, *bad;

	if (ibv_modify_qp(d->qp, &a,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		die("INIT");
	for (int i = 0; i < RECEIVES && !ask->bare; i++)
		if (ibv_post_recv(d->qp, &wr, &bad))
			die("receive");
	a = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = ask->mtu == 4096 ? IBV_MTU_4096 : IBV_MTU_1024,
		.dest_qp_num = ask->qpn,
		.rq_psn = ask->psn,
		.max_dest_rd_atomic = READS,
		.min_rnr_timer = 12,
		.ah_attr = {.is_global = 1,
			    .port_num = 1,
			    .grh = {.sgid_index = (uint8_t)d->gid_index, .hop_limit = 64}}};
	memcpy(&a.ah_attr.grh.dgid, &d->peer, 16);
	if (ibv_modify_qp(d->qp, &a,
			  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		die("RTR");
	a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
				 .sq_psn = psn,
				 .timeout = 16,
				 /*
				  * 7 means "for ever" to rxe, and who lost a last NAK is owed a
				  * word
				  */
				 .retry_cnt = 6,
				 .rnr_retry = (uint8_t)ask->rnr_retry,
				 .max_rd_atomic = READS};
	if (ibv_modify_qp(d->qp, &a,
			  IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				  IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC))
		die("RTS");
}

static void make_qp(struct device *d, const struct interop_ask *ask, struct interop_answer *answer)
{
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC,
					.send_cq = d->cq,
					.recv_cq = d->cq,
					.sq_sig_all = 1,
					.cap = {.max_send_wr = 16,
						.max_recv_wr = RECEIVES,
						.max_send_sge = 1,
						.max_recv_sge = 1}};
	struct ibv_wc wc;

	if (d->qp)
		ibv_destroy_qp(d->qp);
	while (ibv_poll_cq(d->cq, 1, &wc) > 0)
		;
	d->qp = ibv_create_qp(d->pd, &init);
	if (!d->qp)
		die("QP");
	answer->psn = 0xfffff0; /* the numbers wrap within the first messages */
	to_rts(d, ask, answer->psn);
	answer->qpn = d->qp->qp_num;
	answer->rkey = d->target_mr->rkey;
	answer->addr = (uintptr_t)d->target;
}

static time_t now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

/* Waits for the next completion; those of the other kind are not expected now. False: none. */
static bool complete(struct device *d, bool receive, struct ibv_wc *wc)
{
	time_t end = now_s() + INTEROP_DEVICE_S;
	char c;

	do {
		while (ibv_poll_cq(d->cq, 1, wc) == 0) {
			if (now_s() > end)
				return false;
			errno = ECONNRESET;
			if (recv(d->fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
				die("the soft end is gone");
		}
	} while ((wc->wr_id == UINT64_MAX) != receive);
	return true;
}

static void fill(uint8_t *at, const struct interop_ask *ask)
{
	for (uint32_t i = 0; i < ask->length; i++)
		at[i] = interop_byte(ask->seed, i);
}

/* WRITE, SEND or READ. */
static int32_t work(struct device *d, const struct interop_ask *ask)
{
	bool is_read = ask->op == INTEROP_READ;
	struct ibv_sge sge = {(uintptr_t)(is_read ? d->target + ask->offset : d->source),
			      ask->length, is_read ? d->target_mr->lkey : d->source_mr->lkey};
	struct ibv_send_wr wr = {.wr_id = 1,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_RDMA_READ},
			   *bad;
	struct ibv_wc wc;

	if (!is_read)
		fill(d->source, ask);
	if (ask->op == INTEROP_WRITE)
		wr.opcode = ask->with_imm ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
	if (ask->op == INTEROP_SEND)
		wr.opcode = ask->with_imm ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
	wr.imm_data = htonl(ask->imm);
	if (ask->op != INTEROP_SEND) {
		wr.wr.rdma.remote_addr = ask->addr;
		wr.wr.rdma.rkey = ask->rkey;
	}
	if (ibv_post_send(d->qp, &wr, &bad))
		die("send");
	return complete(d, false, &wc) ? (int32_t)wc.status : INTEROP_NONE;
}

static void post_receive(struct device *d, const struct interop_ask *ask)
{
	struct ibv_sge sge = {(uintptr_t)d->target + ask->offset, ask->length, d->target_mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = UINT64_MAX, .sg_list = &sge, .num_sge = 1}, *bad;

	if (ibv_post_recv(d->qp, &wr, &bad))
		die("receive");
}

static void arrived(struct device *d, struct interop_answer *answer)
{
	struct ibv_wc wc;

	if (!complete(d, true, &wc)) {
		answer->status = INTEROP_NONE;
		return;
	}
	answer->status = (int32_t)wc.status;
	answer->has_imm = wc.wc_flags & IBV_WC_WITH_IMM ? 1 : 0;
	answer->imm = ntohl(wc.imm_data);
	answer->length = wc.byte_len;
}

static void do_ask(struct device *d, const struct interop_ask *ask, struct interop_answer *answer)
{
	switch (ask->op) {
	case INTEROP_QP:
		make_qp(d, ask, answer);
		break;
	case INTEROP_WRITE:
	case INTEROP_SEND:
	case INTEROP_READ:
		answer->status = work(d, ask);
		break;
	case INTEROP_RECV:
		post_receive(d, ask);
		break;
	case INTEROP_ARRIVED:
		arrived(d, answer);
		break;
	case INTEROP_FILL:
		fill(d->target + ask->offset, ask);
		break;
	case INTEROP_CHECK:
		for (uint32_t i = 0; i < ask->length; i++)
			answer->status |= d->target[ask->offset + i] != interop_byte(ask->seed, i);
		break;
	}
}

static int connect_to(const struct in6_addr *peer)
{
	struct sockaddr_in6 at = {
		.sin6_family = AF_INET6, .sin6_port = htons(INTEROP_PORT), .sin6_addr = *peer};
	int fd = -1;

	for (int i = 0; i < 100; i++) { /* the other end may be between two runs */
		fd = socket(AF_INET6, SOCK_STREAM, 0);
		if (!connect(fd, (struct sockaddr *)&at, sizeof(at)))
			return fd;
		close(fd);
		usleep(100000);
	}
	die("connect");
	return -1;
}

int main(int argc, char **argv)
{
	static struct device d;
	struct interop_ask ask = {0};

	if (argc != 3 || inet_pton(AF_INET6, argv[1], &d.own) != 1 ||
	    inet_pton(AF_INET6, argv[2], &d.peer) != 1)
		return 2;
	open_device(&d);
	d.fd = connect_to(&d.peer);
	while (!interop_io(d.fd, &ask, sizeof(ask), 0) && ask.op != INTEROP_END) {
		struct interop_answer answer = {0};

		do_ask(&d, &ask, &answer);
		if (interop_io(d.fd, &answer, sizeof(answer), 1))
			return 1;
	}
	return ask.op == INTEROP_END ? 0 : 1;
}
