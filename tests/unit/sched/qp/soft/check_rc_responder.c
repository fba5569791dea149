/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "qp/soft/rc_responder.h"

#define MTU   256u
#define FIRST 0xfffffeu

static struct mr_table regions;
static struct rc_responder r;
static struct qp_stats stats;
static struct qp_mr mr;
static uint8_t memory[4 * MTU], payload[2 * MTU];
static struct rc_notice notice;

static void setup(void)
{
	memset(memory, 0, sizeof(memory));
	memset(payload, 0x5a, sizeof(payload));
	memset(&stats, 0, sizeof(stats));
	regions = (struct mr_table){0};
	ck_assert_int_eq(mr_table_add(&regions, memory, 3 * MTU, QP_ACCESS_REMOTE_WRITE, 77, &mr),
			 0);
	rc_responder_init(&r, MTU, FIRST, NULL, &stats);
}

static void teardown(void)
{
	mr_table_fini(&regions);
}

static struct roce_packet packet(uint8_t opcode, uint32_t n, uint32_t dma, uint32_t bytes)
{
	return (struct roce_packet){
		.opcode = opcode,
		.ack_req = true,
		.psn = (FIRST + n) & ROCE_PSN_MASK,
		.remote_addr = (uintptr_t)memory,
		.rkey = mr.rkey,
		.dma_bytes = dma,
		.imm = 42,
		.payload = payload,
		.payload_bytes = bytes,
	};
}

static enum rc_responder_verdict take(uint8_t opcode, uint32_t n, uint32_t dma, uint32_t bytes)
{
	struct roce_packet p = packet(opcode, n, dma, bytes);

	return rc_responder_on_request(&r, &regions, &p, true, &notice);
}

static void expect_answer(uint8_t syndrome, uint32_t n, uint32_t msn)
{
	struct roce_packet a;

	ck_assert(rc_responder_take_answer(&r, &a));
	ck_assert_uint_eq(a.opcode, ROCE_ACK);
	ck_assert_uint_eq(a.syndrome, syndrome);
	ck_assert_uint_eq(a.psn, (FIRST + n) & ROCE_PSN_MASK);
	ck_assert_uint_eq(a.msn, msn);
	ck_assert(!rc_responder_take_answer(&r, &a));
}

START_TEST(a_message_in_pieces_is_placed)
{
	struct roce_packet p = packet(ROCE_WRITE_FIRST, 0, 2 * MTU + 3, MTU);

	p.ack_req = false;
	ck_assert_int_eq(rc_responder_on_request(&r, &regions, &p, true, &notice),
			 RC_RESPONDER_PLACED);
	ck_assert(!rc_responder_answer_due(&r));
	ck_assert_int_eq(take(ROCE_WRITE_MIDDLE, 1, 0, MTU), RC_RESPONDER_PLACED);
	expect_answer(ROCE_SYNDROME_ACK, 1, 0);
	ck_assert_int_eq(take(ROCE_WRITE_LAST_IMM, 2, 0, 3), RC_RESPONDER_NOTIFIED);
	ck_assert_uint_eq(notice.bytes, 2 * MTU + 3);
	expect_answer(ROCE_SYNDROME_ACK, 2, 1);
	ck_assert_uint_eq(memory[2 * MTU + 2], 0x5a);
	ck_assert_uint_eq(memory[2 * MTU + 3], 0);
}
END_TEST

START_TEST(a_gap_is_told_once)
{
	ck_assert_int_eq(take(ROCE_WRITE_ONLY, 2, 4, 4), RC_RESPONDER_GAP);
	expect_answer(ROCE_SYNDROME_NAK_SEQUENCE, 0, 0);
	ck_assert_int_eq(take(ROCE_WRITE_ONLY, 3, 4, 4), RC_RESPONDER_GAP);
	ck_assert(!rc_responder_answer_due(&r));
	ck_assert_uint_eq(stats.naks_sent, 1);
	ck_assert_uint_eq(stats.out_of_order_packets, 2);
	ck_assert_uint_eq(memory[0], 0);
	ck_assert_int_eq(take(ROCE_WRITE_ONLY, 0, 4, 4), RC_RESPONDER_PLACED);
	expect_answer(ROCE_SYNDROME_ACK, 0, 1);
	ck_assert_int_eq(take(ROCE_WRITE_ONLY, 2, 4, 4), RC_RESPONDER_GAP);
	expect_answer(ROCE_SYNDROME_NAK_SEQUENCE, 1, 1);
}
END_TEST

