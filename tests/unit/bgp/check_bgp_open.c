/* SPDX-License-Identifier: BSD-2-Clause */
#include "bgp_open.h"

#include "bgp_test.h"

static int parse(const char *digits, struct bgp_open *out, struct octets_error *error)
{
	struct bytes b = {.n = 0};
	struct octets o;

	hex(&b, digits);
	octets_init(&o, b.p, b.n);
	return bgp_open_parse(o, out, error);
}

START_TEST(reads_what_frr_sends)
{
	struct octets_error error;
	struct bgp_open open;
	size_t size;
	uint8_t *data = load("frr-8.4.4-drill.bmp", &size), type;
	struct octets o, body;

	/* the first Peer Up: 31 bytes of Initiation, 48 of headers, 20 of addresses and ports */
	octets_init(&o, data + 31 + 48 + 20, 264 - 48 - 20);
	ck_assert_int_eq(bgp_message_take(&o, &type, &body, &error), 0);
	ck_assert_uint_eq(type, BGP_MESSAGE_OPEN);
	ck_assert_int_eq(bgp_open_parse(body, &open, &error), 0);
	ck_assert_uint_eq(open.as, 64513);
	ck_assert_int_eq(bgp_message_take(&o, &type, &body, &error), 0);
	ck_assert_uint_eq(o.left, 0);
	ck_assert_int_eq(bgp_open_parse(body, &open, &error), 0);
	ck_assert_uint_eq(open.as, 65101);
	ck_assert_uint_eq(open.hold_time_s, 3);
	ck_assert_uint_eq(open.router_id, 0xc613ff01);
	ck_assert(open.four_octet_as && open.graceful_restart && open.restarting &&
		  open.notification);
	ck_assert_uint_eq(open.restart_time_s, 20);
	ck_assert(open.forwarding[BGP_FAMILY_IPV4] && !open.forwarding[BGP_FAMILY_IPV6]);
	ck_assert(open.multiprotocol[BGP_FAMILY_IPV4] && !open.multiprotocol[BGP_FAMILY_IPV6]);
	ck_assert_uint_eq(open.add_path[BGP_FAMILY_IPV4], BGP_OPEN_ADD_PATH_RECEIVE);
	/* cut anywhere, it is an error and never a crash */
	for (size_t n = 0; n < body.left; n++) {
		uint8_t *exact = malloc(n + 1);
		struct octets cut;

		memcpy(exact, body.p, n);
		exact = realloc(exact, n ? n : 1);
		octets_init(&cut, exact, n);
		ck_assert_int_eq(bgp_open_parse(cut, &open, &error), -EBADMSG);
		free(exact);
	}
	free(data);
}
END_TEST

START_TEST(reads_what_is_rarer)
{
	struct octets_error error;
	struct bgp_open open;

	/* no parameters: IPv4 is meant, and the AS is the 2-octet one */
	ck_assert_int_eq(parse("04 fde9 00b4 0a000001 00", &open, &error), 0);
	ck_assert(open.multiprotocol[BGP_FAMILY_IPV4] && !open.multiprotocol[BGP_FAMILY_IPV6]);
	ck_assert_uint_eq(open.as, 65001);
	ck_assert(!open.graceful_restart && !open.four_octet_as);
	/* a 4-octet AS behind AS_TRANS, in parameters of extended length (RFC 9072) */
	ck_assert_int_eq(
		parse("04 5ba0 00b4 0a000001 ff ff 0009 02 0006 4104 fffffff0", &open, &error), 0);
	ck_assert_uint_eq(open.as, 0xfffffff0);
	/* add-path of direction 3 and, void, of direction 9 */
	ck_assert_int_eq(
		parse("04 fde9 00b4 0a000001 0c 020a 4508 00010103 00020109", &open, &error), 0);
	ck_assert_uint_eq(open.add_path[BGP_FAMILY_IPV4], 3);
	ck_assert_uint_eq(open.add_path[BGP_FAMILY_IPV6], 0);
	/* graceful restart without any family: End-of-RIB only */
	ck_assert_int_eq(parse("04 fde9 00b4 0a000001 06 0204 4002 0078", &open, &error), 0);
	ck_assert(open.graceful_restart && !open.forwarding[0] && !open.forwarding[1]);
	ck_assert_uint_eq(open.restart_time_s, 120);
}
END_TEST

START_TEST(refuses_with_place_and_reason)
{
	static const struct {
		const char *digits;
		size_t offset;
	} cases[] = {
		{"", 0},
		{"03 fde9 00b4 0a000001 00", 9},	      /* version 3 */
		{"04 fde9 00b4 0a000001 00 00", 10},	      /* bytes behind */
		{"04 fde9 00b4 0a000001 05 0202", 10},	      /* parameters longer than the OPEN */
		{"04 fde9 00b4 0a000001 04 0205 4104", 12},   /* parameter longer than the rest */
		{"04 fde9 00b4 0a000001 05 0203 410400", 14}, /* capability longer than it */
		{"04 fde9 00b4 0a000001 06 0204 4102 0001", 14},   /* 4-octet AS of two octets */
		{"04 fde9 00b4 0a000001 07 0205 4003 000100", 16}, /* half a family */
	};
	struct octets_error error;
	struct bgp_open open;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ck_assert_msg(parse(cases[i].digits, &open, &error) == -EBADMSG, "case %zu", i);
		ck_assert_msg(error.offset == cases[i].offset, "case %zu: %s at %zu", i,
			      error.reason, error.offset);
	}
}
END_TEST

RUN_TESTS("bgp_open", reads_what_frr_sends, reads_what_is_rarer, refuses_with_place_and_reason)
