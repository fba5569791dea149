/* SPDX-License-Identifier: BSD-2-Clause */
/* The path table: every verdict, in the order of the rules, and what the numbers are. */
#include "path_table.h"

#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define S	 UINT64_C(1000000000)
#define MBPS	 UINT64_C(1000000)
#define FALLBACK (3 * S)

static struct path_table *table;
static uint64_t now;

static const struct path_table_times times = {
	.stale_ns = 120 * S, .installed_ns = S, .restart_ns = 10 * S, .fallback_ns = FALLBACK};
static const struct path_table_gpu shape = {.n_planes = 4, .n_sub_ports = {2, 2, 2, 2}};

static struct in6_addr peer_address(unsigned last)
{
	struct in6_addr a = {.s6_addr = {[10] = 0xff, [11] = 0xff, [12] = 198, [13] = 19}};

	a.s6_addr[15] = (uint8_t)last;
	return a;
}

static void setup(void)
{
	ck_assert_int_eq(path_table_create(&table, &shape, 1, &times), 0);
	for (uint32_t p = 0; p < 4; p++)
		for (uint32_t s = 0; s < 2; s++)
			ck_assert_int_eq(path_table_link(table, 0, p, s, true, 200 * MBPS), 0);
	now = 1000 * S;
	path_table_source_replaced(table, PATH_SOURCE_BMP, true, now);
	path_table_source_replaced(table, PATH_SOURCE_ZSERV, true, now);
}

static void teardown(void)
{
	path_table_destroy(table);
}

static void source(enum path_source s, enum bgp_source_state state)
{
	path_table_source_state(table, s, state, "test", now);
}

static struct bgp_path_event event_of(unsigned peer, unsigned plane, double bps)
{
	return (struct bgp_path_event){.peer = peer_address(peer),
				       .plane = (uint16_t)plane,
				       .reachable = true,
				       .bandwidth_kind = BGP_BANDWIDTH_VALUE,
				       .advertised_bps = bps};
}

static void teach(enum path_source s, struct bgp_path_event e)
{
	ck_assert_int_eq(path_table_route(table, s, &e, now), 0);
}

static void withdraw(enum path_source s, unsigned peer, unsigned plane)
{
	teach(s, (struct bgp_path_event){.peer = peer_address(peer), .plane = (uint16_t)plane});
}

static struct path_view view(unsigned peer, unsigned plane)
{
	struct in6_addr a = peer_address(peer);
	struct path_view v;
	uint32_t pair;

	path_table_evaluate(table, now, NULL, NULL);
	ck_assert(path_table_find(table, 0, &a, &pair));
	ck_assert(path_table_view(table, pair, plane, &v));
	return v;
}

static void expect(unsigned peer, unsigned plane, enum fare_verdict verdict, uint64_t bps)
{
	struct path_view v = view(peer, plane);

	ck_assert_msg(v.verdict == verdict && v.usable_bps == bps,
		      "plane %u: %s %llu (%s), expected %s %llu", plane,
		      fare_verdict_name(v.verdict), (unsigned long long)v.usable_bps, v.reason,
		      fare_verdict_name(verdict), (unsigned long long)bps);
	ck_assert(v.reason && *v.reason);
}

/* BMP in sync and teaching 400 Mb/s on every plane toward peer 1; zebra agrees. */
static void everything_fine(void)
{
	for (unsigned p = 0; p < 4; p++) {
		teach(PATH_SOURCE_BMP, event_of(1, p, 400e6));
		teach(PATH_SOURCE_ZSERV, event_of(1, p, 25));
	}
	source(PATH_SOURCE_BMP, BGP_SOURCE_UP);
	source(PATH_SOURCE_ZSERV, BGP_SOURCE_UP);
	for (unsigned p = 0; p < 4; p++)
		expect(1, p, FARE_VERDICT_OK, 400 * MBPS);
}

/* Adds a drain of a plane, toward a peer or (0) all of them, or takes it away. */
static int set_drain(unsigned peer, uint32_t plane, bool drained)
{
	struct drain_rule rule = {.has_plane = true, .plane = plane, .has_peer = peer != 0};
	struct drain_set next = *path_table_drains(table);
	const struct drain_rule *other;
	int rc;

	if (peer)
		rule.peer = peer_address(peer);
	rc = drained ? drain_set_add(&next, &rule) : drain_set_remove(&next, &rule, &other);
	return rc < 0 ? rc : path_table_set_drains(table, &next);
}

START_TEST(smaller_of_local_and_advertised)
{
	everything_fine();
	teach(PATH_SOURCE_BMP, event_of(1, 2, 200e6));
	expect(1, 2, FARE_VERDICT_OK, 200 * MBPS);
	expect(1, 1, FARE_VERDICT_OK, 400 * MBPS);
	path_table_link(table, 0, 3, 1, false, 200 * MBPS);
	expect(1, 3, FARE_VERDICT_OK, 200 * MBPS);
	teach(PATH_SOURCE_BMP, event_of(1, 3, 1e12));
	expect(1, 3, FARE_VERDICT_OK, 200 * MBPS);
}
END_TEST

/* A usable path that is less than it could be names what limits it, and where to look. */
START_TEST(what_limits_a_usable_path_is_named)
{
	struct path_view v;

	everything_fine();
	v = view(1, 0);
	ck_assert_str_eq(v.look_next, "nothing: the path is in use");
	path_table_link(table, 0, 0, 1, false, 200 * MBPS);
	v = view(1, 0);
	ck_assert_int_eq(v.verdict, FARE_VERDICT_OK);
	ck_assert_ptr_nonnull(strstr(v.reason, "no carrier"));
	ck_assert_ptr_nonnull(strstr(v.look_next, "cable"));
	teach(PATH_SOURCE_BMP, event_of(1, 1, 200e6));
	v = view(1, 1);
	ck_assert_int_eq(v.verdict, FARE_VERDICT_OK);
	ck_assert_ptr_nonnull(strstr(v.reason, "less than the local links"));
	ck_assert_ptr_nonnull(strstr(v.look_next, "on that server"));
}
END_TEST

/* The fabric has three planes; this server has ports toward the first and the last. */
START_TEST(a_plane_without_ports_is_local_down)
{
	static const struct path_table_gpu gap = {.n_planes = 3, .n_sub_ports = {1, 0, 1}};
	struct path_view v;

	path_table_destroy(table);
	ck_assert_int_eq(path_table_create(&table, &gap, 1, &times), 0);
	for (uint32_t p = 0; p < 3; p += 2) {
		path_table_link(table, 0, p, 0, true, 400 * MBPS);
		teach(PATH_SOURCE_BMP, event_of(1, p, 400e6));
	}
	ck_assert_int_eq(path_table_link(table, 0, 1, 0, true, 400 * MBPS), -EINVAL);
	source(PATH_SOURCE_BMP, BGP_SOURCE_UP);
	expect(1, 0, FARE_VERDICT_OK, 400 * MBPS);
	expect(1, 1, FARE_VERDICT_LOCAL_DOWN, 0);
	expect(1, 2, FARE_VERDICT_OK, 400 * MBPS);
	v = view(1, 1);
	ck_assert_ptr_nonnull(strstr(v.reason, "not connected"));
}
END_TEST

START_TEST(order_of_rules)
{
	everything_fine();
	/* zero bandwidth */
	teach(PATH_SOURCE_BMP, event_of(1, 0, 0));
	expect(1, 0, FARE_VERDICT_ZERO_BANDWIDTH, 0);
	/* no route comes before it, local-down before that, drained before all */
	withdraw(PATH_SOURCE_BMP, 1, 0);
	expect(1, 0, FARE_VERDICT_NO_ROUTE, 0);
	path_table_link(table, 0, 0, 0, false, 0);
	expect(1, 0, FARE_VERDICT_NO_ROUTE, 0);
	path_table_link(table, 0, 0, 1, false, 0);
	expect(1, 0, FARE_VERDICT_LOCAL_DOWN, 0);
	ck_assert_int_eq(set_drain(0, 0, true), 0);
	expect(1, 0, FARE_VERDICT_DRAINED, 0);
	ck_assert_int_eq(set_drain(0, 0, false), 0);
	expect(1, 0, FARE_VERDICT_LOCAL_DOWN, 0);
}
END_TEST

START_TEST(less_than_a_bit_is_nothing)
{
	everything_fine();
	teach(PATH_SOURCE_BMP, event_of(1, 0, 0.4));
	expect(1, 0, FARE_VERDICT_ZERO_BANDWIDTH, 0);
	teach(PATH_SOURCE_BMP, event_of(1, 0, 1));
	expect(1, 0, FARE_VERDICT_OK, 1);
}
END_TEST

START_TEST(absent_and_invalid_use_local_for_that_path_alone)
{
	struct bgp_path_event e = event_of(1, 1, 0);

	everything_fine();
	teach(PATH_SOURCE_BMP, event_of(1, 2, 200e6));
	e.bandwidth_kind = BGP_BANDWIDTH_ABSENT;
	teach(PATH_SOURCE_BMP, e);
	expect(1, 1, FARE_VERDICT_OK, 400 * MBPS);
	e.bandwidth_kind = BGP_BANDWIDTH_INVALID;
	e.advertised_bps = NAN;
	teach(PATH_SOURCE_BMP, e);
	expect(1, 1, FARE_VERDICT_OK, 400 * MBPS);
	expect(1, 2, FARE_VERDICT_OK, 200 * MBPS);
}
END_TEST