START_TEST(a_duplicate_is_acknowledged_and_not_placed)
{
	ck_assert_int_eq(take(ROCE_WRITE_ONLY, 0, 4, 4), RC_RESPONDER_PLACED);
	expect_answer(ROCE_SYNDROME_ACK, 0, 1);
	memset(memory, 0, sizeof(memory)); /* the application reads and reuses it */
	ck_assert_int_eq(take(ROCE_WRITE_ONLY, 0, 4, 4), RC_RESPONDER_DUPLICATE);
	expect_answer(ROCE_SYNDROME_ACK, 0, 1);
	ck_assert_uint_eq(memory[0], 0);
	ck_assert_uint_eq(stats.out_of_order_packets, 0);
}
END_TEST

START_TEST(no_room_for_a_notification_is_not_ready)
{
	struct roce_packet p = packet(ROCE_WRITE_ONLY_IMM, 0, 4, 4);

	ck_assert_int_eq(rc_responder_on_request(&r, &regions, &p, false, &notice),
			 RC_RESPONDER_BUSY);
	expect_answer(ROCE_SYNDROME_RNR | 12, 0, 0);
	/* what follows comes again too, and deserves no word */
	ck_assert_int_eq(take(ROCE_WRITE_ONLY, 1, 4, 4), RC_RESPONDER_GAP);
	ck_assert(!rc_responder_answer_due(&r));
	ck_assert_uint_eq(memory[0], 0);
	ck_assert_int_eq(rc_responder_on_request(&r, &regions, &p, true, &notice),
			 RC_RESPONDER_NOTIFIED);
}
END_TEST

static const struct {
	uint8_t before; /* a packet that goes well first; 0: none */
	uint8_t opcode;
	uint32_t dma, bytes;
} invalid[] = {
	{0, ROCE_WRITE_MIDDLE, 0, MTU},
	{0, ROCE_WRITE_LAST, 0, 4},
	{0, ROCE_WRITE_ONLY, 5, 4},
	{0, ROCE_WRITE_ONLY, 3, 4},
	{0, ROCE_WRITE_ONLY, MTU + 1, MTU + 1},
	{0, ROCE_WRITE_FIRST, MTU, MTU},
	{0, ROCE_WRITE_FIRST, 2 * MTU, MTU - 4},
	{0, ROCE_WRITE_FIRST, 2 * MTU, 2 * MTU},
	{0, ROCE_WRITE_FIRST, 0x80000001u, MTU},
	{0, ROCE_READ_REQUEST, 16, 16},
	{0, ROCE_READ_REQUEST, 0x80000001u, 0},
	{0, ROCE_SEND_ONLY, 0, 4}, /* no receive of ours has room */
	{0, ROCE_SEND_FIRST, 0, MTU},
	{0, ROCE_SEND_LAST, 0, 4},
	{0, ROCE_PLACE, 4, 4},
	{0, 0x13, 0, 28}, /* atomics */
	{0, 0x17, 0, 8},  /* SEND ONLY with invalidate */
	{ROCE_WRITE_FIRST, ROCE_READ_REQUEST, 4, 0},
	{ROCE_WRITE_FIRST, ROCE_SEND_LAST, 0, 4},
	{ROCE_WRITE_FIRST, ROCE_WRITE_FIRST, 2 * MTU, MTU},
	{ROCE_WRITE_FIRST, ROCE_WRITE_ONLY, 4, 4},
	{ROCE_WRITE_FIRST, ROCE_WRITE_MIDDLE, 0, MTU - 4},
	{ROCE_WRITE_FIRST, ROCE_WRITE_LAST, 0, 4}, /* more is owed */
	{ROCE_WRITE_FIRST, ROCE_WRITE_LAST, 0, 0},
};

START_TEST(invalid_requests_end_the_connection)
{
	uint32_t n = 0;

	if (invalid[_i].before)
		ck_assert_int_eq(take(invalid[_i].before, n++, 3 * MTU, MTU), RC_RESPONDER_PLACED);
	memset(memory, 0, sizeof(memory));
	ck_assert_int_eq(take(invalid[_i].opcode, n, invalid[_i].dma, invalid[_i].bytes),
			 RC_RESPONDER_REFUSED);
	ck_assert_uint_eq(memory[0] | memory[MTU], 0);
	expect_answer(ROCE_SYNDROME_NAK_INVALID_REQUEST, n, 0);
	ck_assert_int_eq(take(ROCE_WRITE_ONLY, n, 8, 8), RC_RESPONDER_GAP);
	ck_assert_uint_eq(memory[0], 0);
	ck_assert(!rc_responder_answer_due(&r));
}
END_TEST

