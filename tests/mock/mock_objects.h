/* SPDX-License-Identifier: BSD-2-Clause */
/* mock_objects.h - what the files of the mock share: what is made on a device. */
#ifndef MOCK_OBJECTS_H
#define MOCK_OBJECTS_H

#include "verbs_mock.h"

#define MOCK_EVENTS 64

struct mock_cq {
	struct ibv_cq c;
	struct mock_cq *next;
	struct ibv_wc *wc; /* c.cqe of them, a ring */
	unsigned first, n;
	unsigned n_reported, n_acked; /* events */
	bool armed, failed;
};

struct mock_channel {
	struct ibv_comp_channel c;
	struct mock_cq *events[MOCK_EVENTS]; /* oldest first, each queue at most once */
	unsigned n;
};

struct mock_send {
	struct ibv_send_wr wr;
	struct ibv_sge sge; /* length 0: none */
	uint64_t number;    /* of the device's posted work, from 1 */
};

struct mock_receive {
	uint64_t wr_id;
	struct ibv_sge sge;
};

struct mock_qp {
	struct ibv_qp q;
	struct mock_qp *next;
	struct mock_context *context;
	struct ibv_qp_cap cap;
	struct mock_send *sends; /* cap.max_send_wr, oldest first */
	struct mock_receive *receives;
	unsigned n_sends, n_receives;
	enum ibv_qp_state state;
	uint32_t dest;
	struct ibv_ah_attr av;
	enum ibv_mtu path_mtu;
	unsigned n_reported, n_acked; /* events */
};

struct mock_mr {
	struct ibv_mr m;
	struct mock_mr *next;
	uint64_t iova;
	int access;
	bool is_dmabuf;
};

struct mock_context {
	struct ibv_context c;
	struct mock_context *next;
	struct verbs_mock_device *device;
	bool ended; /* the device was taken away: EIO for everything */
	struct ibv_async_event events[MOCK_EVENTS];
	unsigned n_events;
	struct mock_qp *qps;
	struct mock_cq *cqs;
	struct mock_mr *mrs;
};

extern struct verbs_mock_device mock_devices[VERBS_MOCK_DEVICES];

static inline struct mock_context *mock_context_of(struct ibv_context *c)
{
	return (struct mock_context *)c;
}

/* All with the lock held. */
void mock_raise(struct mock_context *c, const struct ibv_async_event *e);
/* Those of a queue pair or completion queue that ends, and that nobody has taken. */
void mock_drop_events(struct mock_context *c, const void *element);
void mock_cq_complete(struct ibv_cq *cq, const struct ibv_wc *wc);
void mock_cq_fail(struct mock_cq *cq); /* with the event */
struct mock_qp *mock_qp_find(struct verbs_mock_device *d, uint32_t qpn);
void mock_qp_free(struct mock_qp *qp);
void mock_cq_free(struct mock_cq *cq);
void mock_qp_flush(struct mock_qp *qp);
struct mock_mr *mock_mr_find(struct ibv_pd *pd, uint32_t key, int access, uint64_t at,
			     uint64_t bytes);

/* The context's own operations (struct ibv_context_ops). */
int mock_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int mock_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int mock_poll_cq(struct ibv_cq *cq, int max, struct ibv_wc *wc);
int mock_req_notify_cq(struct ibv_cq *cq, int solicited_only);

#endif