/* A Link Bandwidth that BMP does not show, and by which zebra weighs. */
START_TEST(zebra_tells_of_a_bandwidth_that_bmp_leaves_out)
{
	struct bgp_path_event e = event_of(1, 1, 0);

	everything_fine();
	e.bandwidth_kind = BGP_BANDWIDTH_ABSENT;
	for (e.plane = 0; e.plane < 4; e.plane++) {
		teach(PATH_SOURCE_BMP, e);
		teach(PATH_SOURCE_ZSERV, event_of(1, e.plane, 14));
	}
	expect(1, 1, FARE_VERDICT_OK, 400 * MBPS);
	teach(PATH_SOURCE_ZSERV, event_of(1, 1, 7));
	expect(1, 0, FARE_VERDICT_OK, 400 * MBPS);
	expect(1, 1, FARE_VERDICT_OK, 200 * MBPS);
	ck_assert(view(1, 1).normalised);
	ck_assert_ptr_nonnull(strstr(view(1, 1).reason, "zebra weighs the planes"));
	teach(PATH_SOURCE_BMP, event_of(1, 1, 300e6)); /* BMP has the last word */
	expect(1, 1, FARE_VERDICT_OK, 300 * MBPS);
	e.plane = 1;
	teach(PATH_SOURCE_BMP, e);
	path_table_source_state(table, PATH_SOURCE_ZSERV, BGP_SOURCE_DOWN, "test", now);
	expect(1, 1, FARE_VERDICT_OK, 400 * MBPS); /* what zebra said once is no figure of now */
}
END_TEST

START_TEST(nonsense_is_refused_whole)
{
	struct bgp_path_event e = event_of(1, 1, 1);

	everything_fine();
	e.advertised_bps = NAN;
	ck_assert_int_eq(path_table_route(table, PATH_SOURCE_BMP, &e, now), -EINVAL);
	e.advertised_bps = -1;
	ck_assert_int_eq(path_table_route(table, PATH_SOURCE_BMP, &e, now), -EINVAL);
	e = event_of(9, 4, 1);
	ck_assert_int_eq(path_table_route(table, PATH_SOURCE_BMP, &e, now), -EINVAL);
	e = event_of(9, 0, 1);
	e.local_gpu = 1;
	ck_assert_int_eq(path_table_route(table, PATH_SOURCE_BMP, &e, now), -EINVAL);
	ck_assert_int_eq(path_table_link(table, 0, 0, 2, true, 1), -EINVAL);
	ck_assert_uint_eq(path_table_n_pairs(table), 1);
	expect(1, 1, FARE_VERDICT_OK, 400 * MBPS);
}
END_TEST

START_TEST(stale_keeps_the_weight_but_not_beyond_local)
{
	struct bgp_path_event e = event_of(1, 0, 300e6);

	everything_fine();
	teach(PATH_SOURCE_BMP, e);
	source(PATH_SOURCE_BMP, BGP_SOURCE_DOWN);
	expect(1, 0, FARE_VERDICT_STALE, 300 * MBPS);
	path_table_link(table, 0, 0, 0, false, 0);
	expect(1, 0, FARE_VERDICT_STALE, 200 * MBPS);
	path_table_link(table, 0, 0, 0, true, 200 * MBPS);
	source(PATH_SOURCE_BMP, BGP_SOURCE_SYNCING);
	expect(1, 0, FARE_VERDICT_STALE, 300 * MBPS);
	source(PATH_SOURCE_BMP, BGP_SOURCE_UP);
	e.stale = true; /* bgpd back, not re-learned yet */
	teach(PATH_SOURCE_BMP, e);
	expect(1, 0, FARE_VERDICT_STALE, 300 * MBPS);
	e.stale = false;
	teach(PATH_SOURCE_BMP, e);
	expect(1, 0, FARE_VERDICT_OK, 300 * MBPS);
}
END_TEST

START_TEST(away_and_gone_from_zebra_is_no_route)
{
	everything_fine();
	source(PATH_SOURCE_BMP, BGP_SOURCE_DOWN);
	withdraw(PATH_SOURCE_ZSERV, 1, 0);
	expect(1, 0, FARE_VERDICT_STALE, 400 * MBPS);
	now += S;
	expect(1, 0, FARE_VERDICT_NO_ROUTE, 0);
	expect(1, 1, FARE_VERDICT_STALE, 400 * MBPS);
}
END_TEST

/* zebra flushes everything while bgpd is between two lives, and gets it back plane by plane */
START_TEST(a_restart_of_bgpd_moves_nothing)
{
	everything_fine();
	now += 10 * S;
	source(PATH_SOURCE_BMP, BGP_SOURCE_DOWN);
	for (unsigned p = 0; p < 4; p++)
		withdraw(PATH_SOURCE_ZSERV, 1, p);
	now += 3 * S;
	for (unsigned p = 0; p < 4; p++)
		expect(1, p, FARE_VERDICT_STALE, 400 * MBPS);
	for (unsigned p = 0; p < 4; p++) {
		teach(PATH_SOURCE_ZSERV, event_of(1, p, 25));
		expect(1, 3, FARE_VERDICT_STALE, 400 * MBPS);
		now += S / 2;
	}
	for (unsigned p = 0; p < 4; p++)
		teach(PATH_SOURCE_BMP, event_of(1, p, 400e6));
	source(PATH_SOURCE_BMP, BGP_SOURCE_UP);
	expect(1, 3, FARE_VERDICT_OK, 400 * MBPS);
	/* but a peer that zebra never gets back is gone in the end */
	source(PATH_SOURCE_BMP, BGP_SOURCE_DOWN);
	for (unsigned p = 0; p < 4; p++)
		withdraw(PATH_SOURCE_ZSERV, 1, p);
	now += 10 * S - 1;
	expect(1, 3, FARE_VERDICT_STALE, 400 * MBPS);
	now += 1;
	expect(1, 3, FARE_VERDICT_NO_ROUTE, 0);
}
END_TEST

/*
 * Toward a restarted bgpd, zebra gets the planes back whose sessions come up first: the others wait
 * for theirs.
 */
START_TEST(a_plane_that_a_restarted_bgpd_learns_last_is_kept)
{
	everything_fine();
	now += 10 * S;
	source(PATH_SOURCE_BMP, BGP_SOURCE_DOWN);
	now += S;
	source(PATH_SOURCE_BMP, BGP_SOURCE_SYNCING);
	withdraw(PATH_SOURCE_ZSERV, 1, 3);
	for (unsigned p = 0; p < 3; p++)
		teach(PATH_SOURCE_BMP, event_of(1, p, 400e6));
	now += 5 * S;
	expect(1, 3, FARE_VERDICT_STALE, 400 * MBPS);
	now += 5 * S; /* but not for ever */
	expect(1, 3, FARE_VERDICT_NO_ROUTE, 0);
}
END_TEST

START_TEST(not_installed_only_after_a_second)
{
	uint64_t deadline;

	everything_fine();
	now += 5 * S;
	withdraw(PATH_SOURCE_ZSERV, 1, 3);
	deadline = path_table_evaluate(table, now, NULL, NULL);
	ck_assert_uint_eq(deadline, now + S);
	expect(1, 3, FARE_VERDICT_OK, 400 * MBPS);
	now = deadline - 1;
	expect(1, 3, FARE_VERDICT_OK, 400 * MBPS);
	now = deadline;
	expect(1, 3, FARE_VERDICT_NOT_INSTALLED, 0);
	expect(1, 2, FARE_VERDICT_OK, 400 * MBPS);
	teach(PATH_SOURCE_ZSERV, event_of(1, 3, 25));
	expect(1, 3, FARE_VERDICT_OK, 400 * MBPS);
	ck_assert_uint_eq(path_table_evaluate(table, now, NULL, NULL), 0);
}
END_TEST

START_TEST(a_zebra_that_is_away_takes_nothing_away)
{
	everything_fine();
	withdraw(PATH_SOURCE_ZSERV, 1, 0);
	source(PATH_SOURCE_ZSERV, BGP_SOURCE_DOWN);
	now += 10 * S;
	expect(1, 0, FARE_VERDICT_OK, 400 * MBPS);
	/* back in sync: the second counts from there */
	source(PATH_SOURCE_ZSERV, BGP_SOURCE_UP);
	expect(1, 0, FARE_VERDICT_OK, 400 * MBPS);
	now += S;
	expect(1, 0, FARE_VERDICT_NOT_INSTALLED, 0);
}
END_TEST

