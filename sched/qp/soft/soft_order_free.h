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

int soft_order_free_spread(struct qp *qp, const struct qp_path *paths, unsigned n);
/* The next batch leaves by the next path whose socket has room; by this one if none has. */
void soft_order_free_turn(struct qp *qp);

#endif
