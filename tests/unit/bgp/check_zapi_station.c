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
	  largest_messages)