START_TEST(zebra_alone_shares_out_by_weight)
{
	const double weights[] = {28, 28, 28, 14};
	uint64_t deadline;

	for (unsigned p = 0; p < 4; p++)
		teach(PATH_SOURCE_ZSERV, event_of(1, p, weights[p]));
	source(PATH_SOURCE_ZSERV, BGP_SOURCE_UP);
	expect(1, 0, FARE_VERDICT_NO_ROUTE, 0); /* BMP may come any moment */
	deadline = path_table_evaluate(table, now, NULL, NULL);
	ck_assert_uint_eq(deadline, now + FALLBACK);
	now = deadline;
	expect(1, 0, FARE_VERDICT_OK, 400 * MBPS);
	expect(1, 3, FARE_VERDICT_OK, 200 * MBPS);
	ck_assert(view(1, 3).normalised);
	ck_assert_int_eq(view(1, 3).route_source, PATH_FROM_ZSERV);
	/*
	 * the moment BMP is there, it rules; what it does not teach, and zebra has, is gone if that
	 * lasts
	 */
	teach(PATH_SOURCE_BMP, event_of(1, 0, 100e6));
	source(PATH_SOURCE_BMP, BGP_SOURCE_UP);
	expect(1, 0, FARE_VERDICT_OK, 100 * MBPS);
	ck_assert(!view(1, 0).normalised);
	expect(1, 3, FARE_VERDICT_STALE, 200 * MBPS);
	teach(PATH_SOURCE_BMP, event_of(1, 2, 300e6));
	expect(1, 2, FARE_VERDICT_OK, 300 * MBPS);
	withdraw(PATH_SOURCE_ZSERV, 1, 1);
	expect(1, 1, FARE_VERDICT_NO_ROUTE, 0);
	/* BMP is in sync: zebra alone brings nothing back */
	teach(PATH_SOURCE_ZSERV, event_of(1, 1, 28));
	expect(1, 1, FARE_VERDICT_NO_ROUTE, 0);
	now += S;
	expect(1, 3, FARE_VERDICT_NO_ROUTE, 0);
	expect(1, 2, FARE_VERDICT_OK, 300 * MBPS);
}
END_TEST

/* bgpd has left it out of what it sends, as after a session that came back with the same routes. */
START_TEST(a_route_that_bmp_does_not_show_is_named)
{
	everything_fine();
	withdraw(PATH_SOURCE_BMP, 1, 0);
	expect(1, 0, FARE_VERDICT_NO_ROUTE, 0);
	ck_assert_str_eq(view(1, 0).reason, "BMP has withdrawn it"); /* zebra is a moment behind */
	now += S;
	expect(1, 0, FARE_VERDICT_NO_ROUTE, 0);
	ck_assert_ptr_nonnull(strstr(view(1, 0).reason, "zebra has it installed"));
	ck_assert_ptr_nonnull(strstr(view(1, 0).look_next, "restart fared"));
	withdraw(PATH_SOURCE_ZSERV, 1, 0);
	expect(1, 0, FARE_VERDICT_NO_ROUTE, 0);
	ck_assert_str_eq(view(1, 0).reason, "BMP has withdrawn it");
}
END_TEST

/* bgpd and zebra are gone for good, and neither has withdrawn a thing. */
START_TEST(what_zebra_said_last_does_not_live_for_ever)
{
	const struct path_probe answered = {.judged = true, .answered = true, .permille = 1000},
				silent = {.judged = true,
					  .silent = true,
					  .permille = 1000,
					  .reason = "unproven"};
	struct in6_addr a = peer_address(1);

	for (unsigned p = 0; p < 4; p++)
		teach(PATH_SOURCE_ZSERV, event_of(1, p, 28));
	source(PATH_SOURCE_ZSERV, BGP_SOURCE_UP);
	now += FALLBACK;
	expect(1, 0, FARE_VERDICT_OK, 400 * MBPS);
	now += times.stale_ns;
	source(PATH_SOURCE_ZSERV, BGP_SOURCE_DOWN);
	ck_assert_uint_eq(path_table_evaluate(table, now, NULL, NULL), now + times.stale_ns);
	expect(1, 0, FARE_VERDICT_STALE, 400 * MBPS);
	ck_assert_int_eq(path_table_probe(table, 0, &a, 1, &answered), 0);
	ck_assert_int_eq(path_table_probe(table, 0, &a, 2, &silent), 0);
	now += times.stale_ns;
	expect(1, 0, FARE_VERDICT_NO_ROUTE, 0);
	expect(1, 1, FARE_VERDICT_STALE, 400 * MBPS); /* it works */
	expect(1, 2, FARE_VERDICT_NO_ROUTE, 0);
}
END_TEST

/* FRR has been stopped: bgpd and zebra are away, and have taken the kernel's routes along. */
START_TEST(without_a_kernel_route_a_silent_path_is_not_usable)
{
	const struct path_probe answered = {.judged = true, .answered = true, .permille = 1000},
				late = {.judged = true, .permille = 1000, .reason = "late"},
				silent = {.judged = true,
					  .silent = true,
					  .permille = 1000,
					  .reason = "the peer answers on no plane"};
	struct in6_addr a = peer_address(1), unknown = peer_address(9);

	everything_fine();
	source(PATH_SOURCE_BMP, BGP_SOURCE_DOWN);
	source(PATH_SOURCE_ZSERV, BGP_SOURCE_DOWN);
	ck_assert_int_eq(path_table_probe(table, 0, &a, 0, &silent), 0);
	expect(1, 0, FARE_VERDICT_STALE, 400 * MBPS);
	path_table_kernel_route(table, 0, &a, 0, PATH_KERNEL_NONE);
	path_table_kernel_route(table, 0, &a, 99, PATH_KERNEL_NONE);
	path_table_kernel_route(table, 0, &unknown, 0, PATH_KERNEL_NONE);
	expect(1, 0, FARE_VERDICT_NOT_INSTALLED, 0);
	expect(1, 1, FARE_VERDICT_STALE, 400 * MBPS);
	/* a route to a net may lead there */
	ck_assert_int_eq(path_table_probe(table, 0, &a, 0, &answered), 0);
	expect(1, 0, FARE_VERDICT_STALE, 400 * MBPS);
	ck_assert_int_eq(path_table_probe(table, 0, &a, 0, &late), 0);
	expect(1, 0, FARE_VERDICT_STALE, 400 * MBPS);
	ck_assert_int_eq(path_table_probe(table, 0, &a, 0, &silent), 0);
	expect(1, 0, FARE_VERDICT_NOT_INSTALLED, 0);
	/* usable as soon as the route is back: what probes say of it has not changed */
	path_table_kernel_route(table, 0, &a, 0, PATH_KERNEL_OVER);
	expect(1, 0, FARE_VERDICT_STALE, 400 * MBPS);
	path_table_kernel_route(table, 0, &a, 0, PATH_KERNEL_NONE);
	expect(1, 0, FARE_VERDICT_NOT_INSTALLED, 0);
	path_table_kernel_routes_unknown(table);
	expect(1, 0, FARE_VERDICT_STALE, 400 * MBPS);
}
END_TEST

static void adopt(unsigned peer, const uint64_t bps[4])
{
	struct in6_addr a = peer_address(peer);

	for (uint32_t p = 0; p < 4; p++)
		ck_assert_int_eq(path_table_adopt(table, 0, &a, p,
						  bps[p] ? FARE_VERDICT_OK : FARE_VERDICT_NO_ROUTE,
						  bps[p], now),
				 0);
}

START_TEST(adopted_paths_stay_until_bmp_knows)
{
	const uint64_t bps[] = {400 * MBPS, 400 * MBPS, 150 * MBPS, 0};

	adopt(1, bps);
	adopt(2, bps);
	expect(1, 0, FARE_VERDICT_STALE, 400 * MBPS);
	expect(1, 2, FARE_VERDICT_STALE, 150 * MBPS);
	expect(1, 3, FARE_VERDICT_NO_ROUTE, 0);
	source(PATH_SOURCE_BMP, BGP_SOURCE_SYNCING);
	teach(PATH_SOURCE_BMP, event_of(1, 0, 200e6));
	expect(1, 0, FARE_VERDICT_STALE, 200 * MBPS);
	source(PATH_SOURCE_BMP, BGP_SOURCE_UP);
	expect(1, 0, FARE_VERDICT_OK, 200 * MBPS);
	expect(1, 1, FARE_VERDICT_NO_ROUTE, 0);
	expect(2, 0, FARE_VERDICT_NO_ROUTE, 0);
}
END_TEST

START_TEST(what_is_taught_anew_is_fresh_before_the_sync_ends)
{
	everything_fine();
	source(PATH_SOURCE_BMP, BGP_SOURCE_DOWN);
	now += S;
	source(PATH_SOURCE_BMP, BGP_SOURCE_SYNCING);
	now += 1;
	teach(PATH_SOURCE_BMP, event_of(1, 0, 400e6));
	expect(1, 0, FARE_VERDICT_OK, 400 * MBPS);
	expect(1, 1, FARE_VERDICT_STALE, 400 * MBPS);
	now += FALLBACK; /* zebra's weights would be due, but BMP has just spoken */
	withdraw(PATH_SOURCE_BMP, 1, 0);
	expect(1, 0, FARE_VERDICT_NO_ROUTE, 0);
}
END_TEST

