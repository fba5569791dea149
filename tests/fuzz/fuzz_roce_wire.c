/* links: sched; parses: sched/qp/soft/rc_responder.c sched/qp/soft/roce_wire.c */
/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A sequence of UDP payloads, each behind two bytes: a length in words of four, and flags. What
 * parses must survive being built again; requests then go to a responder whose region and receives
 * have guards on both sides, answers to a requester with writes, SENDs and READs under way, whose
 * memory has them too.
 */
#include <stdlib.h>
#include <string.h>

#include "qp/soft/of_sender.h"
#include "qp/soft/rc_requester.h"
#include "qp/soft/rc_responder.h"
#include "qp/soft/roce_icrc.h"

#define GUARD  64
#define REGION 1024
#define AIM    1u /* flag: correct the key, bend the address into the region's neighbourhood */
#define ORDER  2u /* flag: correct the PSN */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct target {
	struct mr_table regions;
	struct qp_mr mr, source_mr;
	struct rc_responder responder;
	struct rc_receives receives;
	struct of_receiver order_free;
	struct qp_stats stats;
	uint8_t memory[GUARD + REGION + GUARD], source[2048];
};

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void count(void *arg, uint64_t wr_id, enum qp_wc_status status, uint32_t bytes)
{
	(void)wr_id;
	(void)status;
	(void)bytes;
	++*(unsigned *)arg;
}

static void check_round_trip(const struct roce_packet *p)
{
	uint8_t bytes[ROCE_HEADER_MAX + ROCE_TRAILER_MAX + 256];
	struct roce_packet q;
	size_t n;

	if (!roce_wire_header_bytes(p->opcode) || p->payload_bytes > 256)
		return;
	memset(bytes, 0, sizeof(bytes));
	n = roce_wire_build(p, bytes);
	check(n == roce_wire_header_bytes(p->opcode));
	check(roce_wire_parse(bytes, roce_wire_packet_bytes(p), &q, NULL) == 0);
	check(q.opcode == p->opcode && q.dest_qpn == p->dest_qpn && q.psn == p->psn);
	check(q.remote_addr == p->remote_addr && q.rkey == p->rkey && q.imm == p->imm);
	check(q.dma_bytes == p->dma_bytes && q.payload_bytes == p->payload_bytes);
	check(q.syndrome == p->syndrome && q.msn == p->msn && q.ack_req == p->ack_req);
}

static void respond_order_free(struct target *t, struct roce_packet *p, unsigned flags)
{
	uint8_t bitmap[OF_BITMAP_BYTES];
	struct roce_packet answer;
	struct rc_notice notice;

	if (flags & ORDER)
		p->psn = (t->order_free.expected_psn + (flags >> 4)) & ROCE_PSN_MASK;
	of_receiver_on_request(&t->order_free, &t->regions, p, !(flags & 4));
	while (of_receiver_take_notice(&t->order_free, &notice))
		check(notice.has_imm);
	if (flags & 8 && of_receiver_take_answer(&t->order_free, bitmap, &answer))
		check(answer.payload_bytes <= sizeof(bitmap));
	check(t->order_free.n_notices <= OF_WINDOW);
}

static void respond(struct target *t, struct roce_packet *p, unsigned flags)
{
	struct roce_packet answer;
	struct rc_notice notice;

	if (flags & AIM) {
		p->rkey = t->mr.rkey;
		p->remote_addr = (uintptr_t)t->memory + p->remote_addr % sizeof(t->memory);
	}
	if (flags & ORDER)
		p->psn = t->responder.expected_psn;
	if (p->opcode >= ROCE_PLACE) {
		respond_order_free(t, p, flags);
		return;
	}
	if (flags & 16) {
		struct qp_recv recv = {.data = t->memory + GUARD + REGION / 2,
				       .lkey = t->mr.lkey,
				       .length = REGION / 2};

		rc_receives_post(&t->receives, &recv);
	}
	rc_responder_on_request(&t->responder, &t->regions, p, !(flags & 4), &notice);
	if (flags & 32) {
		struct roce_packet out[4];
		unsigned n = rc_responder_read_burst(&t->responder, &t->regions, out, 4);

		for (unsigned i = 0; i < n; i++)
			check(out[i].payload_bytes <= 256 &&
			      (!out[i].payload_bytes || (out[i].payload >= t->memory + GUARD &&
							 out[i].payload + out[i].payload_bytes <=
								 t->memory + GUARD + REGION)));
		rc_responder_reads_sent(&t->responder, n);
	}
	if (flags & 8 && rc_responder_take_answer(&t->responder, &answer))
		check(answer.opcode == ROCE_ACK);
}

/*
 * The same for a sender that needs no order; two answers in a row, the second one after time
 * passed.
 */
