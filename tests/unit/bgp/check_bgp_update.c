/* SPDX-License-Identifier: BSD-2-Clause */
#include "bgp_update.h"

#include "bgp_test.h"

static const struct bgp_update_options plain = {.own_as = 64513, .four_octet_as = true};

/* As FRR 8.4.4's BMP showed them: own AS 64513 in front, then leaf 65101 and GPU 64514. */
#define ORIGIN	  "400101 00"
#define PATH	  "5002 000e 0203 0000fc01 0000fe4d 0000fc02"
#define NEXT_HOP  "400304 c6120000"
#define BANDWIDTH "c01008 0004fe4d48742400"
#define FRR_ROUTE "0000 0028" ORIGIN PATH NEXT_HOP BANDWIDTH "20 c6130002"

static struct bytes bytes_of_update; /* what the parsed prefixes borrow */

static int parse(const char *digits, const struct bgp_update_options *options,
		 struct bgp_update *out, struct octets_error *error)
{
	struct octets o;

	bytes_of_update.n = 0;
	hex(&bytes_of_update, digits);
	octets_init(&o, bytes_of_update.p, bytes_of_update.n);
	return bgp_update_parse(o, options, out, error);
}

/* An UPDATE of these attributes and, behind them, IPv4 prefixes. */
static int parse_attributes(const char *attributes, const char *prefixes,
			    const struct bgp_update_options *options, struct bgp_update *out)
{
	struct bytes a = {.n = 0};
	struct octets_error error;
	struct octets o;

	hex(&a, attributes);
	bytes_of_update.n = 0;
	be(&bytes_of_update, 0, 2);
	be(&bytes_of_update, a.n, 2);
	raw(&bytes_of_update, a.p, a.n);
	hex(&bytes_of_update, prefixes);
	octets_init(&o, bytes_of_update.p, bytes_of_update.n);
	return bgp_update_parse(o, options, out, &error);
}

static void expect_prefixes(struct bgp_nlri nlri, const char *expected)
{
	struct bgp_nlri_prefix prefix;
	char text[512] = "", a[INET6_ADDRSTRLEN];

	while (bgp_update_next(&nlri, &prefix)) {
		inet_ntop(AF_INET6, &prefix.prefix.address, a, sizeof(a));
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s/%u#%u ", a,
			 prefix.prefix.length, prefix.path_id);
	}
	ck_assert_str_eq(text, expected);
}

START_TEST(reads_what_frr_sends)
{
	struct octets_error error;
	struct bgp_update u;

	ck_assert_int_eq(parse(FRR_ROUTE, &plain, &u, &error), 0);
	expect_prefixes(u.reached[0], "::ffff:198.19.0.2/128#0 ");
	expect_prefixes(u.reached[1], "");
	expect_prefixes(u.withdrawn[0], "");
	ck_assert(!u.treat_as_withdraw && !u.end_of_rib && !u.as_loop);
	ck_assert_uint_eq(u.as_hops, 2);
	ck_assert_int_eq(u.bandwidth.kind, BGP_BANDWIDTH_VALUE);
	ck_assert(u.bandwidth.bytes_per_s == 250000);

	ck_assert_int_eq(parse("0005 20c6130002 0000", &plain, &u, &error), 0);
	expect_prefixes(u.withdrawn[0], "::ffff:198.19.0.2/128#0 ");
	ck_assert(!u.end_of_rib && !u.treat_as_withdraw);

	ck_assert_int_eq(
		parse("0000 005b" ORIGIN PATH BANDWIDTH
		      "900e 0036 0002 01 20 20010db8001800000000000000000002"
		      "fe8000000000000048ef2afffedb5805 00 80 20010db8001900000000000000000002",
		      &plain, &u, &error),
		0);
	expect_prefixes(u.reached[1], "2001:db8:19::2/128#0 ");
	ck_assert_int_eq(u.bandwidth.kind, BGP_BANDWIDTH_VALUE);

	ck_assert_int_eq(parse("0000 0018 900f 0014 0002 01 80 20010db8001900000000000000000002",
			       &plain, &u, &error),
			 0);
	expect_prefixes(u.withdrawn[1], "2001:db8:19::2/128#0 ");
}
END_TEST

