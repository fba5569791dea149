/* SPDX-License-Identifier: BSD-2-Clause */
#include "bgp_message.h"

#include "bgp_test.h"

#define MARKER "ffffffffffffffffffffffffffffffff"

START_TEST(takes_one_after_another)
{
	struct octets_error error;
	struct octets o, body;
	struct bytes b = {.n = 0};
	uint8_t type;

	hex(&b, MARKER "0015 03 0607" MARKER "0013 04");
	octets_init(&o, b.p, b.n);
	ck_assert_int_eq(bgp_message_take(&o, &type, &body, &error), 0);
	ck_assert_uint_eq(type, BGP_MESSAGE_NOTIFICATION);
	ck_assert_uint_eq(body.left, 2);
	ck_assert_uint_eq(body.offset, 19);
	ck_assert_int_eq(bgp_message_take(&o, &type, &body, &error), 0);
	ck_assert_uint_eq(type, 4);
	ck_assert_uint_eq(body.left, 0);
	ck_assert_uint_eq(o.left, 0);
	ck_assert_int_eq(bgp_message_take(&o, &type, &body, &error), -EBADMSG);
}
END_TEST

START_TEST(refuses_with_place_and_reason)
{
	static const struct {
		const char *digits;
		size_t offset;
	} cases[] = {
		{"", 0},
		{"ffff", 2},
		{"ffffffffffffffffffffffffffffff00 0013 04", 16},
		{MARKER, 16},
		{MARKER "0013", 18},
		{MARKER "0012 04", 19},
		{MARKER "0014 04", 19},
	};
	struct octets_error error;
	struct octets o, body;
	uint8_t type;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bytes b = {.n = 0};

		hex(&b, cases[i].digits);
		octets_init(&o, b.p, b.n);
		ck_assert_msg(bgp_message_take(&o, &type, &body, &error) == -EBADMSG, "case %zu",
			      i);
		ck_assert_msg(error.offset == cases[i].offset, "case %zu: %zu", i, error.offset);
		ck_assert_uint_eq(o.left, b.n); /* nothing taken */
	}
}
END_TEST

START_TEST(families)
{
	enum bgp_family family;

	ck_assert(bgp_message_family(1, 1, &family) && family == BGP_FAMILY_IPV4);
	ck_assert(bgp_message_family(2, 1, &family) && family == BGP_FAMILY_IPV6);
	ck_assert(!bgp_message_family(1, 2, &family));
	ck_assert(!bgp_message_family(1, 128, &family));
	ck_assert(!bgp_message_family(25, 1, &family));
}
END_TEST

RUN_TESTS("bgp_message", takes_one_after_another, refuses_with_place_and_reason, families)
