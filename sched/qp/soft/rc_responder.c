/* SPDX-License-Identifier: BSD-2-Clause */
#include "rc_responder.h"
#include "qp/planted.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PSN_HALF  0x800000u
#define RNR_TIMER 12 /* 0.64 ms */
/*
 * Packets beyond the expected one that a requester may have under way: 64 MiB of the smallest usual
 * payload, which is 0.6 ms at 800 Gb/s. What lies further ahead is no gap but spoofed or stale. A
 * NAK for it would make the requester send again and halve its window.
 */
#define GAP_MAX (1u << 16)

/* ---- receives ---- */

int rc_receives_init(struct rc_receives *receives, uint32_t room)
{
	*receives = (struct rc_receives){.ring = calloc(room ? room : 1, sizeof(*receives->ring)),
					 .room = room};
	return receives->ring ? 0 : -ENOMEM;
}

void rc_receives_fini(struct rc_receives *receives)
{
	free(receives->ring);
	memset(receives, 0, sizeof(*receives));
}

int rc_receives_post(struct rc_receives *receives, const struct qp_recv *recv)
{
	if (receives->n == receives->room)
		return -ENOBUFS;
	receives->ring[(receives->first + receives->n++) % receives->room] = *recv;
	return 0;
}

/* The oldest is over. */
static uint64_t take_receive(struct rc_responder *r)
{
	struct rc_receives *q = r->receives;
	uint64_t wr_id = q->ring[q->first].wr_id;

	q->first = (q->first + 1) % q->room;
	q->n--;
	return wr_id;
}

bool rc_responder_flush(struct rc_responder *r, struct rc_notice *notice)
{
	if (!r->receives || !r->receives->n)
		return false;
	*notice = (struct rc_notice){
		.status = r->receive_status ? r->receive_status : QP_WC_FLUSH_ERR,
		.wr_id = take_receive(r),
	};
	r->receive_status = 0;
	return true;
}

/* ---- requests ---- */

void rc_responder_init(struct rc_responder *r, uint32_t path_mtu, uint32_t first_psn,
		       struct rc_receives *receives, struct qp_stats *stats)
{
	memset(r, 0, sizeof(*r));
	r->path_mtu = path_mtu;
	r->expected_psn = first_psn & ROCE_PSN_MASK;
	r->acked_psn = (first_psn - 1) & ROCE_PSN_MASK;
	r->receives = receives;
	r->stats = stats;
}

static enum rc_responder_verdict rc_responder_refuse(struct rc_responder *r, uint8_t syndrome,
						     const struct roce_packet *p)
{
	rc_refusal_set(&r->refusal, p, syndrome);
	r->syndrome = syndrome;
	r->dead = true;
	return RC_RESPONDER_REFUSED;
}

static enum rc_responder_verdict refuse_again(struct rc_responder *r, const struct roce_packet *p)
{
	if (!rc_refusal_is_of(&r->refusal, p))
		return RC_RESPONDER_GAP;
	r->syndrome = r->refusal.syndrome;
	return RC_RESPONDER_REFUSED;
}

static bool ends_message(uint8_t opcode)
{
	switch (opcode) {
	case ROCE_SEND_FIRST:
	case ROCE_SEND_MIDDLE:
	case ROCE_WRITE_FIRST:
	case ROCE_WRITE_MIDDLE:
		return false;
	default:
		return true;
	}
}

static bool starts_message(uint8_t opcode)
{
	return roce_wire_has_reth(opcode) || opcode == ROCE_SEND_FIRST ||
	       opcode == ROCE_SEND_ONLY || opcode == ROCE_SEND_ONLY_IMM;
}

static uint32_t packets_of(const struct rc_responder *r, uint32_t bytes)
{
	return bytes ? bytes / r->path_mtu + (bytes % r->path_mtu != 0) : 1;
}

/*
 * Opcodes and lengths of IBTA 9.7.4.1.2 to .6; left: payload that a WRITE lacks, this packet's
 * included.
 */
static bool rc_responder_is_valid(const struct rc_responder *r, const struct roce_packet *p,
				  uint32_t left)
{
	bool starts = starts_message(p->opcode), is_send = roce_wire_is_send(p->opcode);

	if (!roce_wire_header_bytes(p->opcode) || p->opcode >= ROCE_PLACE ||
	    starts == r->in_message)
		return false;
	if (roce_wire_has_reth(p->opcode) && p->dma_bytes > ROCE_MAX_DMA_BYTES)
		return false;
	if (p->opcode == ROCE_READ_REQUEST)
		return p->payload_bytes == 0;
	if (!starts && is_send != r->in_send)
		return false;
	if (is_send)
		return ends_message(p->opcode)
			       ? p->payload_bytes <= r->path_mtu && (starts || p->payload_bytes)
			       : p->payload_bytes == r->path_mtu;
	if (ends_message(p->opcode))
		return p->payload_bytes == left && left <= r->path_mtu && (starts || left);
	return p->payload_bytes == r->path_mtu && left > r->path_mtu;
}

