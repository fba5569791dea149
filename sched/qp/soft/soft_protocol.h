/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft_protocol.h - what a QP does by its protocol: the standard's reliable connection
 * (rc_requester.c, rc_responder.c) or order-free placement (of_sender.c, of_receiver.c).
 *
 * Owns nothing. The protocol decides what is sent, what is placed, and when it has to be called
 * again; sockets, lists, timers and completions are the callers'. One thread.
 */
#ifndef SOFT_PROTOCOL_H
#define SOFT_PROTOCOL_H

#include "soft_endpoint.h"

/* Before anything is connected: qp->socket is open. 0 or -ENOMEM. */
int soft_protocol_create(struct qp *qp);
/* The peer is known: qp->remote. config is copied. 0 or -ENOMEM. */
int soft_protocol_start(struct qp *qp, const struct rc_requester_config *config);
void soft_protocol_destroy(struct qp *qp);
/* Of an order-free QP: the paths of its batches. Takes their sockets, gives those before back. */
void soft_protocol_set_paths(struct qp *qp, const struct soft_path *paths, unsigned n);

/* ---- requests of this end ---- */
/* 0, -ENOBUFS, -EOPNOTSUPP, -ENOMEM. */
int soft_protocol_post(struct qp *qp, const struct qp_work *work);
/* As rc_requester_burst() and rc_requester_sent(). The socket is that of the batch's path. */
enum qp_wc_status soft_protocol_burst(struct qp *qp, struct roce_packet *out, unsigned max,
				      unsigned *n);
void soft_protocol_sent(struct qp *qp, unsigned n_packets, uint64_t now_ns);
bool soft_protocol_has_unsent(const struct qp *qp);
uint64_t soft_protocol_unsent_bytes(const struct qp *qp);
bool soft_protocol_is_idle(const struct qp *qp); /* at most one packet is under way */
uint64_t soft_protocol_deadline_ns(const struct qp *qp);
/* These two: 0, or the status that ends the connection. */
enum qp_wc_status soft_protocol_on_timer(struct qp *qp, uint64_t now_ns);
enum qp_wc_status soft_protocol_on_answer(struct qp *qp, const struct roce_packet *packet,
					  uint64_t now_ns);
void soft_protocol_kick(struct qp *qp, uint64_t now_ns);
void soft_protocol_slow_down(struct qp *qp); /* a queue on the path fills (CNP) */
/* Completes all work. */
void soft_protocol_fail(struct qp *qp, enum qp_wc_status status);

/* ---- requests of the peer ---- */
/* An answer may be due then. */
void soft_protocol_on_request(struct qp *qp, const struct roce_packet *packet);
bool soft_protocol_answer_due(const struct qp *qp);
/* Its payload may point into bitmap. False: no answer is due. */
bool soft_protocol_take_answer(struct qp *qp, uint8_t bitmap[OF_BITMAP_BYTES],
			       struct roce_packet *out);
/* Of the answer that is due; 0: no answer is due. */
uint8_t *soft_protocol_syndrome(struct qp *qp);
bool soft_protocol_is_dead(const struct qp *qp); /* after its answer soft_state_refuse() is due */
/* Completes all receives: no request is accepted any more. */
void soft_protocol_end_receives(struct qp *qp);

#endif
