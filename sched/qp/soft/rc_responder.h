/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rc_responder.h - the responder of a reliable connection (IBTA 9.7.4, 9.7.5): requests in PSN
 * order are placed into memory regions and receives, or answered from memory regions.
 *
 * Owns the expected PSN, the message under way, the READs to be answered, the acknowledgement that
 * is due, and the posted receives. In: parsed packets whose ICRC was right. Out: bytes in regions
 * (mr_table), at most one notification for each packet, read responses, and one acknowledgement at
 * a time. Pure; the endpoint's thread.
 *
 * Acknowledgements are coalesced: one ACK or NAK answers a batch of packets. It waits until the
 * READs before it are answered, because a requester takes it for their end. A gap is NAKed once.
 * Duplicates are acknowledged again and never placed again. A duplicate READ is answered again from
 * the present content of memory (IBTA 9.7.5.2.4), because a requester asks again only for what it
 * did not receive.
 *
 * A wrong request ends the connection. If the same request arrives again, it is refused again,
 * because the NAK may have been lost. Another request is not answered: it may be right, and the
 * wrong one may have been spoofed. Its sender learns by its time-out that the connection has ended.
 */
#ifndef RC_RESPONDER_H
#define RC_RESPONDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mr_table.h"
#include "roce_wire.h"

/* Posted receives, oldest first. */
struct rc_receives {
	struct qp_recv *ring;
	uint32_t room, first, n;
};

/* 0 or -ENOMEM. */
int rc_receives_init(struct rc_receives *receives, uint32_t room);
void rc_receives_fini(struct rc_receives *receives);
/* -ENOBUFS: full. The buffer is borrowed until the receive completes or is flushed. */
int rc_receives_post(struct rc_receives *receives, const struct qp_recv *recv);

/* The part of a READ that is not answered yet. */
struct rc_read {
	uint64_t addr;
	uint32_t rkey, left_bytes;
	uint32_t psn; /* of the next response */
	uint32_t msn;
	bool begun;
	bool again; /* a duplicate: answered before, at least in part */
};

/* A READ that was accepted, as it was asked for. */
struct rc_taken_read {
	uint64_t addr;
	uint32_t rkey, bytes, psn;
};

/* The request that ended a connection, and the syndrome of its NAK. */
struct rc_refusal {
	struct roce_packet request; /* without its payload */
	uint8_t syndrome;
};

static inline void rc_refusal_set(struct rc_refusal *refusal, const struct roce_packet *request,
				  uint8_t syndrome)
{
	*refusal = (struct rc_refusal){*request, syndrome};
	refusal->request.payload = NULL;
}

/* True: p is the refused request again. */
static inline bool rc_refusal_is_of(const struct rc_refusal *refusal, const struct roce_packet *p)
{
	const struct roce_packet *r = &refusal->request;

	return p->opcode == r->opcode && p->psn == r->psn && p->remote_addr == r->remote_addr &&
	       p->rkey == r->rkey && p->dma_bytes == r->dma_bytes &&
	       p->payload_bytes == r->payload_bytes;
}

struct rc_responder {
	uint32_t path_mtu;
	uint32_t expected_psn;
	/*
	 * PSN of acknowledgements: of the last accepted request that is no READ. Reason: a READ is
	 * answered by its data. rxe takes a READ for done when a bare ACK names its PSN, even if
	 * the data was lost.
	 */
	uint32_t acked_psn;
	uint32_t msn;
	/* a gap is NAKed once, until the expected packet arrives; also after "not ready" */
	bool gap_nak_sent;
	bool in_message, in_send;
	/* address of the next bytes of the message; in_send: offset in the oldest receive */
	uint64_t addr;
	uint32_t rkey;
	uint32_t total_bytes, left_bytes;
	struct rc_receives *receives;	  /* NULL: any number of receives of zero bytes */
	enum qp_wc_status receive_status; /* of the oldest receive, when the connection has ended */
	struct rc_read reads[QP_MAX_READS];
	unsigned n_reads;
	/*
	 * The last ones, of which a requester may ask again: it has no more under way. A duplicate
	 * that asks for anything else is spoofed.
	 */
	struct rc_taken_read taken[QP_MAX_READS];
	unsigned n_taken; /* since the start */
	uint8_t syndrome; /* of the acknowledgement that is due; 0 (an ACK with credits): none */
	struct rc_refusal refusal;
	bool dead; /* a fatal NAK is due or was sent: no request is accepted any more */
	struct qp_stats *stats;
};

enum rc_responder_verdict {
	RC_RESPONDER_PLACED,	/* in order, and placed */
	RC_RESPONDER_NOTIFIED,	/* the same, and it ended a message that raises a completion */
	RC_RESPONDER_DUPLICATE, /* arrived before; will be acknowledged again */
	RC_RESPONDER_GAP,	/* beyond the expected PSN; dropped */
	/* dropped: no receive is posted, or there is no room for a notification */
	RC_RESPONDER_BUSY,
	RC_RESPONDER_REFUSED, /* fatal: after the answer the QP accepts nothing any more */
};

/* A receive that completed or was flushed. */
struct rc_notice {
	uint64_t wr_id; /* 0: not a posted one */
	enum qp_wc_status status;
	bool has_imm;
	uint32_t imm;
	uint32_t bytes; /* payload of the message */
};

/* receives is borrowed; NULL: the meaning of qp_attr.receives = 0. */
void rc_responder_init(struct rc_responder *r, uint32_t path_mtu, uint32_t first_psn,
		       struct rc_receives *receives, struct qp_stats *stats);

/*
 * Takes a request. can_notify: there is room for a notification. *notice is filled on
 * RC_RESPONDER_NOTIFIED.
 */
enum rc_responder_verdict rc_responder_on_request(struct rc_responder *r,
						  const struct mr_table *regions,
						  const struct roce_packet *packet, bool can_notify,
						  struct rc_notice *notice);

static inline bool rc_responder_answer_due(const struct rc_responder *r)
{
	return r->syndrome != 0 || r->n_reads;
}

/*
 * The read responses to send now, at most max (the caller adds the QPN); payloads point into
 * regions and are valid until the next call. Call rc_responder_reads_sent() with the number that
 * was handed to the network. If a region was deregistered meanwhile, the connection ends and a NAK
 * is due.
 */
unsigned rc_responder_read_burst(struct rc_responder *r, const struct mr_table *regions,
				 struct roce_packet *out, unsigned max);
void rc_responder_reads_sent(struct rc_responder *r, unsigned n_packets);

/*
 * Takes the acknowledgement that is due (opcode, psn, syndrome, msn; the caller adds the QPN).
 * False: none is due, or READs have to be answered first.
 */
bool rc_responder_take_answer(struct rc_responder *r, struct roce_packet *out);

/* The connection has ended: takes one of the posted receives. False: none is left. */
bool rc_responder_flush(struct rc_responder *r, struct rc_notice *notice);

#endif