/* A request was accepted; n_psns of its numbers are used up. */
static void take_in(struct rc_responder *r, const struct roce_packet *p, uint32_t n_psns)
{
	r->in_message = !ends_message(p->opcode);
	if (!r->in_message)
		r->msn = (r->msn + 1) & ROCE_PSN_MASK;
	r->expected_psn = (r->expected_psn + n_psns) & ROCE_PSN_MASK;
	if (p->opcode != ROCE_READ_REQUEST)
		r->acked_psn = p->psn;
	r->stats->rx_packets++;
	r->stats->rx_bytes += p->payload_bytes;
	if (r->syndrome == ROCE_SYNDROME_NAK_SEQUENCE)
		r->syndrome = 0; /* the gap closed before it was reported */
	if (r->gap_nak_sent || p->ack_req)
		r->syndrome = ROCE_SYNDROME_ACK;
	r->gap_nak_sent = false;
}

/* A message ended that takes a receive. */
static enum rc_responder_verdict notify(struct rc_responder *r, const struct roce_packet *p,
					struct rc_notice *notice)
{
	*notice = (struct rc_notice){
		.wr_id = r->receives ? take_receive(r) : 0,
		.has_imm = roce_wire_has_imm(p->opcode),
		.imm = p->imm,
		.bytes = r->total_bytes,
	};
	return RC_RESPONDER_NOTIFIED;
}

static enum rc_responder_verdict take_write(struct rc_responder *r, const struct mr_table *regions,
					    const struct roce_packet *p, struct rc_notice *notice)
{
	bool starts = starts_message(p->opcode);
	uint64_t addr = starts ? p->remote_addr : r->addr;
	uint32_t left = starts ? p->dma_bytes : r->left_bytes;
	uint32_t rkey = starts ? p->rkey : r->rkey;

	if (!rc_responder_is_valid(r, p, left))
		return rc_responder_refuse(r, ROCE_SYNDROME_NAK_INVALID_REQUEST, p);
	/* the whole before its first byte is placed, and each piece again: a region may go */
	if (!mr_table_remote_ok(regions, rkey, QP_ACCESS_REMOTE_WRITE, addr, left) ||
	    mr_table_place(regions, rkey, addr, p->payload, p->payload_bytes))
		return rc_responder_refuse(r, ROCE_SYNDROME_NAK_REMOTE_ACCESS, p);

	if (starts)
		r->total_bytes = p->dma_bytes;
	r->in_send = false;
	r->rkey = rkey;
	r->addr = addr + p->payload_bytes;
	r->left_bytes = left - p->payload_bytes;
	take_in(r, p, 1);
	return roce_wire_has_imm(p->opcode) ? notify(r, p, notice) : RC_RESPONDER_PLACED;
}

/* Into the oldest receive, which stays in the queue until the message is whole. */
static enum rc_responder_verdict take_send(struct rc_responder *r, const struct mr_table *regions,
					   const struct roce_packet *p, struct rc_notice *notice)
{
	static const struct qp_recv none;
	const struct qp_recv *recv = r->receives ? &r->receives->ring[r->receives->first] : &none;
	uint64_t offset = starts_message(p->opcode) ? 0 : r->addr;

	if (!rc_responder_is_valid(r, p, 0))
		return rc_responder_refuse(r, ROCE_SYNDROME_NAK_INVALID_REQUEST, p);
	if (offset + p->payload_bytes > recv->length) {
		r->receive_status = QP_WC_LOC_LEN_ERR;
		return rc_responder_refuse(r, ROCE_SYNDROME_NAK_INVALID_REQUEST, p);
	}
	if (mr_table_place_local(regions, recv->lkey, (void *)((uintptr_t)recv->data + offset),
				 p->payload, p->payload_bytes)) {
		r->receive_status = QP_WC_LOC_PROT_ERR;
		return rc_responder_refuse(r, ROCE_SYNDROME_NAK_REMOTE_OPERATION, p);
	}
	r->in_send = true;
	r->addr = offset + p->payload_bytes;
	r->total_bytes = (uint32_t)r->addr;
	take_in(r, p, 1);
	return ends_message(p->opcode) ? notify(r, p, notice) : RC_RESPONDER_PLACED;
}

