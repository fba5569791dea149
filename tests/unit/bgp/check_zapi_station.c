/* SPDX-License-Identifier: BSD-2-Clause */
#include "zapi_station.h"

#include "bgp_record.h"

#define SECOND 1000000000ull
#define P2     "198.19.0.2"
#define P6     "2001:db8:19::2"

/* In the capture, interface 2 leads to neighbour 0 (and to 4, its IPv6 session), interface 3 to
 * neighbour 1. */
static bool on_link(void *arg, uint32_t ifindex, unsigned neighbor)
{
	(void)arg;
	return (ifindex == 2 && (neighbor == 0 || neighbor == 4)) ||
	       (ifindex == 3 && neighbor == 1);
}

static struct zapi_station *station(struct record *r)
{
	struct zapi_station *s;
	struct zapi_layout l;

	record_init(r);
	ck_assert_int_eq(zapi_parse_version("8.4.4", &l), 0);
	ck_assert_int_eq(zapi_station_create(&s, &l, &r->config, &r->handlers, r, on_link, NULL),
			 0);
	zapi_station_connected(s, SECOND);
	return s;
}

START_TEST(replays_a_drill_of_frr)
{
	static const struct {
		size_t until;
		const char *paths;
	} steps[] = {
		{292, P2 " 0/0 up relative 50\n" P6 " 0/0 up relative 50\n"},
		{553, ""},
		{992,
		 P2 " 0/0 up relative 1\n" P6 " 0/0 up relative 1\n"}, /* one way left: weight 1 */
		{1326, P2 " 0/0 up relative 50\n"},
		{1482, ""},
		{1638, P2 " 0/0 up relative 1\n"}, /* no community: equal weights of 1 */
		{1794, P2 " 0/0 up relative 50\n"},
		{1950, P2 " 0/0 gone\n" P6 " 0/0 gone\n"},
		{2106, P2 " 0/0 up relative 50\n" P6 " 0/0 up relative 1\n"},
		{2262, P2 " 0/0 gone\n" P6 " 0/0 gone\n"},
	};
	struct zapi_station *s;
	struct record r;
	size_t size, at = 0;
	uint8_t *data = load("frr-8.4.4-drill.zapi", &size);
	const char *reason;

	s = station(&r);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		for (; at < steps[i].until; at++) /* byte by byte */
			ck_assert_int_eq(zapi_station_receive(s, data + at, 1, SECOND, &reason), 0);
		zapi_station_commit(s);
		expect_paths(&r, steps[i].paths);
	}
	ck_assert_uint_eq(at, size);
	ck_assert_str_eq(r.logs, "");
	zapi_station_destroy(s);
	free(data);
}
END_TEST

START_TEST(stale_until_the_table_is_through)
{
	struct zapi_station *s;
	const char *reason;
	struct record r;
	size_t size;
	uint8_t *data = load("frr-8.4.4-drill.zapi", &size);

	s = station(&r);
	ck_assert_int_eq(zapi_station_receive(s, data, 292, SECOND, &reason), 0);
	zapi_station_tick(s, zapi_station_deadline_ns(s));
	zapi_station_commit(s);
	expect_paths(&r, P2 " 0/0 up relative 50\n" P6 " 0/0 up relative 50\n");
	zapi_station_lost(s, "gone");
	zapi_station_lost(s, "gone");
	zapi_station_commit(s);
	expect_paths(&r, P2 " 0/0 up stale relative 50\n" P6 " 0/0 up stale relative 50\n");
	ck_assert_uint_eq(zapi_station_deadline_ns(s), ZAPI_STATION_NEVER);
	zapi_station_connected(s, 100 * SECOND);
	ck_assert_int_eq(zapi_station_receive(s, data, 181, 100 * SECOND, &reason),
			 0); /* IPv4 only */
	zapi_station_commit(s);
	expect_paths(&r, P2 " 0/0 up relative 50\n");
	zapi_station_tick(s, 101 * SECOND - 1);
	zapi_station_commit(s);
	expect_paths(&r, "");
	zapi_station_tick(s, 101 * SECOND);
	zapi_station_commit(s);
	expect_paths(&r, P6 " 0/0 gone\n");
	ck_assert_str_eq(r.states, "syncing\nup\ndown\nsyncing\nup\n");
	ck_assert_int_eq(zapi_station_receive(s, (const uint8_t *)"GET / HTTP", 10, 0, &reason),
			 -EBADMSG);
	ck_assert_str_eq(reason, "not zapi version 6");
	zapi_station_destroy(s);
	free(data);
}
END_TEST

static void tick_until(struct zapi_station *s, uint64_t until_ns)
{
	while (zapi_station_deadline_ns(s) <= until_ns)
		zapi_station_tick(s, zapi_station_deadline_ns(s));
	zapi_station_commit(s);
}

