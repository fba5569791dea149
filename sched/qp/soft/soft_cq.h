/*
 * soft_cq.h - completions on their way to the application, in order.
 *
 * Owns a ring of struct qp_wc. In: completions of all QPs of an endpoint. Out: the same, first in
 * first out. Pure; the endpoint's thread. Room is made when QPs are created and claimed when a
 * write is posted, so that a completion always finds a place; notifications are only accepted while
 * soft_cq_can_notify().
 */
#ifndef SOFT_CQ_H
#define SOFT_CQ_H

#include <stdbool.h>
#include <stddef.h>

#include "qp/provider.h"

struct soft_cq {
	struct qp_wc *ring;
	size_t room, n, first;
	size_t n_notifications, max_notifications;
	size_t n_writes, max_writes; /* posted or completed, and not polled yet */
};

void soft_cq_init(struct soft_cq *cq);
void soft_cq_fini(struct soft_cq *cq);
/* Room for so many writes and so many notifications, in all; never shrinks. -ENOMEM. */
int soft_cq_reserve(struct soft_cq *cq, size_t writes, size_t notifications);
/* A write is posted: its completion will have room. -ENOBUFS: poll first. */
int soft_cq_claim(struct soft_cq *cq);
void soft_cq_unclaim(struct soft_cq *cq);
bool soft_cq_can_notify(const struct soft_cq *cq);
/* The caller stays within what it reserved. */
void soft_cq_push(struct soft_cq *cq, const struct qp_wc *wc);
int soft_cq_poll(struct soft_cq *cq, struct qp_wc *out, int max); /* how many were taken */
/* Forgets the completions of a QP that ceases to exist. */
void soft_cq_purge(struct soft_cq *cq, const struct qp *qp);

#endif