START_TEST(a_message_that_leaves_its_region_is_refused_at_its_start)
{
	/* each time that it comes; a right one, of who did not send that, is not answered */
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(take(ROCE_WRITE_FIRST, 0, 3 * MTU + 1, MTU), RC_RESPONDER_REFUSED);
		ck_assert_uint_eq(memory[0], 0);
		expect_answer(ROCE_SYNDROME_NAK_REMOTE_ACCESS, 0, 0);
		ck_assert_int_eq(take(ROCE_WRITE_FIRST, 0, 3 * MTU, MTU), RC_RESPONDER_GAP);
		ck_assert(!rc_responder_answer_due(&r));
	}
}
END_TEST

START_TEST(a_region_that_goes_in_mid_message_takes_no_more)
{
	ck_assert_int_eq(take(ROCE_WRITE_FIRST, 0, 2 * MTU, MTU), RC_RESPONDER_PLACED);
	ck_assert_int_eq(mr_table_remove(&regions, &mr), 0);
	ck_assert_int_eq(take(ROCE_WRITE_LAST, 1, 0, MTU), RC_RESPONDER_REFUSED);
	ck_assert_uint_eq(memory[MTU], 0);
	expect_answer(ROCE_SYNDROME_NAK_REMOTE_ACCESS, 1, 0);
}
END_TEST

/* ---- SEND ---- */

static struct rc_receives receives;
static struct qp_mr receive_mr;
static uint8_t landing[3 * MTU];

static void with_receives(unsigned n, uint32_t bytes)
{
	memset(landing, 0, sizeof(landing));
	ck_assert_int_eq(mr_table_add(&regions, landing, sizeof(landing), 0, 5, &receive_mr), 0);
	ck_assert_int_eq(rc_receives_init(&receives, 4), 0);
	for (unsigned i = 0; i < n; i++) {
		struct qp_recv recv = {
			.wr_id = 50 + i, .data = landing, .lkey = receive_mr.lkey, .length = bytes};

		ck_assert_int_eq(rc_receives_post(&receives, &recv), 0);
	}
	rc_responder_init(&r, MTU, FIRST, &receives, &stats);
}

START_TEST(a_send_fills_the_oldest_receive)
{
	with_receives(2, sizeof(landing));
	ck_assert_int_eq(take(ROCE_SEND_FIRST, 0, 0, MTU), RC_RESPONDER_PLACED);
	ck_assert_int_eq(take(ROCE_SEND_MIDDLE, 1, 0, MTU), RC_RESPONDER_PLACED);
	ck_assert_int_eq(take(ROCE_SEND_LAST_IMM, 2, 0, 7), RC_RESPONDER_NOTIFIED);
	ck_assert_uint_eq(notice.wr_id, 50);
	ck_assert_uint_eq(notice.bytes, 2 * MTU + 7);
	ck_assert(notice.has_imm);
	ck_assert_uint_eq(notice.imm, 42);
	ck_assert_uint_eq(landing[2 * MTU + 6], 0x5a);
	ck_assert_uint_eq(landing[2 * MTU + 7], 0);
	ck_assert_int_eq(take(ROCE_SEND_ONLY, 3, 0, 0), RC_RESPONDER_NOTIFIED);
	ck_assert_uint_eq(notice.wr_id, 51);
	ck_assert(!notice.has_imm);
	expect_answer(ROCE_SYNDROME_ACK, 3, 2);
	rc_receives_fini(&receives);
}
END_TEST

START_TEST(without_a_receive_a_send_is_answered_not_ready)
{
	struct qp_recv recv = {.wr_id = 60, .data = landing, .length = 4};

	with_receives(0, 0);
	recv.lkey = receive_mr.lkey;
	ck_assert_int_eq(take(ROCE_SEND_ONLY, 0, 0, 4), RC_RESPONDER_BUSY);
	expect_answer(ROCE_SYNDROME_RNR | 12, 0, 0);
	/* a write needs none, unless it notifies */
	ck_assert_int_eq(take(ROCE_WRITE_ONLY, 0, 4, 4), RC_RESPONDER_PLACED);
	ck_assert_int_eq(take(ROCE_WRITE_ONLY_IMM, 1, 4, 4), RC_RESPONDER_BUSY);
	ck_assert_int_eq(rc_receives_post(&receives, &recv), 0);
	ck_assert_int_eq(take(ROCE_WRITE_ONLY_IMM, 1, 4, 4), RC_RESPONDER_NOTIFIED);
	ck_assert_uint_eq(notice.wr_id, 60);
	expect_answer(ROCE_SYNDROME_ACK, 1, 2);
	rc_receives_fini(&receives);
}
END_TEST

