/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sbfd_wire.h"

/* A probe as RFC 5880 4.1 draws it, octet by octet. */
static const uint8_t probe_bytes[SBFD_WIRE_BYTES] = {
	0x20, 0xc2, 3,	  24,	0x12, 0x34, 0x00, 0x01, 198, 19, 0, 3,
	0,    0,    0x0b, 0xb8, 0,    0,    0,	  0,	0,   0,	 0, 0,
};

static const struct sbfd_packet probe = {
	.state = SBFD_UP,
	.demand = true,
	.detect_multiplier = 3,
	.my_discriminator = 0x12340001,
	.your_discriminator = 0xc6130003,
	.desired_min_tx_us = 3000,
};

START_TEST(encodes_to_the_octet)
{
	uint8_t out[SBFD_WIRE_BYTES];

	sbfd_wire_encode(&probe, out);
	ck_assert_mem_eq(out, probe_bytes, sizeof(out));
}
END_TEST

START_TEST(decodes_what_it_encodes)
{
	struct sbfd_wire_error error;
	struct sbfd_packet p;

	ck_assert_int_eq(sbfd_wire_decode(probe_bytes, sizeof(probe_bytes), &p, &error), 0);
	ck_assert_uint_eq(p.my_discriminator, probe.my_discriminator);
	ck_assert_uint_eq(p.your_discriminator, probe.your_discriminator);
	ck_assert_uint_eq(p.desired_min_tx_us, 3000);
	ck_assert(p.demand && !p.poll && !p.final);
	ck_assert_int_eq(p.state, SBFD_UP);
}
END_TEST

START_TEST(refuses_with_reason_and_offset)
{
	static const struct {
		size_t at;
		uint8_t value;
		size_t offset;
	} damage[] = {
		{0, 0x40, 0},		  /* version 2 */
		{1, 0xc6, 1},		  /* authenticated */
		{1, 0xc3, 1},		  /* multipoint */
		{1, 0xf2, 1},		  /* poll and final */
		{2, 0, 2},		  /* multiplier */
		{3, 23, 3},   {3, 25, 3}, /* length */
	};

	for (size_t i = 0; i < sizeof(damage) / sizeof(damage[0]); i++) {
		uint8_t bytes[SBFD_WIRE_BYTES + 8] = {0};
		struct sbfd_wire_error error = {NULL, 99};
		struct sbfd_packet p;

		memcpy(bytes, probe_bytes, SBFD_WIRE_BYTES);
		bytes[damage[i].at] = damage[i].value;
		ck_assert_int_eq(sbfd_wire_decode(bytes, sizeof(bytes), &p, &error), -EBADMSG);
		ck_assert_uint_eq(error.offset, damage[i].offset);
		ck_assert_ptr_nonnull(error.reason);
	}
}
END_TEST

START_TEST(refuses_every_truncation)
{
	struct sbfd_wire_error error;
	struct sbfd_packet p;

	for (size_t n = 0; n < SBFD_WIRE_BYTES; n++)
		ck_assert_int_eq(sbfd_wire_decode(probe_bytes, n, &p, &error), -EBADMSG);
}
END_TEST

START_TEST(refuses_a_zero_discriminator)
{
	uint8_t bytes[SBFD_WIRE_BYTES];
	struct sbfd_wire_error error;
	struct sbfd_packet p;

	memcpy(bytes, probe_bytes, sizeof(bytes));
	memset(bytes + 4, 0, 4);
	ck_assert_int_eq(sbfd_wire_decode(bytes, sizeof(bytes), &p, &error), -EBADMSG);
	ck_assert_uint_eq(error.offset, 4);
}
END_TEST

START_TEST(reflection_swaps_and_clears_demand)
{
	struct sbfd_packet polled = probe, r;

	polled.poll = true;
	r = sbfd_wire_reflection(&polled, 1000);
	ck_assert_uint_eq(r.my_discriminator, probe.your_discriminator);
	ck_assert_uint_eq(r.your_discriminator, probe.my_discriminator);
	ck_assert(!r.demand && !r.poll && r.final);
	ck_assert_int_eq(r.state, SBFD_UP);
}
END_TEST

START_TEST(discriminator_is_the_address_and_never_zero)
{
	struct in6_addr v4 = {.s6_addr = {[10] = 0xff, [11] = 0xff, 198, 19, 0, 3}};
	struct in6_addr none = {.s6_addr = {0}};

	ck_assert_uint_eq(sbfd_wire_discriminator(&v4), 0xc6130003);
	ck_assert_uint_ne(sbfd_wire_discriminator(&none), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sbfd_wire");
	TCase *tc = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, encodes_to_the_octet);
	tcase_add_test(tc, decodes_what_it_encodes);
	tcase_add_test(tc, refuses_with_reason_and_offset);
	tcase_add_test(tc, refuses_every_truncation);
	tcase_add_test(tc, refuses_a_zero_discriminator);
	tcase_add_test(tc, reflection_swaps_and_clears_demand);
	tcase_add_test(tc, discriminator_is_the_address_and_never_zero);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