START_TEST(adopted_paths_do_not_live_for_ever)
{
	const uint64_t bps[] = {400 * MBPS, 400 * MBPS, 400 * MBPS, 400 * MBPS};

	adopt(1, bps);
	ck_assert_uint_eq(path_table_evaluate(table, now, NULL, NULL), now + times.stale_ns);
	now += times.stale_ns - 1;
	expect(1, 0, FARE_VERDICT_STALE, 400 * MBPS);
	now += 1;
	expect(1, 0, FARE_VERDICT_NO_ROUTE, 0);
}
END_TEST

/* Nobody has to look again at a path whose time has passed and that is kept for its answers. */
START_TEST(an_answered_adopted_path_outlives_its_time_and_asks_for_no_turn)
{
	const struct path_probe answered = {.judged = true, .answered = true, .permille = 1000},
				silent = {.judged = true, .silent = true, .reason = "silent"};
	const uint64_t bps[] = {400 * MBPS, 0, 0, 0};
	struct in6_addr a = peer_address(1);

	adopt(1, bps);
	ck_assert_int_eq(path_table_probe(table, 0, &a, 0, &answered), 0);
	ck_assert_uint_eq(path_table_evaluate(table, now, NULL, NULL), now + times.stale_ns);
	now += times.stale_ns;
	expect(1, 0, FARE_VERDICT_STALE, 400 * MBPS);
	ck_assert_uint_eq(path_table_evaluate(table, now, NULL, NULL), 0);
	now += S;
	ck_assert_int_eq(path_table_probe(table, 0, &a, 0, &answered), 0);
	ck_assert_uint_eq(path_table_evaluate(table, now, NULL, NULL), 0);
	expect(1, 0, FARE_VERDICT_STALE, 400 * MBPS);
	ck_assert_int_eq(path_table_probe(table, 0, &a, 0, &silent), 0);
	expect(1, 0, FARE_VERDICT_NO_ROUTE, 0);
}
END_TEST

START_TEST(a_drain_holds_for_adopted_paths)
{
	struct in6_addr a = peer_address(1);

	ck_assert_int_eq(set_drain(1, 0, true), 0);
	ck_assert_int_eq(path_table_adopt(table, 0, &a, 0, FARE_VERDICT_DRAINED, 0, now), 0);
	for (unsigned p = 0; p < 4; p++)
		teach(PATH_SOURCE_BMP, event_of(1, p, 400e6));
	source(PATH_SOURCE_BMP, BGP_SOURCE_UP);
	expect(1, 0, FARE_VERDICT_DRAINED, 0);
	expect(1, 1, FARE_VERDICT_OK, 400 * MBPS);
	ck_assert_int_eq(set_drain(1, 0, false), 0);
	expect(1, 0, FARE_VERDICT_OK, 400 * MBPS);
}
END_TEST

START_TEST(drain_all_holds_for_peers_to_come)
{
	everything_fine();
	ck_assert_int_eq(set_drain(0, 1, true), 0);
	ck_assert_uint_eq(path_table_drained(table, 0, 1), 3);
	teach(PATH_SOURCE_BMP, event_of(2, 1, 400e6));
	expect(2, 1, FARE_VERDICT_DRAINED, 0);
	ck_assert_int_eq(set_drain(1, 1, false), -EBUSY); /* a part of it: not by itself */
	expect(1, 1, FARE_VERDICT_DRAINED, 0);
	ck_assert_int_eq(set_drain(0, 4, true), -EINVAL);
	ck_assert_int_eq(set_drain(0, 1, false), 0);
	expect(2, 1, FARE_VERDICT_OK, 400 * MBPS);
}
END_TEST

static void drain_sub_ports(uint32_t n)
{
	struct drain_set next = {0};

	for (uint32_t s = 0; s < n; s++) {
		struct drain_rule rule = {
			.has_plane = true, .plane = 2, .has_sub_port = true, .sub_port = s};

		ck_assert_int_eq(drain_set_add(&next, &rule), 0);
	}
	ck_assert_int_eq(path_table_set_drains(table, &next), 0);
}

START_TEST(a_drained_sub_port_takes_its_part_away)
{
	struct drain_set nonesuch = {.n = 1, .rules = {{.has_plane = true, .has_sub_port = true}}};
	struct path_view v;

	everything_fine();
	drain_sub_ports(1);
	ck_assert_uint_eq(path_table_drained(table, 0, 2), 1);
	ck_assert_uint_eq(path_table_drained(table, 0, 1), 0);
	expect(1, 2, FARE_VERDICT_OK, 200 * MBPS);
	expect(1, 1, FARE_VERDICT_OK, 400 * MBPS);
	v = view(1, 2);
	ck_assert_uint_eq(v.unused_sub_ports, 1);
	ck_assert_ptr_nonnull(strstr(v.reason, "drained a local sub-port"));
	/* the one that is left goes down: the drained one is not taken instead */
	path_table_link(table, 0, 2, 1, false, 0);
	expect(1, 2, FARE_VERDICT_DRAINED, 0);
	path_table_link(table, 0, 2, 1, true, 200 * MBPS);
	drain_sub_ports(2);
	expect(1, 2, FARE_VERDICT_DRAINED, 0);
	drain_sub_ports(0);
	expect(1, 2, FARE_VERDICT_OK, 400 * MBPS);
	nonesuch.rules[0].sub_port = 2;
	ck_assert_int_eq(path_table_set_drains(table, &nonesuch), -EINVAL);
}
END_TEST

/* A sub-port that passes smaller packets is counted without; a plane that does is out of use. */
START_TEST(what_passes_smaller_packets_is_out_of_use)
{
	struct path_probe probe = {.judged = true,
				   .answered = true,
				   .permille = 1000,
				   .n_remote = 2,
				   .small_local = 1,
				   .mtu_wanted = 4096,
				   .mtu_carried = 4096};
	struct in6_addr a = peer_address(1);
	struct path_view v;

	everything_fine();
	ck_assert_int_eq(path_table_probe(table, 0, &a, 1, &probe), 0);
	expect(1, 1, FARE_VERDICT_OK, 200 * MBPS);
	v = view(1, 1);
	ck_assert_uint_eq(v.unused_sub_ports, 1);
	ck_assert_ptr_nonnull(strstr(v.reason, "path MTU: local sub-port 0"));
	probe.small_local = 0;
	probe.small_remote = 2;
	ck_assert_int_eq(path_table_probe(table, 0, &a, 1, &probe), 0);
	expect(1, 1, FARE_VERDICT_OK, 200 * MBPS);
	ck_assert_ptr_nonnull(strstr(view(1, 1).reason, "path MTU: the peer's sub-port 1"));
	probe.small_remote = 0;
	probe.mtu_carried = 1024;
	ck_assert_int_eq(path_table_probe(table, 0, &a, 1, &probe), 0);
	expect(1, 1, FARE_VERDICT_OK, 400 * MBPS); /* as all planes of the peer do */
	ck_assert_ptr_nonnull(strstr(view(1, 1).reason, "path MTU: no plane"));
	probe.mtu_is_small = true;
	ck_assert_int_eq(path_table_probe(table, 0, &a, 1, &probe), 0);
	expect(1, 1, FARE_VERDICT_MTU, 0);
	probe.permille = 0;
	probe.silent = true;
	probe.reason = "silent";
	ck_assert_int_eq(path_table_probe(table, 0, &a, 1, &probe), 0);
	expect(1, 1, FARE_VERDICT_PROBE_DOWN, 0);
}
END_TEST

START_TEST(a_replaced_source_must_teach_again)
{
	everything_fine();
	path_table_source_replaced(table, PATH_SOURCE_BMP, true, now);
	expect(1, 0, FARE_VERDICT_STALE, 400 * MBPS);
	teach(PATH_SOURCE_BMP, event_of(1, 0, 400e6));
	source(PATH_SOURCE_BMP, BGP_SOURCE_UP);
	expect(1, 0, FARE_VERDICT_OK, 400 * MBPS);
	expect(1, 1, FARE_VERDICT_NO_ROUTE, 0);
}
END_TEST

/* One that does not come back after a reload withdraws nothing, and its routes age all the same. */
START_TEST(what_a_replaced_source_said_does_not_live_for_ever)
{
	const struct path_probe answered = {.judged = true, .answered = true, .permille = 1000};
	struct in6_addr a = peer_address(1);

	everything_fine();
	path_table_source_replaced(table, PATH_SOURCE_ZSERV, false, now);
	path_table_source_replaced(table, PATH_SOURCE_BMP, true, now);
	ck_assert_int_eq(path_table_probe(table, 0, &a, 1, &answered), 0);
	ck_assert_uint_eq(path_table_evaluate(table, now, NULL, NULL), now + times.stale_ns);
	now += times.stale_ns;
	expect(1, 0, FARE_VERDICT_NO_ROUTE, 0);
	expect(1, 1, FARE_VERDICT_STALE, 400 * MBPS);
	teach(PATH_SOURCE_BMP, event_of(1, 0, 400e6));
	source(PATH_SOURCE_BMP, BGP_SOURCE_UP);
	expect(1, 0, FARE_VERDICT_OK, 400 * MBPS);
}
END_TEST

