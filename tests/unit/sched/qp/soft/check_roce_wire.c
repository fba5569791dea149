/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "qp/soft/roce_wire.h"

/* Laid out by hand from IBTA 9.2, 9.3: WRITE ONLY with immediate, five payload bytes, three of pad.
 */
static const uint8_t known[] = {
	0x0b, 0x70, 0xff, 0xff, 0x00, 0x12, 0x34, 0x56, 0x80, 0xff, 0xff, 0xfe, /* BTH */
	0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0xaa, 0xbb, 0xcc, 0xdd,
	0x00, 0x00, 0x00, 0x05,				/* RETH */
	0xca, 0xfe, 0x00, 0x01,				/* ImmDt */
	'h',  'e',  'l',  'l',	'o',  0x00, 0x00, 0x00, /* payload, pad */
	0x00, 0x00, 0x00, 0x00,				/* ICRC */
};

static struct roce_packet known_packet(void)
{
	return (struct roce_packet){
		.opcode = ROCE_WRITE_ONLY_IMM,
		.ack_req = true,
		.dest_qpn = 0x123456,
		.psn = 0xfffffe,
		.remote_addr = 0x0102030405060708,
		.rkey = 0xaabbccdd,
		.dma_bytes = 5,
		.imm = 0xcafe0001,
		.payload_bytes = 5,
	};
}

START_TEST(known_bytes_are_built)
{
	struct roce_packet p = known_packet();
	uint8_t header[ROCE_HEADER_MAX];
	size_t n = roce_wire_build(&p, header);

	ck_assert_uint_eq(n, 32);
	ck_assert_mem_eq(header, known, n);
	ck_assert_uint_eq(roce_wire_packet_bytes(&p), sizeof(known));
}
END_TEST

START_TEST(known_bytes_are_parsed)
{
	struct roce_packet want = known_packet(), p;

	ck_assert_int_eq(roce_wire_parse(known, sizeof(known), &p, NULL), 0);
	ck_assert_uint_eq(p.opcode, want.opcode);
	ck_assert(p.ack_req);
	ck_assert_uint_eq(p.dest_qpn, want.dest_qpn);
	ck_assert_uint_eq(p.psn, want.psn);
	ck_assert_uint_eq(p.remote_addr, want.remote_addr);
	ck_assert_uint_eq(p.rkey, want.rkey);
	ck_assert_uint_eq(p.dma_bytes, 5);
	ck_assert_uint_eq(p.imm, want.imm);
	ck_assert_uint_eq(p.payload_bytes, 5);
	ck_assert_mem_eq(p.payload, "hello", 5);
}
END_TEST

static const uint8_t opcodes[] = {
	ROCE_SEND_FIRST,
	ROCE_SEND_MIDDLE,
	ROCE_SEND_LAST,
	ROCE_SEND_LAST_IMM,
	ROCE_SEND_ONLY,
	ROCE_SEND_ONLY_IMM,
	ROCE_READ_RESPONSE_FIRST,
	ROCE_READ_RESPONSE_MIDDLE,
	ROCE_READ_RESPONSE_LAST,
	ROCE_READ_RESPONSE_ONLY,
	ROCE_READ_REQUEST,
	ROCE_PLACE,
	ROCE_PLACE_LAST_IMM,
	ROCE_SELECTIVE_ACK,
	ROCE_WRITE_FIRST,
	ROCE_WRITE_MIDDLE,
	ROCE_WRITE_LAST,
	ROCE_WRITE_LAST_IMM,
	ROCE_WRITE_ONLY,
	ROCE_WRITE_ONLY_IMM,
	ROCE_ACK,
	ROCE_UD_SEND_ONLY,
};

START_TEST(every_opcode_survives_the_wire)
{
	struct roce_packet p = {
		.opcode = opcodes[_i],
		.dest_qpn = 0xabcdef,
		.psn = 7,
		.syndrome = 0x60,
		.msn = 0xfedcba,
		.qkey = 0x46415245,
		.src_qpn = 0xfa4e,
		.imm = 3,
		.payload_bytes = opcodes[_i] == ROCE_ACK ? 0 : 6,
	};
	uint8_t bytes[64] = {0};
	struct roce_packet q;
	size_t n = roce_wire_build(&p, bytes);

	ck_assert_uint_eq(n, roce_wire_header_bytes(opcodes[_i]));
	ck_assert_int_eq(roce_wire_parse(bytes, roce_wire_packet_bytes(&p), &q, NULL), 0);
	ck_assert_uint_eq(q.opcode, p.opcode);
	ck_assert(!q.ack_req);
	ck_assert_uint_eq(q.payload_bytes, p.payload_bytes);
	if (roce_wire_has_aeth(p.opcode)) {
		ck_assert_uint_eq(q.syndrome, 0x60);
		ck_assert_uint_eq(q.msn, 0xfedcba);
	}
	if (p.opcode == ROCE_UD_SEND_ONLY) {
		ck_assert_uint_eq(q.qkey, p.qkey);
		ck_assert_uint_eq(q.src_qpn, p.src_qpn);
	}
	if (roce_wire_has_imm(p.opcode))
		ck_assert_uint_eq(q.imm, 3);
}
END_TEST

