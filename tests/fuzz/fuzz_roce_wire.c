/* links: sched */
/*
 * A sequence of UDP payloads, each behind two bytes: a length in words of four, and flags. What
 * parses must survive being built again; requests then go to a responder whose region has guards on
 * both sides.
 */
#include <stdlib.h>
#include <string.h>

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
	struct qp_mr mr;
	struct rc_responder responder;
	struct qp_stats stats;
	uint8_t memory[GUARD + REGION + GUARD];
};

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void ignore(void *arg, uint64_t wr_id, enum qp_wc_status status, uint32_t bytes)
{
	(void)arg;
	(void)wr_id;
	(void)status;
	(void)bytes;
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

static void respond(struct target *t, struct roce_packet *p, unsigned flags)
{
	struct roce_packet answer;
	uint32_t bytes = 0;

	if (flags & AIM) {
		p->rkey = t->mr.rkey;
		p->remote_addr = (uintptr_t)t->memory + p->remote_addr % sizeof(t->memory);
	}
	if (flags & ORDER)
		p->psn = t->responder.expected_psn;
	rc_responder_on_request(&t->responder, &t->regions, p, !(flags & 4), &bytes);
	if (flags & 8 && rc_responder_take_answer(&t->responder, &answer))
		check(answer.opcode == ROCE_ACK);
}

static void check_guards(const struct target *t)
{
	for (size_t i = 0; i < GUARD; i++)
		check(t->memory[i] == 0xa5 && t->memory[GUARD + REGION + i] == 0xa5);
}

/* A requester with one write under way hears the same answer. */
static void answer(const struct roce_packet *p)
{
	static const uint8_t source[1024];
	struct qp_stats stats = {0};
	struct rc_requester_config config = {.path_mtu = 256,
					     .window_bytes = 4096,
					     .batch_bytes = 1024,
					     .timeout_ns = 10,
					     .first_psn = p->msn,
					     .stats = &stats,
					     .on_complete = ignore};
	struct qp_write w = {.data = source, .length = sizeof(source)};
	struct roce_packet out[RC_BURST_PACKETS];
	struct rc_requester r;
	enum qp_wc_status status;

	if (rc_requester_init(&r, &config))
		return;
	check(rc_requester_post(&r, &w) == 0);
	rc_requester_sent(&r, rc_requester_burst(&r, out, RC_BURST_PACKETS), 1);
	status = rc_requester_on_ack(&r, p, 2);
	if (status)
		rc_requester_fail(&r, status);
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
	mr_table_init(&t.regions);
	if (mr_table_add(&t.regions, t.memory + GUARD, REGION, QP_ACCESS_REMOTE_WRITE, 5, &t.mr))
		return 0;
	rc_responder_init(&t.responder, 256, 0, &t.stats);
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
			if (p.opcode == ROCE_ACK)
				answer(&p);
			else if (roce_wire_is_request(p.opcode))
				respond(&t, &p, flags);
		}
		check_guards(&t);
		data += bytes;
		size -= bytes;
	}
	mr_table_fini(&t.regions);
	return 0;
}