/* What nobody can withdraw any more is nobody's word. */
START_TEST(a_source_that_is_dropped_teaches_nothing)
{
	everything_fine();
	path_table_source_replaced(table, PATH_SOURCE_ZSERV, false, now);
	expect(1, 0, FARE_VERDICT_OK, 400 * MBPS);
	withdraw(PATH_SOURCE_BMP, 1, 0);
	expect(1, 0, FARE_VERDICT_NO_ROUTE, 0);
	source(PATH_SOURCE_BMP, BGP_SOURCE_DOWN);
	now += times.fallback_ns + times.restart_ns;
	expect(1, 0, FARE_VERDICT_NO_ROUTE, 0);
	expect(1, 1, FARE_VERDICT_STALE, 400 * MBPS);
}
END_TEST

/* The rule holds for every source: _i is one. */
START_TEST(a_source_that_has_said_nothing_withdraws_nothing)
{
	bool is_bmp = _i == PATH_SOURCE_BMP;

	everything_fine();
	path_table_source_replaced(table, (enum path_source)_i, true, now);
	source((enum path_source)_i, BGP_SOURCE_UP);
	now += times.restart_ns;
	for (unsigned p = 0; p < 4; p++)
		expect(1, p, is_bmp ? FARE_VERDICT_STALE : FARE_VERDICT_OK, 400 * MBPS);
	/* once it speaks, of whatever path, it withdraws what it leaves out */
	teach((enum path_source)_i, event_of(1, 0, 400e6));
	expect(1, 0, FARE_VERDICT_OK, 400 * MBPS);
	expect(1, 1, is_bmp ? FARE_VERDICT_NO_ROUTE : FARE_VERDICT_NOT_INSTALLED, 0);
}
END_TEST

START_TEST(nor_does_it_withdraw_what_is_adopted)
{
	const uint64_t bps[] = {400 * MBPS, 0, 0, 0};

	adopt(1, bps);
	source(PATH_SOURCE_BMP, BGP_SOURCE_UP);
	source(PATH_SOURCE_ZSERV, BGP_SOURCE_UP);
	now += times.restart_ns;
	expect(1, 0, FARE_VERDICT_STALE, 400 * MBPS);
	teach(PATH_SOURCE_BMP, event_of(2, 0, 400e6));
	expect(1, 0, FARE_VERDICT_NO_ROUTE, 0);
}
END_TEST

START_TEST(no_speed_is_local_down_with_its_own_reason)
{
	everything_fine();
	path_table_link(table, 0, 0, 0, true, 0);
	path_table_link(table, 0, 0, 1, true, 0);
	expect(1, 0, FARE_VERDICT_LOCAL_DOWN, 0);
	ck_assert_ptr_nonnull(strstr(view(1, 0).reason, "speed"));
}
END_TEST

struct seen {
	int changes, pairs;
	struct path_change last;
};

static void on_change(void *arg, const struct path_change *change)
{
	struct seen *seen = arg;

	seen->changes++;
	seen->last = *change;
}

static void on_pair(void *arg, uint32_t pair, uint32_t n_planes)
{
	struct seen *seen = arg;

	ck_assert_uint_eq(pair, 0);
	ck_assert_uint_eq(n_planes, 4);
	seen->pairs++;
}

START_TEST(only_what_changed_is_told)
{
	static const struct path_table_handlers handlers = {on_change, on_pair};
	struct seen seen = {0};

	everything_fine();
	path_table_evaluate(table, now, &handlers, &seen);
	ck_assert_int_eq(seen.changes + seen.pairs, 0);
	teach(PATH_SOURCE_BMP, event_of(1, 2, 100e6));
	path_table_evaluate(table, now, &handlers, &seen);
	ck_assert_int_eq(seen.changes, 1);
	ck_assert_int_eq(seen.pairs, 1);
	ck_assert_uint_eq(seen.last.plane, 2);
	ck_assert_uint_eq(seen.last.old_bps, 400 * MBPS);
	ck_assert_uint_eq(seen.last.new_bps, 100 * MBPS);
	ck_assert(!seen.last.is_new);
}
END_TEST

START_TEST(the_table_is_bounded)
{
	struct bgp_path_event e = event_of(0, 0, 1e6);

	for (unsigned i = 0; i < FARE_MAX_PAIRS; i++) {
		e.peer.s6_addr[14] = (uint8_t)(i >> 8);
		e.peer.s6_addr[15] = (uint8_t)i;
		teach(PATH_SOURCE_BMP, e);
	}
	e.peer.s6_addr[13] = 20;
	ck_assert_int_eq(path_table_route(table, PATH_SOURCE_BMP, &e, now), -ENOSPC);
	ck_assert_uint_eq(path_table_n_pairs(table), FARE_MAX_PAIRS);
}
END_TEST

/* ---- peers that go away ---------------------------------------------------- */

static uint32_t forgotten[8];
static unsigned n_forgotten;

static void on_forget(void *arg, uint32_t pair)
{
	ck_assert_ptr_eq(arg, table);
	forgotten[n_forgotten++ % 8] = pair;
}

static uint32_t pair_of(unsigned peer)
{
	struct in6_addr a = peer_address(peer);
	uint32_t pair;

	return path_table_find(table, 0, &a, &pair) ? pair : UINT32_MAX;
}

static uint64_t evaluate(void)
{
	return path_table_evaluate(table, now, NULL, NULL);
}

START_TEST(a_peer_without_routes_is_forgotten)
{
	struct path_table_times forgetful = times;
	uint32_t first;

	forgetful.forget_ns = 3600 * S;
	path_table_set_times(table, &forgetful);
	path_table_set_on_forget(table, on_forget, table);
	everything_fine();
	teach(PATH_SOURCE_BMP, event_of(2, 0, 400e6));
	teach(PATH_SOURCE_ZSERV, event_of(2, 0, 25));
	evaluate();
	first = pair_of(1);
	for (unsigned p = 0; p < 4; p++) {
		withdraw(PATH_SOURCE_BMP, 1, p);
		withdraw(PATH_SOURCE_ZSERV, 1, p);
	}
	ck_assert_uint_eq(evaluate(), now + 3600 * S);
	now += 3600 * S - 1;
	evaluate();
	expect(1, 0, FARE_VERDICT_NO_ROUTE, 0); /* an operator may still ask why */
	now += 1;
	evaluate();
	ck_assert_uint_eq(n_forgotten, 1);
	ck_assert_uint_eq(forgotten[0], first);
	ck_assert_uint_eq(pair_of(1), UINT32_MAX);
	ck_assert_uint_eq(path_table_n_pairs(table), 1);
	expect(2, 0, FARE_VERDICT_OK, 400 * MBPS);
	/* back, and known anew, under the id that is free */
	teach(PATH_SOURCE_BMP, event_of(3, 0, 200e6));
	teach(PATH_SOURCE_ZSERV, event_of(3, 0, 25));
	ck_assert_uint_eq(pair_of(3), first);
	expect(3, 0, FARE_VERDICT_OK, 200 * MBPS);
	expect(2, 0, FARE_VERDICT_OK, 400 * MBPS);
}
END_TEST

START_TEST(one_that_comes_back_in_time_is_not)
{
	struct path_table_times forgetful = times;

	forgetful.forget_ns = 100 * S;
	path_table_set_times(table, &forgetful);
	path_table_set_on_forget(table, on_forget, table);
	source(PATH_SOURCE_BMP, BGP_SOURCE_UP);
	for (int i = 0; i < 5; i++) {
		teach(PATH_SOURCE_BMP, event_of(1, 0, 400e6));
		evaluate();
		now += 500 * S;
		evaluate();
		withdraw(PATH_SOURCE_BMP, 1, 0);
		evaluate();
		now += 60 * S;
		evaluate();
	}
	ck_assert_uint_eq(n_forgotten, 0);
	expect(1, 0, FARE_VERDICT_NO_ROUTE, 0);
}
END_TEST

/* Addresses that come and go, many times as many as there is room for. */
START_TEST(churn_does_not_fill_the_table)
{
	path_table_set_on_forget(table, on_forget, table);
	source(PATH_SOURCE_BMP, BGP_SOURCE_UP);
	teach(PATH_SOURCE_BMP, event_of(1, 0, 400e6)); /* stays */
	for (unsigned i = 0; i < 3 * FARE_MAX_PAIRS; i++) {
		struct bgp_path_event e = event_of(0, 0, 1e6);

		e.peer.s6_addr[13] = (uint8_t)(20 + (i >> 16));
		e.peer.s6_addr[14] = (uint8_t)(i >> 8);
		e.peer.s6_addr[15] = (uint8_t)i;
		teach(PATH_SOURCE_BMP, e);
		e.reachable = false;
		teach(PATH_SOURCE_BMP, e);
		if (i % 64 == 0 || path_table_n_pairs(table) == FARE_MAX_PAIRS) {
			now += S;
			evaluate();
		}
	}
	ck_assert_uint_eq(n_forgotten, 2 * FARE_MAX_PAIRS + 1);
	ck_assert_uint_le(path_table_end(table), FARE_MAX_PAIRS);
	expect(1, 0, FARE_VERDICT_OK, 400 * MBPS);
	/* a drain passes over the places of those that were forgotten */
	ck_assert_int_eq(path_table_set_drains(table, &(struct drain_set){.n = 1}), 0);
	evaluate();
	expect(1, 0, FARE_VERDICT_DRAINED, 0);
}
END_TEST