/* As devices send it, but for the PSN, which is 0 there (soft_tx.c says why it is not here). */
START_TEST(a_cnp_is_what_devices_send)
{
	static const uint8_t wire[28] = {0x81, 0x00, 0xff, 0xff, 0x40, 0x00,
					 0x00, 0xd2, 0x00, 0xab, 0xcd, 0xef};
	static const uint8_t zeros[ROCE_CNP_BYTES];
	struct roce_packet p = {.opcode = ROCE_CNP,
				.dest_qpn = 0xd2,
				.psn = 0xabcdef,
				.payload = zeros,
				.payload_bytes = sizeof(zeros)};
	uint8_t bytes[36] = {0};
	struct roce_wire_error error;
	struct roce_packet q;

	ck_assert_uint_eq(roce_wire_build(&p, bytes), ROCE_BTH_BYTES);
	ck_assert_mem_eq(bytes, wire, sizeof(wire));
	ck_assert_uint_eq(roce_wire_packet_bytes(&p), 32);
	ck_assert_int_eq(roce_wire_parse(bytes, 32, &q, NULL), 0);
	ck_assert_uint_eq(q.opcode, ROCE_CNP);
	ck_assert_uint_eq(q.dest_qpn, 0xd2);
	ck_assert(!roce_wire_is_request(ROCE_CNP) && !roce_wire_has_aeth(ROCE_CNP));
	ck_assert_int_eq(roce_wire_parse(bytes, 28, &q, &error), -EBADMSG);
	ck_assert_int_eq(roce_wire_parse(bytes, 36, &q, &error), -EBADMSG);
	ck_assert_str_eq(error.reason, "a CNP of another length");
}
END_TEST

START_TEST(receiver_not_ready_says_how_long)
{
	/* IBTA table 45 */
	static const struct {
		uint8_t timer;
		uint64_t us;
	} known_times[] = {{0, 655360},	 {1, 10},     {2, 20},	   {3, 30},	{4, 40},
			   {5, 60},	 {6, 80},     {7, 120},	   {8, 160},	{12, 640},
			   {13, 960},	 {14, 1280},  {21, 15360}, {22, 20480}, {23, 30720},
			   {30, 327680}, {31, 491520}};

	for (size_t i = 0; i < sizeof(known_times) / sizeof(known_times[0]); i++)
		ck_assert_uint_eq(roce_wire_rnr_ns(ROCE_SYNDROME_RNR | known_times[i].timer),
				  known_times[i].us * 1000);
}
END_TEST

static int refused(const uint8_t *data, size_t bytes, const char *reason)
{
	struct roce_wire_error error = {0};
	struct roce_packet p;
	int err = roce_wire_parse(data, bytes, &p, &error);

	if (err == -EBADMSG)
		ck_assert_str_eq(error.reason, reason);
	return err;
}

START_TEST(broken_packets_are_refused)
{
	uint8_t b[sizeof(known)];

	ck_assert_int_eq(refused(known, 12, "shorter than BTH and ICRC"), -EBADMSG);
	ck_assert_int_eq(refused(known, 0, "shorter than BTH and ICRC"), -EBADMSG);
	ck_assert_int_eq(refused(known, sizeof(known) - 1, "not a multiple of four bytes"),
			 -EBADMSG);
	ck_assert_int_eq(refused(known, 32, "truncated extension header"), -EBADMSG);
	ck_assert_int_eq(refused(known, 36, "more pad than payload"), -EBADMSG);
	memcpy(b, known, sizeof(b));
	b[0] = 0x1f;
	ck_assert_int_eq(refused(b, sizeof(b), "unknown opcode"), -EBADMSG);
	memcpy(b, known, sizeof(b));
	b[1] |= 1;
	ck_assert_int_eq(refused(b, sizeof(b), "unknown transport version"), -EBADMSG);
	memcpy(b, known, sizeof(b));
	b[3] = 0;
	ck_assert_int_eq(refused(b, sizeof(b), "foreign P_Key"), -EBADMSG);
	memcpy(b, known, sizeof(b));
	b[0] = ROCE_ACK;
	ck_assert_int_eq(refused(b, sizeof(b), "payload behind an acknowledgement"), -EBADMSG);
}
END_TEST

START_TEST(foreign_requests_are_recognised)
{
	uint8_t b[sizeof(known)];
	struct roce_packet p;

	memcpy(b, known, sizeof(b));
	b[0] = 0x13; /* compare and swap */
	ck_assert_int_eq(roce_wire_parse(b, sizeof(b), &p, NULL), 0);
	ck_assert(roce_wire_is_request(p.opcode));
	ck_assert_uint_eq(roce_wire_header_bytes(p.opcode), 0);
	ck_assert(!roce_wire_is_request(ROCE_ACK));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("roce_wire");
	TCase *t = tcase_create("all");
	SRunner *r = srunner_create(s);
	int failed;

	tcase_add_test(t, known_bytes_are_built);
	tcase_add_test(t, known_bytes_are_parsed);
	tcase_add_loop_test(t, every_opcode_survives_the_wire, 0, (int)sizeof(opcodes));
	tcase_add_test(t, a_cnp_is_what_devices_send);
	tcase_add_test(t, receiver_not_ready_says_how_long);
	tcase_add_test(t, broken_packets_are_refused);
	tcase_add_test(t, foreign_requests_are_recognised);
	suite_add_tcase(s, t);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