/* bgpd may be about to teach zebra. What was shown before a restart goes in the end. */
START_TEST(a_zebra_that_shows_nothing_is_never_in_sync)
{
	struct zapi_station *s;
	const char *reason;
	struct record r;
	size_t size;
	uint8_t *data = load("frr-8.4.4-drill.zapi", &size);

	s = station(&r);
	tick_until(s, 1000 * SECOND);
	ck_assert_str_eq(r.states, "syncing\n");
	ck_assert_int_eq(zapi_station_receive(s, data, 181, 1000 * SECOND, &reason), 0);
	tick_until(s, 1001 * SECOND);
	expect_paths(&r, P2 " 0/0 up relative 50\n");
	ck_assert_str_eq(r.states, "syncing\nup\n");
	zapi_station_lost(s, "gone");
	zapi_station_connected(s, 2000 * SECOND);
	tick_until(s, 2000 * SECOND + ZAPI_STATION_EMPTY_NS - 1);
	expect_paths(&r, P2 " 0/0 up stale relative 50\n");
	tick_until(s, 3000 * SECOND);
	expect_paths(&r, P2 " 0/0 gone\n");
	ck_assert_str_eq(r.states, "syncing\nup\ndown\nsyncing\n");
	zapi_station_destroy(s);
	free(data);
}
END_TEST

/* FRR 10.1's message of P2 over N0 with weight 50; or, with a label, as nobody here reads it. */
static void route_of_10_1(struct bytes *b, bool label)
{
	hex(b, "0034 fe06 00000000 001f 0a 0000 00000000 00000001 01 02 20 c6130002 0001 00000000 "
	       "03");
	hex(b, label ? "06" : "04");
	hex(b, "c6120000 00000002 0000000000000032");
}

START_TEST(a_zebra_of_another_release_is_never_in_sync)
{
	struct bytes b = {.n = 0};
	struct zapi_layout layout;
	struct zapi_station *s;
	const char *reason;
	struct record r;

	s = station(&r);
	route_of_10_1(&b, false);
	ck_assert_int_eq(zapi_station_receive(s, b.p, b.n, SECOND, &reason), 0);
	tick_until(s, 1000 * SECOND);
	expect_paths(&r, "");
	ck_assert_str_eq(r.states, "syncing\n");
	zapi_station_lost(s, "FRR 10.1");
	ck_assert_int_eq(zapi_parse_version("FRRouting 10.1", &layout), 0);
	zapi_station_set_layout(s, &layout);
	zapi_station_connected(s, 1000 * SECOND);
	ck_assert_int_eq(zapi_station_receive(s, b.p, b.n, 1000 * SECOND, &reason), 0);
	tick_until(s, 1001 * SECOND);
	expect_paths(&r, P2 " 0/0 up relative 50\n");
	ck_assert_str_eq(r.states, "syncing\ndown\nsyncing\nup\n");
	b.n = 0;
	route_of_10_1(&b, true); /* may have been of any path */
	ck_assert_int_eq(zapi_station_receive(s, b.p, b.n, 1002 * SECOND, &reason), 0);
	b.n = 0;
	route_of_10_1(&b, false);
	ck_assert_int_eq(zapi_station_receive(s, b.p, b.n, 1002 * SECOND, &reason), 0);
	tick_until(s, 2000 * SECOND);
	ck_assert_str_eq(r.states, "syncing\ndown\nsyncing\nup\nsyncing\n");
	expect_paths(&r, "");
	zapi_station_destroy(s);
}
END_TEST

/* A flood of the largest messages goes through the fixed buffer, however it is cut. */
START_TEST(largest_messages)
{
	enum { N = 65535 };
	uint8_t *data = calloc(3, N);
	struct zapi_station *s;
	const char *reason;
	struct record r;

	s = station(&r);
	for (int i = 0; i < 3; i++)
		memcpy(data + i * N, "\xff\xff\xfe\6\0\0\0\0\0\1", 10);
	ck_assert_int_eq(zapi_station_receive(s, data, 3 * N, SECOND, &reason), 0);
	ck_assert_int_eq(zapi_station_receive(s, data, 3 * N - 1, SECOND, &reason), 0);
	ck_assert_int_eq(zapi_station_receive(s, data, 1, SECOND, &reason), 0);
	ck_assert_str_eq(r.logs, "");
	zapi_station_destroy(s);
	free(data);
}
END_TEST

RUN_TESTS("zapi_station", replays_a_drill_of_frr, stale_until_the_table_is_through,
	  a_zebra_that_shows_nothing_is_never_in_sync, a_zebra_of_another_release_is_never_in_sync,
	  largest_messages)
