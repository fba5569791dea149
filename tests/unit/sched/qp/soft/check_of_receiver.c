/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "qp/soft/of_receiver.h"

#define MTU   256u
#define FIRST 0xfffffeu

static struct mr_table regions;
static struct of_receiver r;
static struct qp_stats stats;
static struct qp_mr mr;
static uint8_t memory[8 * MTU], payload[2 * MTU], bitmap[OF_BITMAP_BYTES];
static struct rc_notice notice;

static void setup(void)
{
	memset(memory, 0, sizeof(memory));
	memset(payload, 0x5a, sizeof(payload));
	memset(&stats, 0, sizeof(stats));
	regions = (struct mr_table){0};
	ck_assert_int_eq(mr_table_add(&regions, memory, 7 * MTU, QP_ACCESS_REMOTE_WRITE, 77, &mr),
			 0);
	of_receiver_init(&r, MTU, FIRST, &stats);
}

static void teardown(void)
{
	of_receiver_fini(&r);
	mr_table_fini(&regions);
}

static struct roce_packet packet(uint8_t opcode, uint32_t n)
{
	return (struct roce_packet){
		.opcode = opcode,
		.psn = (FIRST + n) & ROCE_PSN_MASK,
		.remote_addr = (uintptr_t)memory + n * 4,
		.rkey = mr.rkey,
		.dma_bytes = 1000 + n,
		.imm = n,
		.payload = payload,
		.payload_bytes = 4,
	};
}

static enum rc_responder_verdict take(uint8_t opcode, uint32_t n, bool ack_req)
{
	struct roce_packet p = packet(opcode, n);

	p.ack_req = ack_req;
	return of_receiver_on_request(&r, &regions, &p, true);
}

static struct roce_packet answer(void)
{
	struct roce_packet a;

	ck_assert(of_receiver_take_answer(&r, bitmap, &a));
	ck_assert(!of_receiver_answer_due(&r));
	return a;
}

START_TEST(packets_are_placed_as_they_come)
{
	struct roce_packet a;

	ck_assert_int_eq(take(ROCE_PLACE, 3, false), RC_RESPONDER_PLACED);
	ck_assert_uint_eq(memory[12], 0x5a);
	ck_assert(!of_receiver_answer_due(&r));
	ck_assert_int_eq(take(ROCE_PLACE, 1, true), RC_RESPONDER_PLACED);
	a = answer();
	ck_assert_uint_eq(a.opcode, ROCE_SELECTIVE_ACK);
	ck_assert_uint_eq(a.psn, (FIRST - 1) & ROCE_PSN_MASK); /* 0 is missing */
	ck_assert_uint_eq(a.syndrome, ROCE_SYNDROME_ACK);
	ck_assert_uint_eq(a.payload_bytes, 4);
	ck_assert_uint_eq(a.payload[0], 1u << 0 | 1u << 2); /* bit 0 is packet 1 */
	ck_assert_int_eq(take(ROCE_PLACE, 0, false), RC_RESPONDER_PLACED);
	ck_assert_int_eq(take(ROCE_PLACE, 2, true), RC_RESPONDER_PLACED);
	a = answer();
	ck_assert_uint_eq(a.opcode, ROCE_ACK); /* nothing is missing before the last */
	ck_assert_uint_eq(a.psn, (FIRST + 3) & ROCE_PSN_MASK);
	ck_assert_uint_eq(stats.rx_packets, 4);
	ck_assert_uint_eq(stats.rx_bytes, 16);
	ck_assert_uint_eq(stats.out_of_order_packets,
			  2); /* 3 and 1; not 0 and 2, which were next */
}
END_TEST

START_TEST(duplicates_are_acknowledged_and_not_placed)
{
	ck_assert_int_eq(take(ROCE_PLACE, 0, false), RC_RESPONDER_PLACED);
	ck_assert_int_eq(take(ROCE_PLACE, 2, false), RC_RESPONDER_PLACED);
	memset(memory, 0, sizeof(memory)); /* the application reads and reuses it */
	ck_assert_int_eq(take(ROCE_PLACE, 0, false), RC_RESPONDER_DUPLICATE);
	ck_assert_int_eq(take(ROCE_PLACE, 2, false), RC_RESPONDER_DUPLICATE);
	ck_assert_uint_eq(memory[0] | memory[8], 0);
	ck_assert_uint_eq(stats.out_of_order_packets, 1);
	ck_assert_uint_eq(answer().psn, FIRST);
}
END_TEST

