/* SPDX-License-Identifier: BSD-2-Clause */
/* Links against the real kernel, in a network namespace of the test's own. Skipped where none can
 * be made. */
#include "links.h"

#include <check.h>
#include <ev.h>
#include <fcntl.h>
#include <net/if.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#include "config.h"
#include "own_net.h"
#include "own_sysfs.h"
#include "patience.h"

static struct ev_loop *loop;
static struct config *config;
static struct links *links;
static int n_told, n_lost, n_warnings, told_ifindex[2];
static unsigned lost_in[2]; /* the turn of the loop that told of it */
static bool foreign_sysfs;

static void on_link(void *arg, uint32_t gpu, uint32_t plane, uint32_t sub_port, int ifindex,
		    enum links_state old, enum links_state state, uint64_t bps)
{
	(void)arg;
	ck_assert_int_eq(ifindex > 0, state != LINKS_ABSENT);
	if (ifindex > 0)
		told_ifindex[sub_port] = ifindex;
	(void)gpu;
	(void)plane;
	(void)bps;
	n_told++;
	if (old != LINKS_UP || state != LINKS_NO_CARRIER)
		return;
	n_lost++;
	lost_in[sub_port] = ev_iteration(loop);
}

static void on_log(void *arg, int priority, const char *line)
{
	(void)arg;
	(void)line;
	n_warnings += priority == LOG_WARNING;
}

static uint32_t mtus[2];

static void on_mtu(void *arg, uint32_t gpu, uint32_t plane, uint32_t sub_port, uint32_t old,
		   uint32_t mtu)
{
	(void)arg;
	ck_assert(gpu == 0 && plane == 0);
	ck_assert_uint_eq(mtus[sub_port], old);
	ck_assert_uint_ne(mtu, old);
	mtus[sub_port] = mtu;
}

static void on_timeout(struct ev_loop *l, ev_timer *w, int revents)
{
	(void)revents;
	*(bool *)w->data = true;
	ev_break(l, EVBREAK_ALL);
}

/* Runs the loop until sub-port s of plane 0 is in that state. */
static void wait_for(uint32_t s, enum links_state wanted, uint64_t wanted_bps)
{
	enum links_state state = LINKS_ABSENT;
	bool late = false;
	uint64_t bps = 0;
	ev_timer limit;

	ev_timer_init(&limit, on_timeout, PATIENCE_S, 0.);
	limit.data = &late;
	ev_now_update(loop); /* the loop may not have turned for long */
	ev_timer_start(loop, &limit);
	while (links_view(links, 0, 0, s, &state, &bps) && (state != wanted || bps != wanted_bps) &&
	       !late)
		ev_run(loop, EVRUN_ONCE);
	ev_timer_stop(loop, &limit);
	ck_assert_msg(state == wanted && bps == wanted_bps, "sub-port %u is %s %llu, not %s", s,
		      links_state_name(state), (unsigned long long)bps, links_state_name(wanted));
}

static void ip(const char *arguments)
{
	char command[200];

	snprintf(command, sizeof(command), "ip %s", arguments);
	ck_assert_msg(system(command) == 0, "%s", command);
}

static const char shaped[] =
	"node: s0\nbgp:\n  peer_prefixes: [198.19.0.0/16]\nlocal_gpus:\n  - name: g0\n"
	"    addresses: [198.19.0.1]\n    planes:\n      - sub_ports:\n"
	"          - {dev: a0, speed_mbps: 200, neighbors: [198.18.0.0]}\n"
	"          - {dev: a1, speed_mbps: 100, neighbors: [198.18.0.2]}\n";

/* Where the driver is asked. */
static const char unshaped[] =
	"node: s0\nbgp:\n  peer_prefixes: [198.19.0.0/16]\nlocal_gpus:\n  - name: g0\n"
	"    addresses: [198.19.0.1]\n    planes:\n      - sub_ports:\n"
	"          - {dev: a0, neighbors: [198.18.0.0]}\n"
	"          - {dev: a1, neighbors: [198.18.0.2]}\n";

static void begin(const char *text)
{
	static const struct links_handlers handlers = {on_link, on_log, on_mtu};
	struct config_error error;

	ck_assert_msg(!config_parse(&config, text, strlen(text), "f", &error), "%s", error.text);
	loop = ev_loop_new(EVFLAG_AUTO);
	ck_assert_ptr_nonnull(loop);
	n_told = n_lost = n_warnings = 0;
	mtus[0] = mtus[1] = 0;
	ck_assert_int_eq(links_create(&links, loop, config, &handlers, NULL), 0);
	ck_assert_int_eq(n_told, 2);
}

