/* SPDX-License-Identifier: BSD-2-Clause */
/* What is concluded from silence and losses: the real rules, under a clock of the test's own. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "prober_internal.h"

#define MS	 HEALTH_MS_NS
#define INTERVAL (3 * MS)
#define T0	 (100000 * MS)
#define SILENCE	 (15 * MS / 2)

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
		peer->paths[i].wanted = peer->paths[i].answered_ever = true;
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
	if (answered)
		ck_assert(loss_rtt_answered(&path->loss, at, sequence, at, 0, &taken));
	else if (!path->silent_since_ns)
		path->silent_since_ns = at;
}

static void fall_silent(uint64_t until)
{
	for (uint64_t at = T0; at <= until; at += INTERVAL)
		send_one(0, at, false);
}

static void answer_elsewhere(uint64_t until)
{
	for (uint64_t at = T0; at <= until; at += MS / 2)
		send_one(1, at, true);
}

/* An answer elsewhere to what was sent before the silence was one says nothing of it. */
START_TEST(what_is_answered_elsewhere_was_sent_late_in_the_silence)
{
	fall_silent(T0 + 2 * INTERVAL);
	send_one(1, T0 + 2 * INTERVAL, true);
	ck_assert(!prober_judge(p, peer, 0, T0 + 20 * MS));
	send_one(1, T0 + 2 * INTERVAL + 1, true);
	ck_assert(!prober_judge(p, peer, 0, T0 + SILENCE - 1));
	ck_assert(prober_judge(p, peer, 0, T0 + SILENCE));
	ck_assert_uint_eq(n_told, 1);
}
END_TEST

/* Sent late in the silence, the last probe is given the time that replies take. */
START_TEST(the_last_probe_has_time_for_its_reply)
{
	send_one(0, T0, false);
	send_one(0, T0 + 3 * MS, false);
	send_one(0, T0 + 7 * MS, false);
	send_one(1, T0 + 7 * MS + 1, true);
	peer->paths[0].loss.rtt_peak_ns = MS;
	ck_assert(!prober_judge(p, peer, 0, T0 + 8 * MS - 1));
	ck_assert(prober_judge(p, peer, 0, T0 + 8 * MS));
}
END_TEST

/*
 * A peer that had no CPU time answers everything at once: what comes first over one plane tells
 * nothing of another one, whose reply is half a tick behind at most.
 */
START_TEST(what_has_just_come_tells_nothing_yet)
{
	uint64_t sent = T0 + 2 * INTERVAL + 1, at = sent + 14 * MS, skew = p->tick_ns / 2;
	struct loss_rtt_probe taken;

	fall_silent(T0 + 2 * INTERVAL);
	send_one(1, sent, false);
	ck_assert(loss_rtt_answered(&peer->paths[1].loss, at, 1, sent, 0, &taken));
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
	uint64_t burst = _i * MS, quiet = _i > 3 ? 6 * MS + 6 * (burst - INTERVAL) : SILENCE;

	ports.gpus[0].burst_ns[0] = burst;
	fall_silent(T0 + 30 * INTERVAL);
	answer_elsewhere(T0 + 30 * INTERVAL);
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
	ck_assert(!prober_judge(p, peer, 0, T0 + 13 * MS)); /* the peer may be late since then */
	send_one(1, T0 + 3 * INTERVAL + 1, true);
	ck_assert(!prober_judge(p, peer, 0, T0 + 12 * MS - 1));
	ck_assert(prober_judge(p, peer, 0, T0 + 12 * MS));
}
END_TEST

/* What a full queue drops may be some in a row: two more than make a silence. */
START_TEST(a_full_queue_may_drop_several_in_a_row)
{
	uint64_t queue = HEALTH_QUEUE_BATCHES * MS / 10,
		 found = T0 + SILENCE + queue + 2 * INTERVAL;

	ports.gpus[0].burst_ns[0] = MS / 10;
	fall_silent(found - INTERVAL);
	answer_elsewhere(found);
	p->planes[0][0].heard_ns = found;
	ck_assert(!prober_judge(p, peer, 0, found - 1));
	ck_assert(prober_judge(p, peer, 0, found));
}
END_TEST

