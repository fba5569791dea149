/* SPDX-License-Identifier: BSD-2-Clause */
#include "zapi_parse.h"

#include "bgp_test.h"

static struct zapi_message m; /* large */

START_TEST(layout_by_version)
{
	static const struct {
		const char *text;
		int err;
		uint16_t route_add;
		uint8_t bgp, weight_bytes;
		bool sync;
	} cases[] = {
		{"8.4.4", 0, 30, 9, 4, true},
		{"8.5", 0, 30, 9, 4, true},
		{"9.0.2", 0, 30, 9, 4, true},
		{"9.1", 0, 30, 9, 4, true},
		{"10.0.1", 0, 31, 10, 4, true},
		{"10.1", 0, 31, 10, 8, true},
		{"10.2.1", 0, 31, 10, 8, false},
		{"10.6-dev", 0, 31, 10, 8, false},
		{"FRRouting 8.4.4", 0, 30, 9, 4, true},
		{"zebra version 8.4.4", 0, 30, 9, 4, true},
		{"", -EPROTONOSUPPORT, 0, 0, 0, 0},
		{"8.3", -EPROTONOSUPPORT, 0, 0, 0, 0},
		{"7.5.1", -EPROTONOSUPPORT, 0, 0, 0, 0},
		{"11.0", -EPROTONOSUPPORT, 0, 0, 0, 0},
		{"eight", -EPROTONOSUPPORT, 0, 0, 0, 0},
		{"10", -EPROTONOSUPPORT, 0, 0, 0, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct zapi_layout l = {0};

		ck_assert_msg(zapi_parse_version(cases[i].text, &l) == cases[i].err, "%s",
			      cases[i].text);
		if (cases[i].err)
			continue;
		ck_assert_uint_ne(l.release, 0);
		ck_assert_msg(l.route_add == cases[i].route_add &&
				      l.route_del == cases[i].route_add + 1 &&
				      l.bgp == cases[i].bgp &&
				      l.weight_bytes == cases[i].weight_bytes &&
				      l.hello_sync == cases[i].sync,
			      "%s", cases[i].text);
	}
}
END_TEST

static struct zapi_layout layout(const char *version)
{
	struct zapi_layout l;

	ck_assert_int_eq(zapi_parse_version(version, &l), 0);
	return l;
}

START_TEST(says_hello)
{
	static const struct {
		const char *version, *hello, *redistribute;
	} cases[] = {
		{"8.4.4", "0013fe06000000000012 17 0000 00000000 00 00",
		 "000efe0600000000000b 01 09 0000"},
		{"10.0", "0013fe06000000000013 18 0000 00000000 00 00",
		 "000efe0600000000000c 01 0a 0000"},
		{"10.2", "0012fe06000000000013 18 0000 00000000 00",
		 "000efe0600000000000c 01 0a 0000"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bytes hello = {.n = 0}, redistribute = {.n = 0};
		struct zapi_layout l = layout(cases[i].version);
		uint8_t out[ZAPI_PARSE_MAX_WRITE];

		hex(&hello, cases[i].hello);
		hex(&redistribute, cases[i].redistribute);
		ck_assert_uint_eq(zapi_write_hello(&l, 0, out), hello.n);
		ck_assert_mem_eq(out, hello.p, hello.n);
		ck_assert_uint_eq(zapi_write_redistribute(&l, BGP_FAMILY_IPV4, out),
				  redistribute.n);
		ck_assert_mem_eq(out, redistribute.p, redistribute.n);
		zapi_write_redistribute(&l, BGP_FAMILY_IPV6, out);
		ck_assert_uint_eq(out[10], 2);
	}
}
END_TEST

START_TEST(reads_a_capture_of_frr)
{
	struct zapi_layout l = layout("8.4.4");
	unsigned adds = 0, dels = 0, others = 0;
	struct octets_error error;
	size_t size, left, bytes;
	uint8_t *data = load("frr-8.4.4-drill.zapi", &size);

	left = size;
	for (const uint8_t *p = data; left > 0; p += bytes, left -= bytes) {
		ck_assert_int_eq(zapi_parse_length(p, left, &bytes, &error), 0);
		ck_assert_int_eq(zapi_parse(&l, p, bytes, &m, &error), 0);
		adds += m.kind == ZAPI_ROUTE_ADD;
		dels += m.kind == ZAPI_ROUTE_DEL;
		others += m.kind == ZAPI_OTHER;
		if (m.kind == ZAPI_OTHER)
			continue;
		ck_assert(m.bgp);
		ck_assert_uint_eq(m.prefix.length, 128);
		for (unsigned i = 0; i < m.n_nexthops; i++) {
			ck_assert(m.nexthops[i].has_address);
			ck_assert_uint_ge(m.nexthops[i].ifindex, 2);
			ck_assert_uint_ge(m.nexthops[i].weight, 1);
		}
		if (adds + dels == 1) { /* 198.19.0.2, two equal ways */
			ck_assert_mem_eq(&m.prefix.address,
					 &(struct in6_addr[]){addr("198.19.0.2")}[0], 16);
			ck_assert_uint_eq(m.n_nexthops, 2);
			ck_assert_mem_eq(&m.nexthops[1].address,
					 &(struct in6_addr[]){addr("198.18.0.2")}[0], 16);
			ck_assert_uint_eq(m.nexthops[1].weight, 50);
		}
	}
	ck_assert_uint_eq(adds, 16);
	ck_assert_uint_eq(dels, 4);
	ck_assert_uint_eq(others, 13);
	free(data);
}
END_TEST

/* A route with all optional parts ends with what is skipped; cut before that, it must be refused.
 */
START_TEST(any_cut_is_an_error)
{
	struct zapi_layout l = layout("8.4.4");
	struct octets_error error;
	size_t size, bytes;
	uint8_t *data = load("frr-8.4.4-drill.zapi", &size);
	static const size_t at[] = {106, 181}; /* an IPv4 and an IPv6 route */
	static const size_t skipped = 9;       /* distance, metric, tag: 1 + 4 + 4, or MTU */

	for (int k = 0; k < 2; k++) {
		ck_assert_int_eq(zapi_parse_length(data + at[k], size, &bytes, &error), 0);
		for (size_t n = 0; n < bytes; n++) {
			uint8_t *exact = malloc(n ? n : 1);

			memcpy(exact, data + at[k], n);
			if (n >= 2) {
				exact[0] = (uint8_t)(n >> 8);
				exact[1] = (uint8_t)n;
			}
			error.reason = NULL;
			if (n >= bytes - skipped)
				ck_assert_int_eq(zapi_parse(&l, exact, n, &m, &error), 0);
			else
				ck_assert_msg(zapi_parse(&l, exact, n, &m, &error) == -EBADMSG,
					      "cut at %zu", n);
			ck_assert(n >= bytes - skipped || error.reason);
			free(exact);
		}
	}
	free(data);
}
END_TEST

START_TEST(weights_are_wider_from_10_1)
{
	struct zapi_layout l = layout("10.1");
	struct octets_error error;
	struct bytes b = {.n = 0};

	hex(&b, "0031fe0600000000001f 0a 0000 00000008 00000001 01 02 20 c6130002"
		"0001 00000000 03 05 c6120000 00000007 00000000000000fe");
	b.p[1] = (uint8_t)b.n;
	ck_assert_int_eq(zapi_parse(&l, b.p, b.n, &m, &error), 0);
	ck_assert(m.bgp && m.kind == ZAPI_ROUTE_ADD);
	ck_assert_uint_eq(m.nexthops[0].weight, 254);
	ck_assert_uint_eq(m.nexthops[0].ifindex, 7);
}
END_TEST

START_TEST(sets_aside_or_refuses)
{
	static const struct {
		const char *body; /* of a ROUTE_ADD of 8.4 */
		int err;
		bool bgp;
	} cases[] = {
		{"09 0000 00000000 00000000 01 02 20 c6130002", 0, true},
		{"01 0000 00000000 00000000 01 02 20 c6130002", 0, false},	 /* kernel route */
		{"09 0000 00000000 00000000 02 02 20 c6130002", 0, false},	 /* multicast */
		{"09 0000 00000000 00000020 01 02 20 c6130002", 0, false},	 /* source prefix */
		{"09 0000 00000000 00000000 01 02 21 c6130002", -EBADMSG, true}, /* /33 */
		{"09 0000 00000000 00000000 01 07 20 c6130002", -EBADMSG, true}, /* family 7 */
		{"09 0000 00000000 00000001 01 02 20 c6130002 0101", -EBADMSG,
		 true}, /* 257 nexthops */
		{"09 0000 00000000 00000001 01 02 20 c6130002 0001 00000000 09 00", -EBADMSG, true},
		{"09 0000 00000000 00000001 01 02 20 c6130002 0001 00000000 02 02 c6120000 "
		 "00000001",
		 -EBADMSG, true},
		{"09 0000 00000000 00000001 01 02 20 c6130002 0001 00000000 01 00 00000001", 0,
		 true},
		{"09 0000 00000000 00000001 01 02 20 c6130002 0001 00000000 06 00 00", 0,
		 true}, /* black hole */
	};
	struct zapi_layout l = layout("8.4.4");
	struct octets_error error;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bytes b = {.n = 0};

		hex(&b, "0000fe0600000000001e");
		hex(&b, cases[i].body);
		b.p[1] = (uint8_t)b.n;
		ck_assert_msg(zapi_parse(&l, b.p, b.n, &m, &error) == cases[i].err, "case %zu", i);
		ck_assert_msg(m.bgp == cases[i].bgp, "case %zu", i);
	}
}
END_TEST

START_TEST(framing)
{
	struct octets_error error;
	size_t bytes;

	ck_assert_int_eq(zapi_parse_length((const uint8_t *)"\0\x0a\xfe", 3, &bytes, &error),
			 -EAGAIN);
	ck_assert_int_eq(zapi_parse_length((const uint8_t *)"\0\x0a\xfe\6", 4, &bytes, &error), 0);
	ck_assert_uint_eq(bytes, 10);
	ck_assert_int_eq(zapi_parse_length((const uint8_t *)"\0\x09\xfe\6", 4, &bytes, &error),
			 -EBADMSG);
	ck_assert_int_eq(zapi_parse_length((const uint8_t *)"\0\x0a\xff\6", 4, &bytes, &error),
			 -EBADMSG);
	ck_assert_int_eq(zapi_parse_length((const uint8_t *)"\0\x0a\xfe\5", 4, &bytes, &error),
			 -EBADMSG);
}
END_TEST

RUN_TESTS("zapi_parse", layout_by_version, says_hello, reads_a_capture_of_frr, any_cut_is_an_error,
	  weights_are_wider_from_10_1, sets_aside_or_refuses, framing)
