/* SPDX-License-Identifier: BSD-2-Clause */
/* What follows from reports, answers and losses, under a clock of the test's own. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "prober_internal.h"

#define MS	 HEALTH_MS_NS
#define INTERVAL (3 * MS)
#define PLANES	 3

#ifdef FARE_PLANTED /* tests/sim/health: a planted defect that this finds */
enum health_planted health_planted_active = FARE_PLANTED;
#endif

static struct sub_ports ports;
static struct notice_keys keys;
static struct prober *p;
static struct prober_peer *peer;
static struct report_wire sent; /* by the peer so far */
static struct probe_fsm_change last;
static unsigned n_downs[PLANES];
static uint64_t now;

static void on_path(void *arg, uint32_t gpu, const struct in6_addr *address, uint32_t plane,
		    const struct prober_view *view, const struct probe_fsm_change *change)
{
	(void)arg;
	(void)gpu;
	(void)address;
	(void)view;
	if (!change || change->new_state != PROBE_DOWN)
		return;
	n_downs[plane]++;
	last = *change;
}

static const struct prober_handlers handlers = {.on_path = on_path};

static struct prober_peer *add_peer(void)
{
	struct prober_peer *one = calloc(1, sizeof(*one) + PLANES * sizeof(struct prober_path));

	ck_assert_ptr_nonnull(one);
	one->n_planes = PLANES;
	one->index = p->n_peers;
	one->place = p->n_peers;
	one->cookie = 0x1234 + p->n_peers;
	for (unsigned i = 0; i < PLANES; i++) {
		one->paths[i].wanted = one->paths[i].answered_ever = true;
		one->paths[i].fsm.state = PROBE_UP;
		one->paths[i].fsm.reason = "it is up";
		loss_rtt_init(&one->paths[i].loss);
	}
	p->places[p->n_peers] = one;
	p->peers[p->n_peers++] = one;
	return one;
}

static void setup(void)
{
	now = 100000 * MS;
	memset(&ports, 0, sizeof(ports));
	memset(&keys, 0, sizeof(keys));
	memset(n_downs, 0, sizeof(n_downs));
	ports.n_gpus = 1;
	ports.gpus[0].n_planes = PLANES;
	p = calloc(1, sizeof(*p));
	ck_assert_ptr_nonnull(p);
	p->times = (struct probe_fsm_times){.interval_ns = INTERVAL,
					    .detect_multiplier = 3,
					    .recover_probes = 3,
					    .hold_ns = 50 * MS,
					    .max_loss_ppm = 20000};
	p->options.times = p->times;
	p->tick_ns = INTERVAL / 4;
	p->ports = &ports;
	p->keys = &keys;
	p->handlers = &handlers;
	ck_assert_int_eq(wheel_create(&p->wheel, PROBER_PLACES, p->tick_ns, now), 0);
	peer = add_peer();
	sent = (struct report_wire){.incarnation = 7,
				    .n_planes = PLANES,
				    .cookie = 99,
				    .receiver_cookie = peer->cookie};
}

static void teardown(void)
{
	for (uint32_t i = 0; i < p->n_peers; i++)
		free(p->peers[i]);
	wheel_destroy(p->wheel);
	free(p);
}

static void judge_all(void)
{
	for (uint32_t plane = 0; plane < PLANES; plane++)
		if (peer->paths[plane].wanted)
			prober_judge(p, peer, plane, now);
}

/* An interval: the peer sends over each plane; of planes in `lost` (bit p) nothing arrives. */
static void turn(uint32_t lost, bool is_authentic)
{
	for (uint32_t plane = 0; plane < PLANES; plane++, now += INTERVAL / PLANES) {
		sent.planes[plane].sent++;
		sent.clock_us = (uint32_t)(now / 1000);
		if (!(lost >> plane & 1))
			prober_report_take(p, peer, plane, &sent, false, is_authentic, 0, now);
		judge_all();
	}
}

static void turns(uint32_t lost, unsigned n)
{
	while (n--)
		turn(lost, true);
}

/* Runs on until plane 0 is down; how long after it lost its first packet. 0: it does not. */
static uint64_t goes_down_after(void)
{
	uint64_t since = now;

	for (unsigned i = 0; i < 1000 && !n_downs[0]; i++)
		turn(1, true);
	ck_assert_uint_eq(n_downs[1] + n_downs[2], 0);
	return n_downs[0] ? now - since : 0;
}

