/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prober and reflector against each other over the loopback device of a network namespace of our
 * own: two "GPUs" with a plane or two each, all of them on lo. Everything is waited for, nothing is
 * slept for. A busy machine stops this process at any moment: bounds on what may happen in a while
 * are computed from how long it really took.
 */
#include "prober.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <ev.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "health_loop.h"
#include "own_net.h"
#include "patience.h"
#include "prober_internal.h"
#include "reflector.h"
#include "roce_ports.h"
#include "udp.h"

#define MS UINT64_C(1000000)

static struct ev_loop *loop;
static struct sub_ports ports;
static struct notice_keys keys = {.own = {"a key of twenty byte", 20}};
static struct reflector *reflector;
static struct health_loop *prober_loop, *reflector_loop;
static struct prober *prober;
static struct udp *udp;
static struct in6_addr peer;
static struct notice_capacity heard;
static struct notice_ack holds; /* the newest notice that the peer has */
static bool knows;		/* the peer has room for one of ours at all */
static int n_heard, n_changes, n_logs;
static enum probe_state last_state;
static uint8_t last_returning;
static ev_timer beat;
static unsigned n_held_up; /* turns of the loop */
static uint64_t turned_ns;

static const struct prober_options options = {.slow_interval_ns = 400 * MS,
					      .max_probes_per_s = 10000,
					      .times = {
						      .interval_ns = 5 * MS,
						      .detect_multiplier = 3,
						      .recover_probes = 3,
						      .hold_ns = 5 * MS,
						      .hold_max_ns = 100 * MS,
						      .ramp_ns = 20 * MS,
						      .unproven_ns = 1000 * MS,
						      .max_loss_ppm = 20000,
					      }};

static void on_path(void *arg, uint32_t gpu, const struct in6_addr *address, uint32_t plane,
		    const struct prober_view *view, const struct probe_fsm_change *change)
{
	(void)arg;
	(void)gpu;
	(void)address;
	(void)plane;
	last_state = view->state;
	last_returning = view->returning_local;
	n_changes += change != NULL;
}

static void on_log(void *arg, int priority, const char *line)
{
	(void)arg;
	(void)priority;
	n_logs += strstr(line, "clock") != NULL;
}

static bool on_capacity(void *arg, uint32_t gpu, const struct in6_addr *address,
			const struct notice_capacity *c, struct notice_ack *told)
{
	(void)arg;
	ck_assert_uint_eq(gpu, 1);
	ck_assert(IN6_ARE_ADDR_EQUAL(address, &ports.gpus[0].address[0]));
	heard = *c;
	n_heard++;
	if (c->incarnation >= holds.incarnation)
		holds = (struct notice_ack){c->incarnation, c->sequence};
	*told = holds;
	return knows;
}

static unsigned n_probes_heard[2];

static bool reports; /* the peer's release knows reports */

static void on_received(void *arg, uint32_t gpu, const struct in6_addr *from, uint32_t plane,
			const struct notice_trailer *t, uint64_t waited_ns)
{
	(void)arg;
	ck_assert(gpu < 2 && plane == 0);
	n_probes_heard[gpu]++;
	prober_received(prober, gpu, from, plane, t->has_received,
			t->has_report && reports ? &t->report : NULL, t->authentic, waited_ns,
			clock_now_ns());
}

static bool on_report(void *arg, uint32_t gpu, const struct in6_addr *from, uint32_t plane,
		      uint32_t sub_port, bool is_try, struct report_wire *out)
{
	(void)arg;
	return reports &&
	       prober_report(prober, gpu, from, plane, sub_port, is_try, clock_now_ns(), out);
}

static void on_drain(void *arg)
{
	(void)arg;
	if (reflector_loop)
		health_loop_drain(reflector_loop);
}

/* Of the probes of plane 0 that are traced. */
static unsigned n_traced[2];
static struct prober_trace last_traced[2];

static void on_trace(void *arg, const struct prober_trace *trace)
{
	(void)arg;
	n_traced[trace->kind]++;
	last_traced[trace->kind] = *trace;
}

static const struct prober_handlers prober_handlers = {on_path, on_log, NULL, on_drain, on_trace};
static uint32_t avoided;

static uint32_t on_avoided(void *arg, uint32_t gpu, const struct in6_addr *from, uint32_t plane)
{
	(void)arg;
	ck_assert(gpu < 2 && plane == 0);
	return IN6_ARE_ADDR_EQUAL(from, &ports.gpus[0].address[0]) ? avoided : 0;
}

static unsigned n_refused[2];

static void on_refused(void *arg, uint32_t gpu, const struct in6_addr *address,
		       enum reflector_refusal why)
{
	(void)arg;
	ck_assert_uint_eq(gpu, 1);
	ck_assert(IN6_ARE_ADDR_EQUAL(address, &ports.gpus[0].address[0]));
	n_refused[why]++;
}

static const struct reflector_handlers reflector_handlers = {on_capacity, on_received, on_report,
							     on_avoided, on_refused};

static struct in6_addr address(const char *text)
{
	struct in6_addr a;

	ck_assert_int_eq(inet_pton(AF_INET6, text, &a), 1);
	return a;
}

static void on_beat(struct ev_loop *l, ev_timer *w, int revents)
{
	(void)l;
	(void)w;
	(void)revents;
}

static void stop_prober(void)
{
	health_loop_destroy(prober_loop);
	prober_destroy(prober);
}

static void start_prober(void)
{
	struct prober_options now = options;

	now.incarnation = 1000 * MS * (uint64_t)time(NULL);
	now.seed = clock_now_ns();
	ck_assert_int_eq(prober_create(&prober, udp, &now, &ports, &keys, &prober_handlers, NULL,
				       clock_now_ns()),
			 0);
	ck_assert_int_eq(health_loop_create(&prober_loop, loop, prober, NULL), 0);
}

static void stop_reflector(void)
{
	health_loop_destroy(reflector_loop);
	reflector_destroy(reflector);
	reflector = NULL;
	reflector_loop = NULL;
}

