/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How often a path is probed, and by which of its ends: the real rules, under a clock of the test's
 * own.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "prober_internal.h"

#define MS	 PROBER_MS_NS
#define INTERVAL (10 * MS)
#define START	 (100000 * MS) /* long after anything that is zero */
#define STEP	 (MS / 10)

static struct sub_ports ports;
static struct notice_key key;

/* One end of a path. */
struct end {
	struct prober *prober;
	struct prober_peer *peer;
	uint64_t n_sent, gap_ns; /* the longest time between two of its own probes */
};

static struct prober_path *path(const struct end *e)
{
	return &e->peer->paths[0];
}

static void make(struct end *e, uint64_t seed)
{
	memset(e, 0, sizeof(*e));
	e->prober = calloc(1, sizeof(*e->prober));
	e->peer = calloc(1, sizeof(*e->peer) + sizeof(struct prober_path));
	ck_assert_ptr_nonnull(e->prober);
	ck_assert_ptr_nonnull(e->peer);
	e->prober->options.times.interval_ns = e->prober->times.interval_ns = INTERVAL;
	e->prober->options.slow_interval_ns = 100 * INTERVAL;
	e->prober->options.max_probes_per_s = 1000000;
	e->prober->times.detect_multiplier = 3;
	e->prober->tick_ns = INTERVAL / 4;
	e->prober->takes_turns = true;
	e->prober->ports = &ports;
	e->prober->key = &key;
	e->prober->random = seed;
	e->peer->n_planes = 1;
	path(e)->wanted = true;
	path(e)->fsm.state = PROBE_UP;
	e->prober->perhaps_ns = INTERVAL;
	path(e)->sent_ns = path(e)->next_ns = START;
}

static void drop(struct end *e)
{
	free(e->prober);
	free(e->peer);
}

/* The peer's probe, which says that it hears us. */
static void hear(struct end *e, uint64_t now)
{
	path(e)->heard_ns = now;
	path(e)->next_ns = prober_pace_yield_ns(e->prober, e->peer, 0, now);
}

static bool send_if_due(struct end *e, uint64_t now)
{
	if (now < path(e)->next_ns)
		return false;
	e->gap_ns = prober_larger(e->gap_ns, now - path(e)->sent_ns);
	path(e)->sent_ns = now;
	path(e)->next_ns = prober_pace_next_ns(e->prober, e->peer, 0, now);
	e->n_sent++;
	return true;
}

/* Two ends, probes taking delay_ns; returns the longest time that nobody probed. */
static uint64_t play(struct end *a, struct end *b, uint64_t delay_ns, uint64_t length_ns)
{
	uint64_t to_a = 0, to_b = 0, last = START, longest = 0;

	for (uint64_t now = START; now < START + length_ns; now += STEP) {
		bool sent = false;

		if (to_a && now >= to_a)
			hear(a, now), to_a = 0;
		if (to_b && now >= to_b)
			hear(b, now), to_b = 0;
		if (send_if_due(a, now))
			sent = true, to_b = now + delay_ns;
		if (send_if_due(b, now))
			sent = true, to_a = now + delay_ns;
		longest = prober_larger(longest, now - last);
		last = sent ? now : last;
	}
	return longest;
}

START_TEST(ends_share_one_probe_an_interval)
{
	uint64_t delay = (uint64_t)_i * MS / 2, n, longest;
	struct end a, b;

	make(&a, 1 + (uint64_t)_i);
	make(&b, 1000 + (uint64_t)_i);
	path(&a)->loss.rtt_floor_ns = path(&b)->loss.rtt_floor_ns = 2 * delay;
	longest = play(&a, &b, delay, 10000 * MS);
	n = a.n_sent + b.n_sent;
	/* an interval is 7.5 to 10 ms, and each probe takes as long as it takes */
	ck_assert_uint_ge(n, 10000 * MS / (INTERVAL + delay + STEP));
	ck_assert_uint_le(n, 10000 * MS / (INTERVAL * 8 / 10));
	ck_assert_uint_gt(a.n_sent, n * 4 / 10);
	ck_assert_uint_gt(b.n_sent, n * 4 / 10);
	ck_assert_uint_le(longest, INTERVAL + INTERVAL / 4 + 2 * delay + STEP);
	ck_assert_uint_le(a.gap_ns, 3 * INTERVAL);
	ck_assert_uint_le(b.gap_ns, 3 * INTERVAL);
	drop(&a);
	drop(&b);
}
END_TEST