/* A peer whose route has just come back is not the one that makes room for another. */
START_TEST(one_that_is_taught_again_is_not_forgotten)
{
	struct bgp_path_event e = event_of(0, 0, 1e6);

	source(PATH_SOURCE_BMP, BGP_SOURCE_UP);
	for (unsigned i = 0; i < FARE_MAX_PAIRS; i++) {
		e.peer.s6_addr[14] = (uint8_t)(i >> 8);
		e.peer.s6_addr[15] = (uint8_t)i;
		teach(PATH_SOURCE_BMP, e);
	}
	e.reachable = false; /* the last */
	teach(PATH_SOURCE_BMP, e);
	evaluate();
	e.reachable = true;
	teach(PATH_SOURCE_BMP, e);
	e.peer.s6_addr[13] = 20;
	ck_assert_int_eq(path_table_route(table, PATH_SOURCE_BMP, &e, now), -ENOSPC);
	evaluate();
	ck_assert_uint_eq(path_table_n_pairs(table), FARE_MAX_PAIRS);
}
END_TEST

/* Whatever the inputs, every path has one verdict, is worth nothing unless usable, and never more
 * than its links. */
START_TEST(whatever_comes_the_invariants_hold)
{
	srand(7);
	for (int i = 0; i < 20000; i++) {
		unsigned peer = (unsigned)rand() % 5, plane = (unsigned)rand() % 4;
		struct bgp_path_event e = event_of(peer, plane, (rand() % 5) * 100e6);
		struct path_view v;
		uint64_t next;

		now += (uint64_t)rand() % (S / 2);
		e.reachable = rand() % 3;
		e.stale = !(rand() % 4);
		e.bandwidth_kind = (enum bgp_bandwidth_kind)(rand() % 3);
		switch (rand() % 5) {
		case 0:
			source((enum path_source)(rand() % 2), (enum bgp_source_state)(rand() % 3));
			break;
		case 1:
			path_table_link(table, 0, plane, (uint32_t)rand() % 2, rand() % 2,
					200 * MBPS);
			break;
		case 2:
			set_drain(0, plane, !(rand() % 3));
			break;
		default:
			teach((enum path_source)(rand() % 2), e);
		}
		next = path_table_evaluate(table, now, NULL, NULL);
		ck_assert(!next || next > now);
		for (uint32_t n = 0; n < path_table_end(table); n++)
			for (uint32_t p = 0; path_table_view(table, n, p, &v); p++) {
				bool usable = v.verdict == FARE_VERDICT_OK ||
					      v.verdict == FARE_VERDICT_STALE;

				ck_assert_uint_le(v.usable_bps, v.local_bps);
				ck_assert_int_eq(usable, v.usable_bps > 0);
				ck_assert(!v.drained || v.verdict == FARE_VERDICT_DRAINED);
			}
	}
	ck_assert_uint_eq(path_table_n_pairs(table), 5);
}
END_TEST

/* ---- probes and notices --------------------------------------------------- */

static struct path_view view_of(unsigned peer, unsigned plane)
{
	struct in6_addr address = peer_address(peer);
	struct path_view view;
	uint32_t pair;

	path_table_evaluate(table, now, NULL, NULL);
	ck_assert(path_table_find(table, 0, &address, &pair));
	ck_assert(path_table_view(table, pair, plane, &view));
	return view;
}

static void probe(unsigned peer, unsigned plane, uint32_t permille)
{
	const struct path_probe p = {
		.judged = true, .permille = permille, .reason = "because a probe says so"};
	struct in6_addr address = peer_address(peer);

	ck_assert_int_eq(path_table_probe(table, 0, &address, plane, &p), 0);
}

static void taught(unsigned peer)
{
	source(PATH_SOURCE_BMP, BGP_SOURCE_UP);
	teach(PATH_SOURCE_BMP, event_of(peer, 1, 400e6));
}

START_TEST(probes_take_away_and_give_back_in_steps)
{
	struct in6_addr stranger = peer_address(99);
	const struct path_probe p = {.judged = true};

	taught(2);
	ck_assert_uint_eq(view_of(2, 1).usable_bps, 400 * MBPS);
	probe(2, 1, 0);
	ck_assert_int_eq(view_of(2, 1).verdict, FARE_VERDICT_PROBE_DOWN);
	ck_assert_uint_eq(view_of(2, 1).usable_bps, 0);
	ck_assert_str_eq(view_of(2, 1).reason, "because a probe says so");
	probe(2, 1, 500);
	ck_assert_int_eq(view_of(2, 1).verdict, FARE_VERDICT_RAMPING);
	ck_assert_uint_eq(view_of(2, 1).usable_bps, 200 * MBPS);
	probe(2, 1, 1000);
	ck_assert_int_eq(view_of(2, 1).verdict, FARE_VERDICT_OK);
	ck_assert_int_eq(path_table_probe(table, 0, &stranger, 1, &p), -ENOENT);
}
END_TEST

START_TEST(a_sub_port_that_returns_is_used_once_it_is_proven)
{
	struct in6_addr address = peer_address(1);
	struct path_probe p = {
		.judged = true, .answered = true, .permille = 1000, .returning_local = 2};

	everything_fine();
	ck_assert_int_eq(path_table_probe(table, 0, &address, 1, &p), 0);
	expect(1, 1, FARE_VERDICT_OK, 200 * MBPS);
	ck_assert_ptr_nonnull(strstr(view(1, 1).reason, "carrier again"));
	expect(1, 2, FARE_VERDICT_OK, 400 * MBPS);
	/* the other goes: better a doubtful one than none */
	path_table_link(table, 0, 1, 0, false, 0);
	expect(1, 1, FARE_VERDICT_OK, 200 * MBPS);
	path_table_link(table, 0, 1, 0, true, 200 * MBPS);
	p.returning_local = 0;
	ck_assert_int_eq(path_table_probe(table, 0, &address, 1, &p), 0);
	expect(1, 1, FARE_VERDICT_OK, 400 * MBPS);
}
END_TEST

START_TEST(probes_never_bring_back_what_routing_took)
{
	struct bgp_path_event gone = event_of(2, 1, 0);

	taught(2);
	gone.reachable = false;
	teach(PATH_SOURCE_BMP, gone);
	probe(2, 1, 1000);
	ck_assert_int_eq(view_of(2, 1).verdict, FARE_VERDICT_NO_ROUTE);
}
END_TEST

static struct path_notice held;

static int notice(unsigned peer, uint64_t incarnation, uint32_t sequence, uint64_t bps)
{
	struct path_notice n = {.incarnation = incarnation,
				.sequence = sequence,
				.expires_ns = now + 5 * S,
				.n_planes = 4,
				.bps = {UINT64_MAX, bps, UINT64_MAX, UINT64_MAX}};
	struct in6_addr address = peer_address(peer);

	return path_table_notice(table, 0, &address, &n, &held);
}

START_TEST(a_notice_lowers_never_raises_and_expires)
{
	taught(2);
	ck_assert_int_eq(notice(2, 7, 1, 200 * MBPS), 0);
	ck_assert_uint_eq(view_of(2, 1).usable_bps, 200 * MBPS);
	ck_assert_int_eq(view_of(2, 1).verdict, FARE_VERDICT_OK);
	ck_assert_int_eq(notice(2, 7, 2, 900 * MBPS), 0);
	ck_assert_uint_eq(view_of(2, 1).usable_bps, 400 * MBPS);
	ck_assert_int_eq(notice(2, 7, 3, 0), 0);
	ck_assert_int_eq(view_of(2, 1).verdict, FARE_VERDICT_ZERO_BANDWIDTH);
	ck_assert_uint_eq(view_of(2, 1).usable_bps, 0);
	now += 3 * S;
	ck_assert_int_eq(notice(2, 7, 3, 0), 0); /* a repetition, perhaps by others: no later end */
	now += 2 * S;
	ck_assert_uint_eq(view_of(2, 1).usable_bps, 400 * MBPS);
}
END_TEST

START_TEST(an_old_notice_changes_nothing)
{
	taught(2);
	ck_assert_int_eq(notice(2, 7, 5, UINT64_MAX), 0);
	ck_assert_int_eq(notice(2, 7, 4, 0), -ESTALE);
	ck_assert_uint_eq(held.incarnation, 7);
	ck_assert_uint_eq(held.sequence, 5);
	ck_assert_int_eq(notice(2, 6, 9, 0), -ESTALE); /* of the peer's former life */
	ck_assert_uint_eq(held.incarnation, 7);
	ck_assert_uint_eq(held.sequence, 5);
	ck_assert_uint_eq(view_of(2, 1).usable_bps, 400 * MBPS);
	/* it has expired, and what is older would still be a repetition by who knows whom */
	now += 6 * S;
	ck_assert_int_eq(notice(2, 6, 9, 0), -ESTALE);
	ck_assert_uint_eq(held.incarnation, 7);
	ck_assert_int_eq(notice(2, 8, 1, 0), 0);
	ck_assert_uint_eq(held.incarnation, 8);
	ck_assert_uint_eq(held.sequence, 1);
	ck_assert_uint_eq(view_of(2, 1).usable_bps, 0);
	held.incarnation = 77;
	ck_assert_int_eq(notice(99, 8, 1, 0), -ENOENT);
	ck_assert_uint_eq(held.incarnation, 77);
}
END_TEST