static void setup(void)
{
	loop = ev_loop_new(EVFLAG_AUTO);
	ck_assert_int_eq(udp_create(&udp, 26), 0);
	memset(&ports, 0, sizeof(ports));
	ports.n_gpus = 2;
	for (int g = 0; g < 2; g++) {
		ports.gpus[g].n_planes = 1;
		ports.gpus[g].n_sub_ports[0] = 2;
		ports.gpus[g].ifindex[0][1] = (int)if_nametoindex("lo");
		ports.gpus[g].live[0] = 2; /* its second sub-port is up */
	}
	ports.gpus[0].address[0] = address("::ffff:127.77.0.1");
	ports.gpus[1].address[0] = peer = address("::ffff:127.77.0.2");
	n_heard = n_changes = n_logs = 0;
	n_probes_heard[0] = n_probes_heard[1] = 0;
	n_refused[0] = n_refused[1] = 0;
	holds = (struct notice_ack){0};
	knows = reports = true;
	avoided = 0;
	start_prober();
	ck_assert_int_eq(prober_want(prober, 0, &peer, 0, true, false, clock_now_ns()), 0);
	n_held_up = 0;
	turned_ns = 0;
	ev_timer_init(&beat, on_beat, 0.0005, 0.0005);
	ev_timer_start(loop, &beat);
}

static void reflect(const struct notice_keys *with)
{
	ck_assert_int_eq(reflector_create(&reflector, udp, &ports, with, &reflector_handlers, NULL),
			 0);
	ck_assert_int_eq(health_loop_create(&reflector_loop, loop, NULL, reflector), 0);
}

static void teardown(void)
{
	stop_prober();
	stop_reflector();
	udp_destroy(udp);
	ev_loop_destroy(loop);
}

static void on_late(struct ev_loop *l, ev_timer *w, int revents)
{
	(void)w;
	(void)revents;
	ev_break(l, EVBREAK_ALL);
}

/*
 * The loop turns every millisecond: one that takes so much longer that three of them are an
 * interval was held up by the machine.
 */
static void turn(void)
{
	uint64_t now;

	ev_run(loop, EVRUN_ONCE);
	now = clock_now_ns();
	n_held_up += turned_ns && now > turned_ns + options.times.interval_ns / 3;
	turned_ns = now;
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
		turn();
		ev_timer_stop(loop, &late);
		if (ev_time() > end)
			return condition();
	}
	return true;
}

static struct prober_view view(void)
{
	struct prober_view v;

	ck_assert(prober_path(prober, 0, &peer, 0, clock_now_ns(), &v));
	return v;
}

static uint64_t later;

static bool has_sent(void)
{
	return view().n_sent >= 5;
}

static bool is_up(void)
{
	return view().state == PROBE_UP && view().n_window >= 20;
}

static bool is_unproven(void)
{
	return view().state == PROBE_UNPROVEN;
}

static bool has_received(void)
{
	struct prober_counters c;

	prober_counters(prober, &c);
	return n_heard > 0 && c.acknowledged > 0;
}

START_TEST(probes_are_answered_and_tell_the_way)
{
	struct prober_view v;
	bool learnt = false;

	reflect(&keys);
	ck_assert(until(is_up));
	v = view();
	ck_assert_uint_eq(v.permille, 1000);
	ck_assert_uint_gt(v.rtt_p50_ns, 0);
	ck_assert(!v.third_party);
	for (unsigned i = 0; i < PROBER_PORTS; i++) {
		ck_assert_int_ne(v.remote_sub_port[i], 0);
		learnt |= v.remote_sub_port[i] == 1;
		ck_assert_uint_ge(v.source_port[i], 49152);
	}
	ck_assert(learnt);
}
END_TEST

START_TEST(nobody_there_takes_nothing_down)
{
	ck_assert(until(has_sent));
	ck_assert_int_eq(view().state, PROBE_UNPROVEN);
	ck_assert_uint_eq(view().permille, 1000);
}
END_TEST

static bool is_later(void)
{
	return clock_now_ns() > later;
}

static struct prober_counters counters(void)
{
	struct prober_counters c;

	prober_counters(prober, &c);
	return c;
}

static uint64_t answered_before;

static bool was_answered(void)
{
	return counters().answered > answered_before + 2;
}

/*
 * Nothing was due, for longer than the wheel has slots: that is not being held up, which would make
 * every verdict wait. A tick of the wheel is really late, by two, only in a turn that was held up.
 */
START_TEST(idleness_is_no_lateness)
{
	const struct in6_addr *back = &ports.gpus[0].address[0];
	uint64_t late;

	reflect(&keys);
	ck_assert_int_eq(prober_want(prober, 0, &peer, 0, false, false, clock_now_ns()), 0);
	ck_assert_int_eq(prober_want(prober, 1, back, 0, false, false, clock_now_ns()), 0);
	later = clock_now_ns() + 2000 * MS;
	ck_assert(until(is_later));
	answered_before = counters().answered;
	late = counters().late_ticks;
	n_held_up = 0;
	/* two, before the wheel turns again */
	ck_assert_int_eq(prober_want(prober, 0, &peer, 0, true, false, clock_now_ns()), 0);
	ck_assert_int_eq(prober_want(prober, 1, back, 0, true, false, clock_now_ns()), 0);
	ck_assert(until(was_answered));
	ck_assert_uint_le(counters().late_ticks - late, n_held_up);
}
END_TEST

static bool has_probed(void)
{
	return counters().sent >= 200;
}

/* _i: reports pass between them; or not: they are of releases that know none. */
START_TEST(two_ends_probe_and_answer_each_other)
{
	reports = _i;
	reflect(&keys);
	ck_assert_int_eq(
		prober_want(prober, 1, &ports.gpus[0].address[0], 0, true, false, clock_now_ns()),
		0);
	ck_assert(until(has_probed));
	ck_assert_uint_gt(n_probes_heard[0], 10);
	ck_assert_uint_gt(n_probes_heard[1], 10);
	for (unsigned i = 0; i < 2; i++) {
		ck_assert(!prober->peers[i]->report_came_ns == !reports);
		ck_assert_uint_gt(prober->peers[i]->judge.planes[0].received_ns, 0);
		ck_assert_uint_le(prober->peers[i]->judge.planes[0].n_missing, 1);
	}
	/* probes of both, and the answers to them */
	ck_assert_uint_eq(prober_sent(prober, 0, 0) + prober_sent(prober, 1, 0),
			  counters().sent + counters().class_sent);
	for (uint32_t i = 0; i < 2; i++)
		ck_assert_uint_eq(reflector_sent(reflector, i, 0), n_probes_heard[i]);
}
END_TEST

START_TEST(a_peer_that_falls_silent_everywhere_takes_nothing_down)
{
	reflect(&keys);
	ck_assert(until(is_up));
	stop_reflector();
	ck_assert(until(is_unproven));
	ck_assert_uint_eq(view().permille, 1000);
	ck_assert_uint_eq(view().n_downs, 0);
}
END_TEST

START_TEST(a_path_that_was_away_waits_for_replies)
{
	reflect(&keys);
	ck_assert(until(is_up));
	ck_assert_int_eq(prober_want(prober, 0, &peer, 0, false, false, clock_now_ns()), 0);
	ck_assert_int_eq(view().state, PROBE_DOWN);
	ck_assert_int_eq(prober_want(prober, 0, &peer, 0, true, false, clock_now_ns()), 0);
	ck_assert_uint_eq(view().permille, 0);
	ck_assert(until(is_up));
}
END_TEST

