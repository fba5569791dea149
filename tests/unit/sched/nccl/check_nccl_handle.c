/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "nccl/nccl_handle.h"

static struct handle example(void)
{
	struct handle h = {.listener = UINT64_C(0x1112131415161718),
			   .ticket = UINT64_C(0x2122232425262728)};

	memset(h.address.bytes, 0x77, sizeof(h.address.bytes));
	return h;
}

START_TEST(the_format_is_this)
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

START_TEST(what_is_malformed_is_refused)
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
	Suite *suite = suite_create("nccl_handle");
	TCase *tcase = tcase_create("nccl_handle");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, the_format_is_this);
	tcase_add_test(tcase, what_is_malformed_is_refused);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