START_TEST(peer_says_that_packets_of_a_plane_are_missing)
{
	uint64_t ns;

	turns(0, 10);
	ns = goes_down_after();
	ck_assert_uint_ge(ns, 15 * MS); /* six packets, an interval apart, and the allowance */
	ck_assert_uint_le(ns, 21 * MS);
	ck_assert_uint_ge(last.numbers.n_missing, 6);
	ck_assert_uint_ge(last.numbers.silent_ns, 15 * MS);
	ck_assert_uint_eq(last.numbers.allowance_ns, INTERVAL / 4);
	ck_assert_int_eq(peer->paths[0].fsm.where, PROBE_UNLOCATED);
}
END_TEST

START_TEST(silence_on_all_planes_takes_none_down)
{
	turns(0, 10);
	turns(7, 400);
	turns(0, 1);
	for (uint32_t plane = 0; plane < PLANES; plane++)
		ck_assert_uint_eq(n_downs[plane], 0);
}
END_TEST

/* It has a plane more than this server, or one less. */
START_TEST(peer_may_have_other_planes)
{
	sent.n_planes = _i ? PLANES + 1 : PLANES - 1;
	turns(_i ? 0 : 4, 10);
	for (unsigned i = 0; i < 20 && !n_downs[0]; i++)
		turn(_i ? 1 : 5, true);
	ck_assert_uint_eq(n_downs[0], 1);
	ck_assert_uint_eq(n_downs[1] + n_downs[2], 0);
}
END_TEST

/* 64 KiB at 800 Mb/s take 0.66 ms; a full queue takes 168 ms, of which 100 are allowed for. */
START_TEST(queues_are_allowed_for_where_data_passes_first)
{
	uint64_t ns;

	ports.gpus[0].burst_ns[0] = 655360;
	p->options.queue_max_ns = _i ? 100 * MS : 0;
	turns(0, 10);
	ns = goes_down_after();
	ck_assert_uint_ge(ns, _i ? 13 * INTERVAL + 200 * MS : 5 * INTERVAL);
	ck_assert_uint_le(ns, _i ? 15 * INTERVAL + 205 * MS : 7 * INTERVAL + 3 * MS);
	ck_assert_uint_eq(last.numbers.allowance_ns,
			  INTERVAL / 4 + 2 * 655360 + (_i ? 200 * MS : 0));
}
END_TEST

/* Our packets do not arrive, and the peer's do: the peer alone can know. */
START_TEST(peer_says_that_ours_do_not_arrive)
{
	turns(0, 10);
	sent.planes[0].flags = REPORT_DEAD;
	sent.planes[0].age = 80; /* of 100 us */
	turns(0, 1);
	ck_assert_uint_eq(n_downs[0], 1);
	ck_assert_uint_eq(n_downs[1] + n_downs[2], 0);
	ck_assert(last.numbers.by_peer);
	ck_assert_uint_eq(last.numbers.silent_ns, 8 * MS);
}
END_TEST

/* Its fared ended, or has a plane less, after it reported that. */
START_TEST(what_a_peer_reported_once_takes_nothing_down)
{
	uint32_t plane = _i ? PLANES - 1 : 0;

	turns(0, 10);
	peer->paths[plane].fsm.state = PROBE_DOWN;
	sent.planes[plane].flags = REPORT_DEAD;
	turns(0, 1);
	if (_i) {
		sent.n_planes = PLANES - 1;
		turns(1u << plane, 1);
	} else {
		now += HEALTH_BLIND_NS;
	}
	peer->paths[plane].fsm.state = PROBE_UP; /* its route came back, or a probe was answered */
	judge_all();
	ck_assert_uint_eq(n_downs[plane], 0);
}
END_TEST

START_TEST(flags_count_with_the_key_alone)
{
	keys.own.length = 20;
	turns(0, 10);
	sent.planes[0].flags = REPORT_DEAD | REPORT_LOSSY;
	turn(0, false);
	ck_assert_uint_eq(n_downs[0], 0);
	turn(0, true);
	ck_assert_uint_eq(n_downs[0], 1);
}
END_TEST

/* One that does not know the cookie is not on the path, unless it answers a probe. */
START_TEST(reports_of_strangers_do_not_count)
{
	turns(0, 10);
	sent.planes[0].flags = REPORT_DEAD;
	sent.receiver_cookie++;
	turns(0, 2);
	ck_assert_uint_eq(n_downs[0], 0);
	prober_report_take(p, peer, 1, &sent, true, true, 0, now);
	judge_all();
	ck_assert_uint_eq(n_downs[0], 1);
}
END_TEST

