#include "rc_responder.h"

#include <string.h>

#define PSN_HALF 0x800000u

void rc_responder_init(struct rc_responder *r, uint32_t path_mtu, uint32_t first_psn,
		       struct qp_stats *stats)
{
	memset(r, 0, sizeof(*r));
	r->path_mtu = path_mtu;
	r->expected_psn = first_psn & ROCE_PSN_MASK;
	r->stats = stats;
}

static enum rc_responder_verdict refuse(struct rc_responder *r, uint8_t syndrome)
{
	r->syndrome = syndrome;
	r->dead = true;
	r->in_message = false;
	return RC_RESPONDER_REFUSED;
}

static bool ends_message(uint8_t opcode)
{
	return opcode == ROCE_WRITE_LAST || opcode == ROCE_WRITE_LAST_IMM ||
	       opcode == ROCE_WRITE_ONLY || opcode == ROCE_WRITE_ONLY_IMM;
}

/* Opcodes and lengths of IBTA 9.7.4.1.2 to .6; left: payload owed, this packet's included. */
static bool is_valid(const struct rc_responder *r, const struct roce_packet *p, uint32_t left)
{
	bool starts = roce_wire_has_reth(p->opcode);

	if (!roce_wire_header_bytes(p->opcode) || starts == r->in_message)
		return false;
	if (starts && p->dma_bytes > ROCE_MAX_DMA_BYTES)
		return false;
	if (ends_message(p->opcode))
		return p->payload_bytes == left && left <= r->path_mtu && (starts || left);
	return p->payload_bytes == r->path_mtu && left > r->path_mtu;
}

static enum rc_responder_verdict take(struct rc_responder *r, const struct mr_table *regions,
				      const struct roce_packet *p, uint32_t *message_bytes)
{
	bool starts = roce_wire_has_reth(p->opcode);
	uint64_t addr = starts ? p->remote_addr : r->addr;
	uint32_t left = starts ? p->dma_bytes : r->left_bytes;
	uint32_t rkey = starts ? p->rkey : r->rkey;

	if (!is_valid(r, p, left))
		return refuse(r, ROCE_SYNDROME_NAK_INVALID_REQUEST);
	/* the whole before its first byte is placed, and each piece again: a region may go */
	if (!mr_table_remote_ok(regions, rkey, addr, left) ||
	    mr_table_place(regions, rkey, addr, p->payload, p->payload_bytes))
		return refuse(r, ROCE_SYNDROME_NAK_REMOTE_ACCESS);

	if (starts)
		r->total_bytes = p->dma_bytes;
	r->rkey = rkey;
	r->addr = addr + p->payload_bytes;
	r->left_bytes = left - p->payload_bytes;
	r->in_message = !ends_message(p->opcode);
	if (!r->in_message)
		r->msn = (r->msn + 1) & ROCE_PSN_MASK;
	r->expected_psn = (r->expected_psn + 1) & ROCE_PSN_MASK;
	r->stats->rx_packets++;
	r->stats->rx_bytes += p->payload_bytes;
	if (r->syndrome == ROCE_SYNDROME_NAK_SEQUENCE)
		r->syndrome = 0; /* the gap closed before it was told */
	if (r->gap_nak_sent || p->ack_req)
		r->syndrome = ROCE_SYNDROME_ACK;
	r->gap_nak_sent = false;
	*message_bytes = r->total_bytes;
	return roce_wire_has_imm(p->opcode) ? RC_RESPONDER_NOTIFIED : RC_RESPONDER_PLACED;
}

enum rc_responder_verdict rc_responder_on_request(struct rc_responder *r,
						  const struct mr_table *regions,
						  const struct roce_packet *packet, bool can_notify,
						  uint32_t *message_bytes)
{
	uint32_t ahead = (packet->psn - r->expected_psn) & ROCE_PSN_MASK;

	if (r->dead)
		return RC_RESPONDER_GAP;
	if (ahead >= PSN_HALF) {
		if (!r->syndrome)
			r->syndrome = ROCE_SYNDROME_ACK;
		return RC_RESPONDER_DUPLICATE;
	}
	if (ahead) {
		if (!r->gap_nak_sent) {
			r->gap_nak_sent = true;
			r->syndrome = ROCE_SYNDROME_NAK_SEQUENCE;
		}
		return RC_RESPONDER_GAP;
	}
	if (!can_notify && roce_wire_has_imm(packet->opcode))
		return RC_RESPONDER_BUSY;
	return take(r, regions, packet, message_bytes);
}

bool rc_responder_take_answer(struct rc_responder *r, struct roce_packet *out)
{
	bool nak = r->syndrome >= ROCE_SYNDROME_NAK_SEQUENCE;

	if (!r->syndrome)
		return false;
	/* an ACK names the last packet accepted, a NAK the first one that was not */
	*out = (struct roce_packet){
		.opcode = ROCE_ACK,
		.psn = (r->expected_psn - (nak ? 0 : 1)) & ROCE_PSN_MASK,
		.syndrome = r->syndrome,
		.msn = r->msn,
	};
	if (nak)
		r->stats->naks_sent++;
	r->syndrome = 0;
	return true;
}