START_TEST(notifications_keep_their_order)
{
	ck_assert_int_eq(take(ROCE_PLACE_LAST_IMM, 3, false), RC_RESPONDER_PLACED);
	ck_assert_int_eq(take(ROCE_PLACE_LAST_IMM, 1, false), RC_RESPONDER_PLACED);
	ck_assert(!of_receiver_take_notice(&r, &notice));
	ck_assert_uint_eq(r.n_notices, 2);
	ck_assert_int_eq(take(ROCE_PLACE, 0, false), RC_RESPONDER_PLACED);
	ck_assert(of_receiver_take_notice(&r, &notice));
	ck_assert_uint_eq(notice.imm, 1);
	ck_assert_uint_eq(notice.bytes, 1001); /* of the message, not of its last packet */
	ck_assert(notice.has_imm);
	ck_assert(!of_receiver_take_notice(&r, &notice));
	ck_assert_int_eq(take(ROCE_PLACE, 2, false), RC_RESPONDER_PLACED);
	ck_assert(of_receiver_take_notice(&r, &notice));
	ck_assert_uint_eq(notice.imm, 3);
	ck_assert_uint_eq(r.n_notices, 0);
	ck_assert_uint_eq(r.msn, 2);
}
END_TEST

START_TEST(without_room_to_tell_it_never_came)
{
	struct roce_packet p = packet(ROCE_PLACE_LAST_IMM, 0);

	ck_assert_int_eq(of_receiver_on_request(&r, &regions, &p, false), RC_RESPONDER_BUSY);
	ck_assert_uint_eq(memory[0], 0);
	ck_assert_int_eq(take(ROCE_PLACE, 0, true), RC_RESPONDER_PLACED);
}
END_TEST

START_TEST(the_window_is_bounded)
{
	ck_assert_int_eq(take(ROCE_PLACE, OF_WINDOW, true), RC_RESPONDER_GAP);
	ck_assert(!of_receiver_answer_due(&r));
	/* the furthest one: its bit is the last of the bitmap but one */
	struct roce_packet p = packet(ROCE_PLACE, OF_WINDOW - 1), a;

	p.remote_addr = (uintptr_t)memory;
	p.ack_req = true;
	ck_assert_int_eq(of_receiver_on_request(&r, &regions, &p, true), RC_RESPONDER_PLACED);
	a = answer();
	ck_assert_uint_eq(a.payload_bytes, OF_BITMAP_BYTES);
	ck_assert_uint_eq(a.payload[OF_BITMAP_BYTES - 1], 1u << 6);
	ck_assert_int_eq(take(ROCE_PLACE, 0x900000, true), RC_RESPONDER_DUPLICATE); /* long ago */
}
END_TEST

START_TEST(untold_notifications_keep_their_order)
{
	struct roce_packet p;

	ck_assert_int_eq(take(ROCE_PLACE_LAST_IMM, 0, false), RC_RESPONDER_PLACED);
	for (unsigned i = 1; i < OF_WINDOW; i++) {
		p = packet(ROCE_PLACE, i);
		p.remote_addr = (uintptr_t)memory;
		ck_assert_int_eq(of_receiver_on_request(&r, &regions, &p, true),
				 RC_RESPONDER_PLACED);
	}
	p = packet(ROCE_PLACE_LAST_IMM, OF_WINDOW);
	p.remote_addr = (uintptr_t)memory;
	ck_assert_int_eq(of_receiver_on_request(&r, &regions, &p, true), RC_RESPONDER_PLACED);
	ck_assert(of_receiver_take_notice(&r, &notice));
	ck_assert_uint_eq(notice.imm, 0);
	ck_assert(of_receiver_take_notice(&r, &notice));
	ck_assert_uint_eq(notice.imm, OF_WINDOW);
}
END_TEST