START_TEST(any_cut_is_an_error)
{
	static const char *const updates[] = {
		FRR_ROUTE,
		"0005 20c6130002 0000",
		"0000 0018 900f 0014 0002 01 80 20010db8001900000000000000000002",
	};
	struct octets_error error;
	struct bgp_update u;

	for (size_t i = 0; i < sizeof(updates) / sizeof(updates[0]); i++) {
		struct bytes b = {.n = 0};

		hex(&b, updates[i]);
		for (size_t n = 0; n < b.n; n++) {
			uint8_t *exact = malloc(n ? n : 1);
			struct octets o;
			int err;

			memcpy(exact, b.p, n);
			octets_init(&o, exact, n);
			err = bgp_update_parse(o, &plain, &u, &error);
			/* cut right behind the attributes, the update is whole: it just has no
			 * prefix */
			if (i == 0 && n == b.n - 5)
				ck_assert_int_eq(err, 0);
			else
				ck_assert_msg(err == -EBADMSG, "update %zu cut at %zu", i, n);
			free(exact);
		}
	}
}
END_TEST

START_TEST(end_of_rib)
{
	static const struct {
		const char *digits;
		bool end;
		enum bgp_family family;
	} cases[] = {
		{"0000 0000", true, BGP_FAMILY_IPV4},
		{"0000 0006 800f03 0002 01", true, BGP_FAMILY_IPV6},
		{"0000 0006 800f03 0001 01", true, BGP_FAMILY_IPV4},
		{"0000 0006 800f03 0001 80", false, 0}, /* of a VPN */
		{"0005 20c6130002 0000", false, 0},
		{"0000 000a 400101 00 800f03 0002 01", false, 0},  /* something beside it */
		{"0000 0006 800f03 0002 01 20c6130002", false, 0}, /* prefixes behind it */
	};
	struct octets_error error;
	struct bgp_update u;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ck_assert_msg(parse(cases[i].digits, &plain, &u, &error) == 0, "case %zu", i);
		ck_assert_msg(u.end_of_rib == cases[i].end, "case %zu", i);
		if (u.end_of_rib)
			ck_assert_int_eq(u.end_of_rib_family, cases[i].family);
	}
}
END_TEST

START_TEST(as_paths)
{
	static const struct {
		const char *attributes; /* beside ORIGIN and NEXT_HOP */
		bool four_octet_as;
		uint32_t own_as;
		bool withdraw, loop;
		unsigned hops;
	} cases[] = {
		{"40020a 0202 0000fe4d 0000fc02", true, 64513, false, false,
		 2}, /* no own AS in front */
		{"40020e 0203 0000fc01 0000fe4d 0000fc02", true, 64513, false, false,
		 2}, /* own in front */
		{"40020e 0203 0000fc01 0000fe4d 0000fc01", true, 64513, false, true,
		 2}, /* our own loopback */
		{"40020a 0202 0000fe4d 0000fc01", true, 64513, false, true, 2},
		{"400212 0204 0000fc01 0000fc01 0000fe4d 0000fc02", true, 64513, false, true,
		 3}, /* own twice */
		{"400210 0201 0000fe4d 0102 0000fc02 0000fc03", true, 64513, false, false,
		 2}, /* a set is one */
		{"400210 0201 0000fe4d 0102 0000fc02 0000fc01", true, 64513, false, true,
		 2}, /* own in a set */
		{"40020c 0301 0000fde9 0201 0000fe4d", true, 64513, false, false,
		 1},							  /* confederation */
		{"400206 0202 fe4d fc02", false, 64513, false, false, 2}, /* 2-octet */
		{"400208 0203 fc01 fe4d fc02", false, 64513, false, false, 2},
		/* 2-octet with AS4_PATH: AS 400000 is ours, hidden behind AS_TRANS */
		{"400206 0202 fe4d 5ba0 c0110a 0202 0000fe4d 00061a80", false, 400000, false, true,
		 2},
		{"400206 0202 fe4d 5ba0 c01103 020200", false, 400000, false, false,
		 2}, /* bad: discarded */
		{"400200", true, 64513, false, false, 0},
		{"400202 0200", true, 64513, true, false, 0},		/* empty segment */
		{"400206 0501 0000fe4d", true, 64513, true, false, 0},	/* unknown segment */
		{"400206 0202 fe4d fc02", true, 64513, true, false, 0}, /* cut short */
	};
	struct bgp_update u;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bgp_update_options options = {.own_as = cases[i].own_as,
						     .four_octet_as = cases[i].four_octet_as};
		char attributes[512];

		snprintf(attributes, sizeof(attributes), ORIGIN NEXT_HOP "%s", cases[i].attributes);
		ck_assert_msg(parse_attributes(attributes, "20c6130002", &options, &u) == 0,
			      "case %zu", i);
		ck_assert_msg(u.treat_as_withdraw == cases[i].withdraw, "case %zu", i);
		ck_assert_msg(u.as_loop == cases[i].loop, "case %zu", i);
		if (!cases[i].withdraw)
			ck_assert_msg(u.as_hops == cases[i].hops, "case %zu: %u", i, u.as_hops);
	}
}
END_TEST