static void own_namespace(void)
{
	ck_assert_int_eq(unshare(CLONE_NEWNET), 0);
	if (!foreign_sysfs)
		own_sysfs();
}

static void setup(void)
{
	own_namespace();
	ip("link add a0 type veth peer name z0");
	begin(shaped);
}

static void teardown(void)
{
	links_destroy(links);
	config_destroy(config);
	ev_loop_destroy(loop);
}

/* A tap device that has carrier while the descriptor is open; -1: there are none here. */
static int open_tap(const char *name)
{
	struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	if (fd < 0 || ioctl(fd, TUNSETIFF, &request))
		return -1;
	return fd;
}

static void set_speed(const char *mbps)
{
	char command[100];

	snprintf(command, sizeof(command), "ethtool -s a0 speed %s duplex full autoneg off", mbps);
	ck_assert_int_eq(system(command), 0);
}

/* Without a loss of carrier, which is when a driver is asked otherwise. */
START_TEST(a_changed_speed_is_followed)
{
	int tap;

	own_namespace();
	tap = open_tap("a0");
	if (tap < 0) {
		printf("a_changed_speed_is_followed: skipped: no /dev/net/tun\n");
		return;
	}
	set_speed("40000");
	ip("link set a0 up");
	begin(unshaped);
	ck_assert_int_eq(links_watch_speeds(links, 10000000), 0);
	wait_for(0, LINKS_UP, 40000000000);
	set_speed("20000");
	wait_for(0, LINKS_UP, 20000000000);
	ck_assert_int_eq(n_warnings, 1);
	/* 4294967295 is SPEED_UNKNOWN: the last good one stays */
	set_speed("4294967295");
	while (n_warnings < 2)
		ev_run(loop, EVRUN_ONCE);
	wait_for(0, LINKS_UP, 20000000000);
	set_speed("40000");
	wait_for(0, LINKS_UP, 40000000000);
	teardown();
	close(tap);
}
END_TEST

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

START_TEST(mtus_are_told)
{
	ck_assert_uint_eq(mtus[0], 1500);
	ck_assert_uint_eq(mtus[1], 0); /* there is no such device */
	ip("link set a0 mtu 900");
	ip("link set a0 up");
	wait_for(0, LINKS_NO_CARRIER, 0);
	ck_assert_uint_eq(mtus[0], 900);
	ip("link set a0 name b0");
	wait_for(0, LINKS_ABSENT, 0);
	ck_assert_uint_eq(mtus[0], 0);
}
END_TEST