static void send_probe(uint32_t plane, bool is_answered)
{
	struct prober_path *path = &peer->paths[plane];
	struct loss_rtt_probe probe = {.nonce = now}, taken;
	uint32_t sequence = loss_rtt_sent(&path->loss, now, &probe);

	path->n_probed++;
	if (!is_answered)
		return;
	ck_assert(loss_rtt_answered(&path->loss, now, sequence, now, 0, &taken));
	prober_report_infer(p, peer, plane, &taken, now);
}

static void ask(uint32_t lost, unsigned n)
{
	while (n--)
		for (uint32_t plane = 0; plane < PLANES; plane++, now += INTERVAL / PLANES) {
			send_probe(plane, !(lost >> plane & 1));
			judge_all();
		}
}

/* Of an earlier release, or foreign: its answers say what else it should have answered. */
START_TEST(peer_without_reports_is_judged_by_its_answers)
{
	ask(0, 10);
	ask(7, 100); /* it is away */
	ask(0, 10);
	ck_assert_uint_eq(n_downs[0] + n_downs[1] + n_downs[2], 0);
	ask(1, 5);
	ck_assert_uint_eq(n_downs[0], 0);
	ask(1, 2);
	ck_assert_uint_eq(n_downs[0], 1);
	ck_assert_uint_eq(n_downs[1] + n_downs[2], 0);
}
END_TEST

START_TEST(peer_with_reports_is_not_judged_by_its_answers)
{
	turns(0, 1);
	ask(1, 100);
	ck_assert_uint_eq(n_downs[0], 0);
	now += HEALTH_FOREIGN_NS; /* it may run another release by now */
	ask(1, 30);
	ck_assert_uint_eq(n_downs[0], 1);
}
END_TEST

static uint64_t n_lost_ever(void)
{
	return peer->paths[0].loss.n_lost_ever + peer->paths[1].loss.n_lost_ever +
	       peer->paths[2].loss.n_lost_ever;
}

/*
 * Longer than a probe may take, and shorter than what makes it unproven: a server that got no CPU
 * time answers what waited. Once it was received again, what is still unanswered is lost.
 */
START_TEST(what_a_peer_that_is_away_has_not_answered_is_not_lost)
{
	ask(0, 10);
	ask(7, (HEALTH_BLIND_NS - 10 * MS) / INTERVAL);
	ck_assert_uint_eq(n_lost_ever(), 0);
	ask(0, 1);
	ck_assert_uint_gt(n_lost_ever(), 0);
}
END_TEST

/* So many round trips of ours are lost over plane 0, and no one sub-port explains it. */
static void search(void)
{
	peer->paths[0].loss.n_lost = HEALTH_LOST_MIN;
}

/* One sub-port may explain them: for that, round trips of ours are needed. */
START_TEST(losses_wait_until_one_sub_port_was_searched_for)
{
	peer->paths[0].next_ns = now + 1000000 * MS;
	turns(0, 10);
	for (unsigned i = 0; i < 200; i++)
		turn(i % 10 == 0, true);
	ck_assert_uint_eq(n_downs[0], 0);
	ck_assert_uint_le(peer->paths[0].next_ns, now + INTERVAL); /* it is asked */
	ck_assert_uint_eq(prober_pace_ns(p, peer, 0, now), INTERVAL);
	search();
	peer->paths[0].suspicion = true;
	turn(0, true);
	ck_assert_uint_eq(n_downs[0], 0);
	peer->paths[0].suspicion = false;
	turn(0, true);
	ck_assert_uint_eq(n_downs[0], 1);
}
END_TEST

START_TEST(losses_beyond_the_bound_take_a_plane_down_and_are_reported)
{
	struct report_wire out = {0};

	search();
	turns(0, 10);
	for (unsigned i = 0; i < 400 && !n_downs[0]; i++)
		turn(i % 10 == 0, true);
	ck_assert_uint_eq(n_downs[0], 1);
	ck_assert_uint_ge(last.numbers.n_lost, HEALTH_LOST_MIN);
	ck_assert_uint_gt(last.numbers.n_sent, 100);
	ck_assert_uint_eq(last.numbers.n_missing, 0);
	prober_report_fill(p, peer, 1, 0, false, now, &out);
	ck_assert_uint_eq(out.planes[0].flags, REPORT_LOSSY);
	ck_assert_uint_eq(out.planes[1].flags, 0);
	ck_assert_uint_eq(out.cookie, peer->cookie);
	ck_assert_uint_eq(out.receiver_cookie, 99);
}
END_TEST

/* The other end may not know yet which source ports lead round it. */
START_TEST(losses_beside_a_gray_sub_port_are_that_ones)
{
	search();
	turns(0, 10);
	peer->paths[0].gray.mask[_i] = 1;
	for (unsigned i = 0; i < 400; i++)
		turn(i % 10 == 0, true);
	ck_assert_uint_eq(n_downs[0], 0);
}
END_TEST