/*
 * A peer that had no CPU time answers on all planes at once, and what it answers on this one may
 * wait in a full queue: the silence is as long as that and as it was away.
 */
START_TEST(a_peer_that_was_late_has_time_for_full_queues)
{
	uint64_t queue = HEALTH_QUEUE_BATCHES * MS / 10, woke = T0 + 80 * MS;
	uint64_t found = woke + 2 * INTERVAL + queue;

	ports.gpus[0].burst_ns[0] = MS / 10;
	fall_silent(woke);
	for (uint64_t at = woke; at < found; at += MS / 2)
		send_one(1, at, true);
	p->planes[0][0].heard_ns = found;
	ck_assert(!prober_judge(p, peer, 0, found - 1));
	ck_assert(prober_judge(p, peer, 0, found));
}
END_TEST

/* However long replies took before: what is older than a window is not known. */
START_TEST(a_dead_path_is_found_within_a_window)
{
	uint64_t now = T0 + 300 * INTERVAL;

	ports.gpus[0].burst_ns[0] = MS;
	peer->paths[0].loss.rtt_peak_ns = HEALTH_PEAK_MAX_NS;
	for (uint64_t at = T0; at < now; at += INTERVAL) {
		send_one(0, at, false);
		send_one(1, at, true);
	}
	p->planes[0][0].heard_ns = now;
	ck_assert(prober_judge(p, peer, 0, now));
}
END_TEST

/* If another peer might have been heard, and answers on other planes. */
START_TEST(a_plane_is_quiet_if_someone_else_would_be_heard)
{
	struct prober_peer *other = calloc(1, sizeof(*other) + 2 * sizeof(other->paths[0]));

	ck_assert_ptr_nonnull(other);
	other->n_planes = 2;
	other->index = 1;
	for (unsigned i = 0; i < 2; i++) {
		other->paths[i].wanted = true;
		loss_rtt_init(&other->paths[i].loss);
	}
	/* one that never answered; that is silent everywhere; was down before; answers anywhere;
	 * was not asked since; or has no path over this plane */
	other->paths[0].fsm.state = _i == 0 ? PROBE_UNPROVEN : _i == 2 ? PROBE_DOWN : PROBE_UP;
	other->paths[0].third_party = _i == 3;
	other->paths[0].sent_ns = _i == 4 ? T0 : T0 + 1;
	other->paths[0].wanted = _i != 5;
	if (_i != 1) {
		struct loss_rtt_probe probe = {.nonce = 1}, taken;
		uint64_t at = T0 + INTERVAL + 1;

		ck_assert(loss_rtt_sent(&other->paths[1].loss, at, &probe) == 1);
		ck_assert(loss_rtt_answered(&other->paths[1].loss, at, 1, 1, 0, &taken));
	}
	p->peers[p->n_peers++] = other;
	fall_silent(T0 + 2 * INTERVAL);
	answer_elsewhere(T0 + SILENCE);
	ck_assert(prober_judge(p, peer, 0, T0 + SILENCE) == (_i == 6));
	free(other);
}
END_TEST

/* Its queue is full; then whoever fills it has lost his cable, and the plane is quiet, too. */
START_TEST(what_was_silent_before_the_plane_was_quiet_is_in_a_queue)
{
	uint64_t silence = probe_fsm_silence(&p->times, MS / 10), now = T0 + silence + 4 * INTERVAL;

	ports.gpus[0].burst_ns[0] = ports.gpus[0].burst_ns[1] = MS / 10;
	p->planes[0][0].heard_ns = p->planes[0][0].received_ns = T0 + silence + (unsigned)_i;
	fall_silent(now);
	answer_elsewhere(now);
	ck_assert(prober_judge(p, peer, 0, now) == !_i);
}
END_TEST