START_TEST(nobody_yields_where_probes_are_few)
{
	struct end a, b;

	make(&a, 1);
	make(&b, 2);
	a.prober->takes_turns = b.prober->takes_turns = false;
	ck_assert_uint_le(play(&a, &b, MS, 1000 * MS), INTERVAL);
	ck_assert_uint_ge(a.n_sent, 100);
	ck_assert_uint_ge(b.n_sent, 100);
	drop(&a);
	drop(&b);
}
END_TEST

/* The other end of such a path has half the work all the same, and no less than a third. */
START_TEST(yields_to_one_that_does_not_but_not_for_ever)
{
	struct end a, b;

	make(&a, 1);
	make(&b, 2);
	b.prober->takes_turns = false;
	play(&a, &b, MS, 10000 * MS);
	ck_assert_uint_ge(b.n_sent, 1000);
	ck_assert_uint_le(a.n_sent, 650);
	ck_assert_uint_ge(a.n_sent, 333);
	ck_assert_uint_le(a.gap_ns, 3 * INTERVAL + STEP);
	drop(&a);
	drop(&b);
}
END_TEST

START_TEST(a_missed_turn_is_taken_at_once)
{
	struct end a;

	make(&a, 1);
	hear(&a, START - INTERVAL / 2);
	ck_assert(send_if_due(&a, START + INTERVAL));
	ck_assert_uint_eq(path(&a)->next_ns, START + 2 * INTERVAL + INTERVAL / 4);
	/* then there is no peer to count on */
	for (uint64_t at = START + 2 * INTERVAL, sent = a.n_sent; a.n_sent < sent + 4; at += STEP)
		send_if_due(&a, at);
	ck_assert_uint_le(path(&a)->next_ns, path(&a)->sent_ns + INTERVAL);
	drop(&a);
}
END_TEST

/* Whatever is in doubt is asked at the full pace. */
START_TEST(doubt_yields_to_nobody)
{
	uint64_t now = START + 2 * MS, next = now + MS;
	struct end a;

	make(&a, 1);
	path(&a)->next_ns = next;
	hear(&a, now);
	ck_assert_uint_ge(path(&a)->next_ns, now + INTERVAL * 3 / 4);
	path(&a)->next_ns = next;
	switch (_i) {
	case 0:
		path(&a)->silent_since_ns = now - a.prober->tick_ns - MS;
		break;
	case 1:
		path(&a)->fsm.state = PROBE_RECOVERING;
		break;
	case 2:
		path(&a)->returning = 1;
		break;
	case 3:
		path(&a)->third_party = true;
		break;
	case 4:
		path(&a)->gray.mask[GRAY_REMOTE] = 2;
		break;
	case 5:
		a.peer->overdue_ns = now - INTERVAL;
		break;
	case 6: /* something that the peer is still to be told */
		key.length = 20;
		a.prober->notices[0].capacity.sequence = 3;
		a.prober->notices[0].limited = true;
		break;
	default: /* it is asked once a second anyway */
		a.prober->planes[0][0].told = true;
		break;
	}
	hear(&a, now);
	ck_assert_uint_eq(path(&a)->next_ns, next);
	drop(&a);
}
END_TEST

/*
 * Waiting for the peer's next probe is for paths on which nothing has been lost, and peers that
 * take their turns.
 */
START_TEST(only_what_is_in_order_waits_for_an_echo)
{
	struct prober_path *of;
	struct end a;

	make(&a, 1);
	of = path(&a);
	of->heard_ns = START - INTERVAL;
	of->n_turns = 1;
	ck_assert(prober_pace_may_defer(a.prober, a.peer, 0, START));
	switch (_i) {
	case 0:
		of->loss.n_lost = 1;
		break;
	case 1:
		of->loss.n_queued = 1;
		break;
	case 2:
		of->silent_since_ns = START - 1;
		break;
	case 3:
		of->heard_ns = START - 3 * INTERVAL;
		break;
	case 4: /* its round trip is to be known */
		of->n_turns = 2 * PROBER_RTT_TURNS;
		break;
	case 5:
		a.prober->takes_turns = false;
		break;
	default:
		of->fsm.state = PROBE_RECOVERING;
		break;
	}
	ck_assert(!prober_pace_may_defer(a.prober, a.peer, 0, START));
	drop(&a);
}
END_TEST

