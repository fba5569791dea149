/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft_protocol.h - the operations of a protocol: a table for the standard's reliable connection
 * (soft_rc.c) and one for order-free placement (soft_order_free.c).
 *
 * Owns nothing. The other files (sockets, lists, timers, completions) call a protocol. It decides
 * what is sent, what is placed, and when it has to be called again. One thread.
 */
#ifndef SOFT_PROTOCOL_H
#define SOFT_PROTOCOL_H

#include "of_receiver.h"
#include "rc_requester.h"
#include "roce_wire.h"

struct soft_protocol {
	/* Before anything is connected. 0 or -ENOMEM. */
	int (*create)(struct qp *qp);
	/* The peer is known: qp->remote. config is copied. 0 or -ENOMEM. */
	int (*start)(struct qp *qp, const struct rc_requester_config *config);
	void (*destroy)(struct qp *qp);

	/* ---- requests of this end ---- */
	/* 0, -ENOBUFS, -EOPNOTSUPP, -ENOMEM. */
	int (*post)(struct qp *qp, const struct rc_work *work);
	/* As rc_requester_burst() and rc_requester_sent(). */
	enum qp_wc_status (*burst)(struct qp *qp, struct roce_packet *out, unsigned max,
				   unsigned *n);
	void (*sent)(struct qp *qp, unsigned n_packets, uint64_t now_ns);
	bool (*has_unsent)(const struct qp *qp);
	uint64_t (*unsent_bytes)(const struct qp *qp);
	bool (*is_idle)(const struct qp *qp); /* at most one packet is under way */
	uint64_t (*deadline_ns)(const struct qp *qp);
	/* These two: 0, or the status that ends the connection. */
	enum qp_wc_status (*on_timer)(struct qp *qp, uint64_t now_ns);
	enum qp_wc_status (*on_answer)(struct qp *qp, const struct roce_packet *packet,
				       uint64_t now_ns);
	void (*kick)(struct qp *qp, uint64_t now_ns);
	void (*slow_down)(struct qp *qp); /* a queue on the path fills (CNP) */
	/* Completes all work. */
	void (*fail)(struct qp *qp, enum qp_wc_status status);

	/* ---- requests of the peer ---- */
	/* An answer may be due then. */
	void (*on_request)(struct qp *qp, const struct roce_packet *packet);
	bool (*answer_due)(const struct qp *qp);
	/* Its payload may point into bitmap; the caller adds the QPN. False: no answer is due. */
	bool (*take_answer)(struct qp *qp, uint8_t bitmap[OF_BITMAP_BYTES],
			    struct roce_packet *out);
	/* Of the answer that is due; 0: no answer is due. */
	uint8_t *(*syndrome)(struct qp *qp);
	bool (*is_dead)(const struct qp *qp); /* after its answer soft_state_refuse() is due */
	/* Completes all receives: no request is accepted any more. */
	void (*end_receives)(struct qp *qp);
};

/* The table of a file whose functions are named as the entries, after that stem. */
#define SOFT_PROTOCOL(stem)                                                                        \
	{                                                                                          \
		.create = stem##_create, .start = stem##_start, .destroy = stem##_destroy,         \
		.post = stem##_post, .burst = stem##_burst, .sent = stem##_sent,                   \
		.has_unsent = stem##_has_unsent, .unsent_bytes = stem##_unsent_bytes,              \
		.is_idle = stem##_is_idle, .deadline_ns = stem##_deadline_ns,                      \
		.on_timer = stem##_on_timer, .on_answer = stem##_on_answer, .kick = stem##_kick,   \
		.slow_down = stem##_slow_down, .fail = stem##_fail,                                \
		.on_request = stem##_on_request, .answer_due = stem##_answer_due,                  \
		.take_answer = stem##_take_answer, .syndrome = stem##_syndrome,                    \
		.is_dead = stem##_is_dead, .end_receives = stem##_end_receives,                    \
	}

extern const struct soft_protocol soft_rc, soft_order_free;

#endif
