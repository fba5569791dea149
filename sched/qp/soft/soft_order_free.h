/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft_order_free.h - state of an order-free QP: sender, receiver and path set.
 *
 * Owns the path set; the sockets are shared. Batches use the paths in turn, one path for each
 * batch, so that a batch still is one super-packet. In: paths from the group. Out: the socket of
 * the next batch. The endpoint's thread.
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

int soft_order_free_spread(struct qp *qp, const struct qp_path *paths, unsigned n);
/* The next batch uses the next path whose socket has room; the same one if none has room. */
void soft_order_free_turn(struct qp *qp);

#endif
