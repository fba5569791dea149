/* SPDX-License-Identifier: BSD-2-Clause */
#include "link_bandwidth.h"

#include <math.h>

#include "bgp_test.h"

static const struct {
	const char *communities;
	enum bgp_bandwidth_kind kind;
	double bytes_per_s;
} cases[] = {
	{"", BGP_BANDWIDTH_ABSENT, 0},
	{"0002fe4d00000001", BGP_BANDWIDTH_ABSENT, 0},	   /* a route target */
	{"0004fe4d48742400", BGP_BANDWIDTH_VALUE, 250000}, /* transitive, as from FRR 8.4.4 */
	{"4004fc0148742400", BGP_BANDWIDTH_VALUE, 250000}, /* non-transitive, another AS */
	{"8004fc0148742400", BGP_BANDWIDTH_ABSENT, 0},	   /* another type */
	{"0004fe4d00000000", BGP_BANDWIDTH_VALUE, 0},	   /* zero means zero */
	{"0004fe4d80000000", BGP_BANDWIDTH_VALUE, 0},	   /* and so does minus zero */
	{"0004fe4d7fc00000", BGP_BANDWIDTH_INVALID, 0},	   /* NaN */
	{"0004fe4d7f800000", BGP_BANDWIDTH_INVALID, 0},	   /* infinite */
	{"0004fe4dff800000", BGP_BANDWIDTH_INVALID, 0},	   /* minus infinite */
	{"0004fe4dc8742400", BGP_BANDWIDTH_INVALID, 0},	   /* negative */
	{"0004fe4d51ba43b7", BGP_BANDWIDTH_VALUE, 99999997952.0}, /* 800 Gb/s: beyond 32 bits */
	{"0004fe4d48742400 4004fe4d47f42400", BGP_BANDWIDTH_VALUE, 125000}, /* the lowest */
	{"4004fe4d47f42400 0004fe4d48742400", BGP_BANDWIDTH_VALUE, 125000},
	{"0004fe4d48742400 0004fe4d00000000", BGP_BANDWIDTH_VALUE, 0}, /* zero is the lowest */
	{"0004fe4d7fc00000 0004fe4d48742400", BGP_BANDWIDTH_VALUE, 250000},
	{"0004fe4d48742400 0004fe4d7fc00000", BGP_BANDWIDTH_VALUE, 250000},
	{"0004fe4d487424", BGP_BANDWIDTH_ABSENT, 0}, /* seven bytes are no community */
};

START_TEST(reads_every_form)
{
	struct link_bandwidth bandwidth;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bytes b = {.n = 0};

		hex(&b, cases[i].communities);
		link_bandwidth_read(b.p, b.n, &bandwidth);
		ck_assert_msg(bandwidth.kind == cases[i].kind, "case %zu: kind %d", i,
			      bandwidth.kind);
		ck_assert_msg(!signbit(bandwidth.bytes_per_s), "case %zu: minus zero", i);
		ck_assert_msg(bandwidth.bytes_per_s == cases[i].bytes_per_s, "case %zu: %f", i,
			      bandwidth.bytes_per_s);
	}
}
END_TEST

static const struct {
	const char *communities;
	enum bgp_bandwidth_kind kind;
	double bytes_per_s;
} extended_cases[] = {
	{"", BGP_BANDWIDTH_ABSENT, 0},
	/* type, sub-type, two bytes, 64 bits of bytes/s, the AS, four bytes */
	{"02060000 0000001cc4fcb800 0000fe4d 00000000", BGP_BANDWIDTH_VALUE, 123563980800.0},
	{"42060000 0000001cc4fcb800 0000fe4d 00000000", BGP_BANDWIDTH_VALUE, 123563980800.0},
	{"02060000 0000000000000000 0000fe4d 00000000", BGP_BANDWIDTH_VALUE, 0},
	{"02060000 ffffffffffffffff 0000fe4d 00000000", BGP_BANDWIDTH_VALUE,
	 18446744073709551615.0},
	{"02040000 0000001cc4fcb800 0000fe4d 00000000", BGP_BANDWIDTH_ABSENT, 0},
	{"00060000 0000001cc4fcb800 0000fe4d 00000000", BGP_BANDWIDTH_ABSENT, 0},
	{"82060000 0000001cc4fcb800 0000fe4d 00000000", BGP_BANDWIDTH_ABSENT, 0},
	{"02060000 0000001cc4fcb800 0000fe4d 000000", BGP_BANDWIDTH_ABSENT, 0}, /* 19 bytes */
	{"02060000 0000001cc4fcb800 0000fe4d 00000000 02060000 00000000000000ff 0000fe4d 00000000",
	 BGP_BANDWIDTH_VALUE, 255}, /* the lowest */
};

START_TEST(reads_every_extended_form)
{
	struct link_bandwidth bandwidth;

	for (size_t i = 0; i < sizeof(extended_cases) / sizeof(extended_cases[0]); i++) {
		struct bytes b = {.n = 0};

		hex(&b, extended_cases[i].communities);
		link_bandwidth_read_extended(b.p, b.n, &bandwidth);
		ck_assert_msg(bandwidth.kind == extended_cases[i].kind, "case %zu: kind %d", i,
			      bandwidth.kind);
		ck_assert_msg(bandwidth.bytes_per_s == extended_cases[i].bytes_per_s,
			      "case %zu: %f", i, bandwidth.bytes_per_s);
		ck_assert(!bandwidth.maybe_truncated);
	}
}
END_TEST

START_TEST(knows_a_truncated_sum)
{
	const double cut[] = {
		2 * 3.2e9 - 4294967296.0,      /* 2 x 25600 Mb/s */
		3 * 3.2e9 - 2 * 4294967296.0,  /* 3 x 25600 Mb/s */
		8 * 1.25e9 - 2 * 4294967296.0, /* 8 x 10 Gb/s */
		4294967295.0,
		4294967296.0, /* pinned at the top */
	};
	const double whole[] = {0,	 125000, 250000, 25e6, 1.25e9,
				3.125e9, 3.2e9,	 12.5e9, 50e9, 99999997952.0};

	for (size_t i = 0; i < sizeof(cut) / sizeof(cut[0]); i++)
		ck_assert_msg(link_bandwidth_maybe_truncated((double)(float)cut[i]), "%f", cut[i]);
	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
		ck_assert_msg(!link_bandwidth_maybe_truncated((double)(float)whole[i]), "%f",
			      whole[i]);
	/* any whole megabit below 2^32 must pass, as a float32 says it */
	for (unsigned mbps = 1; mbps <= 34359; mbps++)
		ck_assert_msg(!link_bandwidth_maybe_truncated((double)(float)(mbps * 125000.0)),
			      "%u Mb/s", mbps);
}
END_TEST

RUN_TESTS("link_bandwidth", reads_every_form, reads_every_extended_form, knows_a_truncated_sum)