START_TEST(a_receive_too_short_ends_the_connection)
{
	with_receives(2, MTU + 3);
	ck_assert_int_eq(take(ROCE_SEND_FIRST, 0, 0, MTU), RC_RESPONDER_PLACED);
	ck_assert_int_eq(take(ROCE_SEND_LAST, 1, 0, 4), RC_RESPONDER_REFUSED);
	ck_assert_uint_eq(landing[MTU], 0);
	expect_answer(ROCE_SYNDROME_NAK_INVALID_REQUEST, 1, 0);
	ck_assert(rc_responder_flush(&r, &notice));
	ck_assert_uint_eq(notice.wr_id, 50);
	ck_assert_int_eq(notice.status, QP_WC_LOC_LEN_ERR);
	ck_assert(rc_responder_flush(&r, &notice));
	ck_assert_int_eq(notice.status, QP_WC_FLUSH_ERR);
	ck_assert(!rc_responder_flush(&r, &notice));
	rc_receives_fini(&receives);
}
END_TEST

START_TEST(a_receive_whose_memory_is_gone_takes_nothing)
{
	with_receives(1, MTU);
	ck_assert_int_eq(mr_table_remove(&regions, &receive_mr), 0);
	ck_assert_int_eq(take(ROCE_SEND_ONLY, 0, 0, 4), RC_RESPONDER_REFUSED);
	ck_assert_uint_eq(landing[0], 0);
	expect_answer(ROCE_SYNDROME_NAK_REMOTE_OPERATION, 0, 0);
	ck_assert(rc_responder_flush(&r, &notice));
	ck_assert_int_eq(notice.status, QP_WC_LOC_PROT_ERR);
	rc_receives_fini(&receives);
}
END_TEST

/* ---- READ ---- */

static struct qp_mr readable;
static uint8_t library[4 * MTU];

static void with_library(void)
{
	for (unsigned i = 0; i < sizeof(library); i++)
		library[i] = (uint8_t)(i * 7 + i / 256);
	ck_assert_int_eq(mr_table_add(&regions, library, sizeof(library), QP_ACCESS_REMOTE_READ, 9,
				      &readable),
			 0);
}

static enum rc_responder_verdict take_forged_read(uint32_t n, uint32_t offset, uint32_t bytes,
						  uint32_t rkey)
{
	struct roce_packet p = packet(ROCE_READ_REQUEST, n, bytes, 0);

	p.remote_addr = (uintptr_t)library + offset;
	p.rkey = rkey;
	return rc_responder_on_request(&r, &regions, &p, true, &notice);
}

static enum rc_responder_verdict take_read(uint32_t n, uint32_t offset, uint32_t bytes)
{
	struct roce_packet p = packet(ROCE_READ_REQUEST, n, bytes, 0);

	p.remote_addr = (uintptr_t)library + offset;
	p.rkey = readable.rkey;
	return rc_responder_on_request(&r, &regions, &p, true, &notice);
}

/* Its PSN is that of any old packet. The connection must not end by it. */
START_TEST(a_read_that_was_never_asked_for_is_not_a_duplicate)
{
	struct roce_packet p[8];

	with_library();
	ck_assert_int_eq(take_read(0, 0, 2 * MTU), RC_RESPONDER_PLACED);
	ck_assert_int_eq(take(ROCE_WRITE_ONLY, 2, 4, 4), RC_RESPONDER_PLACED);
	rc_responder_reads_sent(&r, rc_responder_read_burst(&r, &regions, p, 8));
	expect_answer(ROCE_SYNDROME_ACK, 2, 2);
	take_forged_read(0, 0, 2 * MTU, readable.rkey ^ 1); /* another key */
	take_forged_read(0, 1, 2 * MTU - 1, readable.rkey); /* another place */
	take_forged_read(2, 0, 4, readable.rkey);	    /* there was a write */
	take_forged_read(UINT32_MAX, 0, 4, readable.rkey);
	ck_assert(!rc_responder_answer_due(&r));
	ck_assert(!r.dead);
}
END_TEST

