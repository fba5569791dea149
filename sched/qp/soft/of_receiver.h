/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * of_receiver.h - the receiving half of an order-free connection (docs/order-free.md): packets are
 * placed when they arrive, and notifications are delivered in the order of posting.
 *
 * Owns which PSNs have arrived, the notifications that wait for earlier packets, and the answer
 * that is due. In: parsed packets whose ICRC was right. Out: bytes in regions (mr_table),
 * notifications in the order of posting, one answer at a time. Pure; the endpoint's thread.
 *
 * Each packet names its address, so only notifications wait for earlier packets. A duplicate is
 * acknowledged again and never placed again. New packets lie within OF_WINDOW PSNs of the first one
 * that is missing.
 */
#ifndef OF_RECEIVER_H
#define OF_RECEIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fifo.h"
#include "mr_table.h"
#include "rc_responder.h"
#include "roce_wire.h"

/* PSNs, a power of two: how far beyond the first missing packet a sender may send */
#define OF_WINDOW	1024
#define OF_BITMAP_BYTES (OF_WINDOW / 8)

struct of_receiver {
	uint32_t path_mtu;
	uint32_t expected_psn; /* the first PSN that is missing */
	uint32_t msn;	       /* notifications taken */
	/* by the low bits of the PSN; only those from expected_psn on */
	uint64_t seen[OF_WINDOW / 64];
	/* accepted notifications that were not taken, in order of their PSNs: struct of_notice */
	struct fifo notices;
	uint64_t first_notice;
	uint32_t n_notices;
	uint8_t syndrome; /* of the answer that is due; 0: no answer is due */
	struct rc_refusal refusal;
	bool dead; /* as in rc_responder.h */
	struct qp_stats *stats;
};

void of_receiver_init(struct of_receiver *r, uint32_t path_mtu, uint32_t first_psn,
		      struct qp_stats *stats);
void of_receiver_fini(struct of_receiver *r);

/*
 * Takes a request. can_notify: there is room for one more notification. RC_RESPONDER_PLACED,
 * _DUPLICATE, _GAP (beyond the window), _BUSY (dropped, as if lost) or _REFUSED. A packet with
 * immediate that is placed becomes a notification once all earlier packets are placed.
 */
enum rc_responder_verdict of_receiver_on_request(struct of_receiver *r,
						 const struct mr_table *regions,
						 const struct roce_packet *packet, bool can_notify);
/* Takes the next notification. False: there is none, or an earlier packet is missing. */
bool of_receiver_take_notice(struct of_receiver *r, struct rc_notice *out);

static inline bool of_receiver_answer_due(const struct of_receiver *r)
{
	return r->syndrome != 0;
}
/*
 * Takes the answer that is due (the caller adds the QPN). Its payload points into bitmap. False: no
 * answer is due.
 */
bool of_receiver_take_answer(struct of_receiver *r, uint8_t bitmap[OF_BITMAP_BYTES],
			     struct roce_packet *out);

#endif
