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
	void (*on_request)(struct qp *qp, const struct roce_packet *packet);
	bool (*answer_due)(const struct qp *qp);
	/* Its payload may point into bitmap; the caller adds the QPN. False: no answer is due. */
	bool (*take_answer)(struct qp *qp, uint8_t bitmap[OF_BITMAP_BYTES],
			    struct roce_packet *out);
	/* Of the answer that is due; 0: no answer is due. */
	uint8_t *(*syndrome)(struct qp *qp);
	bool (*is_dead)(const struct qp *qp); /* after its answer soft_qp_refuse() is due */
	/* Completes all receives: no request is accepted any more. */
	void (*end_receives)(struct qp *qp);
};

/* The table of a file whose functions are named as the entries. */
#define SOFT_PROTOCOL_OF_FILE                                                                      \
	{                                                                                          \
		.create = create, .start = start, .destroy = destroy, .post = post,                \
		.burst = burst, .sent = sent, .has_unsent = has_unsent,                            \
		.unsent_bytes = unsent_bytes, .is_idle = is_idle, .deadline_ns = deadline_ns,      \
		.on_timer = on_timer, .on_answer = on_answer, .kick = kick,                        \
		.slow_down = slow_down, .fail = fail, .on_request = on_request,                    \
		.answer_due = answer_due, .take_answer = take_answer, .syndrome = syndrome,        \
		.is_dead = is_dead, .end_receives = end_receives,                                  \
	}

extern const struct soft_protocol soft_rc, soft_order_free;

#endif
