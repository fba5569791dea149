/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When the loop answers probes, and when it reads replies: over the loopback device of a network
 * namespace of the test's own.
 */
#include "health_loop.h"

#include <arpa/inet.h>
#include <check.h>
#include <ev.h>
#include <net/if.h>
#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "own_net.h"
#include "patience.h"
#include "prober.h"
#include "reflector.h"
#include "udp.h"

#define MS    UINT64_C(1000000)
#define BURST 64u /* far more than are answered one by one */

static struct ev_loop *loop;
static struct sub_ports ports;
static struct udp *udp;
static struct udp_socket *peer; /* a prober by hand */
static struct prober *prober;
static struct reflector *reflector;
static struct health_loop *both;
static const struct notice_keys no_keys;
static bool is_up;

static const struct prober_options options = {.slow_interval_ns = 1000 * MS,
					      .max_probes_per_s = 10000,
					      .times = {.interval_ns = 4 * MS,
							.detect_multiplier = 3,
							.recover_probes = 3,
							.hold_ns = 5 * MS,
							.hold_max_ns = 100 * MS,
							.ramp_ns = 20 * MS,
							.unproven_ns = 1000 * MS,
							.max_loss_ppm = 20000}};

static void on_path(void *arg, uint32_t gpu, const struct in6_addr *to, uint32_t plane,
		    const struct prober_view *view, const struct probe_fsm_change *change)
{
	(void)arg;
	(void)gpu;
	(void)to;
	(void)plane;
	(void)change;
	is_up |= view->state == PROBE_UP;
}

static void on_log(void *arg, int priority, const char *line)
{
	(void)arg;
	(void)priority;
	(void)line;
}

static bool on_capacity(void *arg, uint32_t gpu, const struct in6_addr *from,
			const struct notice_capacity *c, struct notice_ack *held)
{
	(void)arg;
	(void)gpu;
	(void)from;
	(void)c;
	(void)held;
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

static void setup(void)
{
	struct in6_addr far = address("::ffff:127.77.0.2");

	loop = ev_loop_new(EVFLAG_AUTO);
	memset(&ports, 0, sizeof(ports));
	ports.n_gpus = 1;
	ports.gpus[0].n_planes = 1;
	ports.gpus[0].n_sub_ports[0] = 1;
	ports.gpus[0].ifindex[0][0] = (int)if_nametoindex("lo");
	ports.gpus[0].live[0] = 1;
	ports.gpus[0].address[0] = address("::ffff:127.77.0.1");
	ck_assert_int_eq(udp_create(&udp, 26), 0);
	ck_assert_int_eq(udp_open(&peer, &far, 0), 0);
	ck_assert_int_eq(reflector_create(&reflector, udp, &ports, &no_keys, &on_reflector, NULL),
			 0);
	ck_assert_int_eq(prober_create(&prober, udp, &options, &ports, &no_keys, &on_prober, NULL,
				       clock_now_ns()),
			 0);
	ck_assert_int_eq(health_loop_create(&both, loop, prober, reflector), 0);
	is_up = false;
}

static void teardown(void)
{
	health_loop_destroy(both);
	ev_run(loop, 0); /* returns, for nothing is left that it would wait for */
	prober_destroy(prober);
	reflector_destroy(reflector);
	udp_close(peer);
	udp_destroy(udp);
	ev_loop_destroy(loop);
}

static void send_probes(unsigned n)
{
	const struct sbfd_packet bfd = {.state = SBFD_UP,
					.demand = true,
					.detect_multiplier = 3,
					.my_discriminator = 77,
					.your_discriminator =
						sbfd_wire_discriminator(&ports.gpus[0].address[0])};

	while (n--) {
		struct udp_packet *p = udp_next(udp);

		sbfd_wire_encode(&bfd, p->bytes);
		p->length = SBFD_WIRE_BYTES;
		p->from = address("::ffff:127.77.0.2");
		p->from_port = udp_port(peer);
		p->to = ports.gpus[0].address[0];
		p->to_port = SBFD_WIRE_PORT;
		p->ifindex = (int)if_nametoindex("lo");
	}
	udp_send(udp);
}

static uint64_t n_answered(void)
{
	struct reflector_counters c;

	reflector_counters(reflector, &c);
	return c.answered;
}

/* The loop runs until that many probes are answered. */
static void run_until(uint64_t n)
{
	while (n_answered() < n)
		ev_run(loop, EVRUN_ONCE);
}

START_TEST(a_probe_is_answered)
{
	struct pollfd p = {.fd = udp_fd(peer), .events = POLLIN};

	send_probes(1);
	run_until(1);
	ck_assert_int_eq(poll(&p, 1, PATIENCE_S * 1000), 1);
	ck_assert_uint_eq(udp_receive(udp, peer), 1);
}
END_TEST

/*
 * After a burst the next probe waits for the tick, which is a quarter of the interval: 1 ms. A turn
 * of the loop answers it at once if its socket is watched. A busy machine can hide either from a
 * try, so tries go on until both were seen.
 */
START_TEST(after_a_burst_a_probe_waits_for_one_tick)
{
	bool has_waited = false, was_soon = false;
	uint64_t start, n = 0;

	while (!has_waited || !was_soon) {
		bool waits;

		send_probes(BURST);
		run_until(n += BURST);
		start = clock_now_ns();
		send_probes(1);
		ev_run(loop, EVRUN_NOWAIT);
		waits = n_answered() == n;
		run_until(++n);
		has_waited |= waits;
		was_soon |= waits && clock_now_ns() < start + 2 * MS;
		while (udp_receive(udp, peer))
			continue;
		for (start = clock_now_ns(); clock_now_ns() < start + 4 * MS;)
			ev_run(loop, EVRUN_NOWAIT); /* the burst is over, and nothing else is due */
	}
}
END_TEST

/* Who is about to judge asks for what waits: it is answered before the tick. */
START_TEST(draining_answers_what_waits)
{
	send_probes(BURST);
	run_until(BURST);
	send_probes(1);
	for (uint64_t n = BURST; n_answered() == n;)
		health_loop_drain(both);
	ck_assert_uint_eq(n_answered(), BURST + 1);
	send_probes(1); /* and the loop goes on by itself */
	run_until(BURST + 2);
}
END_TEST

/* The prober's timer and its replies: both are the loop's. */
START_TEST(a_path_is_probed_and_its_replies_are_read)
{
	struct in6_addr self = ports.gpus[0].address[0];

	ck_assert_int_eq(prober_want(prober, 0, &self, 0, true, false, clock_now_ns()), 0);
	while (!is_up)
		ev_run(loop, EVRUN_ONCE);
	ck_assert_uint_ge(n_answered(), 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("health_loop");
	TCase *t = tcase_create("loop");
	SRunner *runner;
	int failed, skip = own_net();

	if (skip)
		return skip;
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, PATIENCE_S);
	tcase_add_test(t, a_probe_is_answered);
	tcase_add_test(t, after_a_burst_a_probe_waits_for_one_tick);
	tcase_add_test(t, draining_answers_what_waits);
	tcase_add_test(t, a_path_is_probed_and_its_replies_are_read);
	suite_add_tcase(suite, t);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
