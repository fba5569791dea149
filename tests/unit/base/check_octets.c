/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/octets.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>

START_TEST(reads_in_network_order_and_counts)
{
	const uint8_t data[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
	struct octets o, sub;
	uint8_t a;
	uint16_t b;
	uint32_t c;
	uint64_t d;

	octets_init(&o, data, sizeof(data));
	ck_assert_int_eq(octets_u8(&o, &a), 0);
	ck_assert_uint_eq(a, 1);
	ck_assert_int_eq(octets_u16(&o, &b), 0);
	ck_assert_uint_eq(b, 0x0203);
	ck_assert_int_eq(octets_u32(&o, &c), 0);
	ck_assert_uint_eq(c, 0x04050607);
	ck_assert_int_eq(octets_take(&o, 9, &sub), 0);
	ck_assert_uint_eq(o.left, 0);
	ck_assert_uint_eq(sub.offset, 7);
	ck_assert_int_eq(octets_u64(&sub, &d), 0);
	ck_assert_uint_eq(d, 0x08090a0b0c0d0e0full);
	ck_assert_uint_eq(sub.offset, 15);
}
END_TEST

START_TEST(fails_without_moving)
{
	const uint8_t data[] = {1, 2, 3};
	struct octets_error error;
	struct octets o, sub;
	uint32_t c;
	uint64_t d;

	octets_init(&o, data, sizeof(data));
	ck_assert_int_eq(octets_u32(&o, &c), -EBADMSG);
	ck_assert_int_eq(octets_u64(&o, &d), -EBADMSG);
	ck_assert_int_eq(octets_copy(&o, &d, 4), -EBADMSG);
	ck_assert_int_eq(octets_skip(&o, SIZE_MAX), -EBADMSG);
	ck_assert_int_eq(octets_take(&o, 4, &sub), -EBADMSG);
	ck_assert_uint_eq(o.left, 3);
	ck_assert_int_eq(octets_skip(&o, 2), -EBADMSG); /* nor does what is asked for after it */
	ck_assert(o.failed);
	octets_init(&o, data, sizeof(data));
	ck_assert_int_eq(octets_skip(&o, 2), 0);
	ck_assert_int_eq(octets_fail(&o, &error, "why"), -EBADMSG);
	ck_assert_uint_eq(error.offset, 2);
	ck_assert_str_eq(error.reason, "why");
	ck_assert_int_eq(octets_fail(&o, NULL, "why"), -EBADMSG);
}
END_TEST

START_TEST(what_is_written_is_read)
{
	uint8_t data[16];
	struct octets_out out = {data, sizeof(data), false};
	struct octets o;

	for (unsigned n = 1; n <= 4; n++)
		octets_put(&out, UINT64_C(0x0807060504030201), n);
	octets_put_bytes(&out, "abc", 3);
	octets_put_bytes(&out, NULL, 0);
	ck_assert_uint_eq(out.left, 3);
	octets_init(&o, data, sizeof(data) - out.left);
	ck_assert_uint_eq(octets_get(&o, 1), 1);
	ck_assert_uint_eq(octets_get(&o, 2), 0x0201);
	ck_assert_uint_eq(octets_get(&o, 3), 0x030201);
	ck_assert_uint_eq(octets_get(&o, 4), 0x04030201);
	ck_assert_mem_eq(octets_borrow(&o, 3), "abc", 3);
	ck_assert(!o.failed && !out.failed);
	ck_assert_uint_eq(octets_get(&o, 1), 0);
	ck_assert(o.failed && !octets_borrow(&o, 0));
}
END_TEST

START_TEST(a_writer_stops_at_its_end)
{
	uint8_t data[8] = {0};
	struct octets_out out = {data, 5, false};

	octets_put(&out, UINT64_MAX, 4);
	octets_put(&out, UINT64_MAX, 2);
	ck_assert(out.failed);
	octets_put(&out, UINT64_MAX, 1); /* would fit, and leave a hole */
	octets_put_bytes(&out, "a", 1);
	ck_assert_uint_eq(out.left, 1);
	for (unsigned i = 4; i < sizeof(data); i++)
		ck_assert_uint_eq(data[i], 0);
}
END_TEST

START_TEST(fixed_fields)
{
	uint8_t data[8];

	ck_assert_ptr_eq(octets_store(data, 0x010203, 3), data + 3);
	ck_assert_uint_eq(octets_load(data, 3), 0x010203);
	ck_assert_ptr_eq(octets_store(data, UINT64_C(0x0102030405060708), 8), data + 8);
	ck_assert_uint_eq(octets_load(data, 8), UINT64_C(0x0102030405060708));
	ck_assert_uint_eq(octets_load(data, 2), 0x0102);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("octets");
	TCase *tc = tcase_create("octets");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_test(tc, reads_in_network_order_and_counts);
	tcase_add_test(tc, fails_without_moving);
	tcase_add_test(tc, what_is_written_is_read);
	tcase_add_test(tc, a_writer_stops_at_its_end);
	tcase_add_test(tc, fixed_fields);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
