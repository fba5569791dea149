/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft_cq.h - the completion queue of an endpoint.
 *
 * Owns the completions; zeroed: none, nor room. In: completions of all QPs of an endpoint. Out: the
 * same, first in first out. Pure; the endpoint's thread.
 *
 * A place is claimed when work or a receive is posted, or when a message arrives that uses a
 * receive of the provider itself. So each completion has a place. The limit of claimed places grows
 * with the number of QPs. Work and receives have separate limits, so that neither can use up the
 * other's. The queue grows with the places that are claimed, so idle QPs take no memory.
 */
#ifndef SOFT_CQ_H
#define SOFT_CQ_H

#include <stdbool.h>
#include <stddef.h>

#include "base/fifo.h"
#include "qp/provider.h"

struct rc_notice;

struct soft_cq {
	struct fifo wcs; /* of struct qp_wc: n from first on */
	uint64_t first;
	size_t n;
	/* claimed, and not polled yet */
	size_t n_receives, max_receives;
	size_t n_work, max_work;
};

void soft_cq_fini(struct soft_cq *cq);
/* Sets the limits of places for work and for receives, of all QPs. They never shrink. */
void soft_cq_allow(struct soft_cq *cq, size_t work, size_t receives);
/* Claims a place for a completion. 0, -ENOBUFS (poll first), -ENOMEM. */
int soft_cq_claim(struct soft_cq *cq, bool is_receive);
void soft_cq_unclaim(struct soft_cq *cq, bool is_receive);
/* The caller pushes only what it claimed. */
void soft_cq_push(struct soft_cq *cq, const struct qp_wc *wc);
/* Work of a QP (arg) is over: as rc_requester_config.on_complete. */
void soft_cq_complete(void *arg, uint64_t wr_id, enum qp_wc_status status, uint32_t bytes);
/* A receive of the QP is over. */
void soft_cq_notify(struct qp *qp, const struct rc_notice *notice);
int soft_cq_poll(struct soft_cq *cq, struct qp_wc *out, int max); /* how many were taken */
/* Removes the completions of a QP that is destroyed. */
void soft_cq_purge(struct soft_cq *cq, const struct qp *qp);

#endif
