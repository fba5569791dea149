/* SPDX-License-Identifier: BSD-2-Clause */
#include "bgp_log.h"

#include "base/address.h"
#include "bgp_record.h"

#define SECOND 1000000000ull

START_TEST(bursts_then_one_a_second)
{
	struct record r;
	struct bgp_log log;
	unsigned lines = 0;

	record_init(&r);
	bgp_log_init(&log, &r.handlers, &r);
	for (int i = 0; i < 100; i++)
		bgp_log(&log, 1000 * SECOND, 4, "line=%d", i);
	for (const char *c = r.logs; *c; c++)
		lines += *c == '\n';
	ck_assert_uint_eq(lines, 20);
	ck_assert_ptr_nonnull(strstr(r.logs, "line=19\n"));
	r.logs[0] = '\0';
	bgp_log(&log, 1001 * SECOND - 1, 4, "too soon");
	ck_assert_str_eq(r.logs, "");
	bgp_log(&log, 1001 * SECOND, 4, "next");
	ck_assert_str_eq(r.logs, "next held_back=81\n");
	r.logs[0] = '\0';
	bgp_log(&log, 1002 * SECOND, 4, "after");
	ck_assert_str_eq(r.logs, "after\n");
}
END_TEST

START_TEST(long_lines_are_cut)
{
	struct record r;
	struct bgp_log log;
	char text[2000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	record_init(&r);
	bgp_log_init(&log, &r.handlers, &r);
	bgp_log(&log, SECOND, 4, "%s", text);
	ck_assert_uint_eq(strlen(r.logs), 511 + 1);
}
END_TEST

START_TEST(addresses)
{
	char text[ADDRESS_TEXT_MAX];
	struct in6_addr v4 = addr("198.19.0.1"), v6 = addr("2001:db8::1");

	ck_assert_str_eq(address_format(&v4, text), "198.19.0.1");
	ck_assert_str_eq(address_format(&v6, text), "2001:db8::1");
}
END_TEST

RUN_TESTS("bgp_log", bursts_then_one_a_second, long_lines_are_cut, addresses)