static struct rc_read read_of(const struct rc_responder *r, const struct roce_packet *p)
{
	return (struct rc_read){.addr = p->remote_addr,
				.rkey = p->rkey,
				.left_bytes = p->dma_bytes,
				.psn = p->psn,
				.msn = r->msn};
}

static enum rc_responder_verdict take_read(struct rc_responder *r, const struct mr_table *regions,
					   const struct roce_packet *p)
{
	/*
	 * asked for twice, and answered since, or there would be no room for one more in the
	 * requester's books
	 */
	if (r->n_reads == QP_MAX_READS && r->reads[0].again)
		memmove(r->reads, r->reads + 1, --r->n_reads * sizeof(r->reads[0]));
	/*
	 * more at once than our QPs have under way: no peer that keeps to the agreement does so
	 */
	if (!rc_responder_is_valid(r, p, 0) || r->n_reads == QP_MAX_READS)
		return rc_responder_refuse(r, ROCE_SYNDROME_NAK_INVALID_REQUEST, p);
	if (!mr_table_remote_ok(regions, p->rkey, QP_ACCESS_REMOTE_READ, p->remote_addr,
				p->dma_bytes))
		return rc_responder_refuse(r, ROCE_SYNDROME_NAK_REMOTE_ACCESS, p);
	take_in(r, p, packets_of(r, p->dma_bytes));
	r->reads[r->n_reads++] = read_of(r, p);
	r->taken[r->n_taken++ % QP_MAX_READS] = (struct rc_taken_read){
		.addr = p->remote_addr, .rkey = p->rkey, .bytes = p->dma_bytes, .psn = p->psn};
	return RC_RESPONDER_PLACED;
}

/* How far psn lies behind what is expected. */
static uint32_t behind(const struct rc_responder *r, uint32_t psn)
{
	return (r->expected_psn - psn) & ROCE_PSN_MASK;
}

/* Whether p asks for a part of what was accepted at that PSN (IBTA 9.7.5.1.2). */
static bool is_part_of(const struct rc_responder *r, const struct rc_taken_read *taken,
		       const struct roce_packet *p)
{
	uint32_t packets = (p->psn - taken->psn) & ROCE_PSN_MASK;
	uint64_t offset = (uint64_t)packets * r->path_mtu;

	return packets < packets_of(r, taken->bytes) && p->rkey == taken->rkey &&
	       p->remote_addr == taken->addr + offset && p->dma_bytes <= taken->bytes - offset;
}

static bool was_taken(const struct rc_responder *r, const struct roce_packet *p)
{
	unsigned n = r->n_taken < QP_MAX_READS ? r->n_taken : QP_MAX_READS;

	for (unsigned i = 0; i < n; i++)
		if (is_part_of(r, &r->taken[i], p))
			return true;
	return false;
}

/*
 * A READ asked for again is answered again. Its requester has gone back to it, and asks again for
 * all that came after, too: answers that are not out yet from there on are dropped.
 */
static void repeat_read(struct rc_responder *r, const struct roce_packet *p)
{
	if (p->payload_bytes || !was_taken(r, p))
		return;
	while (r->n_reads) {
		const struct rc_read *last = &r->reads[r->n_reads - 1];

		if (behind(r, last->psn) - packets_of(r, last->left_bytes) >= behind(r, p->psn))
			break;
		r->n_reads--;
	}
	if (r->n_reads == QP_MAX_READS)
		return;
	r->reads[r->n_reads] = read_of(r, p);
	r->reads[r->n_reads++].again = true;
}

static enum rc_responder_verdict on_duplicate(struct rc_responder *r, const struct roce_packet *p)
{
	if (p->opcode == ROCE_READ_REQUEST)
		repeat_read(r, p);
	else if (!r->syndrome)
		r->syndrome = ROCE_SYNDROME_ACK;
	return RC_RESPONDER_DUPLICATE;
}

/* Whether the packet needs a receive that is not there (IBTA 9.7.5.2.8). */
static bool is_not_ready(const struct rc_responder *r, const struct roce_packet *p, bool can_notify)
{
	bool needs = roce_wire_has_imm(p->opcode) || roce_wire_is_send(p->opcode);

	if (!needs)
		return false;
	if (r->receives)
		return !r->receives->n;
	return !can_notify && ends_message(p->opcode);
}

static enum rc_responder_verdict answer_not_ready(struct rc_responder *r)
{
	r->syndrome = ROCE_SYNDROME_RNR | RNR_TIMER;
	r->gap_nak_sent = true; /* what follows comes again, too */
	return RC_RESPONDER_BUSY;
}

enum rc_responder_verdict rc_responder_on_request(struct rc_responder *r,
						  const struct mr_table *regions,
						  const struct roce_packet *packet, bool can_notify,
						  struct rc_notice *notice)
{
	uint32_t ahead = (packet->psn - r->expected_psn) & ROCE_PSN_MASK;

