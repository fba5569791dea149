/* Links against the real kernel, in a network namespace of the test's own. Skipped where none can
 * be made. */
#include "links.h"

#include <check.h>
#include <ev.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

static struct ev_loop *loop;
static struct config *config;
static struct links *links;
static int n_told;

static void on_link(void *arg, uint32_t gpu, uint32_t plane, uint32_t sub_port,
		    enum links_state old, enum links_state state, uint64_t bps)
{
	(void)arg;
	(void)gpu;
	(void)plane;
	(void)sub_port;
	(void)old;
	(void)state;
	(void)bps;
	n_told++;
}

static void on_log(void *arg, int priority, const char *line)
{
	(void)arg;
	(void)priority;
	(void)line;
}

static void on_timeout(struct ev_loop *l, ev_timer *w, int revents)
{
	(void)revents;
	*(bool *)w->data = true;
	ev_break(l, EVBREAK_ALL);
}

/* Runs the loop until sub-port s of plane 0 is in that state; fails after 10 s. */
static void wait_for(uint32_t s, enum links_state wanted, uint64_t wanted_bps)
{
	enum links_state state = LINKS_ABSENT;
	bool late = false;
	uint64_t bps = 0;
	ev_timer limit;

	ev_timer_init(&limit, on_timeout, 10., 0.);
	limit.data = &late;
	ev_timer_start(loop, &limit);
	while (links_view(links, 0, 0, s, &state, &bps) && (state != wanted || bps != wanted_bps) &&
	       !late)
		ev_run(loop, EVRUN_ONCE);
	ev_timer_stop(loop, &limit);
	ck_assert_msg(!late, "sub-port %u is %s %llu, not %s", s, links_state_name(state),
		      (unsigned long long)bps, links_state_name(wanted));
}

static void ip(const char *arguments)
{
	char command[200];

	snprintf(command, sizeof(command), "ip %s", arguments);
	ck_assert_msg(system(command) == 0, "%s", command);
}

static void setup(void)
{
	static const char text[] =
		"node: s0\nbgp:\n  peer_prefixes: [198.19.0.0/16]\nlocal_gpus:\n  - name: g0\n"
		"    addresses: [198.19.0.1]\n    planes:\n      - sub_ports:\n"
		"          - {dev: a0, speed_mbps: 200, neighbors: [198.18.0.0]}\n"
		"          - {dev: a1, speed_mbps: 100, neighbors: [198.18.0.2]}\n";
	static const struct links_handlers handlers = {on_link, on_log};
	struct config_error error;

	ck_assert_int_eq(unshare(CLONE_NEWNET), 0);
	ip("link add a0 type veth peer name z0");
	ck_assert_msg(!config_parse(&config, text, strlen(text), "f", &error), "%s", error.text);
	loop = ev_loop_new(EVFLAG_AUTO);
	ck_assert_ptr_nonnull(loop);
	n_told = 0;
	ck_assert_int_eq(links_create(&links, loop, config, &handlers, NULL), 0);
	ck_assert_int_eq(n_told, 2);
}

static void teardown(void)
{
	links_destroy(links);
	config_destroy(config);
	ev_loop_destroy(loop);
}

START_TEST(carrier_comes_and_goes)
{
	wait_for(0, LINKS_DOWN, 0);
	wait_for(1, LINKS_ABSENT, 0);
	ip("link set a0 up");
	wait_for(0, LINKS_NO_CARRIER, 0);
	ip("link set z0 up");
	wait_for(0, LINKS_UP, 200000000);
	ip("link set z0 down");
	wait_for(0, LINKS_NO_CARRIER, 0);
}
END_TEST

START_TEST(devices_appear_vanish_and_are_renamed)
{
	ip("link add a1 type veth peer name z1");
	ip("link set a1 up");
	ip("link set z1 up");
	wait_for(1, LINKS_UP, 100000000);
	ip("link del a1");
	wait_for(1, LINKS_ABSENT, 0);
	ip("link set a0 name b0");
	wait_for(0, LINKS_ABSENT, 0);
	ip("link set b0 name a0");
	wait_for(0, LINKS_DOWN, 0);
}
END_TEST

/* Thousands of changes while nobody reads: messages are lost, and the state is right in the end all
 * the same. */
START_TEST(an_overrun_loses_nothing)
{
	ck_assert_int_eq(system("for i in $(seq 400); do echo link set a0 up; echo link set z0 up; "
				"echo link set z0 alias "
				"$(printf %0240d $i); echo link set a0 alias $(printf %0240d $i); "
				"echo link set z0 down; done "
				"| ip -batch -"),
			 0);
	ip("link set z0 up");
	wait_for(0, LINKS_UP, 200000000);
	ip("link set a0 down");
	wait_for(0, LINKS_DOWN, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("links");
	TCase *tc = tcase_create("netns");
	SRunner *sr;
	int failed;

	if (unshare(CLONE_NEWNET) || system("ip link set lo up") != 0) {
		puts("skipped: no network namespace of one's own can be made here (root and "
		     "iproute2 are needed)");
		return 77;
	}
	sr = srunner_create(s);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, carrier_comes_and_goes);
	tcase_add_test(tc, devices_appear_vanish_and_are_renamed);
	tcase_add_test(tc, an_overrun_loses_nothing);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