/* A route of ours says nothing of the way back. */
START_TEST(a_plane_that_comes_late_waits_for_replies)
{
	struct prober_view late;

	stop_prober();
	ports.gpus[0].n_planes = 2;
	ports.gpus[0].n_sub_ports[1] = 1; /* of no device: nothing is answered there */
	ports.gpus[0].live[1] = 1;
	start_prober();
	reflect(&keys);
	ck_assert_int_eq(prober_want(prober, 0, &peer, 0, true, false, clock_now_ns()), 0);
	ck_assert_int_eq(view().state, PROBE_UNPROVEN);
	ck_assert(until(is_up));
	n_changes = 0;
	ck_assert_int_eq(prober_want(prober, 0, &peer, 1, true, false, clock_now_ns()), 0);
	ck_assert(prober_path(prober, 0, &peer, 1, clock_now_ns(), &late));
	ck_assert_int_eq(late.state, PROBE_DOWN);
	ck_assert_uint_eq(late.permille, 0);
	ck_assert_int_eq(n_changes, 1);
	ck_assert_uint_eq(view().permille, 1000);
}
END_TEST

static bool nothing_returns(void)
{
	return last_returning == 0;
}

/* Carrier comes back before the routes over it do. */
START_TEST(a_sub_port_that_returns_waits_for_an_answer)
{
	reflect(&keys);
	ck_assert(until(is_up));
	ports.gpus[0].live[0] = 0;
	prober_link_changed(prober, 0, 0, 1, clock_now_ns());
	ck_assert_uint_eq(last_returning, 0);
	ports.gpus[0].live[0] = 2;
	prober_link_changed(prober, 0, 0, 1, clock_now_ns());
	ck_assert_uint_eq(last_returning, 2);
	ck_assert(until(nothing_returns));
}
END_TEST

static uint64_t counters_answered(void)
{
	struct prober_counters c;

	prober_counters(prober, &c);
	return c.answered;
}

static bool reflected_some(void)
{
	struct reflector_counters c;

	reflector_counters(reflector, &c);
	return c.answered >= 10;
}

/*
 * The peer's device has carrier, but nothing that it sends out of it arrives yet: its answers leave
 * by the other one.
 */
START_TEST(answers_avoid_a_sub_port_that_returns)
{
	ports.gpus[1].live[0] = 3;
	/* no such device: what is sent there gets nowhere */
	ports.gpus[1].ifindex[0][0] = 0x7ffffff0;
	avoided = 2;
	reflect(&keys);
	ck_assert(until(reflected_some));
	ck_assert_uint_eq(counters_answered(), 0);
	ck_assert_int_eq(view().state, PROBE_UNPROVEN);
	avoided = 0;
	ck_assert(until(is_up));
}
END_TEST

START_TEST(answers_have_no_choice_where_all_sub_ports_return)
{
	avoided = 2;
	reflect(&keys);
	ck_assert(until(is_up));
}
END_TEST

static uint32_t wanted_mtu;

static bool carries_that(void)
{
	struct prober_view v = view();

	return v.mtu_is_proven && v.mtu_carried == wanted_mtu;
}

static void set_lo_mtu(uint32_t bytes)
{
	char command[64];

	snprintf(command, sizeof(command), "ip link set lo mtu %u", bytes);
	ck_assert_int_eq(system(command), 0);
}

/*
 * The device takes less than it says: what the kernel refuses is lost, as what a leaf drops is. The
 * only plane stays in use, and no ordinary probe is lost.
 */
START_TEST(padded_probes_tell_the_path_mtu)
{
	struct prober_counters c;

	ck_assert_uint_eq(view().mtu_wanted, 0);
	sub_ports_set_mtu(&ports, 0, 0, 1, 4200);
	reflect(&keys);
	wanted_mtu = 4096;
	ck_assert(until(carries_that));
	set_lo_mtu(1500);
	wanted_mtu = 1024;
	ck_assert(until(carries_that));
	ck_assert_uint_eq(view().mtu_wanted, 4096);
	ck_assert(!view().mtu_is_small);
	ck_assert(!view().small_local && !view().small_remote);
	set_lo_mtu(65536);
	wanted_mtu = 4096;
	ck_assert(until(carries_that));
	prober_counters(prober, &c);
	ck_assert_uint_ge(c.mtu_sent, c.mtu_answered);
	ck_assert_uint_gt(c.mtu_answered, 0);
	ck_assert_uint_eq(c.malformed, 0);
	sub_ports_set_mtu(&ports, 0, 0, 1, 900); /* the device says so itself: 512 at once */
	wanted_mtu = 512;
	ck_assert(until(carries_that));
	ck_assert_uint_eq(view().mtu_wanted, 512);
}
END_TEST

static bool have_pairs(void)
{
	struct prober_counters c;

	prober_counters(prober, &c);
	return c.class_answered >= 6;
}

/* Beside ordinary probes, and in none of their counts. */
START_TEST(pairs_tell_how_probes_are_queued)
{
	const struct queue_class *q = prober_queue_class(prober, 0, 0);
	struct prober_counters c;

	ck_assert_uint_eq(q->fastest_ns, 0);
	reflect(&keys);
	ck_assert(until(have_pairs));
	prober_counters(prober, &c);
	ck_assert_uint_eq(c.class_sent, 2 * q->next);
	ck_assert_uint_le(c.class_answered, c.class_sent);
	ck_assert_uint_gt(q->fastest_ns, 0);
	ck_assert_uint_lt(q->fastest_ns, 100 * MS);
	ck_assert_uint_eq(view().n_sent, c.sent);
	ck_assert_uint_eq(prober_sent(prober, 0, 0), c.sent + c.class_sent);
	ck_assert_uint_eq(view().n_lost, 0);
	ck_assert_uint_eq(c.malformed + c.unknown, 0);
}
END_TEST

static bool is_gray_0(void)
{
	return view().gray_local == 1;
}

static bool is_not_gray(void)
{
	return view().gray_local == 0;
}

static uint64_t unrouted_since, lost_before;

/* As long as that is a moment, nothing of it shows; judged only while it is one. */
static bool a_moment_is_over(void)
{
	struct prober_view v = view();
	uint64_t now = clock_now_ns();

	if (now < unrouted_since + HEALTH_UNROUTED_NS) {
		ck_assert_uint_eq(v.n_lost, lost_before);
		ck_assert_int_eq(v.state, PROBE_UP);
	}
	return now > unrouted_since + HEALTH_UNROUTED_NS / 2;
}

