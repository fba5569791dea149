/*
 * rc_responder.h - the receiving half of a reliable connection (IBTA 9.7.4, 9.7.5): requests in PSN
 * order are placed into memory regions and answered.
 *
 * Owns the expected PSN, the message under way and the answer that is due. In: parsed packets whose
 * ICRC was right. Out: bytes in regions (mr_table), at most one notification per packet, and one
 * answer at a time to be fetched. Pure; the endpoint's thread.
 *
 * Answers are coalesced: whatever a batch of packets deserved, one acknowledgement (or NAK) tells
 * it. A gap is NAKed once; duplicates are acknowledged again and never placed again; a request that
 * is wrong ends the connection.
 */
#ifndef RC_RESPONDER_H
#define RC_RESPONDER_H

#include <stdbool.h>
#include <stdint.h>

#include "mr_table.h"
#include "roce_wire.h"

struct rc_responder {
	uint32_t path_mtu;
	uint32_t expected_psn;
	uint32_t msn;
	bool gap_nak_sent; /* said once, until the expected packet arrives */
	bool in_message;
	uint64_t addr; /* where the next bytes of the message go */
	uint32_t rkey;
	uint32_t total_bytes, left_bytes;
	uint8_t syndrome; /* of the answer that is due; 0 (an ACK with credits): none is */
	bool dead;	  /* a fatal NAK is due or sent: nothing is accepted any more */
	struct qp_stats *stats;
};

enum rc_responder_verdict {
	RC_RESPONDER_PLACED,	/* in order; bytes are where they belong */
	RC_RESPONDER_NOTIFIED,	/* the same, and a message with immediate ended */
	RC_RESPONDER_DUPLICATE, /* seen before; will be acknowledged again */
	RC_RESPONDER_GAP,	/* ahead of what is expected; dropped */
	RC_RESPONDER_BUSY,	/* dropped as if lost: its notification has nowhere to go */
	RC_RESPONDER_REFUSED,	/* fatal: send the answer, then the QP is in error */
};

void rc_responder_init(struct rc_responder *r, uint32_t path_mtu, uint32_t first_psn,
		       struct qp_stats *stats);

/*
 * Takes a request. can_notify: whether a notification has room. On RC_RESPONDER_NOTIFIED,
 * packet->imm is the immediate and *message_bytes the payload of the message that it ends.
 */
enum rc_responder_verdict rc_responder_on_request(struct rc_responder *r,
						  const struct mr_table *regions,
						  const struct roce_packet *packet, bool can_notify,
						  uint32_t *message_bytes);

static inline bool rc_responder_answer_due(const struct rc_responder *r)
{
	return r->syndrome != 0;
}
/* Takes the answer that is due (opcode, psn, syndrome, msn; the caller adds the QPN). False: none
 * is. */
bool rc_responder_take_answer(struct rc_responder *r, struct roce_packet *out);

#endif
