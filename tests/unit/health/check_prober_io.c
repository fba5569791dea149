/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Probes over IPv6, each of whose source ports takes a descriptor for each device, while there are
 * too few of them. Over the loopback device of a network namespace of our own; everything is waited
 * for, nothing is slept for.
 */
#include "prober.h"

#include <arpa/inet.h>
#include <check.h>
#include <ev.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <syslog.h>
#include <unistd.h>

#include "own_net.h"
#include "patience.h"
#include "reflector.h"

#define MS UINT64_C(1000000)

static struct ev_loop *loop;
static struct sub_ports ports;
static const struct notice_key key;
static struct reflector *reflector;
static struct prober *prober;
static struct in6_addr peer;
static int n_short, n_over;

static const struct prober_options options = {
	.slow_interval_ns = 400 * MS,
	.max_probes_per_s = 10000,
	.turns_beyond_per_s = UINT32_MAX,
	.times =
		{
			.interval_ns = 5 * MS,
			.detect_multiplier = 3,
			.recover_probes = 3,
			.hold_ns = 5 * MS,
			.hold_max_ns = 100 * MS,
			.ramp_ns = 20 * MS,
			.unproven_ns = 1000 * MS,
			.max_loss_ppm = 20000,
		},
};

static void on_path(void *arg, uint32_t gpu, const struct in6_addr *address, uint32_t plane,
		    const struct prober_view *view, const struct probe_fsm_change *change)
{
	(void)arg;
	(void)gpu;
	(void)address;
	(void)plane;
	(void)view;
	(void)change;
}

static void on_log(void *arg, int priority, const char *line)
{
	(void)arg;
	n_short += priority == LOG_WARNING && strstr(line, "no descriptor");
	n_over += priority == LOG_NOTICE && strstr(line, "can be had again");
}

static bool on_capacity(void *arg, uint32_t gpu, const struct in6_addr *address,
			const struct notice_capacity *c, struct notice_ack *told)
{
	(void)arg;
	(void)gpu;
	(void)address;
	(void)c;
	(void)told;
	return false;
}

static const struct prober_handlers on_prober = {.on_path = on_path, .on_log = on_log};
static const struct reflector_handlers on_reflector = {.on_capacity = on_capacity};

static struct in6_addr address(const char *text)
{
	struct in6_addr a;

	ck_assert_int_eq(inet_pton(AF_INET6, text, &a), 1);
	return a;
}

/* Until the next call so many more descriptors may be opened. */
static void allow(unsigned more)
{
	struct rlimit l;
	int lowest;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &l), 0);
	l.rlim_cur = l.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &l), 0);
	lowest = open("/dev/null", O_RDONLY);
	ck_assert_int_ge(lowest, 0);
	close(lowest);
	l.rlim_cur = (rlim_t)lowest + more;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &l), 0);
}

static void setup(void)
{
	loop = ev_loop_new(EVFLAG_AUTO);
	ev_run(loop, EVRUN_NOWAIT); /* opens what the loop itself needs */
	memset(&ports, 0, sizeof(ports));
	ports.n_gpus = 2;
	for (int g = 0; g < 2; g++) {
		ports.gpus[g].n_planes = 1;
		ports.gpus[g].n_sub_ports[0] = 1;
		ports.gpus[g].ifindex[0][0] = (int)if_nametoindex("lo");
		ports.gpus[g].live[0] = 1;
	}
	ports.gpus[0].address[1] = address("fd77::1");
	ports.gpus[1].address[1] = peer = address("fd77::2");
	n_short = n_over = 0;
	ck_assert_int_eq(
		reflector_create(&reflector, loop, &ports, &key, 0, geteuid(), &on_reflector, NULL),
		0);
	ck_assert_int_eq(prober_create(&prober, loop, &options, &ports, &key, &on_prober, NULL), 0);
	for (uint32_t g = 0; g < 2; g++)
		ck_assert_int_eq(reflector_pin(reflector, g, ports.gpus[g].ifindex[0][0]), 0);
}