/*
 * bgpd's sessions come back one by one: for a moment the kernel has no route by one sub-port, and
 * one by the other.
 */
START_TEST(a_sub_port_without_routes_is_not_blamed_at_once)
{
	int lo = ports.gpus[0].ifindex[0][1];

	ports.gpus[0].ifindex[0][0] = lo;
	ports.gpus[0].live[0] = 3;
	reflect(&keys);
	ck_assert(until(is_up));
	lost_before = view().n_lost;
	unrouted_since = clock_now_ns();
	/* no such device: what is sent there gets nowhere */
	ports.gpus[0].ifindex[0][0] = 0x7ffffff0;
	prober_routed(prober, 0, &peer, 0, 2, clock_now_ns());
	ck_assert_uint_eq(prober_avoided(prober, 0, &peer, 0), 1);
	ck_assert(until(a_moment_is_over));
	ck_assert(until(is_gray_0)); /* that was no moment */
	ck_assert_uint_gt(view().trial_wanted, 0);
	ck_assert_int_eq(view().state, PROBE_UP);
	ports.gpus[0].ifindex[0][0] = lo;
	prober_routed(prober, 0, &peer, 0, 3, clock_now_ns());
	ck_assert_uint_eq(prober_avoided(prober, 0, &peer, 0), 0);
	ck_assert(until(is_not_gray));
	ck_assert_uint_eq(view().trial_wanted, 0);
}
END_TEST

/*
 * Without any route toward the peer over the plane there is no better way: probes tell, as they do
 * of any dead plane.
 */
START_TEST(a_plane_without_routes_is_asked_nevertheless)
{
	reflect(&keys);
	ck_assert(until(is_up));
	prober_routed(prober, 0, &peer, 0, 1, clock_now_ns());
	ck_assert_uint_eq(prober_avoided(prober, 0, &peer, 0), 2);
	answered_before = counters().answered; /* the only sub-port that is live is asked */
	ck_assert(until(was_answered));
	prober_routed(prober, 0, &peer, 0, 0, clock_now_ns());
	ck_assert_uint_eq(prober_avoided(prober, 0, &peer, 0), 0);
	prober_routed(prober, 0, &peer, 0, 1, clock_now_ns());
	prober_routes_unknown(prober);
	ck_assert_uint_eq(prober_avoided(prober, 0, &peer, 0), 0);
	/* nobody's, and no such plane */
	prober_routed(prober, 0, &ports.gpus[0].address[1], 0, 1, clock_now_ns());
	prober_routed(prober, 0, &peer, 7, 1, clock_now_ns());
}
END_TEST

START_TEST(a_notice_arrives_and_is_acknowledged)
{
	const uint64_t bps[] = {123456789};

	reflect(&keys);
	ck_assert(until(is_up));
	prober_set_capacity(prober, 0, bps, 1, clock_now_ns());
	ck_assert(until(has_received));
	ck_assert_uint_eq(heard.bps[0], 123456789);
	ck_assert_uint_eq(heard.n_planes, 1);
	ck_assert_uint_gt(heard.incarnation, 0);
}
END_TEST

static bool was_told_often(void)
{
	return n_heard >= 20;
}

START_TEST(a_notice_that_is_not_taken_is_not_acknowledged)
{
	const uint64_t bps[] = {123456789};

	knows = false;
	reflect(&keys);
	ck_assert(until(is_up));
	prober_set_capacity(prober, 0, bps, 1, clock_now_ns());
	ck_assert(until(was_told_often));
	ck_assert_uint_eq(counters().acknowledged, 0);
	knows = true;
	ck_assert(until(has_received));
}
END_TEST

/* The peer has heard of a life of ours that is, by the clock, a day after this one. */
START_TEST(a_clock_that_went_back_is_made_up_for)
{
	const uint64_t bps[] = {123456789}, more[] = {223456789};
	const uint64_t former = 1000 * MS * ((uint64_t)time(NULL) + 86400);
	struct notice_ack first;

	holds = (struct notice_ack){former, 7};
	reflect(&keys);
	ck_assert(until(is_up));
	prober_set_capacity(prober, 0, bps, 1, clock_now_ns());
	ck_assert(until(has_received));
	ck_assert_uint_eq(heard.bps[0], 123456789);
	ck_assert_uint_eq(heard.incarnation, former + 1);
	ck_assert_uint_eq(counters().acknowledged, 1);
	ck_assert_int_eq(n_logs, 1);
	first = holds;
	prober_set_capacity(prober, 0, more, 1, clock_now_ns());
	while (counters().acknowledged < 2)
		turn();
	ck_assert_uint_eq(heard.bps[0], 223456789);
	ck_assert_uint_eq(holds.incarnation, first.incarnation);
	ck_assert_uint_eq(holds.sequence, first.sequence + 1);
	ck_assert_int_eq(n_logs, 1);
}
END_TEST

/* No number is larger than that one: nobody sends it, and it is not believed. */
START_TEST(a_life_that_none_can_outlive_is_not_heeded)
{
	const uint64_t bps[] = {123456789};

	holds = (struct notice_ack){UINT64_MAX, 7};
	reflect(&keys);
	ck_assert(until(is_up));
	prober_set_capacity(prober, 0, bps, 1, clock_now_ns());
	ck_assert(until(was_told_often));
	ck_assert_uint_gt(heard.incarnation, 0);
	ck_assert_uint_lt(heard.incarnation, UINT64_MAX);
	ck_assert_uint_eq(counters().acknowledged, 0);
	ck_assert_int_eq(n_logs, 0);
}
END_TEST

START_TEST(a_notice_under_another_key_is_not_heard)
{
	static const struct notice_keys other = {.own = {"a key of twenty bytf", 20}};
	const uint64_t bps[] = {1};
	struct reflector_counters c;

	reflect(&other);
	ck_assert(until(is_up));
	prober_set_capacity(prober, 0, bps, 1, clock_now_ns());
	n_changes = 0;
	do {
		turn();
		reflector_counters(reflector, &c);
	} while (c.forged < 3);
	ck_assert_int_eq(n_heard, 0);
	ck_assert_uint_ge(n_refused[REFLECTOR_NOT_AUTHENTIC], 3);
	ck_assert_uint_eq(n_refused[REFLECTOR_OLD_RELEASE], 0);
	ck_assert_int_eq(view().state, PROBE_UP);
}
END_TEST

