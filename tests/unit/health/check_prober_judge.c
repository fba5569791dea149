/* SPDX-License-Identifier: BSD-2-Clause */
/* What is concluded from silence: the real rules, under a clock of the test's own. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "prober_internal.h"

#define MS	 HEALTH_MS_NS
#define INTERVAL (3 * MS)
#define T0	 (100000 * MS)

static struct sub_ports ports;
static struct notice_keys keys;
static struct prober *p;
static struct prober_peer *peer;
static unsigned n_told;

static void on_path(void *arg, uint32_t gpu, const struct in6_addr *address, uint32_t plane,
		    const struct prober_view *view, const struct probe_fsm_change *change)
{
	(void)arg;
	(void)gpu;
	(void)address;
	(void)view;
	n_told += plane == 0 && change && change->new_state == PROBE_DOWN;
}

static const struct prober_handlers handlers = {.on_path = on_path};

static void setup(void)
{
	memset(&ports, 0, sizeof(ports));
	ports.n_gpus = 1;
	ports.gpus[0].n_planes = 2;
	p = calloc(1, sizeof(*p));
	peer = calloc(1, sizeof(*peer) + 2 * sizeof(struct prober_path));
	ck_assert_ptr_nonnull(p);
	ck_assert_ptr_nonnull(peer);
	p->times = (struct probe_fsm_times){
		.interval_ns = INTERVAL, .detect_multiplier = 3, .recover_probes = 3};
	p->options.times = p->times;
	p->tick_ns = INTERVAL / 4;
	p->ports = &ports;
	p->keys = &keys;
	p->handlers = &handlers;
	p->peers[p->n_peers++] = peer;
	p->planes[0][0].heard_ns = p->planes[0][1].heard_ns = T0;
	peer->n_planes = 2;
	for (unsigned i = 0; i < 2; i++) {
		peer->paths[i].wanted = true;
		peer->paths[i].fsm.state = PROBE_UP;
		loss_rtt_init(&peer->paths[i].loss);
	}
	n_told = 0;
}

static void teardown(void)
{
	free(peer);
	free(p);
}

static void send_one(uint32_t plane, uint64_t at, bool answered)
{
	struct prober_path *path = &peer->paths[plane];
	struct loss_rtt_probe probe = {.nonce = at}, taken;
	uint32_t sequence = loss_rtt_sent(&path->loss, at, &probe);

	path->sent_ns = at;
	if (answered) {
		ck_assert(loss_rtt_answered(&path->loss, at, sequence, at, &taken));
		/* as if that had come half a tick ago */
		path->known_sent_ns = path->fresh_sent_ns = path->loss.newest_answered_sent_ns;
	} else if (!path->silent_since_ns)
		path->silent_since_ns = at;
}

static void fall_silent(uint64_t until)
{
	for (uint64_t at = T0; at <= until; at += INTERVAL)
		send_one(0, at, false);
}

/* An answer elsewhere to what was sent before the silence was one says nothing of it. */
START_TEST(what_is_answered_elsewhere_was_sent_late_in_the_silence)
{
	fall_silent(T0 + 2 * INTERVAL);
	send_one(1, T0 + 2 * INTERVAL, true);
	ck_assert(!prober_judge(p, peer, 0, T0 + 20 * MS));
	send_one(1, T0 + 2 * INTERVAL + 1, true);
	ck_assert(!prober_judge(p, peer, 0, T0 + 9 * MS - 1)); /* three intervals it must be */
	ck_assert(prober_judge(p, peer, 0, T0 + 9 * MS));
	ck_assert_uint_eq(n_told, 1);
}
END_TEST

/*
 * A peer that had no CPU time answers everything at once: what comes first over one plane tells
 * nothing of another one, whose reply is half a tick behind at most.
 */
START_TEST(what_has_just_come_tells_nothing_yet)
{
	uint64_t at = T0 + 20 * MS, skew = p->tick_ns / 2;

	fall_silent(T0 + 2 * INTERVAL);
	send_one(1, T0 + 2 * INTERVAL + 1, true);
	peer->paths[1].known_sent_ns = peer->paths[1].fresh_sent_ns = T0;
	prober_note_answer(p, &peer->paths[1], at);
	ck_assert(!prober_judge(p, peer, 0, at));
	ck_assert(!prober_judge(p, peer, 0, at + skew - 1));
	ck_assert(prober_judge(p, peer, 0, at + skew));
}
END_TEST

/*
 * Where a probe may wait behind two bursts, an answer that came elsewhere in the time of one is
 * none to it.
 */
