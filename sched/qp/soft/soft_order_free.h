/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft_order_free.h - what an order-free QP has beside the others: the protocol's two halves and
 * several ways out.
 *
 * Owns the sockets of all but the way that is in use just now (that one is struct qp's fd), and
 * takes turns over them: one way a batch, so that each batch still is one super-packet. In: paths
 * from the group. Out: which socket is next. The endpoint's thread.
 */
#ifndef SOFT_ORDER_FREE_H
#define SOFT_ORDER_FREE_H

#include "of_receiver.h"
#include "of_sender.h"

struct soft_leg {
	struct qp_path path;
	int fd;
};

struct soft_order_free {
	struct of_sender tx;
	struct of_receiver rx;
	struct soft_leg legs[QP_MAX_PATHS];
	unsigned n_legs, turn;
};

/* Makes qp->order_free. 0 or -ENOMEM. */
int soft_order_free_create(struct qp *qp, const struct rc_requester_config *config);
/* The QP's socket is open: it is the first way. */
void soft_order_free_begin(struct qp *qp);
/* Closes every way, the QP's socket included. */
void soft_order_free_destroy(struct qp *qp);
int soft_order_free_spread(struct qp *qp, const struct qp_path *paths, unsigned n);
/* The socket of the way that leaves so; -1: there is no such way. */
int soft_order_free_fd(const struct qp *qp, const struct qp_path *path);
/* The next batch leaves by another way; unless this one's socket is full: then it waits. */
void soft_order_free_turn(struct qp *qp);
/* A request arrived. */
void soft_order_free_on_request(struct qp *qp, const struct roce_packet *packet);
/* The QP is in error: nothing waits to be told any more. */
void soft_order_free_forget(struct qp *qp);

#endif