/* As it would be on the wire; nonce 0: of a release that knows none. */
static void send_notice(uint64_t incarnation, uint64_t nonce)
{
	const struct notice_ends ends = {ports.gpus[0].address[0], peer};
	struct sbfd_packet p = {.state = SBFD_UP,
				.demand = true,
				.detect_multiplier = 3,
				.my_discriminator = 7,
				.your_discriminator = sbfd_wire_discriminator(&peer)};
	struct notice_trailer t = {.has_capacity = true,
				   .has_receiver = nonce != 0,
				   .receiver = nonce,
				   .capacity = {incarnation, 1, 5000, 1, {0}}};
	struct udp_packet *packet = udp_next(udp);

	sbfd_wire_encode(&p, packet->bytes);
	packet->length = notice_wire_encode(&t, &keys.own, &ends, packet->bytes);
	packet->from = ends.from;
	packet->from_port = 50000;
	packet->to = peer;
	packet->to_port = SBFD_WIRE_PORT;
	packet->ifindex = (int)if_nametoindex("lo");
	ck_assert_uint_eq(udp_send(udp), 1);
}

static struct reflector_counters reflected(void)
{
	struct reflector_counters c;

	reflector_counters(reflector, &c);
	return c;
}

/* The receiver's nonce of a moment ago, right key and all: a recording. */
START_TEST(a_recorded_notice_does_not_count_once_its_receiver_has_forgotten)
{
	const uint64_t bps[] = {123456789};
	uint64_t nonce, incarnation, replayed;

	reflect(&keys);
	ck_assert(until(is_up));
	prober_set_capacity(prober, 0, bps, 1, clock_now_ns());
	ck_assert(until(has_received));
	incarnation = heard.incarnation;
	nonce = prober->peers[0]->receiver;
	ck_assert_uint_ne(nonce, 0);
	n_heard = 0;
	send_notice(incarnation + 1, nonce); /* not forgotten yet */
	while (!n_heard)
		turn();
	ck_assert_uint_eq(heard.incarnation, incarnation + 1);
	reflector_forgot(reflector);
	n_heard = 0;
	replayed = reflected().replayed;
	send_notice(incarnation + 2, nonce);
	while (reflected().replayed == replayed)
		turn();
	replayed = reflected().replayed;
	send_notice(incarnation + 2, 0);
	while (!n_refused[REFLECTOR_OLD_RELEASE])
		turn();
	/* the peer itself learns the new nonce by a reply, and is believed again */
	while (!n_heard)
		turn();
	ck_assert_uint_lt(heard.incarnation, incarnation + 2);
	ck_assert_uint_ne(prober->peers[0]->receiver, nonce);
	ck_assert_uint_eq(n_refused[REFLECTOR_NOT_AUTHENTIC], 0);
}
END_TEST

static bool traced_ten(void)
{
	return n_traced[PROBER_TRACE_ANSWERED] >= 10;
}

START_TEST(a_traced_path_is_told_of)
{
	uint64_t sent;

	reflect(&keys);
	ck_assert(until(is_up));
	ck_assert_uint_eq(n_traced[PROBER_TRACE_SENT], 0);
	ck_assert(!prober_trace_begin(prober, 0, &ports.gpus[0].address[0], 0));
	ck_assert(!prober_trace_begin(prober, 0, &peer, 7));
	ck_assert(prober_trace_begin(prober, 0, &peer, 0));
	sent = counters().sent;
	ck_assert(until(traced_ten));
	prober_trace_end(prober);
	ck_assert_uint_eq(n_traced[PROBER_TRACE_SENT], counters().sent - sent);
	ck_assert_uint_gt(last_traced[PROBER_TRACE_ANSWERED].rtt_ns, 0);
	ck_assert_uint_gt(last_traced[PROBER_TRACE_SENT].sequence, 10);
	ck_assert_int_eq(last_traced[PROBER_TRACE_SENT].state, PROBE_UP);
	ck_assert_uint_gt(last_traced[PROBER_TRACE_SENT].source_port, 0);
	turn();
	ck_assert_uint_le(n_traced[PROBER_TRACE_ANSWERED], n_traced[PROBER_TRACE_SENT] + 1);
}
END_TEST

static bool was_acknowledged(void)
{
	return counters().acknowledged >= 1;
}

static bool was_acknowledged_twice(void)
{
	return counters().acknowledged >= 2;
}

/* The prober's key is the peer's second one, and the peer's own the prober's second: half-way. */
START_TEST(notices_pass_while_keys_are_rotated)
{
	static const struct notice_keys ahead = {{"the next key, 23 bytes.", 23},
						 {"a key of twenty byte", 20}};
	const uint64_t bps[] = {1};
	struct reflector_counters c;

	keys.second = ahead.own;
	reflect(&ahead);
	ck_assert(until(is_up));
	prober_set_capacity(prober, 0, bps, 1, clock_now_ns());
	ck_assert(until(was_acknowledged));
	reflector_counters(reflector, &c);
	ck_assert_uint_eq(c.forged, 0);
	ck_assert_uint_ge(c.second_key, 1);
	/* and with the new key the prober's own, changed under the running prober */
	keys = (struct notice_keys){ahead.own, keys.own};
	prober_set_capacity(prober, 0, bps, 1, clock_now_ns());
	ck_assert(until(was_acknowledged_twice));
	reflector_counters(reflector, &c);
	ck_assert_uint_eq(c.forged, 0);
	ck_assert_int_eq(view().state, PROBE_UP);
}
END_TEST

/* What is not answered is no packet of ours: it must not hide as many of an application's. */
START_TEST(probes_beyond_the_limit_are_not_counted_as_replies)
{
	struct sbfd_packet p = {.state = SBFD_UP,
				.demand = true,
				.detect_multiplier = 3,
				.my_discriminator = 7,
				.your_discriminator = sbfd_wire_discriminator(&peer)};
	uint64_t now = clock_now_ns();

	reflect(&keys);
	while (reflected().limited < UDP_BATCH) {
		struct udp_packet *packet = udp_next(udp);

		sbfd_wire_encode(&p, packet->bytes);
		packet->length = SBFD_WIRE_BYTES;
		packet->from = address("::ffff:127.77.0.3");
		packet->from_port = 50000;
		packet->to = peer;
		packet->to_port = SBFD_WIRE_PORT;
		packet->ifindex = (int)if_nametoindex("lo");
		udp_send(udp);
		for (uint32_t i = 0; i < reflector_n_sockets(reflector); i++)
			reflector_read(reflector, i, now);
	}
	ck_assert_uint_eq(reflected().answered, HEALTH_REPLIES_PER_S / 10);
	ck_assert_uint_eq(prober_sent(prober, 0, 0) + prober_sent(prober, 1, 0) +
				  reflector_sent(reflector, 0, 0) + reflector_sent(reflector, 1, 0),
			  counters().sent + reflected().answered);
}
END_TEST