/* Most of its ways may lead over a cable that passes nothing. */
START_TEST(what_was_never_answered_is_asked_by_more_probes)
{
	uint64_t silence = INTERVAL + (PROBER_PORTS - 1) * INTERVAL * 3 / 4;

	peer->paths[0].answered_ever = false;
	fall_silent(T0 + 30 * INTERVAL);
	answer_elsewhere(T0 + 30 * INTERVAL);
	peer->paths[0].loss.next = 1 + PROBER_PORTS - 1;
	ck_assert(!prober_judge(p, peer, 0, T0 + 60 * MS));
	peer->paths[0].loss.next++;
	ck_assert(!prober_judge(p, peer, 0, T0 + silence - 1));
	ck_assert(prober_judge(p, peer, 0, T0 + 60 * MS));
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

/* Other planes are asked when what they say will count: late enough, and after so many probes. */
START_TEST(others_are_to_tell_of_a_quiet_plane)
{
	fall_silent(T0 + INTERVAL);
	ck_assert(!prober_is_quiet(p, peer, 0, T0 + INTERVAL - 1));
	ck_assert(prober_is_quiet(p, peer, 0, T0 + INTERVAL));
	p->planes[0][0].heard_ns = T0 + 1;
	ck_assert(!prober_is_quiet(p, peer, 0, T0 + INTERVAL));
	send_one(1, T0 + SILENCE - INTERVAL, false);
	ck_assert(!prober_is_to_tell(p, peer, 0, 1, T0 + SILENCE - INTERVAL));
	ck_assert(prober_is_to_tell(p, peer, 0, 1, T0 + SILENCE - INTERVAL + 1));
	ck_assert(!prober_is_to_tell(p, peer, 0, 0, T0 + SILENCE - INTERVAL + 1));
	send_one(1, T0 + SILENCE - INTERVAL + 1, false);
	ck_assert(!prober_is_to_tell(p, peer, 0, 1, T0 + 3 * INTERVAL));
	send_one(0, T0 + 2 * INTERVAL, false); /* it is a silence only with this one */
	ck_assert(!prober_is_to_tell(p, peer, 0, 1, T0 + 2 * INTERVAL));
	ck_assert(prober_is_to_tell(p, peer, 0, 1, T0 + 2 * INTERVAL + 1));
	send_one(1, T0 + 2 * INTERVAL + 1, false);
	send_one(0, T0 + 3 * INTERVAL, false);
	ck_assert(!prober_is_to_tell(p, peer, 0, 1, T0 + 4 * INTERVAL));
}
END_TEST

/*
 * Seldom asked, it has lost one long ago: that makes no silence of what is asked now, which may
 * wait in a queue.
 */
START_TEST(what_was_lost_before_a_pause_is_no_silence)
{
	ports.gpus[0].burst_ns[0] = MS / 10;
	send_one(0, T0 - 1000 * MS, false);
	fall_silent(T0 + 3 * INTERVAL);
	answer_elsewhere(T0 + 40 * MS);
	peer->paths[0].resumed_ns = T0;
	p->planes[0][0].heard_ns = T0 + 2 * INTERVAL;
	ck_assert(!prober_judge(p, peer, 0, T0 + 3 * INTERVAL + MS));
	ck_assert(prober_judge(p, peer, 0, T0 + 3 * INTERVAL + 30 * MS));
}
END_TEST

/*
 * One cable of the other plane has a queue, so that three of four replies by it are always under
 * way; before, all were answered. Or one in a row was not for too long: then the peer may have been
 * away.
 */
START_TEST(a_queue_elsewhere_hides_no_silence)
{
	bool was_away = _i;

	for (unsigned i = 0; i < 40; i++) {
		bool under_way = i >= 26 && i % 4, lost = was_away && i >= 20 && i < 24;

		send_one(0, T0 + i * INTERVAL, false);
		send_one(1, T0 + i * INTERVAL, !under_way && !lost);
	}
	peer->paths[1].answering_since_ns = T0 + 36 * INTERVAL;
	peer->paths[1].loss.rtt_peak_ns = 40 * MS;
	peer->paths[1].silent_since_ns = T0 + 37 * INTERVAL;
	ck_assert(prober_judge(p, peer, 0, T0 + 40 * INTERVAL) == !was_away);
}
END_TEST

/* ---- losses --------------------------------------------------------------- */

#define N_PROBES 306u /* the last 256 are known */

/* Which of them are lost, of either plane. */
struct lost {
	unsigned from[2], to[2]; /* all of these, of each plane */
	unsigned one_in;	 /* and of plane 0: 0: none */
	unsigned n_strays;	 /* and so many, five apart, of which that is the last: */
	unsigned stray;
};

static void send_all(const struct lost *l)
{
	for (unsigned i = 0; i < N_PROBES; i++) {
		uint64_t at = T0 + i * INTERVAL;
		bool lost0 =
			(i >= l->from[0] && i < l->to[0]) || (l->one_in && !(i % l->one_in)) ||
			(i <= l->stray && i + 5 * l->n_strays > l->stray && !((l->stray - i) % 5));

		send_one(0, at, !lost0);
		send_one(1, at, i < l->from[1] || i >= l->to[1]);
	}
	for (unsigned plane = 0; plane < 2; plane++) {
		peer->paths[plane].third_party = true; /* no search for a gray sub-port */
		peer->paths[plane].silent_since_ns = 0;
		loss_rtt_settle(&peer->paths[plane].loss, T0 + (N_PROBES - 1) * INTERVAL);
	}
	p->times.max_loss_ppm = 20000;
	ports.gpus[0].burst_ns[0] = ports.gpus[0].burst_ns[1] = MS / 10; /* full: 25.6 ms */
}

static bool goes_down(void)
{
	return prober_judge(p, peer, 0, T0 + N_PROBES * INTERVAL);
}

START_TEST(a_lossy_path_goes_down_where_another_plane_is_clean)
{
	send_all(&(struct lost){.one_in = 5});
	ck_assert(goes_down());
	ck_assert(peer->paths[0].fsm.where == PROBE_UNLOCATED);
}
END_TEST

/* What it knows is of less than 300 ms. */
START_TEST(a_plane_that_has_forgotten_tells_nothing)
{
	send_all(&(struct lost){.one_in = 5});
	peer->paths[1].loss.forgotten_ns = T0 + (N_PROBES - 90) * INTERVAL;
	ck_assert(!goes_down());
}
END_TEST

/* Then the peer may have been away since, and what is lost have waited for it. */
START_TEST(a_plane_that_does_not_answer_any_more_tells_nothing)
{
	send_all(&(struct lost){.one_in = 5});
	for (unsigned i = 155; i < N_PROBES; i++)
		peer->paths[1].loss.ring[(i + 1) % LOSS_RTT_WINDOW].answered = false;
	ck_assert(!goes_down());
}
END_TEST

/* By the other plane's queue what was sent eight probes earlier came at the same time. */
START_TEST(a_peer_that_was_away_has_lost_alike)
{
	send_all(&(struct lost){.from = {20, 12}, .to = {60, 52}, .n_strays = 3, .stray = 290});
	ck_assert_uint_ge(peer->paths[0].loss.n_lost, HEALTH_LOST_MIN);
	peer->paths[1].loss.rtt_peak_ns = 25 * MS;
	ck_assert(!goes_down());
}
END_TEST

/* A fault that has healed, and a loss or two of later, are no rate; three are. */
START_TEST(a_burst_and_strays_are_no_rate)
{
	send_all(&(struct lost){.from = {20}, .to = {64}, .n_strays = (unsigned)_i, .stray = 290});
	ck_assert_uint_ge(peer->paths[0].loss.n_lost, HEALTH_LOST_MIN);
	ck_assert(goes_down() == (_i == 3));
}
END_TEST

/*
 * What a fault of long ago has lost stays in the window of a path that is asked seldom; three of
 * late, and it goes on.
 */
START_TEST(losses_of_long_ago_are_no_rate)
{
	uint64_t at = T0 + N_PROBES * INTERVAL;

	send_all(&(struct lost){.one_in = 5});
	for (int i = 0; i < 30; i++, at += 100 * MS)
		for (unsigned plane = 0; plane < 2; plane++)
			send_one(plane, at, plane || i < 30 - _i);
	for (unsigned plane = 0; plane < 2; plane++)
		loss_rtt_settle(&peer->paths[plane].loss, at);
	ck_assert_uint_ge(peer->paths[0].loss.n_lost, HEALTH_LOST_MIN);
	peer->paths[0].silent_since_ns = 0;
	ck_assert(prober_judge(p, peer, 0, at) == (_i == 3));
}
END_TEST

static void answer_all(uint32_t plane, uint64_t rtt_ns)
{
	struct loss_rtt *l = &peer->paths[plane].loss;
	struct loss_rtt_probe taken;

	for (unsigned i = 0; i < 300; i++) {
		uint64_t at = T0 + i * INTERVAL;
		struct loss_rtt_probe probe = {.nonce = at};
		uint32_t sequence = loss_rtt_sent(l, at, &probe);

		if (i % 20)
			ck_assert(loss_rtt_answered(l, at + rtt_ns, sequence, at, 0, &taken));
	}
	loss_rtt_settle(l, T0 + 300 * INTERVAL);
}

/*
 * A queue that has stood for as long as the path is known makes all its replies slow; over the
 * other plane they are not. Where they are, the way is long.
 */
START_TEST(a_queue_that_stands_is_seen_from_another_plane)
{
	static const struct {
		uint64_t rtt_ns[2];
		bool is_queue;
	} cases[] = {{{2 * MS, MS / 50}, true},
		     {{2 * MS, MS * 3 / 4}, true},
		     {{MS * 3 / 4, MS * 3 / 4}, false},
		     {{3 * MS, 3 * MS}, false}};

	peer->paths[0].loss.full_ns = 22 * MS / 10;
	answer_all(1, cases[_i].rtt_ns[1]);
	for (unsigned i = 0; i < 2; i++) { /* what is usual is known before it is lost */
		prober_note_usual(peer, T0 + i * 1000 * MS);
		if (!i)
			answer_all(0, cases[_i].rtt_ns[0]);
	}
	loss_rtt_forget(&peer->paths[0].loss);
	answer_all(0, cases[_i].rtt_ns[0]);
	ck_assert((peer->paths[0].loss.n_queued > 0) == cases[_i].is_queue);
	ck_assert((peer->paths[0].loss.n_lost == 0) == cases[_i].is_queue);
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
	tcase_add_test(tc, the_last_probe_has_time_for_its_reply);
	tcase_add_test(tc, what_has_just_come_tells_nothing_yet);
	tcase_add_test(tc, slow_links_are_given_longer);
	tcase_add_loop_test(tc, slow_planes_are_quiet_for_longer, 1, 15);
	tcase_add_test(tc, a_plane_that_is_heard_is_given_longer);
	tcase_add_loop_test(tc, lateness_ends_when_others_are_in_time, 0, 2);
	tcase_add_test(tc, a_full_queue_may_drop_several_in_a_row);
	tcase_add_test(tc, others_are_to_tell_of_a_quiet_plane);
	tcase_add_test(tc, a_peer_that_was_late_has_time_for_full_queues);
	tcase_add_test(tc, a_dead_path_is_found_within_a_window);
	tcase_add_loop_test(tc, a_plane_is_quiet_if_someone_else_would_be_heard, 0, 7);
	tcase_add_loop_test(tc, what_was_silent_before_the_plane_was_quiet_is_in_a_queue, 0, 2);
	tcase_add_test(tc, what_was_never_answered_is_asked_by_more_probes);
	tcase_add_test(tc, what_was_lost_before_a_pause_is_no_silence);
	tcase_add_loop_test(tc, a_queue_elsewhere_hides_no_silence, 0, 2);
	tcase_add_test(tc, a_lossy_path_goes_down_where_another_plane_is_clean);
	tcase_add_test(tc, a_plane_that_has_forgotten_tells_nothing);
	tcase_add_test(tc, a_plane_that_does_not_answer_any_more_tells_nothing);
	tcase_add_test(tc, a_peer_that_was_away_has_lost_alike);
	tcase_add_loop_test(tc, a_burst_and_strays_are_no_rate, 0, 4);
	tcase_add_loop_test(tc, losses_of_long_ago_are_no_rate, 0, 4);
	tcase_add_loop_test(tc, a_queue_that_stands_is_seen_from_another_plane, 0, 4);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