static void answer_order_free(struct target *t, const struct roce_packet *p)
{
	unsigned completed = 0;
	struct qp_stats stats = {0};
	struct rc_requester_config config = {.path_mtu = 256,
					     .window_bytes = 4096,
					     .batch_bytes = 1024,
					     .timeout_ns = 1000,
					     .first_psn = p->msn,
					     .regions = &t->regions,
					     .stats = &stats,
					     .on_complete = count,
					     .arg = &completed};
	struct qp_work w = {
		.data = t->source, .lkey = t->source_mr.lkey, .length = sizeof(t->source)};
	struct roce_packet out[RC_BURST_PACKETS];
	enum qp_wc_status status;
	struct of_sender s;

	if (of_sender_init(&s, &config))
		return;
	check(of_sender_post(&s, &w) == 0 && of_sender_post(&s, &w) == 0);
	for (unsigned turn = 1; turn < 4; turn++) {
		for (unsigned n; !of_sender_burst(&s, out, RC_BURST_PACKETS, &n) && n;)
			of_sender_sent(&s, n, turn * 100);
		status = of_sender_on_ack(&s, p, turn * 100 + 50);
		if (!status)
			status = of_sender_on_timer(&s, turn * 400);
		check(s.una <= s.next && s.next <= s.end && s.n_out + s.n_lost <= s.next - s.una &&
		      s.head <= s.tail);
		if (!status)
			continue;
		of_sender_fail(&s, status);
		check(completed == 2);
		break;
	}
	of_sender_fini(&s);
}

static void check_guards(const struct target *t)
{
	for (size_t i = 0; i < GUARD; i++)
		check(t->memory[i] == 0xa5 && t->memory[GUARD + REGION + i] == 0xa5);
}

/* A requester with work under way hears the same answer. */
static void answer(struct target *t, const struct roce_packet *p)
{
	unsigned completed = 0;
	struct qp_stats stats = {0};
	struct rc_requester_config config = {.path_mtu = 256,
					     .window_bytes = 4096,
					     .batch_bytes = 1024,
					     .timeout_ns = 10,
					     .first_psn = p->msn,
					     .regions = &t->regions,
					     .stats = &stats,
					     .on_complete = count,
					     .arg = &completed};
	struct qp_work work[] = {
		{.data = t->source, .lkey = t->source_mr.lkey, .length = 1024},
		{.op = QP_OP_READ, .data = t->memory + GUARD, .lkey = t->mr.lkey, .length = REGION},
		{.op = QP_OP_SEND, .data = t->source, .lkey = t->source_mr.lkey, .length = 5}};
	struct roce_packet out[RC_BURST_PACKETS];
	struct rc_requester r;
	enum qp_wc_status status;

	if (rc_requester_init(&r, &config))
		return;
	for (unsigned i = 0; i < 3; i++)
		check(rc_requester_post(&r, &work[p->psn & 1 ? i : (i + 1) % 3]) == 0);
	for (unsigned n; !rc_requester_burst(&r, out, RC_BURST_PACKETS, &n) && n;)
		rc_requester_sent(&r, n, 1);
	status = p->opcode == ROCE_ACK ? rc_requester_on_ack(&r, p, 2)
				       : rc_requester_on_response(&r, p, 2);
	if (status) {
		rc_requester_fail(&r, status);
		check(completed == 3);
	}
	check(r.una <= r.next && r.next <= r.sent && r.sent <= r.end && r.head <= r.tail);
	rc_requester_fini(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct target t;
	struct roce_icrc_ids ids = {0};
	struct roce_flow flow = {.source_port = 1};
	uint16_t ip_id = 0;

	memset(&t, 0, sizeof(t));
	memset(t.memory, 0xa5, sizeof(t.memory));
	if (mr_table_add(&t.regions, t.memory + GUARD, REGION,
			 QP_ACCESS_REMOTE_WRITE | QP_ACCESS_REMOTE_READ, 5, &t.mr) ||
	    mr_table_add(&t.regions, t.source, sizeof(t.source), 0, 6, &t.source_mr) ||
	    rc_receives_init(&t.receives, 4))
		abort();
	of_receiver_init(&t.order_free, 256, 0, &t.stats);
	rc_responder_init(&t.responder, 256, 0, size % 2 ? &t.receives : NULL, &t.stats);
	while (size >= 2) {
		size_t bytes = (size_t)data[0] * 4;
		unsigned flags = data[1];
		struct roce_packet p;
		struct roce_wire_error error = {0};

		data += 2;
		size -= 2;
		if (bytes > size || flags & 0x80)
			bytes = size;
		roce_icrc_verify(&flow, &ids, &ip_id, data, bytes);
		if (roce_wire_parse(data, bytes, &p, &error)) {
			check(error.reason && error.offset <= bytes);
		} else {
			check(p.payload_bytes <= bytes);
			check_round_trip(&p);
			if (p.opcode == ROCE_ACK || p.opcode == ROCE_SELECTIVE_ACK)
				answer_order_free(&t, &p);
			if (p.opcode == ROCE_ACK || roce_wire_is_read_response(p.opcode))
				answer(&t, &p);
			else if (roce_wire_is_request(p.opcode))
				respond(&t, &p, flags);
		}
		check_guards(&t);
		data += bytes;
		size -= bytes;
	}
	rc_receives_fini(&t.receives);
	of_receiver_fini(&t.order_free);
	mr_table_fini(&t.regions);
	return 0;
}
