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
static uint32_t message_bytes;

static void setup(void)
{
	memset(memory, 0, sizeof(memory));
	memset(payload, 0x5a, sizeof(payload));
	memset(&stats, 0, sizeof(stats));
	mr_table_init(&regions);
	ck_assert_int_eq(mr_table_add(&regions, memory, 3 * MTU, QP_ACCESS_REMOTE_WRITE, 77, &mr),
			 0);
	rc_responder_init(&r, MTU, FIRST, &stats);
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

	return rc_responder_on_request(&r, &regions, &p, true, &message_bytes);
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
	ck_assert_int_eq(rc_responder_on_request(&r, &regions, &p, true, &message_bytes),
			 RC_RESPONDER_PLACED);
	ck_assert(!rc_responder_answer_due(&r));
	ck_assert_int_eq(take(ROCE_WRITE_MIDDLE, 1, 0, MTU), RC_RESPONDER_PLACED);
	expect_answer(ROCE_SYNDROME_ACK, 1, 0);
	ck_assert_int_eq(take(ROCE_WRITE_LAST_IMM, 2, 0, 3), RC_RESPONDER_NOTIFIED);
	ck_assert_uint_eq(message_bytes, 2 * MTU + 3);
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
}
END_TEST

START_TEST(no_room_for_a_notification_is_as_lost)
{
	struct roce_packet p = packet(ROCE_WRITE_ONLY_IMM, 0, 4, 4);

	ck_assert_int_eq(rc_responder_on_request(&r, &regions, &p, false, &message_bytes),
			 RC_RESPONDER_BUSY);
	ck_assert(!rc_responder_answer_due(&r));
	ck_assert_uint_eq(memory[0], 0);
	ck_assert_int_eq(rc_responder_on_request(&r, &regions, &p, true, &message_bytes),
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
	{0, 0x0c, 0, 16}, /* READ request */
	{0, 0x04, 0, 4},  /* SEND ONLY */
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
	ck_assert_int_eq(take(ROCE_WRITE_ONLY, n, 4, 4), RC_RESPONDER_GAP);
	ck_assert_uint_eq(memory[0], 0);
}
END_TEST

START_TEST(a_message_that_leaves_its_region_is_refused_at_its_start)
{
	ck_assert_int_eq(take(ROCE_WRITE_FIRST, 0, 3 * MTU + 1, MTU), RC_RESPONDER_REFUSED);
	ck_assert_uint_eq(memory[0], 0);
	expect_answer(ROCE_SYNDROME_NAK_REMOTE_ACCESS, 0, 0);
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
	tcase_add_test(t, no_room_for_a_notification_is_as_lost);
	tcase_add_loop_test(t, invalid_requests_end_the_connection, 0,
			    (int)(sizeof(invalid) / sizeof(invalid[0])));
	tcase_add_test(t, a_message_that_leaves_its_region_is_refused_at_its_start);
	tcase_add_test(t, a_region_that_goes_in_mid_message_takes_no_more);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