/* Those that wait for an earlier packet: in the order of PSNs, as many as the window holds. */
START_TEST(notifications_that_wait_are_told_in_order)
{
	uint32_t last = OF_WINDOW - 1;

	for (uint32_t i = 0; i < last; i++) { /* 1, last, 2, last - 1, ... */
		struct roce_packet p =
			packet(ROCE_PLACE_LAST_IMM, i % 2 ? last - i / 2 : 1 + i / 2);

		p.remote_addr = (uintptr_t)memory;
		ck_assert_int_eq(of_receiver_on_request(&r, &regions, &p, true),
				 RC_RESPONDER_PLACED);
		ck_assert(!of_receiver_take_notice(&r, &notice));
	}
	ck_assert_uint_eq(r.n_notices, last);
	ck_assert_int_eq(take(ROCE_PLACE, 0, true), RC_RESPONDER_PLACED);
	for (uint32_t i = 1; i <= last; i++) {
		ck_assert(of_receiver_take_notice(&r, &notice));
		ck_assert_uint_eq(notice.imm, i);
	}
	ck_assert(!of_receiver_take_notice(&r, &notice));
	ck_assert_uint_le(r.notices.room, 16); /* what was large is given back */
}
END_TEST

static const struct {
	uint8_t opcode, syndrome;
	uint32_t dma, bytes, rkey_flip;
	int offset;
} wrong[] = {
	/* it thinks that order matters */
	{ROCE_WRITE_ONLY, ROCE_SYNDROME_NAK_INVALID_REQUEST, 4, 4, 0, 0},
	{ROCE_SEND_ONLY, ROCE_SYNDROME_NAK_INVALID_REQUEST, 4, 4, 0, 0},
	{ROCE_READ_REQUEST, ROCE_SYNDROME_NAK_INVALID_REQUEST, 4, 0, 0, 0},
	{ROCE_PLACE, ROCE_SYNDROME_NAK_INVALID_REQUEST, 3, 4, 0, 0},
	{ROCE_PLACE, ROCE_SYNDROME_NAK_INVALID_REQUEST, MTU + 1, MTU + 1, 0, 0},
	{ROCE_PLACE, ROCE_SYNDROME_NAK_INVALID_REQUEST, 0x80000001u, 4, 0, 0},
	{ROCE_PLACE, ROCE_SYNDROME_NAK_REMOTE_ACCESS, 4, 4, 1, 0},
	{ROCE_PLACE_LAST_IMM, ROCE_SYNDROME_NAK_REMOTE_ACCESS, 4, 4, 0, 7 * MTU - 3},
	{ROCE_PLACE, ROCE_SYNDROME_NAK_REMOTE_ACCESS, 4, 4, 0, -1},
};

START_TEST(wrong_requests_end_the_connection)
{
	struct roce_packet p = packet(wrong[_i].opcode, 2), a;

	p.dma_bytes = wrong[_i].dma;
	p.payload_bytes = wrong[_i].bytes;
	p.rkey ^= wrong[_i].rkey_flip;
	p.remote_addr = (uintptr_t)memory + (uint64_t)wrong[_i].offset;
	ck_assert_int_eq(of_receiver_on_request(&r, &regions, &p, true), RC_RESPONDER_REFUSED);
	for (unsigned i = 0; i < sizeof(memory); i++)
		ck_assert_uint_eq(memory[i], 0);
	a = answer();
	ck_assert_uint_eq(a.syndrome, wrong[_i].syndrome);
	ck_assert_uint_eq(a.opcode, ROCE_ACK);
	ck_assert_uint_eq(a.psn, (FIRST + 2) & ROCE_PSN_MASK);
	/* a right one, of who did not send that, is not answered; the same is again */
	ck_assert_int_eq(take(ROCE_PLACE, 2, true), RC_RESPONDER_GAP);
	ck_assert(!of_receiver_answer_due(&r));
	ck_assert_int_eq(of_receiver_on_request(&r, &regions, &p, true), RC_RESPONDER_REFUSED);
	a = answer();
	ck_assert_uint_eq(a.syndrome, wrong[_i].syndrome);
	ck_assert_uint_eq(a.psn, (FIRST + 2) & ROCE_PSN_MASK);
	ck_assert_uint_eq(stats.naks_sent, 2);
	ck_assert_uint_eq(r.n_notices, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("of_receiver");
	TCase *t = tcase_create("all");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, packets_are_placed_as_they_come);
	tcase_add_test(t, duplicates_are_acknowledged_and_not_placed);
	tcase_add_test(t, notifications_keep_their_order);
	tcase_add_test(t, without_room_to_tell_it_never_came);
	tcase_add_test(t, the_window_is_bounded);
	tcase_add_test(t, notifications_that_wait_are_told_in_order);
	tcase_add_test(t, untold_notifications_keep_their_order);
	tcase_add_loop_test(t, wrong_requests_end_the_connection, 0,
			    (int)(sizeof(wrong) / sizeof(wrong[0])));
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