	if (r->dead)
		return refuse_again(r, packet);
	if (ahead >= PSN_HALF && !PLANTED(duplicates_placed))
		return on_duplicate(r, packet);
	if (ahead && !(PLANTED(gap_accepted) && ahead < PSN_HALF) &&
	    !(PLANTED(duplicates_placed) && ahead >= PSN_HALF)) {
		r->stats->out_of_order_packets += ahead <= GAP_MAX;
		if (!r->gap_nak_sent && ahead <= GAP_MAX) {
			r->gap_nak_sent = true;
			r->syndrome = ROCE_SYNDROME_NAK_SEQUENCE;
		}
		return RC_RESPONDER_GAP;
	}
	if (is_not_ready(r, packet, can_notify))
		return answer_not_ready(r);
	if (packet->opcode == ROCE_READ_REQUEST)
		return take_read(r, regions, packet);
	if (roce_wire_is_send(packet->opcode))
		return take_send(r, regions, packet, notice);
	return take_write(r, regions, packet, notice);
}

/* ---- answers ---- */

/* The next response to a READ, of which that much is left. */
static struct roce_packet response_of(const struct rc_responder *r, const struct rc_read *read)
{
	bool last = read->left_bytes <= r->path_mtu;
	struct roce_packet p = {
		.opcode = last ? ROCE_READ_RESPONSE_LAST : ROCE_READ_RESPONSE_MIDDLE,
		.psn = read->psn,
		.syndrome = ROCE_SYNDROME_ACK,
		.msn = read->msn,
		.payload = (const uint8_t *)(uintptr_t)read->addr,
		.payload_bytes = last ? read->left_bytes : r->path_mtu,
	};

	if (!read->begun)
		p.opcode = last ? ROCE_READ_RESPONSE_ONLY : ROCE_READ_RESPONSE_FIRST;
	return p;
}

/* False: that was all of it. */
static bool rc_responder_step(struct rc_read *read, uint32_t bytes)
{
	read->addr += bytes;
	read->left_bytes -= bytes;
	read->psn = (read->psn + 1) & ROCE_PSN_MASK;
	read->begun = true;
	return read->left_bytes;
}

/* Its memory has gone. Who asked asks again for what is left. */
static void refuse_read(struct rc_responder *r, const struct rc_read *read)
{
	struct roce_packet p = {.opcode = ROCE_READ_REQUEST,
				.psn = read->psn,
				.remote_addr = read->addr,
				.rkey = read->rkey,
				.dma_bytes = read->left_bytes};

	rc_responder_refuse(r, ROCE_SYNDROME_NAK_REMOTE_ACCESS, &p);
	r->n_reads = 0;
}

unsigned rc_responder_read_burst(struct rc_responder *r, const struct mr_table *regions,
				 struct roce_packet *out, unsigned max)
{
	unsigned n = 0;

	for (unsigned i = 0; i < r->n_reads; i++) {
		struct rc_read read = r->reads[i];
		bool more = true;

		if (!mr_table_remote_ok(regions, read.rkey, QP_ACCESS_REMOTE_READ, read.addr,
					read.left_bytes)) {
			if (!n)
				refuse_read(r, &read);
			return n;
		}
		while (more && n < max) {
			out[n] = response_of(r, &read);
			more = rc_responder_step(&read, out[n++].payload_bytes);
		}
		if (more)
			break;
	}
	return n;
}

void rc_responder_reads_sent(struct rc_responder *r, unsigned n_packets)
{
	for (; n_packets && r->n_reads; n_packets--) {
		struct roce_packet p = response_of(r, &r->reads[0]);

		r->stats->tx_packets++;
		r->stats->tx_bytes += p.payload_bytes;
		if (!rc_responder_step(&r->reads[0], p.payload_bytes))
			memmove(r->reads, r->reads + 1, --r->n_reads * sizeof(*r->reads));
	}
}

bool rc_responder_take_answer(struct rc_responder *r, struct roce_packet *out)
{
	bool nak = r->syndrome > ROCE_SYNDROME_ACK;

	if (!r->syndrome || r->n_reads)
		return false;
	/* a NAK names the first packet that was not accepted */
	*out = (struct roce_packet){
		.opcode = ROCE_ACK,
		.psn = r->dead ? r->refusal.request.psn
		       : nak   ? r->expected_psn
			       : r->acked_psn,
		.syndrome = r->syndrome,
		.msn = r->msn,
	};
	if (nak)
		r->stats->naks_sent++;
	r->syndrome = 0;
	return true;
}
