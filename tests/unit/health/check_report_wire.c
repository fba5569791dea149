/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "notice_wire.h"

static const struct notice_keys keys = {.own = {"0123456789abcdef0123", 20}};
static const struct notice_keys no_keys;
static const struct notice_ends ends;

static struct report_wire full(uint8_t n_planes)
{
	struct report_wire r = {.incarnation = 7,
				.clock_us = 0xfffffff0,
				.late = 12,
				.interval = 30,
				.is_try = true,
				.cookie = UINT64_C(0x1122334455667788),
				.receiver_cookie = UINT64_C(0x8877665544332211),
				.n_planes = n_planes};

	for (uint8_t i = 0; i < n_planes; i++)
		r.planes[i] = (struct report_wire_plane){100u + i, (uint16_t)(30 + i), i, 0};
	return r;
}

static size_t encode(const struct report_wire *r, const struct notice_key *key, uint8_t *out)
{
	const struct sbfd_packet p = {
		.state = SBFD_UP, .detect_multiplier = 3, .my_discriminator = 1};
	const struct notice_trailer t = {.has_report = true, .report = *r};

	sbfd_wire_encode(&p, out);
	return notice_wire_encode(&t, key, &ends, out);
}

static int decode(const uint8_t *bytes, size_t n, struct notice_trailer *out,
		  struct sbfd_wire_error *error)
{
	return notice_wire_decode(bytes, n, &keys, &ends, out, error);
}

START_TEST(comes_back_whole)
{
	for (uint8_t n = 1; n <= REPORT_WIRE_MAX_PLANES; n++) {
		uint8_t bytes[NOTICE_WIRE_MAX_BYTES];
		struct report_wire r = full(n);
		struct sbfd_wire_error error;
		struct notice_trailer back;

		ck_assert_int_eq(decode(bytes, encode(&r, &no_keys.own, bytes), &back, &error), 0);
		ck_assert(back.has_report && !back.authentic);
		ck_assert_mem_eq(&back.report, &r, sizeof(r));
	}
}
END_TEST

START_TEST(only_flags_are_signed)
{
	uint8_t bytes[NOTICE_WIRE_MAX_BYTES];
	struct report_wire r = full(4);
	struct sbfd_wire_error error;
	struct notice_trailer back;
	size_t n = encode(&r, &keys.own, bytes);

	ck_assert_int_eq(decode(bytes, n, &back, &error), 0);
	ck_assert(back.has_report && !back.authentic);
	r.planes[3].flags = REPORT_DEAD;
	n = encode(&r, &keys.own, bytes);
	ck_assert_int_eq(decode(bytes, n, &back, &error), 0);
	ck_assert(back.has_report && back.authentic);
	/* the flag of another plane, under the same HMAC */
	bytes[n - 34 - 1] = 0;
	bytes[n - 34 - 9] = REPORT_DEAD;
	ck_assert_int_eq(decode(bytes, n, &back, &error), 0);
	ck_assert(back.has_report && !back.authentic);
}
END_TEST

/* The element's head is at 32, its value at 34. */
START_TEST(wrong_ones_are_refused_with_a_reason)
{
	uint8_t bytes[NOTICE_WIRE_MAX_BYTES], two[2 * NOTICE_WIRE_MAX_BYTES];
	struct report_wire r = full(2);
	struct notice_trailer back;
	struct sbfd_wire_error error;
	size_t n = encode(&r, &no_keys.own, bytes), element = n - 32;

	for (size_t cut = 33; cut < n; cut++)
		ck_assert_int_eq(decode(bytes, cut, &back, &error), -EBADMSG);
	bytes[35] = 3; /* planes */
	ck_assert_int_eq(decode(bytes, n, &back, &error), -EBADMSG);
	ck_assert_uint_eq(error.offset, 32);
	ck_assert_ptr_nonnull(strstr(error.reason, "planes"));
	bytes[35] = 0;
	ck_assert_int_eq(decode(bytes, n, &back, &error), -EBADMSG);
	bytes[35] = 2;
	bytes[34] = 0; /* version */
	ck_assert_int_eq(decode(bytes, n, &back, &error), -EBADMSG);
	bytes[34] = 1;
	memcpy(two, bytes, n);
	memcpy(two + n, bytes + 32, element);
	ck_assert_int_eq(decode(two, n + element, &back, &error), -EBADMSG);
	ck_assert_str_eq(error.reason, "a second report");
}
END_TEST

START_TEST(later_version_is_absent)
{
	uint8_t bytes[NOTICE_WIRE_MAX_BYTES];
	struct report_wire r = full(2);
	struct notice_trailer back;
	struct sbfd_wire_error error;
	size_t n = encode(&r, &no_keys.own, bytes);

	bytes[34] = 2;
	bytes[35] = 200;
	ck_assert_int_eq(decode(bytes, n, &back, &error), 0);
	ck_assert(!back.has_report);
	for (size_t length = 1; length < 4; length++) { /* and of any length */
		bool known = true;

		ck_assert_ptr_null(report_wire_decode(&bytes[34], length, &r, &known));
		ck_assert(!known);
	}
}
END_TEST

START_TEST(units_saturate)
{
	ck_assert_uint_eq(report_wire_units(0), 0);
	ck_assert_uint_eq(report_wire_units(99999), 0);
	ck_assert_uint_eq(report_wire_units(250000), 2);
	ck_assert_uint_eq(report_wire_units(UINT64_MAX), REPORT_WIRE_LONG);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("report_wire");
	TCase *tc = tcase_create("report_wire");
	SRunner *r = srunner_create(s);
	int failed;

	tcase_add_test(tc, comes_back_whole);
	tcase_add_test(tc, only_flags_are_signed);
	tcase_add_test(tc, wrong_ones_are_refused_with_a_reason);
	tcase_add_test(tc, later_version_is_absent);
	tcase_add_test(tc, units_saturate);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