/* Else one that passes nothing would be a row of missing packets. */
START_TEST(of_packets_by_one_sub_port_in_a_row_the_first_counts)
{
	static const struct {
		uint32_t sub_port, sent;
	} cases[] = {{0, 1}, {0, 1}, {1, 2}, {1, 2}, {0, 3}};
	struct report_wire out = {0};

	ports.gpus[0].live[1] = 3;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		prober_report_fill(p, peer, 1, cases[i].sub_port, false, now, &out);
		ck_assert_uint_eq(out.planes[1].sent, cases[i].sent);
		ck_assert_int_eq(out.is_try, i % 2 == 1);
	}
	ports.gpus[0].live[1] = 1; /* no other is left */
	prober_report_fill(p, peer, 1, 0, false, now, &out);
	ck_assert_uint_eq(out.planes[1].sent, 4);
	ck_assert(!out.is_try);
}
END_TEST

/* Those of the rest are tries: they make no packet one of a row. */
START_TEST(packets_count_if_no_other_sub_port_is_proven)
{
	struct report_wire out = {0};

	ports.gpus[0].live[1] = 3;
	peer->paths[1].proven = 1;
	for (unsigned i = 1; i <= 3; i++) {
		prober_report_fill(p, peer, 1, 0, false, now, &out);
		ck_assert_uint_eq(out.planes[1].sent, i);
		ck_assert(!out.is_try);
	}
}
END_TEST

/* Its own path is down, or has no route: the peer would send on into it. */
START_TEST(path_not_in_use_reports_what_does_not_arrive)
{
	struct report_wire out = {0};

	turns(0, 10);
	if (_i)
		peer->paths[0].wanted = false;
	else
		peer->paths[0].fsm.state = PROBE_DOWN;
	turns(1, 10);
	prober_report_fill(p, peer, 1, 0, false, now, &out);
	ck_assert_uint_eq(out.planes[0].flags, REPORT_DEAD);
	ck_assert_uint_eq(out.planes[1].flags | out.planes[2].flags, 0);
	turns(0, 1);
	prober_report_fill(p, peer, 1, 0, false, now, &out);
	ck_assert_uint_eq(out.planes[0].flags, 0);
}
END_TEST

/* It was a sub-port's, which is out of use now; what is lost from then on is the path's. */
START_TEST(losses_before_the_peer_reports_a_gray_sub_port_are_that_ones)
{
	search();
	turns(0, 10);
	for (unsigned i = 0; i < 90; i++)
		turn(i % 10 == 0, true);
	sent.planes[0].flags = REPORT_GRAY;
	for (unsigned i = 0; i < 90; i++)
		turn(i % 10 == 0, true);
	ck_assert_uint_eq(n_downs[0], 0);
	for (unsigned i = 0; i < 400 && !n_downs[0]; i++)
		turn(i % 10 == 0, true);
	ck_assert_uint_eq(n_downs[0], 1);
}
END_TEST

/* Later the peer repeats it, while the path has come back: that says nothing new. */
START_TEST(peer_says_once_that_it_loses_too_many)
{
	turns(0, 10);
	sent.planes[0].flags = REPORT_LOSSY;
	turns(0, 1);
	ck_assert_uint_eq(n_downs[0], 1);
	peer->paths[0].fsm.state = PROBE_UP;
	turns(0, 10);
	ck_assert_uint_eq(n_downs[0], 1);
}
END_TEST

static void ask_other(struct prober_path *path, bool is_answered)
{
	struct loss_rtt_probe probe = {.nonce = now}, taken;
	uint32_t sequence = loss_rtt_sent(&path->loss, now, &probe);

	path->sent_ns = now;
	if (is_answered)
		ck_assert(loss_rtt_answered(&path->loss, now, sequence, now, 0, &taken));
	else if (!path->silent_since_ns)
		path->silent_since_ns = now;
}

