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

struct soft_path {
	struct qp_path path;
	struct soft_socket *socket;
};

struct soft_order_free {
	struct of_sender tx;
	struct of_receiver rx;
	struct soft_path paths[QP_MAX_PATHS];
	unsigned n_paths, turn;
};

/* From now on batches use these in turn. Takes their sockets; those before are given back. */
void soft_order_free_set_paths(struct qp *qp, const struct soft_path *paths, unsigned n);
/* Gives the sockets of n paths back. */
void soft_order_free_put_paths(struct qp *qp, const struct soft_path *paths, unsigned n);

#endif
