/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Routes against the real kernel, in a network namespace of the test's own. Skipped where none can
 * be made.
 */
#include "routes.h"

#include <arpa/inet.h>
#include <check.h>
#include <ev.h>
#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "own_net.h"
#include "patience.h"

static struct ev_loop *loop;
static struct routes *routes;
static unsigned n_told, n_lost;
static struct in6_addr last_host;
static int last_hops[ROUTES_MAX_HOPS];
static unsigned last_n;

static void on_route(void *arg, const struct in6_addr *host, const int *ifindex, unsigned n)
{
	(void)arg;
	ck_assert_uint_le(n, ROUTES_MAX_HOPS);
	n_told++;
	last_host = *host;
	last_n = n;
	for (unsigned i = 0; i < n; i++)
		last_hops[i] = ifindex[i];
}

static void on_lost(void *arg)
{
	(void)arg;
	n_lost++;
}

static void on_timeout(struct ev_loop *l, ev_timer *w, int revents)
{
	(void)revents;
	*(bool *)w->data = true;
	ev_break(l, EVBREAK_ALL);
}

/* Runs the loop until *what is at least n. */
static void wait_for(const unsigned *what, unsigned n)
{
	bool late = false;
	ev_timer limit;

	ev_timer_init(&limit, on_timeout, PATIENCE_S, 0.);
	limit.data = &late;
	ev_now_update(loop); /* the loop may not have turned for long */
	ev_timer_start(loop, &limit);
	while (*what < n && !late)
		ev_run(loop, EVRUN_ONCE);
	ev_timer_stop(loop, &limit);
	ck_assert_msg(*what >= n, "%u of %u", *what, n);
}

static void ip(const char *arguments)
{
	char command[400];

	snprintf(command, sizeof(command), "ip %s", arguments);
	ck_assert_msg(system(command) == 0, "%s", command);
}

static int device(const char *name)
{
	return (int)if_nametoindex(name);
}

static void told_of(const char *host)
{
	char text[INET6_ADDRSTRLEN];

	ck_assert_ptr_nonnull(inet_ntop(AF_INET6, &last_host, text, sizeof(text)));
	ck_assert_str_eq(text, host);
}

static void setup(void)
{
	static const struct routes_handlers handlers = {on_route, on_lost};

	ck_assert_int_eq(unshare(CLONE_NEWNET), 0);
	for (unsigned i = 0; i < 3; i++) {
		char line[100];

		snprintf(line, sizeof(line), "link add d%u type veth peer name p%u", i, i);
		ip(line);
		snprintf(line, sizeof(line), "link set p%u up", i);
		ip(line);
		snprintf(line, sizeof(line), "link set d%u up", i);
		ip(line);
		snprintf(line, sizeof(line), "addr add 198.18.0.%u/31 dev d%u", 2 * i + 1, i);
		ip(line);
		snprintf(line, sizeof(line), "-6 addr add 2001:db8:%u::1/64 dev d%u nodad", i, i);
		ip(line);
	}
	loop = ev_loop_new(EVFLAG_AUTO);
	n_told = n_lost = last_n = 0;
	ck_assert_int_eq(routes_create(&routes, loop, &handlers, NULL), 0);
}

static void teardown(void)
{
	routes_destroy(routes);
	ev_loop_destroy(loop);
}

START_TEST(next_hops_come_and_go)
{
	ip("route add 198.19.0.2 nexthop via 198.18.0.0 dev d0 nexthop via 198.18.0.2 dev d1 "
	   "nexthop via 198.18.0.4 dev d2");
	wait_for(&n_told, 1);
	told_of("::ffff:198.19.0.2");
	ck_assert_uint_eq(last_n, 3);
	ck_assert_int_eq(last_hops[0], device("d0"));
	ck_assert_int_eq(last_hops[2], device("d2"));
	ip("route replace 198.19.0.2 nexthop via 198.18.0.0 dev d0 nexthop via 198.18.0.4 dev d2");
	wait_for(&n_told, 2);
	ck_assert_uint_eq(last_n, 2);
	ck_assert_int_eq(last_hops[1], device("d2"));
	ip("route replace 198.19.0.2 via 198.18.0.2 dev d1");
	wait_for(&n_told, 3);
	ck_assert_uint_eq(last_n, 1);
	ck_assert_int_eq(last_hops[0], device("d1"));
	ip("route del 198.19.0.2");
	wait_for(&n_told, 4);
	told_of("::ffff:198.19.0.2");
	ck_assert_uint_eq(last_n, 0);
}
END_TEST

START_TEST(of_ipv6_too)
{
	ip("-6 route add 2001:db8:ff::2 nexthop via 2001:db8::2 dev d0 nexthop via 2001:db8:1::2 "
	   "dev d1");
	wait_for(&n_told, 1);
	told_of("2001:db8:ff::2");
	ck_assert_uint_eq(last_n, 2);
	ip("-6 route replace 2001:db8:ff::2 via 2001:db8:1::2 dev d1");
	wait_for(&n_told, 2);
	ck_assert_uint_eq(last_n, 1);
	ck_assert_int_eq(last_hops[0], device("d1"));
	ip("-6 route del 2001:db8:ff::2");
	wait_for(&n_told, 3);
	ck_assert_uint_eq(last_n, 0);
}
END_TEST