START_TEST(slow_links_are_given_longer)
{
	uint64_t burst = 10 * MS, silence = INTERVAL + 2 * burst;

	ports.gpus[0].burst_ns[0] = ports.gpus[0].burst_ns[1] = burst;
	p->planes[0][0].heard_ns = T0 - 50 * MS;
	fall_silent(T0 + 8 * INTERVAL);
	send_one(1, T0 + silence - INTERVAL, true);
	ck_assert(!prober_judge(p, peer, 0, T0 + 40 * MS));
	send_one(1, T0 + silence - INTERVAL + 1, true);
	ck_assert(!prober_judge(p, peer, 0, T0 + silence - 1));
	ck_assert(prober_judge(p, peer, 0, T0 + silence));
}
END_TEST

/* A round trip behind one burst at each port: so long a plane that works may bring nothing. */
START_TEST(slow_planes_are_quiet_for_longer)
{
	uint64_t burst = _i * MS, quiet = _i > 3 ? 6 * MS + 6 * (burst - INTERVAL) : 9 * MS;

	ports.gpus[0].burst_ns[0] = burst;
	fall_silent(T0 + 30 * INTERVAL);
	send_one(1, T0 + 30 * INTERVAL, true);
	if (quiet < 2 * burst + INTERVAL)
		quiet = 2 * burst + INTERVAL;
	ck_assert(!prober_judge(p, peer, 0, T0 + quiet - 1));
	ck_assert(prober_judge(p, peer, 0, T0 + quiet));
}
END_TEST

/* A plane that still brings something may have full queues. */
START_TEST(a_plane_that_is_heard_is_given_longer)
{
	fall_silent(T0 + 3 * INTERVAL);
	send_one(1, T0 + 3 * INTERVAL, true);
	ports.gpus[0].burst_ns[0] = MS / 10;
	p->planes[0][0].heard_ns = T0 + 6 * MS;
	ck_assert(!prober_judge(p, peer, 0, T0 + 12 * MS - 1));
	ck_assert(prober_judge(p, peer, 0, T0 + 12 * MS));
}
END_TEST

/*
 * Whoever was late gives others time, until it is seen that what was sent since comes back in time
 * where it can.
 */
START_TEST(lateness_ends_when_others_are_in_time)
{
	fall_silent(T0 + 2 * INTERVAL);
	send_one(1, T0 + 2 * INTERVAL + 1, true);
	p->late_ns = T0 + 10 * MS;
	p->late_until_ns = T0 + 40 * MS;
	ck_assert(!prober_judge(p, peer, 0, T0 + 12 * MS));
	send_one(1, T0 + 11 * MS, true);
	ck_assert(!prober_judge(p, peer, 0, T0 + 12 * MS)); /* here nothing has been sent since */
	send_one(0, T0 + 12 * MS, false);
	ck_assert(!prober_judge(p, peer, 0, T0 + 12 * MS)); /* ... and there nothing after it */
	send_one(1, T0 + 12 * MS, true);
	if (_i) { /* of a machine without idle time more is known than that */
		p->full_until_ns = T0 + 40 * MS;
		ck_assert(!prober_judge(p, peer, 0, T0 + 39 * MS));
		ck_assert(prober_judge(p, peer, 0, T0 + 40 * MS));
		return;
	}
	ck_assert(prober_judge(p, peer, 0, T0 + 13 * MS));
}
END_TEST

/* Other planes are asked once, when what they say will count. */
START_TEST(others_are_to_tell_of_a_quiet_plane)
{
	fall_silent(T0 + 2 * INTERVAL);
	ck_assert(!prober_is_quiet(p, peer, 0, T0 + INTERVAL - 1));
	ck_assert(prober_is_quiet(p, peer, 0, T0 + INTERVAL));
	p->planes[0][0].heard_ns = T0 + 1;
	ck_assert(!prober_is_quiet(p, peer, 0, T0 + INTERVAL));
	send_one(1, T0 + 2 * INTERVAL, false);
	ck_assert(!prober_is_to_tell(p, peer, 0, 1, T0 + 2 * INTERVAL));
	ck_assert(prober_is_to_tell(p, peer, 0, 1, T0 + 2 * INTERVAL + 1));
	ck_assert(!prober_is_to_tell(p, peer, 0, 0, T0 + 2 * INTERVAL + 1));
	send_one(1, T0 + 2 * INTERVAL + 1, false);
	ck_assert(!prober_is_to_tell(p, peer, 0, 1, T0 + 3 * INTERVAL));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("health/prober_judge");
	TCase *tc = tcase_create("silence");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, what_is_answered_elsewhere_was_sent_late_in_the_silence);
	tcase_add_test(tc, what_has_just_come_tells_nothing_yet);
	tcase_add_test(tc, slow_links_are_given_longer);
	tcase_add_loop_test(tc, slow_planes_are_quiet_for_longer, 1, 15);
	tcase_add_test(tc, a_plane_that_is_heard_is_given_longer);
	tcase_add_loop_test(tc, lateness_ends_when_others_are_in_time, 0, 2);
	tcase_add_test(tc, others_are_to_tell_of_a_quiet_plane);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