/* A stranger's datagrams to the reflector: none that breaks a rule is answered. */
START_TEST(the_reflector_answers_only_what_it_should)
{
	struct in6_addr stranger = address("::ffff:127.77.0.3");
	struct sbfd_packet p = {.state = SBFD_UP,
				.demand = true,
				.detect_multiplier = 3,
				.my_discriminator = 7,
				.your_discriminator = sbfd_wire_discriminator(&peer)};
	struct reflector_counters c;

	reflect(&keys);
	for (int i = 0; i < 4; i++) {
		struct udp_packet *packet;
		struct sbfd_packet q = p;

		if (i == 1)
			q.your_discriminator++;
		if (i == 2)
			q.demand = false; /* a reply: answering it would never end */
		packet = udp_next(udp);
		if (i == 3)
			packet->hop_limit = 64;
		sbfd_wire_encode(&q, packet->bytes);
		packet->length = SBFD_WIRE_BYTES;
		packet->from = stranger;
		packet->from_port = 50000;
		packet->to = peer;
		packet->to_port = SBFD_WIRE_PORT;
		packet->ifindex = (int)if_nametoindex("lo");
		ck_assert_uint_eq(udp_send(udp), 1);
	}
	ck_assert_int_eq(prober_want(prober, 0, &peer, 0, false, false, clock_now_ns()), 0);
	do {
		turn();
		reflector_counters(reflector, &c);
	} while (!c.hop_limit || !c.discriminator || !c.malformed || !c.answered);
	ck_assert_uint_eq(c.discriminator, 1);
	ck_assert_uint_eq(c.hop_limit, 1);
	ck_assert_uint_eq(c.malformed, 1);
}
END_TEST

/* SplitMix64 turned back: the state behind one output gives all that follow. */
static uint64_t state_behind(uint64_t z)
{
	z = (z ^ (z >> 31) ^ (z >> 62)) * UINT64_C(0x319642b2d24d8ec3);
	z = (z ^ (z >> 27) ^ (z >> 54)) * UINT64_C(0x96de1b173f119089);
	return z ^ (z >> 30) ^ (z >> 60);
}