/* As FRR's BMP shows an IPv4 route with an IPv6 next hop (RFC 8950). */
START_TEST(a_next_hop_may_be_left_out)
{
	struct bgp_update u;

	ck_assert_int_eq(parse_attributes(ORIGIN PATH, "20c6130002", &plain, &u), 0);
	ck_assert(!u.treat_as_withdraw);
	expect_prefixes(u.reached[0], "::ffff:198.19.0.2/128#0 ");
}
END_TEST

/* RFC 7606: what is wrong with the attributes withdraws the prefixes, and says why. */
START_TEST(malformed_attributes_withdraw)
{
	static const char *const cases[] = {
		PATH NEXT_HOP,				      /* no ORIGIN */
		ORIGIN NEXT_HOP,			      /* no AS_PATH */
		"400101 07" PATH NEXT_HOP,		      /* ORIGIN of no known value */
		"400102 0000" PATH NEXT_HOP,		      /* ORIGIN of two bytes */
		ORIGIN PATH "400303 c61200",		      /* NEXT_HOP of three */
		"c00101 00" PATH NEXT_HOP,		      /* ORIGIN said to be optional */
		ORIGIN PATH NEXT_HOP "c01007 0004fe4d487424", /* communities of seven bytes */
		ORIGIN PATH NEXT_HOP
		"401008 0004fe4d48742400",	    /* communities said to be well-known */
		ORIGIN PATH NEXT_HOP "c010ff 0004", /* attribute longer than the attributes */
		ORIGIN PATH NEXT_HOP "d010 00",	    /* extended length cut short */
		ORIGIN PATH NEXT_HOP
		"800e0e 0002 01 04 c6120000 00 20 20010db8", /* next hop of 4 bytes */
	};
	struct bgp_update u;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ck_assert_msg(parse_attributes(cases[i], "20c6130002 20c6130003", &plain, &u) == 0,
			      "case %zu", i);
		ck_assert_msg(u.treat_as_withdraw, "case %zu", i);
		ck_assert_ptr_nonnull(u.defect.reason);
		ck_assert_uint_ge(u.defect.offset, 4);
		expect_prefixes(u.reached[0], "::ffff:198.19.0.2/128#0 ::ffff:198.19.0.3/128#0 ");
	}
	/* a second one of a kind is ignored, not a defect */
	ck_assert_int_eq(parse_attributes(ORIGIN PATH NEXT_HOP BANDWIDTH "c01008 0004fe4d00000000",
					  "20c6130002", &plain, &u),
			 0);
	ck_assert(!u.treat_as_withdraw && u.bandwidth.bytes_per_s == 250000);
}
END_TEST

START_TEST(unreadable_prefixes_refuse_the_whole)
{
	static const char *const cases[] = {
		"0000 0000 21 c6130002",		   /* /33 */
		"0000 0000 20 c61300",			   /* cut short */
		"0002 20c6 0000",			   /* withdrawn, cut short */
		"0009 20c6130002 0000",			   /* longer than the update */
		"0000 0009 800e06 0002 01 ff 00 00",	   /* next hop longer than the attribute */
		"0000 0008 800f05 0002 01 81 00",	   /* /129 */
		"0000 000c 800f03 0002 01 800f03 0002 01", /* twice */
		"0000 0004 800f 01 00",			   /* too short for a family */
	};
	struct octets_error error;
	struct bgp_update u;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		error.reason = NULL;
		ck_assert_msg(parse(cases[i], &plain, &u, &error) == -EBADMSG, "case %zu", i);
		ck_assert_ptr_nonnull(error.reason);
	}
}
END_TEST

START_TEST(add_path)
{
	struct bgp_update_options options = plain;
	struct octets_error error;
	struct bgp_update u;

	options.add_path[BGP_FAMILY_IPV4] = true;
	options.add_path[BGP_FAMILY_IPV6] = true;
	ck_assert_int_eq(
		parse("0012 00000007 20c6130002 00000008 20c6130003 0000", &options, &u, &error),
		0);
	expect_prefixes(u.withdrawn[0], "::ffff:198.19.0.2/128#7 ::ffff:198.19.0.3/128#8 ");
	ck_assert_int_eq(
		parse("0000 001b 800f18 0002 01 00000009 80 20010db8001900000000000000000002",
		      &options, &u, &error),
		0);
	expect_prefixes(u.withdrawn[1], "2001:db8:19::2/128#9 ");
	/* negotiated, but shown without path ids */
	ck_assert_int_eq(parse("0005 20c6130002 0000", &options, &u, &error), 0);
	expect_prefixes(u.withdrawn[0], "::ffff:198.19.0.2/128#0 ");
}
END_TEST