/* Another network namespace: as long as the process lives. */
static pid_t other_netns(void)
{
	int fds[2];
	pid_t pid;
	char c;

	ck_assert_int_eq(pipe(fds), 0);
	pid = fork();
	if (!pid) {
		if (unshare(CLONE_NEWNET) || write(fds[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	ck_assert_int_gt(pid, 0);
	close(fds[1]);
	ck_assert_int_eq(read(fds[0], &c, 1), 1);
	close(fds[0]);
	return pid;
}

/*
 * A veth counts as a link of its own for the kernel, as a NIC does, if its peer has the same number
 * in its namespace. Then the kernel tells of a second loss of carrier up to a second late. Both are
 * known in one turn of the loop only if all devices' counts are read in it.
 */
START_TEST(carriers_lost_together_are_known_together)
{
	pid_t pid = other_netns();
	char text[128];
	bool quiet = false;
	ev_timer pause_s;

	ip("link del a0");
	for (int i = 0; i < 2; i++) {
		snprintf(text, sizeof(text),
			 "link add a%d index %d type veth peer name z%d index %d netns %d", i,
			 100 + i, i, 100 + i, (int)pid);
		ip(text);
		snprintf(text, sizeof(text), "link set a%d up", i);
		ip(text);
	}
	snprintf(text, sizeof(text),
		 "nsenter -t %d -n sh -c 'ip link set z0 up; ip link set z1 up'", (int)pid);
	ck_assert_int_eq(system(text), 0);
	wait_for(0, LINKS_UP, 200000000);
	wait_for(1, LINKS_UP, 100000000);
	/* until the kernel has forgotten these */
	ev_timer_init(&pause_s, on_timeout, 2.5, 0.);
	pause_s.data = &quiet;
	ev_timer_start(loop, &pause_s);
	while (!quiet)
		ev_run(loop, EVRUN_ONCE);
	snprintf(text, sizeof(text),
		 "nsenter -t %d -n sh -c 'ip link set z0 down; ip link set z1 down'", (int)pid);
	ck_assert_int_eq(system(text), 0);
	wait_for(0, LINKS_NO_CARRIER, 0);
	wait_for(1, LINKS_NO_CARRIER, 0);
	ck_assert_uint_eq(lost_in[0], lost_in[1]);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
END_TEST

/*
 * The kernel's message waits for the second to be over (see above) while the carrier is back
 * already: that it was away is known all the same, and that it is back as well, in the end.
 */
START_TEST(a_carrier_lost_for_a_moment_is_known)
{
	pid_t pid = other_netns();
	char text[200];

	ip("link del a0");
	snprintf(text, sizeof(text),
		 "link add a0 index 100 type veth peer name z0 index 100 netns %d", (int)pid);
	ip(text);
	ip("link set a0 up");
	snprintf(text, sizeof(text), "nsenter -t %d -n ip link set z0 up", (int)pid);
	ck_assert_int_eq(system(text), 0);
	wait_for(0, LINKS_UP, 200000000);
	snprintf(text, sizeof(text),
		 "nsenter -t %d -n sh -c 'ip link set z0 down; ip link set z0 up'", (int)pid);
	ck_assert_int_eq(system(text), 0);
	while (!n_lost) /* it may be back in the same turn of the loop */
		ev_run(loop, EVRUN_ONCE);
	wait_for(0, LINKS_UP, 200000000);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
END_TEST

/* The counts cost a system call each: they are read often only while a message may be held back. */
START_TEST(counts_are_read_seldom_while_nothing_changes)
{
	static const double pauses_s[] = {1.5, 1};
	unsigned turns = 0;

	ip("link set a0 up");
	ip("link set z0 up");
	wait_for(0, LINKS_UP, 200000000);
	for (int i = 0; i < 2; i++) {
		bool over = false;
		ev_timer pause_s;

		turns = ev_iteration(loop);
		ev_timer_init(&pause_s, on_timeout, pauses_s[i], 0.);
		pause_s.data = &over;
		ev_timer_start(loop, &pause_s);
		while (!over)
			ev_run(loop, EVRUN_ONCE);
	}
	ck_assert_uint_le(ev_iteration(loop) - turns, 100);
}
END_TEST

/* Another namespace's devices, had they the same names, would tell lies. */
START_TEST(foreign_counts_are_not_read)
{
	ck_assert_int_eq(n_warnings, 1); /* once, whatever number of devices */
	ip("link set a0 up");
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
	ck_assert_int_eq(system("awk 'BEGIN { for (i = 0; i < 400; i++) printf "
				"\"link set a0 up\\nlink set z0 up\\nlink set z0 alias %0240d\\n"
				"link set a0 alias %0240d\\nlink set z0 down\\n\", i, i }' | "
				"ip -batch -"),
			 0);
	ip("link set z0 up");
	wait_for(0, LINKS_UP, 200000000);
	ip("link set a0 down");
	wait_for(0, LINKS_DOWN, 0);
}
END_TEST

static void foreign_setup(void)
{
	foreign_sysfs = true;
	setup();
}

int main(void)
{
	TCase *tc = tcase_create("netns"), *foreign = tcase_create("foreign sysfs"),
	      *speed = tcase_create("speed");
	Suite *s = suite_create("links");
	SRunner *sr;
	int failed, skip = own_net();

	if (skip)
		return skip;
	sr = srunner_create(s);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, carrier_comes_and_goes);
	tcase_add_test(tc, carriers_lost_together_are_known_together);
	tcase_add_test(tc, a_carrier_lost_for_a_moment_is_known);
	tcase_add_test(tc, counts_are_read_seldom_while_nothing_changes);
	tcase_add_test(tc, mtus_are_told);
	tcase_add_test(tc, devices_appear_vanish_and_are_renamed);
	tcase_add_test(tc, an_overrun_loses_nothing);
	suite_add_tcase(s, tc);
	tcase_add_checked_fixture(foreign, foreign_setup, teardown);
	tcase_set_timeout(foreign, 60);
	tcase_add_test(foreign, foreign_counts_are_not_read);
	suite_add_tcase(s, foreign);
	tcase_set_timeout(speed, 60);
	tcase_add_test(speed, a_changed_speed_is_followed);
	suite_add_tcase(s, speed);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