/* As zebra has it. */
START_TEST(next_hop_objects_are_looked_through)
{
	ip("nexthop add id 1 via 198.18.0.0 dev d0");
	ip("nexthop add id 2 via 198.18.0.2 dev d1");
	ip("nexthop add id 3 group 1/2");
	ip("route add 198.19.0.2 nhid 3");
	wait_for(&n_told, 1);
	ck_assert_uint_eq(last_n, 2);
	ip("nexthop replace id 3 group 2");
	wait_for(&n_told, 2);
	ck_assert_uint_eq(last_n, 1);
	ck_assert_int_eq(last_hops[0], device("d1"));
}
END_TEST

START_TEST(what_is_no_host_in_the_main_table_is_not_told)
{
	ip("route add 198.19.0.0/24 via 198.18.0.0");
	ip("route add blackhole 198.19.0.9");
	ip("route add 198.19.0.3 via 198.18.0.0 table 77");
	ip("addr add 198.19.0.1/32 dev lo"); /* table local */
	ip("route add 198.19.0.2 via 198.18.0.0");
	wait_for(&n_told, 1);
	told_of("::ffff:198.19.0.2");
}
END_TEST

/* What was there before, and what is no host's: by which devices packets leave is asked for. */
START_TEST(asked_it_says_by_which_devices)
{
	int ifindex[ROUTES_MAX_HOPS];
	struct in6_addr host, other;
	unsigned first;

	inet_pton(AF_INET6, "::ffff:198.19.0.2", &host);
	inet_pton(AF_INET6, "2001:db8:ff::2", &other);
	ck_assert_int_eq(routes_ask(routes, &host, ifindex), 0);
	ck_assert_int_eq(routes_ask(routes, &other, ifindex), 0);
	ip("route add 198.19.0.2 nexthop via 198.18.0.0 dev d0 nexthop via 198.18.0.4 dev d2");
	ip("-6 route add 2001:db8:ff::/64 nexthop via 2001:db8::2 dev d0 nexthop via "
	   "2001:db8:1::2 dev d1");
	ck_assert_int_eq(routes_ask(routes, &host, ifindex), 2);
	ck_assert_int_eq(ifindex[0], device("d0"));
	ck_assert_int_eq(ifindex[1], device("d2"));
	/* of IPv6 the kernel says first by which one its hash would send */
	ck_assert_int_eq(routes_ask(routes, &other, ifindex), 2);
	first = ifindex[0] == device("d0") ? 0 : 1;
	ck_assert_int_eq(ifindex[first], device("d0"));
	ck_assert_int_eq(ifindex[!first], device("d1"));
	ip("route del 198.19.0.2");
	ip("route add default via 198.18.0.2");
	ck_assert_int_eq(routes_ask(routes, &host, ifindex), 1);
	ck_assert_int_eq(ifindex[0], device("d1"));
	ip("route add blackhole 198.19.0.2");
	ck_assert_int_le(routes_ask(routes, &host, ifindex), 0);
}
END_TEST

/* While bgpd learns anew there may be many: the loop does other things in between. */
START_TEST(a_turn_takes_no_more_than_some)
{
	const unsigned n_routes = 1000;

	ck_assert_int_eq(system("awk 'BEGIN { for (i = 0; i < 1000; i++) print "
				"\"route replace 198.19.1.1 via 198.18.0.\" i % 2 * 2 }' | "
				"ip -batch -"),
			 0);
	ev_run(loop, EVRUN_ONCE);
	ck_assert_uint_gt(n_told, 0);
	ck_assert_uint_lt(n_told, n_routes / 5);
	wait_for(&n_told, n_routes);
	ck_assert_uint_eq(n_lost, 0);
}
END_TEST

START_TEST(an_overrun_is_told)
{
	unsigned n;

	ck_assert_int_eq(system("awk 'BEGIN { for (i = 0; i < 20000; i++) print "
				"\"route replace 198.19.1.1 via 198.18.0.\" i % 2 * 2 }' | "
				"ip -batch -"),
			 0);
	wait_for(&n_lost, 1);
	n = n_told; /* what did fit has been told, and nothing of it comes after the loss */
	ev_run(loop, EVRUN_NOWAIT);
	ck_assert_uint_eq(n_told, n);
	ip("route add 198.19.0.2 via 198.18.0.0");
	do
		wait_for(&n_told, n_told + 1);
	while (last_host.s6_addr[14] || last_host.s6_addr[15] != 2);
	ck_assert_uint_eq(last_n, 1);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("routes");
	TCase *tc = tcase_create("netns");
	SRunner *sr;
	int failed, skip = own_net();

	if (skip)
		return skip;
	sr = srunner_create(s);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, next_hops_come_and_go);
	tcase_add_test(tc, of_ipv6_too);
	tcase_add_test(tc, next_hop_objects_are_looked_through);
	tcase_add_test(tc, what_is_no_host_in_the_main_table_is_not_told);
	tcase_add_test(tc, asked_it_says_by_which_devices);
	tcase_add_test(tc, a_turn_takes_no_more_than_some);
	tcase_add_test(tc, an_overrun_is_told);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
