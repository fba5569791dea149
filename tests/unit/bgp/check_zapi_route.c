/* SPDX-License-Identifier: BSD-2-Clause */
#include "zapi_route.h"

#include "bgp_test.h"

static struct zapi_layout layout(const char *version)
{
	struct zapi_layout l;

	ck_assert_int_eq(zapi_parse_version(version, &l), 0);
	return l;
}

/* The bytes were taken by zebra 8.4.4 and 10.3, whose kernel then had the route. */
START_TEST(writes_what_each_release_takes)
{
	static const struct {
		const char *version, *host, *install, *uninstall;
	} cases[] = {
		{"8.4.4", "198.19.0.9",
		 "0053fe060000000000081700540000000000000103010220c61300090002"
		 "000000000304c612000000000007000000fe000000000504fe8000000000"
		 "00000000000000000002000000080000007f0500001e68",
		 "0020fe060000000000091700540000000000000100010220c61300090000"
		 "1e68"},
		{"10.0", "198.19.0.9",
		 "0053fe060000000000091800540000000000000103010220c61300090002"
		 "000000000304c612000000000007000000fe000000000504fe8000000000"
		 "00000000000000000002000000080000007f0500001e68",
		 "0020fe0600000000000a1800540000000000000100010220c61300090000"
		 "1e68"},
		{"10.3", "198.19.0.9",
		 "005bfe060000000000091800540000000000000103010220c61300090002"
		 "000000000304c61200000000000700000000000000fe000000000504fe80"
		 "000000000000000000000000000200000008000000000000007f0500001e"
		 "68",
		 "0020fe0600000000000a1800540000000000000100010220c61300090000"
		 "1e68"},
		{"8.4.4", "2001:db8::9",
		 "005ffe060000000000081700540000000000000103010a8020010db80000"
		 "000000000000000000090002000000000304c612000000000007000000fe"
		 "000000000504fe800000000000000000000000000002000000080000007f"
		 "0500001e68",
		 "002cfe060000000000091700540000000000000100010a8020010db80000"
		 "0000000000000000000900001e68"},
	};
	const struct zapi_route_hop hops[] = {
		{.gateway = addr("198.18.0.0"), .ifindex = 7, .weight = 254},
		{.gateway = addr("fe80::2"), .ifindex = 8, .weight = 127},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bytes install = {.n = 0}, uninstall = {.n = 0};
		struct zapi_layout l = layout(cases[i].version);
		struct in6_addr host = addr(cases[i].host);
		uint8_t out[ZAPI_ROUTE_MAX_WRITE];

		hex(&install, cases[i].install);
		hex(&uninstall, cases[i].uninstall);
		ck_assert_uint_eq(zapi_route_install(&l, 7784, &host, hops, 2, out), install.n);
		ck_assert_mem_eq(out, install.p, install.n);
		ck_assert_uint_eq(zapi_route_uninstall(&l, 7784, &host, out), uninstall.n);
		ck_assert_mem_eq(out, uninstall.p, uninstall.n);
	}
}
END_TEST

START_TEST(the_longest_message_fits)
{
	static struct zapi_route_hop hops[ZAPI_ROUTE_MAX_HOPS + 1];
	struct in6_addr host = addr("2001:db8::9");
	struct zapi_layout l = layout("10.3");
	uint8_t out[ZAPI_ROUTE_MAX_WRITE];
	size_t n;

	for (size_t i = 0; i < sizeof(hops) / sizeof(hops[0]); i++)
		hops[i].gateway = addr("fe80::2");
	n = zapi_route_install(&l, 7784, &host, hops, ZAPI_ROUTE_MAX_HOPS + 1, out);
	ck_assert_uint_le(n, sizeof(out));
	ck_assert_uint_eq(n, octets_load(out, 2));
	ck_assert_uint_eq(zapi_route_install(&l, 7784, &host, hops, ZAPI_ROUTE_MAX_HOPS, out), n);
	ck_assert_uint_eq(octets_load(out + n - 4, 4), 7784);
}
END_TEST

RUN_TESTS("zapi_route", writes_what_each_release_takes, the_longest_message_fits)
