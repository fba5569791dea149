/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * of_sender.h - the sending half of an order-free connection (docs/order-free.md): posted writes
 * become packets, each of which can be placed by itself.
 *
 * Owns the queue of posted writes, the state of each unacknowledged packet, the window and the
 * deadline. In: writes, acknowledgements, `now`. Out: packets to send, completions through
 * on_complete in the order of posting. Pure: no socket, no clock; the endpoint's thread.
 *
 * Packets may overtake each other, so a missing packet need not be lost. It counts as lost when a
 * packet that was sent a whole round trip (and its usual variation) later has arrived, or at a
 * time-out. Then only that packet is sent again. If nothing arrives after the last packets, the
 * newest one is sent again: its acknowledgement says which others were placed. If the first answer
 * after a time-out acknowledges packets that were not sent again, the time-out was too early, and
 * the window is as before it. The window: soft_window.h.
 */
#ifndef OF_SENDER_H
#define OF_SENDER_H

#include <stdbool.h>
#include <stdint.h>

#include "of_receiver.h"
#include "rc_requester.h"

struct of_packet {
	uint64_t sent_ns;
	enum { OF_OUT, OF_PLACED, OF_LOST } state;
	bool again; /* sent more than once, so its answer does not measure a round trip */
};

struct of_sender {
	struct rc_requester_config config; /* rnr_limit is not used */
	struct fifo queue;		   /* of struct rc_request */
	uint64_t head, tail;
	/* PSNs, unwrapped: the first not placed, the first never sent, the first never posted */
	uint64_t una, next, end;
	struct fifo packets; /* of struct of_packet: [una, next), at most OF_WINDOW */
	unsigned n_out, n_lost;
	/* when the packet was sent that was sent last of all that are known to be placed */
	uint64_t newest_placed_ns;
	struct soft_rtt rtt;
	uint64_t overdue_ns;	       /* when an overtaken packet counts as lost; 0: none was */
	uint64_t probe_ns, timeout_ns; /* when to act if no answer arrives; 0: none is awaited */
	uint64_t deadline_ns;	       /* the earliest of these three */
	uint64_t progress_ns;	       /* when the last progress was made, or waiting began */
	bool timed_out;		       /* a time-out passed, and no answer arrived since */
	struct soft_window window, window_before; /* before the time-out */
	uint64_t failed_psn;
};

/* 0. config is copied; remote_qpn may be set later, before the first burst. */
int of_sender_init(struct of_sender *s, const struct rc_requester_config *config);
void of_sender_fini(struct of_sender *s); /* completes nothing */

/*
 * Queues a write (QP_OP_WRITE). -ENOBUFS: the queue is full. -EOPNOTSUPP: another operation, which
 * would need order. -ENOMEM.
 */
int of_sender_post(struct of_sender *s, const struct qp_work *work);

/*
 * The packets to send now, at most max; and how many of them were handed to the network. As
 * rc_requester_burst() and rc_requester_sent().
 */
enum qp_wc_status of_sender_burst(struct of_sender *s, struct roce_packet *out, unsigned max,
				  unsigned *n);
void of_sender_sent(struct of_sender *s, unsigned n_packets, uint64_t now_ns);

/*
 * ACK or SELECTIVE ACK. 0, or the status that ends the connection: the caller then calls
 * of_sender_fail() with it.
 */
enum qp_wc_status of_sender_on_ack(struct of_sender *s, const struct roce_packet *ack,
				   uint64_t now_ns);
/* The deadline may have passed. 0, or QP_WC_RETRY_EXC_ERR. */
enum qp_wc_status of_sender_on_timer(struct of_sender *s, uint64_t now_ns);
/* All unacknowledged packets are sent again at once. */
void of_sender_kick(struct of_sender *s, uint64_t now_ns);
/* As rc_requester_fail(). */
void of_sender_fail(struct of_sender *s, enum qp_wc_status status);

static inline bool of_sender_has_unsent(const struct of_sender *s)
{
	return s->n_lost || s->next != s->end;
}

/* Approximately: as if every packet were full. */
static inline uint64_t of_sender_unsent_bytes(const struct of_sender *s)
{
	return (s->n_lost + (s->end - s->next)) * s->config.path_mtu;
}

#endif
