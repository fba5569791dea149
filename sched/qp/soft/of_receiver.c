/* SPDX-License-Identifier: BSD-2-Clause */
#include "of_receiver.h"
#include "qp/planted.h"

#include <errno.h>
#include <string.h>

#define PSN_HALF     0x800000u
#define NOTICES_KEPT 16 /* that an idle QP has memory for */

struct of_notice {
	uint32_t psn, imm, bytes;
};

void of_receiver_init(struct of_receiver *r, uint32_t path_mtu, uint32_t first_psn,
		      struct qp_stats *stats)
{
	memset(r, 0, sizeof(*r));
	r->path_mtu = path_mtu;
	r->expected_psn = first_psn & ROCE_PSN_MASK;
	r->stats = stats;
}

void of_receiver_fini(struct of_receiver *r)
{
	fifo_fini(&r->notices);
	memset(r, 0, sizeof(*r));
}

static bool is_seen(const struct of_receiver *r, uint32_t psn)
{
	return r->seen[psn % OF_WINDOW / 64] >> psn % 64 & 1;
}

static enum rc_responder_verdict of_receiver_refuse(struct of_receiver *r, uint8_t syndrome,
						    const struct roce_packet *p)
{
	rc_refusal_set(&r->refusal, p, syndrome);
	r->syndrome = syndrome;
	r->dead = true;
	return RC_RESPONDER_REFUSED;
}

static enum rc_responder_verdict refuse_again(struct of_receiver *r, const struct roce_packet *p)
{
	if (!rc_refusal_is_of(&r->refusal, p))
		return RC_RESPONDER_GAP;
	r->syndrome = r->refusal.syndrome;
	return RC_RESPONDER_REFUSED;
}

static bool of_receiver_is_valid(const struct of_receiver *r, const struct roce_packet *p)
{
	return (p->opcode == ROCE_PLACE || p->opcode == ROCE_PLACE_LAST_IMM) &&
	       p->payload_bytes <= r->path_mtu && p->payload_bytes <= p->dma_bytes &&
	       p->dma_bytes <= ROCE_MAX_DMA_BYTES;
}

/* The first that is missing may lie further on now. */
static void of_receiver_advance(struct of_receiver *r)
{
	while (is_seen(r, r->expected_psn)) {
		r->seen[r->expected_psn % OF_WINDOW / 64] &= ~(UINT64_C(1) << r->expected_psn % 64);
		r->expected_psn = (r->expected_psn + 1) & ROCE_PSN_MASK;
	}
}

/* Of one more notification. 0, -ENOBUFS or -ENOMEM. */
static int of_receiver_make_room(struct of_receiver *r)
{
	if (r->n_notices == OF_WINDOW)
		return -ENOBUFS;
	return fifo_reserve(&r->notices, sizeof(struct of_notice), r->first_notice,
			    r->first_notice + r->n_notices, r->n_notices + 1);
}

static struct of_notice *notice_at(const struct of_receiver *r, uint32_t i)
{
	return fifo_at(&r->notices, sizeof(struct of_notice), r->first_notice + i);
}

/* Whether PSN a comes before b; no two are half a circle apart. */
static bool is_before(uint32_t a, uint32_t b)
{
	return ((a - b) & ROCE_PSN_MASK) >= PSN_HALF;
}

/* Into its place, mostly the last. */
static void add_notice(struct of_receiver *r, const struct roce_packet *p)
{
	uint32_t i = r->n_notices++;

	for (; i && is_before(p->psn, notice_at(r, i - 1)->psn); i--)
		*notice_at(r, i) = *notice_at(r, i - 1);
	*notice_at(r, i) = (struct of_notice){p->psn, p->imm, p->dma_bytes};
}

enum rc_responder_verdict of_receiver_on_request(struct of_receiver *r,
						 const struct mr_table *regions,
						 const struct roce_packet *p, bool can_notify)
{
	uint32_t ahead = (p->psn - r->expected_psn) & ROCE_PSN_MASK;

	if (r->dead)
		return refuse_again(r, p);
	if (ahead >= OF_WINDOW && ahead < PSN_HALF)
		return RC_RESPONDER_GAP;
	if ((ahead >= PSN_HALF || is_seen(r, p->psn)) && !PLANTED(duplicates_placed)) {
		r->syndrome = r->syndrome ? r->syndrome : ROCE_SYNDROME_ACK;
		return RC_RESPONDER_DUPLICATE;
	}
	if (!of_receiver_is_valid(r, p))
		return of_receiver_refuse(r, ROCE_SYNDROME_NAK_INVALID_REQUEST, p);
	if (roce_wire_has_imm(p->opcode) && (!can_notify || of_receiver_make_room(r)))
		return RC_RESPONDER_BUSY;
	if (mr_table_place(regions, p->rkey, p->remote_addr, p->payload, p->payload_bytes))
		return of_receiver_refuse(r, ROCE_SYNDROME_NAK_REMOTE_ACCESS, p);
	if (roce_wire_has_imm(p->opcode))
		add_notice(r, p);
	r->seen[p->psn % OF_WINDOW / 64] |= UINT64_C(1) << p->psn % 64;
	of_receiver_advance(r);
	r->stats->out_of_order_packets += ahead > 0;
	r->stats->rx_packets++;
	r->stats->rx_bytes += p->payload_bytes;
	if (p->ack_req)
		r->syndrome = ROCE_SYNDROME_ACK;
	return RC_RESPONDER_PLACED;
}

bool of_receiver_take_notice(struct of_receiver *r, struct rc_notice *out)
{
	const struct of_notice *n;

	if (!r->n_notices)
		return false;
	n = notice_at(r, 0);
	if (!is_before(n->psn, r->expected_psn))
		return false;
	*out = (struct rc_notice){.has_imm = true, .imm = n->imm, .bytes = n->bytes};
	r->msn = (r->msn + 1) & ROCE_PSN_MASK;
	r->first_notice++;
	if (!--r->n_notices)
		fifo_trim(&r->notices, NOTICES_KEPT);
	return true;
}

/* Bytes of bitmap, a multiple of four: what has come behind the first that is missing. */
static uint32_t draw_bitmap(const struct of_receiver *r, uint8_t bitmap[OF_BITMAP_BYTES])
{
	uint32_t bytes = 0;

	memset(bitmap, 0, OF_BITMAP_BYTES);
	for (uint32_t i = 0; i < OF_WINDOW - 1; i++) {
		if (!is_seen(r, (r->expected_psn + 1 + i) & ROCE_PSN_MASK))
			continue;
		bitmap[i / 8] |= (uint8_t)(1u << i % 8);
		bytes = i / 32 * 4 + 4;
	}
	return bytes;
}

bool of_receiver_take_answer(struct of_receiver *r, uint8_t bitmap[OF_BITMAP_BYTES],
			     struct roce_packet *out)
{
	bool nak = r->syndrome > ROCE_SYNDROME_ACK;
	uint32_t bytes;

	if (!r->syndrome)
		return false;
	bytes = nak ? 0 : draw_bitmap(r, bitmap);
	*out = (struct roce_packet){
		.opcode = bytes ? ROCE_SELECTIVE_ACK : ROCE_ACK,
		.psn = nak ? r->refusal.request.psn : (r->expected_psn - 1) & ROCE_PSN_MASK,
		.syndrome = r->syndrome,
		.msn = r->msn,
		.payload = bitmap,
		.payload_bytes = bytes,
	};
	r->stats->naks_sent += nak;
	r->syndrome = 0;
	return true;
}