/* Asked after the fault: 0: never; 1: in vain; 2: answered; 3: answered, and that was before it. */
START_TEST(other_peers_tell_where_the_fault_is)
{
	static const enum probe_where wheres[] = {PROBE_UNLOCATED, PROBE_IN_FABRIC, PROBE_REMOTE,
						  PROBE_UNLOCATED};
	struct prober_path *other = &add_peer()->paths[0];

	turns(0, 10);
	if (_i == 3)
		ask_other(other, true);
	turn(1, true);
	peer->paths[0].silent_since_ns = now;
	if (_i == 1 || _i == 2)
		ask_other(other, _i == 2);
	for (unsigned i = 0; i < 20 && !n_downs[0]; i++)
		turn(1, true);
	ck_assert_uint_eq(n_downs[0], 1);
	ck_assert_int_eq(peer->paths[0].fsm.where, wheres[_i]);
	if (wheres[_i] != PROBE_UNLOCATED)
		return;
	ask_other(other, true); /* it was asked once the path was down */
	judge_all();
	ck_assert_int_eq(peer->paths[0].fsm.where, PROBE_REMOTE);
	ck_assert_uint_eq(n_downs[0], 1);
}
END_TEST

START_TEST(quiet_path_is_probed_at_each_tick)
{
	peer->active_until_ns = now + 1000 * MS;
	turns(0, 10);
	ck_assert_uint_eq(prober_pace_ns(p, peer, 0, now), INTERVAL);
	turns(1, 2);
	ck_assert(prober_is_quiet(p, peer, 0, now) && !prober_is_quiet(p, peer, 1, now));
	ck_assert_uint_eq(prober_pace_ns(p, peer, 0, now), INTERVAL / 4);
}
END_TEST

/* ... which does not wait until its next probe is due. */
START_TEST(path_is_looked_at_when_it_becomes_quiet)
{
	uint64_t quiet_ns;

	peer->active_until_ns = now + 1000 * MS;
	turns(0, 10);
	quiet_ns = peer->judge.planes[0].received_ns + INTERVAL * 9 / 8;
	peer->paths[0].next_ns = now + 10 * INTERVAL;
	prober_schedule(p, peer, 0, now);
	ck_assert_uint_ge(wheel_next_ns(p->wheel), quiet_ns);
	ck_assert_uint_le(wheel_next_ns(p->wheel), quiet_ns + 2 * p->tick_ns);
}
END_TEST

START_TEST(silence_everywhere_makes_a_peer_unproven)
{
	turns(0, 1);
	for (uint32_t i = 0; i < PLANES; i++)
		peer->paths[i].silent_since_ns = now;
	prober_judge_blindness(p, peer, now + HEALTH_BLIND_NS - 1);
	ck_assert_int_eq(peer->paths[0].fsm.state, PROBE_UP);
	prober_judge_blindness(p, peer, now + HEALTH_BLIND_NS);
	for (uint32_t i = 0; i < PLANES; i++)
		ck_assert_int_eq(peer->paths[i].fsm.state, PROBE_UNPROVEN);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("health/prober_judge");
	TCase *tc = tcase_create("judge");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, peer_says_that_packets_of_a_plane_are_missing);
	tcase_add_test(tc, silence_on_all_planes_takes_none_down);
	tcase_add_loop_test(tc, peer_may_have_other_planes, 0, 2);
	tcase_add_loop_test(tc, queues_are_allowed_for_where_data_passes_first, 0, 2);
	tcase_add_test(tc, peer_says_that_ours_do_not_arrive);
	tcase_add_loop_test(tc, what_a_peer_reported_once_takes_nothing_down, 0, 2);
	tcase_add_test(tc, flags_count_with_the_key_alone);
	tcase_add_test(tc, reports_of_strangers_do_not_count);
	tcase_add_test(tc, peer_without_reports_is_judged_by_its_answers);
	tcase_add_test(tc, peer_with_reports_is_not_judged_by_its_answers);
	tcase_add_test(tc, what_a_peer_that_is_away_has_not_answered_is_not_lost);
	tcase_add_test(tc, losses_wait_until_one_sub_port_was_searched_for);
	tcase_add_test(tc, losses_beyond_the_bound_take_a_plane_down_and_are_reported);
	tcase_add_loop_test(tc, losses_beside_a_gray_sub_port_are_that_ones, 0, GRAY_SIDES);
	tcase_add_test(tc, of_packets_by_one_sub_port_in_a_row_the_first_counts);
	tcase_add_test(tc, packets_count_if_no_other_sub_port_is_proven);
	tcase_add_loop_test(tc, path_not_in_use_reports_what_does_not_arrive, 0, 2);
	tcase_add_test(tc, losses_before_the_peer_reports_a_gray_sub_port_are_that_ones);
	tcase_add_test(tc, peer_says_once_that_it_loses_too_many);
	tcase_add_loop_test(tc, other_peers_tell_where_the_fault_is, 0, 4);
	tcase_add_test(tc, quiet_path_is_probed_at_each_tick);
	tcase_add_test(tc, path_is_looked_at_when_it_becomes_quiet);
	tcase_add_test(tc, silence_everywhere_makes_a_peer_unproven);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
