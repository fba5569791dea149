/* SPDX-License-Identifier: BSD-2-Clause */
#include "octets.h"

#include "bgp_test.h"

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
	ck_assert_int_eq(octets_skip(&o, 2), 0);
	ck_assert_int_eq(octets_fail(&o, &error, "why"), -EBADMSG);
	ck_assert_uint_eq(error.offset, 2);
	ck_assert_str_eq(error.reason, "why");
	ck_assert_int_eq(octets_fail(&o, NULL, "why"), -EBADMSG);
}
END_TEST

RUN_TESTS("octets", reads_in_network_order_and_counts, fails_without_moving)
