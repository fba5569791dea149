/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * of_receiver.h - the receiving half of an order-free connection (docs/order-free.md): packets are
 * placed as they come, messages are told of in their order.
 *
 * Owns which PSNs have arrived, the notifications that wait for what came before them, and the
 * answer that is due. In: parsed packets whose ICRC was right. Out: bytes in regions (mr_table),
 * notifications in the order of posting, one answer at a time. Pure; the endpoint's thread.
 *
 * Every packet says where it belongs, so nothing waits for order but the notifications. A duplicate
 * is acknowledged again and never placed again: the PSNs that may still come are the OF_WINDOW from
 * the first that is missing on.
 */
#ifndef OF_RECEIVER_H
#define OF_RECEIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "mr_table.h"
#include "rc_responder.h"
#include "roce_wire.h"

/* PSNs; a power of two. A sender has no packet out further than that ahead of the first missing */
#define OF_WINDOW	1024
#define OF_BITMAP_BYTES (OF_WINDOW / 8)

struct of_notice {
	uint32_t psn, imm, bytes;
};

struct of_receiver {
	uint32_t path_mtu;
	uint32_t expected_psn; /* the first that is missing */
	uint32_t msn;	       /* notifications taken */
	/* by the low bits of the PSN; only those from expected_psn on */
	uint64_t seen[OF_WINDOW / 64];
	/* accepted and not taken, in their order: n of them from first on; room: for so many */
	struct of_notice *notices;
	unsigned first_notice, n_notices, notices_room;
	uint8_t syndrome; /* of the answer that is due; 0: none is */
	struct rc_refusal refusal;
	bool dead; /* as in rc_responder.h */
	struct qp_stats *stats;
};

void of_receiver_init(struct of_receiver *r, uint32_t path_mtu, uint32_t first_psn,
		      struct qp_stats *stats);
void of_receiver_fini(struct of_receiver *r);

/*
 * Takes a request; can_notify: whether one more notification has room. RC_RESPONDER_PLACED,
 * _DUPLICATE, _GAP (beyond the window), _BUSY (dropped, as if lost) or _REFUSED. A packet with
 * immediate that is placed becomes a notification, sooner or later.
 */
enum rc_responder_verdict of_receiver_on_request(struct of_receiver *r,
						 const struct mr_table *regions,
						 const struct roce_packet *packet, bool can_notify);
/* The next notification, if all before it is placed. */
bool of_receiver_take_notice(struct of_receiver *r, struct rc_notice *out);

static inline bool of_receiver_answer_due(const struct of_receiver *r)
{
	return r->syndrome != 0;
}
/*
 * Takes the answer that is due (the caller adds the QPN). Its payload points into bitmap. False:
 * none is.
 */
bool of_receiver_take_answer(struct of_receiver *r, uint8_t bitmap[OF_BITMAP_BYTES],
			     struct roce_packet *out);

#endif