START_TEST(a_packet_far_ahead_is_no_gap)
{
	ck_assert_int_eq(take(ROCE_WRITE_ONLY, 0x10001, 4, 4), RC_RESPONDER_GAP);
	ck_assert(!rc_responder_answer_due(&r));
	ck_assert_uint_eq(stats.out_of_order_packets, 0);
	ck_assert_int_eq(take(ROCE_WRITE_ONLY, 0x10000, 4, 4), RC_RESPONDER_GAP);
	ck_assert_uint_eq(stats.out_of_order_packets, 1);
	expect_answer(ROCE_SYNDROME_NAK_SEQUENCE, 0, 0);
}
END_TEST

static void expect_response(const struct roce_packet *p, uint8_t opcode, uint32_t n,
			    uint32_t offset, uint32_t bytes)
{
	ck_assert_uint_eq(p->opcode, opcode);
	ck_assert_uint_eq(p->psn, (FIRST + n) & ROCE_PSN_MASK);
	ck_assert_uint_eq(p->payload_bytes, bytes);
	ck_assert_ptr_eq(p->payload, library + offset);
}

START_TEST(a_read_is_answered_before_what_follows_is_acknowledged)
{
	struct roce_packet p[8];

	with_library();
	ck_assert_int_eq(take_read(0, 3, 2 * MTU + 1), RC_RESPONDER_PLACED);
	/* three numbers were used */
	ck_assert_int_eq(take(ROCE_WRITE_ONLY, 3, 4, 4), RC_RESPONDER_PLACED);
	ck_assert(!rc_responder_take_answer(&r, p));
	ck_assert_uint_eq(rc_responder_read_burst(&r, &regions, p, 8), 3);
	expect_response(&p[0], ROCE_READ_RESPONSE_FIRST, 0, 3, MTU);
	expect_response(&p[1], ROCE_READ_RESPONSE_MIDDLE, 1, 3 + MTU, MTU);
	expect_response(&p[2], ROCE_READ_RESPONSE_LAST, 2, 3 + 2 * MTU, 1);
	ck_assert_uint_eq(p[0].msn, 1);
	rc_responder_reads_sent(&r, 1);
	ck_assert(!rc_responder_take_answer(&r, p));
	ck_assert_uint_eq(rc_responder_read_burst(&r, &regions, p, 1), 1);
	expect_response(&p[0], ROCE_READ_RESPONSE_MIDDLE, 1, 3 + MTU, MTU);
	rc_responder_reads_sent(&r, 2);
	expect_answer(ROCE_SYNDROME_ACK, 3, 2);
}
END_TEST

START_TEST(a_read_asked_for_again_is_done_again)
{
	struct roce_packet p[8];

	with_library();
	ck_assert_int_eq(take_read(0, 0, 2 * MTU), RC_RESPONDER_PLACED);
	ck_assert_int_eq(take_read(2, 0, MTU), RC_RESPONDER_PLACED);
	rc_responder_reads_sent(&r, rc_responder_read_burst(&r, &regions, p, 8));
	ck_assert(!r.n_reads);
	/* from its second packet; the one after it, again too, comes behind it */
	ck_assert_int_eq(take_read(1, MTU, MTU), RC_RESPONDER_DUPLICATE);
	ck_assert_int_eq(take_read(2, 0, MTU), RC_RESPONDER_DUPLICATE);
	ck_assert_uint_eq(rc_responder_read_burst(&r, &regions, p, 8), 2);
	expect_response(&p[0], ROCE_READ_RESPONSE_ONLY, 1, MTU, MTU);
	expect_response(&p[1], ROCE_READ_RESPONSE_ONLY, 2, 0, MTU);
	/* from the start, while those wait: they are asked for again later */
	ck_assert_int_eq(take_read(0, 0, 2 * MTU), RC_RESPONDER_DUPLICATE);
	ck_assert_uint_eq(rc_responder_read_burst(&r, &regions, p, 8), 2);
	expect_response(&p[0], ROCE_READ_RESPONSE_FIRST, 0, 0, MTU);
	expect_response(&p[1], ROCE_READ_RESPONSE_LAST, 1, MTU, MTU);
	rc_responder_reads_sent(&r, 2);
	/* one that would reach beyond what was asked is none of ours */
	ck_assert_int_eq(take_read(2, 0, MTU + 1), RC_RESPONDER_DUPLICATE);
	ck_assert_uint_eq(rc_responder_read_burst(&r, &regions, p, 8), 0);
	expect_answer(ROCE_SYNDROME_ACK, UINT32_MAX, 2); /* which says nothing of a READ */
	ck_assert_int_eq(take(ROCE_WRITE_ONLY, 3, 4, 4), RC_RESPONDER_PLACED);
	ck_assert_int_eq(take_read(4, 0, 1), RC_RESPONDER_PLACED);
	rc_responder_reads_sent(&r, 1);
	ck_assert_int_eq(take(ROCE_WRITE_ONLY, 3, 4, 4), RC_RESPONDER_DUPLICATE);
	expect_answer(ROCE_SYNDROME_ACK, 3, 4);
}
END_TEST