/* The same bytes can be prefixes with path ids and without. */
START_TEST(add_path_negotiated_but_not_shown)
{
	static const char *const plain_hosts[] = {"01", "08", "00", "20"};
	struct bgp_update_options options = plain;
	struct octets_error error;
	struct bgp_update u;

	options.add_path[BGP_FAMILY_IPV4] = true;
	for (size_t i = 0; i < sizeof(plain_hosts) / sizeof(plain_hosts[0]); i++) {
		char digits[80], expected[160];

		snprintf(digits, sizeof(digits), "000f 20c61300%s 20c6130002 20c6130003 0000",
			 plain_hosts[i]);
		snprintf(expected, sizeof(expected),
			 "::ffff:198.19.0.%lu/128#0 ::ffff:198.19.0.2/128#0 "
			 "::ffff:198.19.0.3/128#0 ",
			 strtoul(plain_hosts[i], NULL, 16));
		ck_assert_int_eq(parse(digits, &options, &u, &error), 0);
		expect_prefixes(u.withdrawn[0], expected);
	}
	/* path id 0 reads as four default routes too */
	ck_assert_int_eq(parse("0009 00000000 20c6130002 0000", &options, &u, &error), 0);
	expect_prefixes(u.withdrawn[0], "::ffff:198.19.0.2/128#0 ");
	/* no form reads without a bit too many: the one that can be read is taken */
	ck_assert_int_eq(parse("0005 1fc6130003 0000", &options, &u, &error), 0);
	expect_prefixes(u.withdrawn[0], "::ffff:198.19.0.2/127#0 ");
}
END_TEST

START_TEST(clears_host_bits)
{
	struct octets_error error;
	struct bgp_update u;

	ck_assert_int_eq(parse("0009 0fc613 00 1fc6130003 0000", &plain, &u, &error), 0);
	expect_prefixes(u.withdrawn[0],
			"::ffff:198.18.0.0/111#0 ::ffff:0.0.0.0/96#0 ::ffff:198.19.0.2/127#0 ");
}
END_TEST

/* 400 Gb/s, which 32 bits do not hold, beside a community that was cut to them; either order. */
#define EXTENDED "c01914 02060000 0000000ba43b7400 0000fe4d 00000000"

START_TEST(extended_bandwidth_counts)
{
	static const char *const attributes[] = {
		ORIGIN PATH NEXT_HOP EXTENDED,
		ORIGIN PATH NEXT_HOP BANDWIDTH EXTENDED,
		ORIGIN PATH NEXT_HOP EXTENDED BANDWIDTH,
	};
	struct bgp_update u;

	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		ck_assert_int_eq(parse_attributes(attributes[i], "20 c6130002", &plain, &u), 0);
		ck_assert(!u.treat_as_withdraw);
		ck_assert_int_eq(u.bandwidth.kind, BGP_BANDWIDTH_VALUE);
		ck_assert(u.bandwidth.bytes_per_s == 50e9);
	}
	/* others of that attribute do not hide the plain community */
	ck_assert_int_eq(parse_attributes(ORIGIN PATH NEXT_HOP BANDWIDTH
					  "c01914 00020000 0000000ba43b7400 0000fe4d 00000000",
					  "20 c6130002", &plain, &u),
			 0);
	ck_assert(u.bandwidth.bytes_per_s == 250000);
	/* RFC 7606 7.15: a length that is none withdraws */
	ck_assert_int_eq(parse_attributes(ORIGIN PATH NEXT_HOP "c01913 02060000 0000000ba43b7400 "
							       "0000fe4d 000000",
					  "20 c6130002", &plain, &u),
			 0);
	ck_assert(u.treat_as_withdraw);
}
END_TEST

RUN_TESTS("bgp_update", reads_what_frr_sends, any_cut_is_an_error, end_of_rib, as_paths,
	  malformed_attributes_withdraw, a_next_hop_may_be_left_out,
	  unreadable_prefixes_refuse_the_whole, add_path, add_path_negotiated_but_not_shown,
	  clears_host_bits, extended_bandwidth_counts)