START_TEST(answers_with_a_probe_only_if_one_is_due_soon)
{
	struct end a;

	make(&a, 1);
	path(&a)->next_ns = START + INTERVAL;
	ck_assert(prober_pace_answers_soon(a.prober, a.peer, 0, START));
	path(&a)->next_ns++;
	ck_assert(!prober_pace_answers_soon(a.prober, a.peer, 0, START));
	path(&a)->next_ns = START + INTERVAL;
	path(&a)->fsm.state = PROBE_SUSPECT;
	ck_assert(!prober_pace_answers_soon(a.prober, a.peer, 0, START));
	drop(&a);
	/* data acknowledged meanwhile makes it needless for us, not for the peer */
	make(&a, 1);
	path(&a)->acked_ns = START;
	ck_assert(prober_pace_skips(a.prober, a.peer, 0, START));
	path(&a)->owes_echo = true;
	ck_assert(!prober_pace_skips(a.prober, a.peer, 0, START));
	drop(&a);
}
END_TEST

/*
 * Whatever showed that the path works, a reply or data: a probe goes out within an interval after
 * it.
 */
START_TEST(a_skipped_probe_is_late_by_no_interval)
{
	struct end a;

	make(&a, 1);
	path(&a)->acked_ns = START - INTERVAL + 1;
	ck_assert(prober_pace_skips(a.prober, a.peer, 0, START));
	ck_assert_uint_eq(prober_pace_skipped_ns(a.prober, path(&a)), START + 1);
	ck_assert(!prober_pace_skips(a.prober, a.peer, 0, START + 1));
	drop(&a);
}
END_TEST

/* Ten paths at 10 ms are 1,000 probes a second; each of n more perhaps has traffic. */
static uint64_t perhaps_of(uint32_t budget, uint32_t n)
{
	struct prober *p = calloc(1, sizeof(*p));
	uint64_t result;

	ck_assert_ptr_nonnull(p);
	p->options.times.interval_ns = p->times.interval_ns = INTERVAL;
	p->options.slow_interval_ns = 100 * INTERVAL;
	p->options.max_probes_per_s = budget;
	p->options.turns_beyond_per_s = UINT32_MAX;
	p->ports = &ports;
	p->stat_fd = -1;
	p->n_peers = 10 + n;
	for (uint32_t i = 0; i < p->n_peers; i++) {
		struct prober_peer *peer = calloc(1, sizeof(*peer) + sizeof(struct prober_path));

		ck_assert_ptr_nonnull(peer);
		p->peers[i] = peer;
		peer->n_planes = 1;
		peer->paths[0].wanted = true;
		peer->paths[0].fsm.state = PROBE_UP;
		peer->active_until_ns = i < 10 ? START + 1 : 0;
	}
	prober_pace_share(p, START);
	ck_assert_uint_eq(p->times.interval_ns, INTERVAL); /* of those that have it for certain */
	result = p->perhaps_ns;
	for (uint32_t i = 0; i < p->n_peers; i++)
		free(p->peers[i]);
	free(p);
	return result;
}

START_TEST(peers_that_perhaps_have_traffic_share_what_is_left)
{
	ck_assert_uint_eq(perhaps_of(10000, 10), INTERVAL);
	ck_assert_uint_eq(perhaps_of(10000, 90), INTERVAL);
	ck_assert_uint_eq(perhaps_of(10000, 180), 2 * INTERVAL);
	ck_assert_uint_eq(perhaps_of(1000, 1), 100 * INTERVAL); /* nothing is left */
	ck_assert_uint_eq(perhaps_of(1001, 900), 100 * INTERVAL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("health/prober_pace");
	TCase *tc = tcase_create("pace");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(tc, ends_share_one_probe_an_interval, 0, 8);
	tcase_add_test(tc, nobody_yields_where_probes_are_few);
	tcase_add_test(tc, yields_to_one_that_does_not_but_not_for_ever);
	tcase_add_test(tc, a_missed_turn_is_taken_at_once);
	tcase_add_loop_test(tc, doubt_yields_to_nobody, 0, 8);
	tcase_add_loop_test(tc, only_what_is_in_order_waits_for_an_echo, 0, 7);
	tcase_add_test(tc, answers_with_a_probe_only_if_one_is_due_soon);
	tcase_add_test(tc, a_skipped_probe_is_late_by_no_interval);
	tcase_add_test(tc, peers_that_perhaps_have_traffic_share_what_is_left);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