struct routes {
	int n;
	bool routed, was_down;
};

static void on_route(void *arg, uint32_t gpu, const struct in6_addr *peer, uint32_t plane,
		     bool routed, bool was_down)
{
	struct routes *r = arg;

	(void)gpu;
	(void)peer;
	if (plane != 1)
		return;
	r->n++;
	r->routed = routed;
	r->was_down = was_down;
	/* what was cut returns through probes */
	if (!routed)
		probe(2, 1, 0);
}

START_TEST(a_route_that_returns_waits_for_probes)
{
	struct bgp_path_event gone = event_of(2, 1, 0);
	struct routes r = {0};

	path_table_set_probing(table, on_route, &r);
	taught(2);
	view_of(2, 1);
	ck_assert(r.n == 1 && r.routed && !r.was_down);
	gone.reachable = false;
	teach(PATH_SOURCE_BMP, gone);
	view_of(2, 1);
	ck_assert(r.n == 2 && !r.routed);
	teach(PATH_SOURCE_BMP, event_of(2, 1, 400e6));
	ck_assert_int_eq(view_of(2, 1).verdict, FARE_VERDICT_PROBE_DOWN);
	ck_assert(r.n == 3 && r.routed);
}
END_TEST

START_TEST(a_former_daemon_s_probe_down_is_kept)
{
	struct in6_addr address = peer_address(2);
	struct routes r = {0};

	path_table_set_probing(table, on_route, &r);
	ck_assert_int_eq(path_table_adopt(table, 0, &address, 1, FARE_VERDICT_PROBE_DOWN, 0, now),
			 0);
	taught(2);
	ck_assert_int_eq(view_of(2, 1).verdict, FARE_VERDICT_PROBE_DOWN);
	ck_assert(r.n == 1 && r.routed && r.was_down);
}
END_TEST

static void on_route_cut(void *arg, uint32_t gpu, const struct in6_addr *peer, uint32_t plane,
			 bool routed, bool was_down)
{
	(void)arg, (void)gpu, (void)peer, (void)was_down;
	if (routed && plane == 1)
		probe(2, 1, 0);
}

/* What the answer is to being told of a route counts before anything is published. */
START_TEST(a_path_that_has_to_pass_first_is_never_ok_before)
{
	static const struct path_table_handlers handlers = {on_change, NULL};
	struct seen seen = {0};

	path_table_set_probing(table, on_route_cut, NULL);
	source(PATH_SOURCE_BMP, BGP_SOURCE_UP);
	teach(PATH_SOURCE_BMP, event_of(2, 0, 400e6));
	path_table_evaluate(table, now, &handlers, &seen);
	seen.changes = 0;
	teach(PATH_SOURCE_BMP, event_of(2, 1, 400e6));
	ck_assert_uint_eq(path_table_evaluate(table, now, &handlers, &seen), now + S);
	expect(2, 1, FARE_VERDICT_PROBE_DOWN, 0);
	/* as every start has it: told only if it lasts */
	ck_assert_int_eq(seen.changes, 0);
	now += S;
	ck_assert_uint_eq(path_table_evaluate(table, now, &handlers, &seen), 0);
	ck_assert_int_eq(seen.changes, 1);
	ck_assert_int_eq(seen.last.old_verdict, FARE_VERDICT_NO_ROUTE);
	ck_assert_int_eq(seen.last.new_verdict, FARE_VERDICT_PROBE_DOWN);
	ck_assert_uint_eq(seen.last.new_bps, 0);
	path_table_evaluate(table, now, &handlers, &seen);
	ck_assert_int_eq(seen.changes, 1);
}
END_TEST

START_TEST(a_healthy_start_tells_of_no_probe_down)
{
	static const struct path_table_handlers handlers = {on_change, NULL};
	struct seen seen = {0};

	path_table_set_probing(table, on_route_cut, NULL);
	source(PATH_SOURCE_BMP, BGP_SOURCE_UP);
	teach(PATH_SOURCE_BMP, event_of(2, 1, 400e6));
	path_table_evaluate(table, now, &handlers, &seen);
	seen.changes = 0;
	now += S / 100;
	probe(2, 1, 1000);
	path_table_evaluate(table, now, &handlers, &seen);
	ck_assert_int_eq(seen.changes, 1);
	ck_assert(seen.last.is_new && seen.last.new_verdict == FARE_VERDICT_OK);
	/* once it has been in use, each loss is told at once */
	probe(2, 1, 0);
	path_table_evaluate(table, now, &handlers, &seen);
	ck_assert_int_eq(seen.changes, 2);
	ck_assert_int_eq(seen.last.new_verdict, FARE_VERDICT_PROBE_DOWN);
}
END_TEST

/* ---- all that may be said of a path at once -------------------------------- */

enum probing { UNPROBED, ANSWERED, LATE, SILENT, PROBED_DOWN, CROSSED, N_PROBING };

struct evidence {
	bool drained, carrier, advertised, installed;
	double bps;
	enum path_kernel_route kernel;
	enum probing probing;
	enum address_fault own, port;
	uint64_t noticed_bps;
};

static void give(const struct evidence *e)
{
	static const struct path_probe probes[N_PROBING] = {
		[ANSWERED] = {.judged = true, .answered = true, .permille = 1000},
		[LATE] = {.judged = true, .permille = 1000, .reason = "late"},
		[SILENT] = {.judged = true, .silent = true, .permille = 1000, .reason = "silent"},
		[PROBED_DOWN] = {.judged = true, .silent = true, .reason = "down"},
		[CROSSED] = {.judged = true, .silent = true, .permille = 1000, .crossed = 3},
	};
	struct in6_addr a = peer_address(1);
	static uint64_t incarnation = 1;
	struct path_notice last, notice = {.incarnation = ++incarnation,
					   .expires_ns = now + 100 * S,
					   .n_planes = 1,
					   .bps = {e->noticed_bps}};

	set_drain(0, 0, e->drained);
	for (uint32_t s = 0; s < 2; s++) {
		path_table_link(table, 0, 0, s, e->carrier, 200 * MBPS);
		path_table_sub_port_address(table, 0, 0, s, false, e->port);
	}
	path_table_own_address(table, 0, false, e->own);
	if (e->advertised)
		teach(PATH_SOURCE_BMP, event_of(1, 0, e->bps));
	else
		withdraw(PATH_SOURCE_BMP, 1, 0);
	if (e->installed)
		teach(PATH_SOURCE_ZSERV, event_of(1, 0, 25));
	else
		withdraw(PATH_SOURCE_ZSERV, 1, 0);
	path_table_kernel_route(table, 0, &a, 0, e->kernel);
	path_table_probe(table, 0, &a, 0, &probes[e->probing]);
	ck_assert_int_eq(path_table_notice(table, 0, &a, &notice, &last), 0);
}

/* What says that the path does not work; NULL: nothing. An answer over it outweighs what is only
 * likely. */
static const char *contradiction(const struct evidence *e)
{
	bool answered = e->probing == ANSWERED || e->probing == LATE; /* one reply */
	bool silent = e->probing == SILENT || e->probing == PROBED_DOWN || e->probing == CROSSED;

	if (e->drained)
		return "drained";
	if (!e->carrier)
		return "no carrier";
	if (!e->advertised || e->bps < 1)
		return "withdrawn, or zero";
	if (!e->installed)
		return "not installed";
	if (e->noticed_bps == 0)
		return "the peer's notice";
	if (e->probing == PROBED_DOWN || e->probing == CROSSED)
		return "probes";
	if (silent && (e->kernel == PATH_KERNEL_ELSEWHERE || e->kernel == PATH_KERNEL_NONE))
		return "the kernel's route";
	if (!answered && (e->own > ADDRESS_OFF_SUBNET || e->port > ADDRESS_SHARED))
		return "an address";
	return NULL;
}

static void try_evidence(const struct evidence *e)
{
	const char *against = contradiction(e);
	struct path_view v;

	give(e);
	v = view(1, 0);
	now += S + 1; /* as long as zebra may differ */
	v = view(1, 0);
	ck_assert_msg(!against == (v.usable_bps > 0),
		      "%s (%s), and against it: %s; drained %d carrier %d bmp %d zebra %d bps %g "
		      "kernel %d probes %d own %d port %d notice %llu",
		      fare_verdict_name(v.verdict), v.reason, against ? against : "nothing",
		      e->drained, e->carrier, e->advertised, e->installed, e->bps, e->kernel,
		      e->probing, e->own, e->port, (unsigned long long)e->noticed_bps);
	ck_assert(!against || v.verdict != FARE_VERDICT_OK);
	ck_assert(*v.reason && *v.look_next);
}

