/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "nccl/nccl_wire.h"

START_TEST(a_credit_comes_back_the_same)
{
	const struct wire_message m = {.kind = WIRE_CREDIT,
				       .comm = 0xfedc,
				       .credit = {.address = UINT64_C(0x123456789abcdef0),
						  .size = UINT64_C(1) << 33,
						  .rkey = 0x89abcdef,
						  .tag = -7,
						  .id = 0xffff}};
	uint8_t bytes[WIRE_BYTES];
	struct wire_message out;

	wire_encode(&m, bytes);
	ck_assert_int_eq(wire_decode(bytes, sizeof(bytes), &out), 0);
	ck_assert(out.kind == WIRE_CREDIT && out.comm == 0xfedc);
	ck_assert(out.credit.address == m.credit.address && out.credit.size == m.credit.size);
	ck_assert(out.credit.rkey == m.credit.rkey && out.credit.tag == -7);
	ck_assert_uint_eq(out.credit.id, 0xffff);
}
END_TEST

START_TEST(hello_and_bye_come_back_the_same)
{
	struct wire_message m = {.kind = WIRE_HELLO, .comm = 3, .listener = UINT64_MAX - 1}, out;
	uint8_t bytes[WIRE_BYTES];

	wire_encode(&m, bytes);
	ck_assert_int_eq(wire_decode(bytes, sizeof(bytes), &out), 0);
	ck_assert(out.kind == WIRE_HELLO && out.comm == 3 && out.listener == m.listener);
	m.kind = WIRE_BYE;
	wire_encode(&m, bytes);
	ck_assert_int_eq(wire_decode(bytes, sizeof(bytes), &out), 0);
	ck_assert(out.kind == WIRE_BYE && out.comm == 3);
}
END_TEST

START_TEST(nonsense_is_refused)
{
	const struct wire_message m = {.kind = WIRE_BYE};
	uint8_t bytes[WIRE_BYTES + 1] = {0};
	struct wire_message out;

	ck_assert_int_eq(wire_decode(bytes, WIRE_BYTES, &out), -EBADMSG); /* no kind */
	wire_encode(&m, bytes);
	ck_assert_int_eq(wire_decode(bytes, WIRE_BYTES - 1, &out), -EBADMSG);
	ck_assert_int_eq(wire_decode(bytes, WIRE_BYTES + 1, &out), -EBADMSG);
	bytes[1] = 4;
	ck_assert_int_eq(wire_decode(bytes, WIRE_BYTES, &out), -EBADMSG);
	bytes[0] = 1;
	bytes[1] = WIRE_BYE;
	ck_assert_int_eq(wire_decode(bytes, WIRE_BYTES, &out), -EBADMSG);
}
END_TEST

START_TEST(a_tag_names_communicator_and_credit)
{
	ck_assert_uint_eq(wire_data_tag(0xffff, 1), 0xffff0001u);
	ck_assert_uint_eq(wire_data_tag(1, 0xffff), 0x0001ffffu);
}
END_TEST

/* ---- handles ---- */

static struct handle example(void)
{
	struct handle h = {.listener = UINT64_C(0x1112131415161718),
			   .ticket = UINT64_C(0x2122232425262728)};

	memset(h.address.bytes, 0x77, sizeof(h.address.bytes));
	return h;
}

START_TEST(the_format_of_a_handle_is_this)
{
	uint8_t bytes[NCCL_NET_HANDLE_MAXSIZE], address[FARE_ADDRESS_BYTES];
	struct handle h = example(), again;

	memset(address, 0x77, sizeof(address));
	memset(bytes, 0xff, sizeof(bytes));
	handle_encode(&h, bytes);
	ck_assert_mem_eq(bytes, "FARNCCL3\x11\x12\x13\x14\x15\x16\x17\x18", 16);
	ck_assert_mem_eq(bytes + 16, address, sizeof(address));
	ck_assert_mem_eq(bytes + 48, "\x21\x22\x23\x24\x25\x26\x27\x28", 8);
	ck_assert_int_eq(handle_decode(bytes, &again), 0);
	ck_assert_mem_eq(&again, &h, sizeof(h));
}
END_TEST

START_TEST(a_malformed_handle_is_refused)
{
	uint8_t bytes[NCCL_NET_HANDLE_MAXSIZE];
	struct handle h = example(), again;

	handle_encode(&h, bytes);
	for (unsigned i = 0; i < sizeof(bytes); i++) {
		bool counts = i < 8 || i >= 56;

		bytes[i] ^= 1;
		ck_assert_int_eq(handle_decode(bytes, &again), counts ? -EBADMSG : 0);
		bytes[i] ^= 1;
	}
	h.listener = 0;
	handle_encode(&h, bytes);
	ck_assert_int_eq(handle_decode(bytes, &again), -EBADMSG);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nccl_wire");
	TCase *tc = tcase_create("core");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, a_credit_comes_back_the_same);
	tcase_add_test(tc, hello_and_bye_come_back_the_same);
	tcase_add_test(tc, nonsense_is_refused);
	tcase_add_test(tc, a_tag_names_communicator_and_credit);
	tcase_add_test(tc, the_format_of_a_handle_is_this);
	tcase_add_test(tc, a_malformed_handle_is_refused);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
