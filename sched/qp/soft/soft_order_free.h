/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft_order_free.h - what an order-free QP has beside the others: the protocol's two halves and
 * several paths.
 *
 * Owns the path set (the sockets are shared), and takes turns over it: one path a batch, so that
 * each batch still is one super-packet. In: paths from the group. Out: which socket is next. The
 * endpoint's thread.
 */
#ifndef SOFT_ORDER_FREE_H
#define SOFT_ORDER_FREE_H

#include "of_receiver.h"
#include "of_sender.h"

struct soft_leg {
	struct qp_path path;
	struct soft_socket *socket;
};

struct soft_order_free {
	struct of_sender tx;
	struct of_receiver rx;
	struct soft_leg legs[QP_MAX_PATHS];
	unsigned n_legs, turn;
};

/* Makes qp->order_free. 0 or -ENOMEM. */
int soft_order_free_create(struct qp *qp, const struct rc_requester_config *config);
/* The QP has its socket: it is the first path. */
void soft_order_free_begin(struct qp *qp);
/* Gives back every path's socket, the QP's included. */
void soft_order_free_destroy(struct qp *qp);
int soft_order_free_spread(struct qp *qp, const struct qp_path *paths, unsigned n);
/* The next batch leaves by the next path whose socket has room; by this one if none has. */
void soft_order_free_turn(struct qp *qp);
/* A request arrived. */
void soft_order_free_on_request(struct qp *qp, const struct roce_packet *packet);
/* The QP is in error: nothing waits to be told any more. */
void soft_order_free_forget(struct qp *qp);

#endif
