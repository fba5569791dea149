/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft_state.c - the QPs of an endpoint: found by their numbers, the states that they go through,
 * and which of them are served next.
 */
#include "soft_protocol.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"

#define QPN_MASK 0xffffffu

static struct qp **soft_state_bucket_of(const struct qp_endpoint *ep, uint32_t qpn)
{
	return &ep->buckets[qpn & (ep->n_buckets - 1)];
}

struct qp *soft_state_find(const struct qp_endpoint *ep, uint32_t qpn)
{
	struct qp *qp = ep->n_buckets ? *soft_state_bucket_of(ep, qpn) : NULL;

	while (qp && qp->qpn != qpn)
		qp = qp->bucket_next;
	return qp;
}

static void add_to_bucket(struct qp_endpoint *ep, struct qp *qp)
{
	struct qp **at = soft_state_bucket_of(ep, qp->qpn);

	qp->bucket_next = *at;
	*at = qp;
}

/* As many buckets as QPs: numbers count up, so a bucket holds one or two. */
int soft_state_make_buckets(struct qp_endpoint *ep)
{
	size_t n = ep->n_buckets ? ep->n_buckets * 2 : 64;
	struct qp **buckets;

	if (ep->n_qps < ep->n_buckets)
		return 0;
	buckets = calloc(n, sizeof(struct qp *));
	if (!buckets)
		return -ENOMEM;
	free(ep->buckets);
	ep->buckets = buckets;
	ep->n_buckets = n;
	for (struct soft_link *l = ep->qps.next; l != &ep->qps; l = l->next)
		add_to_bucket(ep, soft_link_owner(l, struct qp, all));
	return 0;
}

/* QPNs count up from a random start: one is not seen again before all others were. */
int soft_state_assign_qpn(struct qp_endpoint *ep, struct qp *qp)
{
	for (uint32_t i = 0; i < QPN_MASK; i++) {
		uint32_t qpn = ep->next_qpn++ & QPN_MASK;

		/* 0 and 1 are management QPs, all ones is the multicast QP */
		if (qpn < 2 || qpn == QPN_MASK || qpn == SOFT_CONTROL_QPN ||
		    soft_state_find(ep, qpn))
			continue;
		qp->qpn = qpn;
		add_to_bucket(ep, qp);
		return 0;
	}
	return -ENOSPC;
}

void soft_state_forget(struct qp *qp)
{
	struct qp **at = soft_state_bucket_of(qp->ep, qp->qpn);

	while (*at != qp)
		at = &(*at)->bucket_next;
	*at = qp->bucket_next;
}

void soft_state_set_timer(struct qp *qp)
{
	uint64_t when = soft_protocol_deadline_ns(qp);

	if (qp->hold_until_ns && (!when || qp->hold_until_ns < when))
		when = qp->hold_until_ns;
	if (qp->pace && qp->pace->next_ns && (!when || qp->pace->next_ns < when))
		when = qp->pace->next_ns;
	timers_set(&qp->ep->alarm.timers, &qp->timer, when);
}

void soft_state_schedule(struct qp *qp)
{
	if (soft_state_is_live(qp))
		soft_link_append(&qp->ep->runnable, &qp->runnable);
}

static void soft_state_end(struct qp *qp)
{
	qp->state = SOFT_QP_ERR;
	soft_protocol_end_receives(qp);
	timers_remove(&qp->ep->alarm.timers, &qp->timer);
	soft_link_remove(&qp->runnable);
	soft_link_remove(&qp->answering);
	soft_link_remove(&qp->waiting);
}

void soft_state_refuse(struct qp *qp)
{
	if (qp->state != SOFT_QP_RTS)
		return;
	qp->state = SOFT_QP_REFUSING;
	qp->failed_ns = clock_now_ns();
	soft_protocol_end_receives(qp);
}

void soft_state_fail(struct qp *qp, enum qp_wc_status status)
{
	if (qp->state == SOFT_QP_ERR)
		return;
	soft_protocol_fail(qp, status);
	if (soft_protocol_is_dead(qp)) { /* its answer may not be out yet, or be lost */
		soft_state_refuse(qp);
		soft_state_set_timer(qp);
		return;
	}
	qp->failed_ns = clock_now_ns();
	soft_state_end(qp);
}

void soft_state_error(struct qp *qp)
{
	if (qp->state != SOFT_QP_ERR) {
		soft_protocol_fail(qp, QP_WC_FLUSH_ERR);
		soft_state_end(qp);
	}
	qp->failed_ns = 0;
}