START_TEST(no_path_is_up_against_evidence)
{
	static const double bps[] = {0, 1e6, 400e6};
	static const uint64_t notices[] = {0, 100 * MBPS, UINT64_MAX};
	static const enum address_fault own[] = {ADDRESS_OK, ADDRESS_TENTATIVE, ADDRESS_DUPLICATE,
						 ADDRESS_MISSING};
	unsigned n = 0;

	everything_fine();
	for (unsigned flags = 0; flags < 16; flags++)
		for (unsigned b = 0; b < 3; b++)
			for (unsigned k = 0; k <= PATH_KERNEL_NONE; k++)
				for (unsigned i = 0; i < N_PROBING * 3; i++)
					for (unsigned a = 0; a < 4 * (ADDRESS_MISSING + 1); a++) {
						const struct evidence e = {
							.drained = flags & 1,
							.carrier = flags & 2,
							.advertised = flags & 4,
							.installed = flags & 8,
							.bps = bps[b],
							.kernel = k,
							.probing = i % N_PROBING,
							.noticed_bps = notices[i / N_PROBING],
							.own = own[a % 4],
							.port = a / 4,
						};

						try_evidence(&e);
						n++;
					}
	ck_assert_uint_eq(n, 16 * 3 * 4 * 18 * 24);
}
END_TEST

/* A drained sub-port carries nothing, whatever its address is. */
START_TEST(a_drained_sub_port_hides_no_missing_address)
{
	everything_fine();
	drain_sub_ports(1);
	path_table_sub_port_address(table, 0, 2, 1, false, ADDRESS_MISSING);
	expect(1, 2, FARE_VERDICT_LOCAL_DOWN, 0);
	ck_assert_ptr_nonnull(strstr(view(1, 2).reason, "address of its neighbour"));
	path_table_sub_port_address(table, 0, 2, 1, false, ADDRESS_OK);
	path_table_sub_port_address(table, 0, 2, 0, false, ADDRESS_MISSING);
	expect(1, 2, FARE_VERDICT_OK, 200 * MBPS);
	ck_assert_ptr_nonnull(strstr(view(1, 2).reason, "drained a local sub-port"));
}
END_TEST

/* One sub-port without its address is left out; the others go on. */
START_TEST(a_sub_port_without_its_address_is_out_of_use)
{
	everything_fine();
	path_table_sub_port_address(table, 0, 0, 1, false, ADDRESS_MISSING);
	expect(1, 0, FARE_VERDICT_OK, 200 * MBPS);
	ck_assert_ptr_nonnull(strstr(view(1, 0).reason, "address"));
	path_table_sub_port_address(table, 0, 0, 1, true, ADDRESS_MISSING);
	path_table_sub_port_address(table, 0, 0, 1, false, ADDRESS_OK);
	expect(1, 0, FARE_VERDICT_OK, 400 * MBPS); /* that is for IPv6 peers */
	path_table_sub_port_address(table, 0, 0, 1, false, ADDRESS_SHARED);
	expect(1, 0, FARE_VERDICT_OK, 400 * MBPS);
	ck_assert_ptr_nonnull(strstr(view(1, 0).reason, "not separate"));
	ck_assert_int_eq(path_table_sub_port_address(table, 0, 9, 0, false, 0), -EINVAL);
	ck_assert_int_eq(path_table_own_address(table, 9, false, 0), -EINVAL);
}
END_TEST

/* Each has a reason and advice of its own, for which why is asked. */
START_TEST(causes_are_distinguished)
{
	struct in6_addr a = peer_address(1);
	struct path_probe silent = {.judged = true, .silent = true, .permille = 1000};
	struct path_probe crossed = {
		.judged = true, .answered = true, .permille = 1000, .crossed = 2};

	everything_fine();
	path_table_probe(table, 0, &a, 0, &silent);
	path_table_kernel_route(table, 0, &a, 0, PATH_KERNEL_ELSEWHERE);
	ck_assert_ptr_nonnull(strstr(view(1, 0).reason, "out of no sub-port"));
	path_table_kernel_route(table, 0, &a, 0, PATH_KERNEL_OVER);
	ck_assert_ptr_nonnull(strstr(view(1, 0).reason, "answers probes over no plane"));
	ck_assert_ptr_nonnull(strstr(view(1, 0).look_next, "fared on the peer"));
	expect(1, 0, FARE_VERDICT_OK, 400 * MBPS);
	teach(PATH_SOURCE_BMP, event_of(1, 1, 2e6)); /* two links, and no bandwidth */
	ck_assert_ptr_nonnull(strstr(view(1, 1).look_next, "bandwidth_scale"));
	path_table_probe(table, 0, &a, 2, &crossed);
	ck_assert_ptr_nonnull(strstr(view(1, 2).reason, "crossed"));
	expect(1, 2, FARE_VERDICT_OK, 400 * MBPS);
	withdraw(PATH_SOURCE_ZSERV, 1, 3);
	now += S;
	expect(1, 3, FARE_VERDICT_NOT_INSTALLED, 0);
	ck_assert_ptr_nonnull(strstr(view(1, 3).look_next, "multipath-relax"));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("path_table");
	TCase *tc = tcase_create("rules");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, smaller_of_local_and_advertised);
	tcase_add_test(tc, what_limits_a_usable_path_is_named);
	tcase_add_test(tc, a_plane_without_ports_is_local_down);
	tcase_add_test(tc, order_of_rules);
	tcase_add_test(tc, less_than_a_bit_is_nothing);
	tcase_add_test(tc, absent_and_invalid_use_local_for_that_path_alone);
	tcase_add_test(tc, zebra_tells_of_a_bandwidth_that_bmp_leaves_out);
	tcase_add_test(tc, nonsense_is_refused_whole);
	tcase_add_test(tc, stale_keeps_the_weight_but_not_beyond_local);
	tcase_add_test(tc, away_and_gone_from_zebra_is_no_route);
	tcase_add_test(tc, a_restart_of_bgpd_moves_nothing);
	tcase_add_test(tc, a_plane_that_a_restarted_bgpd_learns_last_is_kept);
	tcase_add_test(tc, not_installed_only_after_a_second);
	tcase_add_test(tc, a_zebra_that_is_away_takes_nothing_away);
	tcase_add_test(tc, zebra_alone_shares_out_by_weight);
	tcase_add_test(tc, a_route_that_bmp_does_not_show_is_named);
	tcase_add_test(tc, what_zebra_said_last_does_not_live_for_ever);
	tcase_add_test(tc, without_a_kernel_route_a_silent_path_is_not_usable);
	tcase_add_test(tc, no_path_is_up_against_evidence);
	tcase_add_test(tc, a_drained_sub_port_hides_no_missing_address);
	tcase_add_test(tc, a_sub_port_without_its_address_is_out_of_use);
	tcase_add_test(tc, causes_are_distinguished);
	tcase_add_test(tc, adopted_paths_stay_until_bmp_knows);
	tcase_add_test(tc, what_is_taught_anew_is_fresh_before_the_sync_ends);
	tcase_add_test(tc, adopted_paths_do_not_live_for_ever);
	tcase_add_test(tc, an_answered_adopted_path_outlives_its_time_and_asks_for_no_turn);
	tcase_add_test(tc, a_drain_holds_for_adopted_paths);
	tcase_add_test(tc, a_drained_sub_port_takes_its_part_away);
	tcase_add_test(tc, what_passes_smaller_packets_is_out_of_use);
	tcase_add_test(tc, drain_all_holds_for_peers_to_come);
	tcase_add_test(tc, a_replaced_source_must_teach_again);
	tcase_add_test(tc, what_a_replaced_source_said_does_not_live_for_ever);
	tcase_add_test(tc, a_source_that_is_dropped_teaches_nothing);
	tcase_add_loop_test(tc, a_source_that_has_said_nothing_withdraws_nothing, 0,
			    PATH_SOURCE_COUNT);
	tcase_add_test(tc, nor_does_it_withdraw_what_is_adopted);
	tcase_add_test(tc, no_speed_is_local_down_with_its_own_reason);
	tcase_add_test(tc, only_what_changed_is_told);
	tcase_add_test(tc, the_table_is_bounded);
	tcase_add_test(tc, a_peer_without_routes_is_forgotten);
	tcase_add_test(tc, one_that_comes_back_in_time_is_not);
	tcase_add_test(tc, churn_does_not_fill_the_table);
	tcase_add_test(tc, one_that_is_taught_again_is_not_forgotten);
	tcase_add_test(tc, whatever_comes_the_invariants_hold);
	tcase_add_test(tc, probes_take_away_and_give_back_in_steps);
	tcase_add_test(tc, a_sub_port_that_returns_is_used_once_it_is_proven);
	tcase_add_test(tc, probes_never_bring_back_what_routing_took);
	tcase_add_test(tc, a_notice_lowers_never_raises_and_expires);
	tcase_add_test(tc, an_old_notice_changes_nothing);
	tcase_add_test(tc, a_route_that_returns_waits_for_probes);
	tcase_add_test(tc, a_former_daemon_s_probe_down_is_kept);
	tcase_add_test(tc, a_path_that_has_to_pass_first_is_never_ok_before);
	tcase_add_test(tc, a_healthy_start_tells_of_no_probe_down);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