static uint64_t output_of(uint64_t z)
{
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* Whoever receives a probe must not know what the next one carries. */
START_TEST(one_nonce_does_not_give_the_next)
{
	const struct loss_rtt_probe *ring;

	ck_assert(until(has_sent));
	ring = prober->peers[0]->paths[0].loss.ring;
	for (unsigned i = 1; i < 5; i++)
		for (uint64_t k = 1; k < 16; k++)
			ck_assert_uint_ne(ring[i + 1].nonce,
					  output_of(state_behind(ring[i].nonce) +
						    k * UINT64_C(0x9e3779b97f4a7c15)));
}
END_TEST

static struct in6_addr peer_number(unsigned i)
{
	struct in6_addr a = {
		.s6_addr = {[10] = 0xff, 0xff, 198, 19, (uint8_t)(i >> 8), (uint8_t)i}};

	return a;
}

static int want(unsigned i, bool wanted)
{
	struct in6_addr a = peer_number(i);

	return prober_want(prober, 0, &a, 0, wanted, false, clock_now_ns());
}

static void must_be_known(unsigned i, bool known)
{
	struct in6_addr a = peer_number(i);
	const struct prober_peer *one = prober_peer_find(prober, 0, &a);
	uint32_t plane;

	ck_assert(!one == !known);
	if (!one)
		return;
	ck_assert_ptr_eq(prober->places[one->place], one);
	ck_assert_ptr_eq(prober->peers[one->index], one);
	ck_assert_ptr_eq(prober_peer_of(prober, one->paths[0].discriminator, &plane), one);
}

/* Counters of a plane keep what was counted for peers that are gone. */
START_TEST(totals_of_a_plane_never_fall)
{
	struct in6_addr a = peer_number(1000);
	struct prober_totals before, after;
	struct prober_peer *one;

	ck_assert_int_eq(want(1000, true), 0);
	one = prober_peer_find(prober, 0, &a);
	one->paths[0].loss.n_sent_ever = 7;
	one->paths[0].loss.n_lost_ever = 3;
	one->paths[0].fsm.n_downs = 2;
	prober_totals(prober, 0, 0, &before);
	ck_assert(before.n_sent >= 7 && before.n_lost >= 3 && before.n_downs >= 2);
	ck_assert_int_eq(want(1000, false), 0);
	prober_forget(prober, 0, &a);
	ck_assert_ptr_null(prober_peer_find(prober, 0, &a));
	prober_totals(prober, 0, 0, &after);
	ck_assert_mem_eq(&before, &after, sizeof(after));
}
END_TEST

/* Addresses come and go for months: one that is forgotten makes room, and disturbs no other. */
START_TEST(forgotten_peers_make_room)
{
	const unsigned first = 1000, n = PROBER_MAX_PEERS - prober->n_peers;
	const struct prober_peer *stays = prober_peer_find(prober, 0, &peer);

	for (unsigned i = first; i < first + n; i++)
		ck_assert_int_eq(want(i, true), 0);
	ck_assert_int_eq(want(first + n, true), -ENOSPC);
	for (unsigned i = first; i < first + n; i += 3) {
		struct in6_addr a = peer_number(i);

		prober_forget(prober, 0, &a);
		must_be_known(i, true); /* it is wanted */
		ck_assert_int_eq(want(i, false), 0);
		prober_forget(prober, 0, &a);
		prober_forget(prober, 0, &a);
	}
	for (unsigned i = first; i < first + n; i++)
		must_be_known(i, (i - first) % 3 != 0);
	for (unsigned i = first + n; prober->n_peers < PROBER_MAX_PEERS; i++)
		ck_assert_int_eq(want(i, true), 0);
	ck_assert_int_eq(want(first, true), -ENOSPC);
	for (unsigned i = first; i < first + n; i++)
		must_be_known(i, (i - first) % 3 != 0);
	ck_assert_ptr_eq(prober_peer_find(prober, 0, &peer), stays);
}
END_TEST

/* Answers what has come in: with a stamp and that plane of arrival, or without. */
static void reflect_by_hand(struct udp_socket *s, bool stamped, uint8_t plane)
{
	unsigned n = udp_receive(udp, s);

	for (unsigned i = 0; i < n; i++) {
		const struct udp_packet *probe = udp_received(udp, i);
		struct notice_ends ends = {probe->from, peer}, back = {peer, probe->from};
		struct udp_packet *reply = udp_next(udp);
		struct sbfd_wire_error error;
		struct notice_trailer t;
		struct sbfd_packet p;

		ck_assert_int_eq(sbfd_wire_decode(probe->bytes, probe->length, &p, &error), 0);
		ck_assert_int_eq(
			notice_wire_decode(probe->bytes, probe->length, &keys, &ends, &t, &error),
			0);
		p = sbfd_wire_reflection(&p, 0);
		sbfd_wire_encode(&p, reply->bytes);
		reply->length = SBFD_WIRE_BYTES;
		t = (struct notice_trailer){.has_stamp = true,
					    .stamp = t.stamp,
					    .has_arrival = true,
					    .arrival = {plane, 1, 2}};
		if (stamped)
			reply->length = notice_wire_encode(&t, &keys.own, &back, reply->bytes);
		reply->from = peer;
		reply->from_port = SBFD_WIRE_PORT;
		reply->to = probe->from;
		reply->to_port = probe->from_port;
		reply->ifindex = probe->ifindex;
	}
	udp_send(udp);
}

/* The peer took the probe for one of another plane: its word on this one is worth nothing. */
START_TEST(a_reply_that_names_another_plane_is_dropped)
{
	struct udp_socket *s;

	ck_assert_int_eq(udp_open(&s, &peer, SBFD_WIRE_PORT), 0);
	do {
		turn();
		reflect_by_hand(s, true, 1);
	} while (counters().wrong_plane < 10);
	ck_assert_uint_eq(counters().answered, 0);
	ck_assert_int_eq(view().state, PROBE_UNPROVEN);
	while (!is_up()) {
		turn();
		reflect_by_hand(s, true, 0);
	}
	udp_close(s);
}
END_TEST

/* As the peer's address can be spoofed: who stamped a moment ago does so still. */
START_TEST(a_peer_that_stamps_is_not_answered_for_without_a_stamp)
{
	struct prober_counters before, c;
	struct udp_socket *s;

	reflect(&keys);
	ck_assert(until(is_up));
	stop_reflector();
	ck_assert_int_eq(udp_open(&s, &peer, SBFD_WIRE_PORT), 0);
	prober_counters(prober, &before);
	do {
		turn();
		reflect_by_hand(s, false, 0);
		prober_counters(prober, &c);
		ck_assert(!view().third_party);
	} while (c.unknown < before.unknown + 10);
	prober->peers[0]->stamped_ns = 1; /* long ago: it may run another reflector by now */
	do {
		turn();
		reflect_by_hand(s, false, 0);
	} while (!view().third_party);
	udp_close(s);
}
END_TEST

/* Nothing has the prober ask its only peer at full speed. */
static bool is_idle(void)
{
	uint64_t now = clock_now_ns();

	return now >= prober->peers[0]->active_until_ns &&
	       now >= prober->planes[0][0].hurry_until_ns && view().state == PROBE_UP;
}

/*
 * Three intervals of the slow kind: a probe or two in each, instead of 80. False: a reply was
 * overdue meanwhile, as a busy machine makes it, and the peer was rightly asked at full speed.
 */
static bool is_probed_slowly(void)
{
	uint64_t start, active_until_ns, before, n_slow;

	ck_assert(until(is_idle));
	n_changes = 0;
	active_until_ns = prober->peers[0]->active_until_ns;
	start = clock_now_ns();
	later = start + 3 * options.slow_interval_ns;
	before = view().n_sent;
	ck_assert(until(is_later));
	if (n_changes || prober->peers[0]->active_until_ns != active_until_ns)
		return false;
	n_slow = (clock_now_ns() - start) / options.slow_interval_ns;
	ck_assert_uint_le(view().n_sent - before, 4 + 2 * n_slow);
	return true;
}

static void post(uint64_t ahead_ns, bool acked)
{
	uint64_t now = clock_now_ns(), at = now + ahead_ns;

	prober_traffic(prober, 0, &peer, 0, at, acked ? at : 0, now);
}

/* A client posts while its rows are read: it always is a moment ahead of the reader's clock. */
START_TEST(a_post_of_a_moment_ahead_counts)
{
	uint64_t now = clock_now_ns();

	reflect(&keys);
	ck_assert(until(is_up));
	ck_assert(until(is_idle));
	post(3600000 * MS, true);
	ck_assert(is_idle());
	ck_assert_uint_lt(prober->peers[0]->paths[0].acked_ns, clock_now_ns());
	post(MS, true);
	ck_assert_uint_ge(prober->peers[0]->active_until_ns, now + 1000 * MS);
	ck_assert_uint_ge(prober->peers[0]->paths[0].acked_ns, now);
	ck_assert_uint_le(prober->peers[0]->paths[0].acked_ns, clock_now_ns());
}
END_TEST

START_TEST(peers_without_traffic_are_probed_slowly)
{
	struct prober_counters c;
	uint64_t before;
	unsigned n = 0;

	reflect(&keys);
	ck_assert(until(is_up));
	prober_set_traffic_known(prober, 0, 0, true, clock_now_ns());
	while (!is_probed_slowly())
		ck_assert_msg(++n < 40, "no 1.2 s without an overdue reply");
	ck_assert_uint_eq(view().n_downs, 0);

	/* traffic: at full speed within an interval; not slowly, in half the time of that */
	later = clock_now_ns() + 25 * options.slow_interval_ns;
	before = view().n_sent;
	while (view().n_sent < before + 50 && !is_later()) {
		post(0, false);
		turn();
	}
	ck_assert_uint_ge(view().n_sent - before, 50);

	/*
	 * acknowledged data replaces probes, all but every eighth; what lies in the future is not
	 * heeded
	 */
	post(3600000 * MS, true);
	later = clock_now_ns() + PATIENCE_S * 1000 * MS;
	before = view().n_sent;
	do {
		post(0, true);
		turn();
		prober_counters(prober, &c);
	} while (c.skipped < 70 && !is_later());
	ck_assert_uint_ge(c.skipped, 70);
	ck_assert_uint_ge(view().n_sent - before, 9);
	ck_assert_uint_eq(view().n_downs, 0);
}
END_TEST

static struct prober_path *two_sub_ports(void)
{
	struct prober_path *path = &prober->peers[0]->paths[0];

	ports.gpus[0].ifindex[0][0] = (int)if_nametoindex("lo");
	ports.gpus[0].live[0] = 3;
	path->proven = 3;
	path->n_remote = 2;
	path->remote[0] = path->back[0] = 0;
	return path;
}

/*
 * Of ports that are answered, and of those that are tried (_i: they come once in a while, or a gray
 * sub-port does): no two tries in a row, and what counts meets all local sub-ports.
 */
START_TEST(tries_do_not_displace_what_counts)
{
	struct prober_path *path = two_sub_ports();
	uint64_t now = clock_now_ns(), step = _i ? 100 * MS : MS;
	unsigned n_tries = 0, n_out[2] = {0};
	bool tried = false;

	if (_i == 2) {
		for (unsigned port = 1; port < PROBER_PORTS; port++)
			path->remote[port] = path->back[port] = (int8_t)(port % 2);
		path->gray.mask[GRAY_REMOTE] = 2;
	}
	for (unsigned i = 0; i < 200; i++) {
		const struct loss_rtt_probe *probe;

		prober_io_probe(prober, prober->peers[0], 0, now += step);
		probe = &path->loss.ring[(path->loss.next - 1) % LOSS_RTT_WINDOW];
		ck_assert(!tried || !path->tried);
		tried = path->tried;
		ck_assert(probe->void_ == tried);
		n_tries += tried;
		if (tried)
			continue;
		ck_assert_int_eq(probe->remote, 0);
		n_out[probe->local_sub_port]++;
	}
	ck_assert_uint_le(n_out[0] > n_out[1] ? n_out[0] - n_out[1] : n_out[1] - n_out[0], 1);
	if (_i) {
		ck_assert_uint_eq(n_tries, 100);
	} else { /* each some times, and afterwards seldom */
		ck_assert_uint_ge(n_tries, HEALTH_MISSES_MAX * (PROBER_PORTS - 1));
		ck_assert_uint_le(n_tries, HEALTH_MISSES_MAX * (PROBER_PORTS - 1) + 3);
	}
}
END_TEST

static bool something_returns(void)
{
	return last_returning != 0;
}

/* Nothing has come back by one of two since the path did: nobody else is to send by it. */
START_TEST(a_sub_port_that_passes_nothing_waits)
{
	ports.gpus[0].live[0] = 3;
	ports.gpus[0].ifindex[0][0] = 0x7ffffff0; /* no such device */
	reflect(&keys);
	ck_assert(until(something_returns));
	ck_assert_uint_eq(last_returning, 1);
}
END_TEST

/* The peer went away before one of two had its turn: of the sub-ports that says nothing. */
START_TEST(a_peer_that_goes_away_says_nothing_of_sub_ports)
{
	struct prober_path *path = two_sub_ports();
	uint64_t now = clock_now_ns();

	path->fsm.state = PROBE_UP;
	path->proven = 1;
	path->n_to_answer = HEALTH_RUN - 1;
	for (unsigned i = 0; i < 4 * HEALTH_RUN; i++)
		prober_io_probe(prober, prober->peers[0], 0, now += MS);
	ck_assert_uint_eq(path->returning, 0);
	ck_assert_uint_eq(path->n_to_answer, HEALTH_RUN - 1);
	ck_assert_uint_eq(last_returning, 0);
}
END_TEST

/* One that was down for long is asked seldom, until it answers. */
START_TEST(a_path_that_answers_again_is_asked_soon)
{
	struct prober_path *path;
	uint64_t now;

	reflect(&keys);
	ck_assert(until(is_up));
	now = clock_now_ns();
	path = &prober->peers[0]->paths[0];
	path->fsm.state = PROBE_DOWN;
	path->fsm.since_ns = now - 2 * HEALTH_DOWN_FAST_NS;
	path->fsm.hold_until_ns = now + HEALTH_DOWN_FAST_NS;
	path->fsm.passes = path->fsm.punctual = 0;
	loss_rtt_forget(&path->loss);
	path->next_ns = now + HEALTH_DOUBTFUL_NS;
	prober_schedule(prober, prober->peers[0], 0, now);
	answered_before = counters().answered;
	ck_assert(until(was_answered));
	ck_assert_uint_le(path->next_ns, clock_now_ns() + options.times.interval_ns);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("prober");
	TCase *tc = tcase_create("all");
	SRunner *runner;
	int failed, skip = own_net();

	if (skip)
		return skip;
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, probes_are_answered_and_tell_the_way);
	tcase_add_test(tc, nobody_there_takes_nothing_down);
	tcase_add_test(tc, idleness_is_no_lateness);
	tcase_add_loop_test(tc, two_ends_probe_and_answer_each_other, 0, 2);
	tcase_add_test(tc, a_peer_that_falls_silent_everywhere_takes_nothing_down);
	tcase_add_test(tc, a_path_that_was_away_waits_for_replies);
	tcase_add_test(tc, a_plane_that_comes_late_waits_for_replies);
	tcase_add_test(tc, a_sub_port_that_returns_waits_for_an_answer);
	tcase_add_test(tc, answers_avoid_a_sub_port_that_returns);
	tcase_add_test(tc, answers_have_no_choice_where_all_sub_ports_return);
	tcase_add_test(tc, padded_probes_tell_the_path_mtu);
	tcase_add_test(tc, pairs_tell_how_probes_are_queued);
	tcase_add_test(tc, a_sub_port_without_routes_is_not_blamed_at_once);
	tcase_add_test(tc, a_plane_without_routes_is_asked_nevertheless);
	tcase_add_test(tc, a_notice_arrives_and_is_acknowledged);
	tcase_add_test(tc, a_notice_that_is_not_taken_is_not_acknowledged);
	tcase_add_test(tc, a_clock_that_went_back_is_made_up_for);
	tcase_add_test(tc, a_life_that_none_can_outlive_is_not_heeded);
	tcase_add_test(tc, a_notice_under_another_key_is_not_heard);
	tcase_add_test(tc, a_recorded_notice_does_not_count_once_its_receiver_has_forgotten);
	tcase_add_test(tc, notices_pass_while_keys_are_rotated);
	tcase_add_test(tc, a_traced_path_is_told_of);
	tcase_add_test(tc, probes_beyond_the_limit_are_not_counted_as_replies);
	tcase_add_test(tc, the_reflector_answers_only_what_it_should);
	tcase_add_test(tc, one_nonce_does_not_give_the_next);
	tcase_add_test(tc, forgotten_peers_make_room);
	tcase_add_test(tc, totals_of_a_plane_never_fall);
	tcase_add_test(tc, a_peer_that_stamps_is_not_answered_for_without_a_stamp);
	tcase_add_test(tc, a_reply_that_names_another_plane_is_dropped);
	tcase_add_test(tc, a_post_of_a_moment_ahead_counts);
	tcase_add_test(tc, peers_without_traffic_are_probed_slowly);
	tcase_add_loop_test(tc, tries_do_not_displace_what_counts, 0, 3);
	tcase_add_test(tc, a_sub_port_that_passes_nothing_waits);
	tcase_add_test(tc, a_peer_that_goes_away_says_nothing_of_sub_ports);
	tcase_add_test(tc, a_path_that_answers_again_is_asked_soon);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