START_TEST(reads_obey_rights_and_bounds)
{
	struct roce_packet p = packet(ROCE_READ_REQUEST, 0, 4, 0);

	with_library();
	/* write only */
	ck_assert_int_eq(rc_responder_on_request(&r, &regions, &p, true, &notice),
			 RC_RESPONDER_REFUSED);
	expect_answer(ROCE_SYNDROME_NAK_REMOTE_ACCESS, 0, 0);
	rc_responder_init(&r, MTU, FIRST, NULL, &stats);
	ck_assert_int_eq(take_read(0, 1, sizeof(library)), RC_RESPONDER_REFUSED);
	ck_assert_uint_eq(rc_responder_read_burst(&r, &regions, &p, 1), 0);
	expect_answer(ROCE_SYNDROME_NAK_REMOTE_ACCESS, 0, 0);
	rc_responder_init(&r, MTU, FIRST, NULL, &stats);
	for (unsigned i = 0; i < QP_MAX_READS; i++)
		ck_assert_int_eq(take_read(i, 0, 1), RC_RESPONDER_PLACED);
	ck_assert_int_eq(take_read(QP_MAX_READS, 0, 1), RC_RESPONDER_REFUSED);
	/* those before it are answered all the same */
	ck_assert(!rc_responder_take_answer(&r, &p));
	for (unsigned i = 0; i < QP_MAX_READS; i++) {
		ck_assert_uint_eq(rc_responder_read_burst(&r, &regions, &p, 1), 1);
		expect_response(&p, ROCE_READ_RESPONSE_ONLY, i, 0, 1);
		rc_responder_reads_sent(&r, 1);
	}
	expect_answer(ROCE_SYNDROME_NAK_INVALID_REQUEST, QP_MAX_READS, QP_MAX_READS);
}
END_TEST

START_TEST(a_region_that_goes_while_it_is_read_is_read_no_more)
{
	struct roce_packet p[8];

	with_library();
	ck_assert_int_eq(take_read(0, 0, 3 * MTU), RC_RESPONDER_PLACED);
	rc_responder_reads_sent(&r, 1);
	ck_assert_int_eq(mr_table_remove(&regions, &readable), 0);
	ck_assert_uint_eq(rc_responder_read_burst(&r, &regions, p, 8), 0);
	expect_answer(ROCE_SYNDROME_NAK_REMOTE_ACCESS, 1, 1);
	ck_assert(r.dead);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("rc_responder");
	TCase *t = tcase_create("all");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_message_in_pieces_is_placed);
	tcase_add_test(t, a_gap_is_told_once);
	tcase_add_test(t, a_duplicate_is_acknowledged_and_not_placed);
	tcase_add_test(t, no_room_for_a_notification_is_not_ready);
	tcase_add_loop_test(t, invalid_requests_end_the_connection, 0,
			    (int)(sizeof(invalid) / sizeof(invalid[0])));
	tcase_add_test(t, a_message_that_leaves_its_region_is_refused_at_its_start);
	tcase_add_test(t, a_region_that_goes_in_mid_message_takes_no_more);
	tcase_add_test(t, a_send_fills_the_oldest_receive);
	tcase_add_test(t, without_a_receive_a_send_is_answered_not_ready);
	tcase_add_test(t, a_receive_too_short_ends_the_connection);
	tcase_add_test(t, a_receive_whose_memory_is_gone_takes_nothing);
	tcase_add_test(t, a_read_is_answered_before_what_follows_is_acknowledged);
	tcase_add_test(t, a_read_asked_for_again_is_done_again);
	tcase_add_test(t, a_read_that_was_never_asked_for_is_not_a_duplicate);
	tcase_add_test(t, a_packet_far_ahead_is_no_gap);
	tcase_add_test(t, reads_obey_rights_and_bounds);
	tcase_add_test(t, a_region_that_goes_while_it_is_read_is_read_no_more);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