static void teardown(void)
{
	prober_destroy(prober);
	reflector_destroy(reflector);
	ev_loop_destroy(loop);
}

static void on_late(struct ev_loop *l, ev_timer *w, int revents)
{
	(void)w;
	(void)revents;
	ev_break(l, EVBREAK_ALL);
}

/* Runs the loop until condition() or patience is over. */
static bool until(bool (*condition)(void))
{
	ev_tstamp end = ev_time() + PATIENCE_S;

	while (!condition()) {
		ev_timer late;

		ev_timer_init(&late, on_late, PATIENCE_S, 0.);
		ev_now_update(loop);
		ev_timer_start(loop, &late);
		ev_run(loop, EVRUN_ONCE);
		ev_timer_stop(loop, &late);
		if (ev_time() > end)
			return condition();
	}
	return true;
}

static struct prober_view view(void)
{
	struct prober_view v;

	ck_assert(prober_path(prober, 0, &peer, 0, &v));
	return v;
}

static struct prober_counters counters(void)
{
	struct prober_counters c;

	prober_counters(prober, &c);
	return c;
}

static bool many_answered(void)
{
	return counters().answered >= 200;
}

static bool three_ports_known(void)
{
	struct prober_view v = view();
	unsigned n = 0;

	for (unsigned i = 0; i < PROBER_PORTS; i++)
		n += v.remote_sub_port[i] >= 0;
	return n >= 3;
}

static bool is_up(void)
{
	return view().state == PROBE_UP;
}

static bool many_unsent(void)
{
	return counters().unsent >= 50;
}

static bool is_over(void)
{
	return n_over > 0;
}

static bool all_ports_known(void)
{
	struct prober_view v = view();

	for (unsigned i = 0; i < PROBER_PORTS; i++)
		if (v.remote_sub_port[i] < 0)
			return false;
	return v.state == PROBE_UP;
}

/* Those ports that have theirs carry all probes: the others draw none to where none is sent. */
START_TEST(probes_leave_by_what_descriptors_there_are)
{
	unsigned n_known = 0;

	allow(4); /* one of which the count of a device may take, if a reply was overdue */
	ck_assert_int_eq(prober_want(prober, 0, &peer, 0, true, false), 0);
	ck_assert(until(many_answered));
	ck_assert(until(three_ports_known));
	ck_assert(until(is_up));
	ck_assert_uint_eq(view().n_downs, 0);
	for (unsigned i = 0; i < PROBER_PORTS; i++)
		n_known += view().remote_sub_port[i] == 0;
	ck_assert_uint_ge(n_known, 3);
	ck_assert_uint_le(n_known, 4);
	ck_assert_uint_eq(counters().unsent, 0);
	ck_assert_int_eq(n_short, 1);
	ck_assert_int_eq(n_over, 0);
}
END_TEST

START_TEST(what_was_never_sent_is_not_lost)
{
	allow(0);
	ck_assert_int_eq(prober_want(prober, 0, &peer, 0, true, false), 0);
	ck_assert(until(many_unsent));
	ck_assert_uint_eq(view().n_sent, 0);
	ck_assert_uint_eq(view().n_lost, 0);
	ck_assert_uint_eq(counters().sent, 0);
	ck_assert_int_eq(n_short, 1);
	allow(100);
	ck_assert(until(all_ports_known));
	ck_assert_uint_eq(view().n_downs, 0);
	ck_assert(until(is_over));
	ck_assert_int_eq(n_short, 1);
	ck_assert_int_eq(n_over, 1);
}
END_TEST

static void run(const char *command)
{
	if (system(command))
		ck_abort_msg("%s", command);
}

int main(void)
{
	Suite *suite = suite_create("prober_io");
	TCase *tc = tcase_create("all");
	SRunner *runner;
	int failed, skip = own_net();

	if (skip)
		return skip;
	run("ip addr add fd77::1/128 dev lo && ip addr add fd77::2/128 dev "
	    "lo");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, probes_leave_by_what_descriptors_there_are);
	tcase_add_test(tc, what_was_never_sent_is_not_lost);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
