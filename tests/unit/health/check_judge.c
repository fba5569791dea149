/* SPDX-License-Identifier: BSD-2-Clause */
/* The peer sends over planes in turn, every I; what arrives is said by each test. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "judge.h"

#define MS	  UINT64_C(1000000)
#define I	  (3 * MS)
#define ALLOWANCE MS
#define PLANES	  3

static const struct judge_times times = {
	.interval_ns = I, .n_missing = 4, .n_missing_first = 16, .max_loss_ppm = 20000};
static const struct judge_limits limits[REPORT_WIRE_MAX_PLANES] = {
	{ALLOWANCE, 0}, {ALLOWANCE, 0}, {ALLOWANCE, 0}};

struct bed {
	struct judge judge;
	struct report_wire peer; /* what it has sent so far */
	uint64_t now;
};

static struct bed bed(void)
{
	struct bed b = {.now = 1000 * MS};

	b.peer.incarnation = 7;
	b.peer.n_planes = PLANES;
	return b;
}

/* The peer sends over that plane; the clocks of both run alike, but begin apart. */
static struct report_wire send_over(struct bed *b, uint32_t plane)
{
	b->peer.planes[plane].sent++;
	b->peer.clock_us = (uint32_t)(b->now / 1000 + UINT32_MAX - 500000);
	return b->peer;
}

static void arrives(struct bed *b, uint32_t plane, const struct report_wire *r)
{
	judge_report(&b->judge, &times, plane, r, true, limits, b->now, b->now);
}

/* One interval: a packet over each plane; those over planes of `lost` (bit p) do not arrive. */
static void turn(struct bed *b, uint32_t lost)
{
	for (uint32_t p = 0; p < PLANES; p++) {
		struct report_wire r = send_over(b, p);

		if (!(lost >> p & 1))
			arrives(b, p, &r);
		b->now += I / PLANES;
	}
}

static void turns(struct bed *b, uint32_t lost, unsigned n)
{
	while (n--)
		turn(b, lost);
}

static bool is_lossy(const struct bed *b, const struct judge_times *t, uint32_t plane)
{
	struct judge_losses losses = judge_losses(&b->judge, plane, limits);

	return judge_is_lossy(&losses, t);
}

START_TEST(four_in_a_row_and_the_allowance_are_dead)
{
	struct bed b = bed();

	turns(&b, 0, 3);
	turns(&b, 1, 3);
	ck_assert(!judge_decide(&b.judge, 0, b.now + 1000 * MS));
	turn(&b, 1);
	ck_assert_uint_eq(b.judge.planes[0].n_missing, 4);
	/* it was read I / 3 after the fourth was sent, and the turn goes on for as long again */
	ck_assert_uint_eq(b.judge.planes[0].decide_ns, b.now - 2 * I / 3 + ALLOWANCE);
	ck_assert(!judge_decide(&b.judge, 0, b.judge.planes[0].decide_ns - 1));
	ck_assert(judge_decide(&b.judge, 0, b.judge.planes[0].decide_ns));
	ck_assert(!judge_decide(&b.judge, 1, b.now) && !judge_decide(&b.judge, 2, b.now));
}
END_TEST

START_TEST(one_that_comes_ends_it)
{
	struct bed b = bed();
	struct report_wire r;

	turns(&b, 0, 3);
	turns(&b, 1, 4);
	r = send_over(&b, 0);
	arrives(&b, 0, &r);
	ck_assert(!judge_decide(&b.judge, 0, b.now + 1000 * MS));
	ck_assert_uint_eq(b.judge.planes[0].n_missing, 0);
}
END_TEST

START_TEST(overtaken_one_ends_it_too)
{
	struct bed b = bed();
	struct report_wire first;

	turns(&b, 0, 3);
	first = send_over(&b, 0);
	turns(&b, 1, 4);
	ck_assert(judge_decide(&b.judge, 0, b.now + 1000 * MS));
	arrives(&b, 0, &first);
	ck_assert(!judge_decide(&b.judge, 0, b.now + 1000 * MS));
}
END_TEST

/* While nothing of the peer comes over any plane, what it sends is in no row. */
START_TEST(loss_on_all_planes_counts_for_nothing)
{
	struct bed b = bed();

	turns(&b, 0, 3);
	turns(&b, 7, 20);
	turn(&b, 1);
	ck_assert_uint_le(b.judge.planes[0].n_missing, 1);
	turns(&b, 0, 60);
	ck_assert_uint_eq(judge_losses(&b.judge, 1, limits).lost, 0);
	ck_assert(!judge_decide(&b.judge, 0, b.now + 1000 * MS));
	/* the row begins with what is sent after the first packet that comes again */
	turns(&b, 1, 3);
	ck_assert(!judge_decide(&b.judge, 0, b.now + 1000 * MS));
	turn(&b, 1);
	ck_assert(judge_decide(&b.judge, 0, b.now + 1000 * MS));
}
END_TEST

/* Both ends' lateness: what was sent is read later, all at once, in any order of sockets. */
START_TEST(late_reading_changes_nothing)
{
	struct bed b = bed();
	struct report_wire r[PLANES][30];

	turns(&b, 0, 3);
	for (unsigned i = 0; i < 30; i++, b.now += I)
		for (uint32_t p = 0; p < PLANES; p++)
			r[p][i] = send_over(&b, p);
	b.now += 500 * MS;
	for (uint32_t p = PLANES; p-- > 0;)
		for (unsigned i = 0; i < 30; i++)
			arrives(&b, p, &r[p][i]);
	for (uint32_t p = 0; p < PLANES; p++) {
		ck_assert(!judge_decide(&b.judge, p, b.now + 1000 * MS));
		ck_assert_uint_eq(judge_losses(&b.judge, p, limits).lost, 0);
	}
}
END_TEST

START_TEST(before_the_first_packet_more_are_needed)
{
	struct bed b = bed();

	turns(&b, 1, 16);
	ck_assert(!judge_decide(&b.judge, 0, b.now + 1000 * MS));
	turns(&b, 1, 1);
	ck_assert(judge_decide(&b.judge, 0, b.now + 1000 * MS));
}
END_TEST

START_TEST(another_incarnation_begins_anew)
{
	struct bed b = bed();

	turns(&b, 0, 3);
	turns(&b, 1, 3);
	b.peer.incarnation = 8;
	for (uint32_t p = 0; p < PLANES; p++)
		b.peer.planes[p].sent = 100; /* sent while it was not received */
	turns(&b, 1, 3);
	ck_assert(!judge_decide(&b.judge, 0, b.now + 1000 * MS));
	ck_assert_uint_le(b.judge.planes[0].n_missing, 3);
}
END_TEST

/* It does not know yet where its source ports lead: they may all lead to one bad cable. */
START_TEST(before_the_first_packet_of_an_incarnation_more_are_needed)
{
	struct bed b = bed();

	turns(&b, 0, 20);
	b.peer.incarnation = 8;
	turns(&b, 1, 16);
	ck_assert(!judge_decide(&b.judge, 0, b.now + 1000 * MS));
	turns(&b, 1, 2);
	ck_assert(judge_decide(&b.judge, 0, b.now + 1000 * MS));
}
END_TEST

START_TEST(tries_are_in_no_count)
{
	struct bed b = bed();
	struct report_wire r;

	turns(&b, 0, 60);
	for (unsigned i = 0; i < 60; i++) {
		turn(&b, 0);
		r = b.peer; /* not counted by the peer either */
		r.is_try = true;
		arrives(&b, 1, &r);
	}
	ck_assert_uint_eq(judge_losses(&b.judge, 1, limits).lost, 0);
	ck_assert_uint_gt(judge_losses(&b.judge, 1, limits).sent, 50);
}
END_TEST

START_TEST(tries_make_up_for_no_loss)
{
	struct bed b = bed();
	struct report_wire try;

	turns(&b, 0, 20);
	try = b.peer;
	try.is_try = true;
	turns(&b, 1, 2);
	arrives(&b, 0, &try);		/* late, and overtaken */
	try.clock_us = b.peer.clock_us; /* and one that is in time */
	arrives(&b, 0, &try);
	turns(&b, 0, 60);
	arrives(&b, 0, &try);
	ck_assert_uint_eq(judge_losses(&b.judge, 0, limits).lost, 2);
}
END_TEST

/* Two packets that leave at once: the later one by the wire may be the older one by the count. */
START_TEST(count_of_a_packet_that_was_built_before_is_older)
{
	struct bed b = bed();

	for (unsigned i = 0; i < 100; i++) {
		struct report_wire first = send_over(&b, 0), second = send_over(&b, 0);

		arrives(&b, 0, &second);
		arrives(&b, 0, &first);
		turn(&b, 0);
	}
	ck_assert_uint_ge(judge_losses(&b.judge, 0, limits).sent, 100);
	ck_assert_uint_eq(judge_losses(&b.judge, 0, limits).lost, 0);
}
END_TEST

/* Of every `of` packets over plane 0 one is lost. */
static void lose(struct bed *b, unsigned of, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		turn(b, i % of == 0);
}

START_TEST(rates_above_the_bound_are_lossy)
{
	struct bed b = bed();

	lose(&b, 20, 400);
	ck_assert(is_lossy(&b, &times, 0));
	ck_assert(!is_lossy(&b, &times, 1));
	b = bed();
	lose(&b, 100, 4000);
	ck_assert(!is_lossy(&b, &times, 0)); /* 1% is tolerated */
}
END_TEST

START_TEST(one_burst_is_no_rate)
{
	struct bed b = bed();

	turns(&b, 0, 200);
	lose(&b, 2, 60); /* a half, for 180 ms */
	turns(&b, 0, 40);
	ck_assert_uint_ge(judge_losses(&b.judge, 0, limits).lost, 20);
	ck_assert(!is_lossy(&b, &times, 0));
}
END_TEST

/* Packets over plane 0 take delay_ns longer while they are lost; those over the others do not. */
static struct judge_losses losses_in_queue(uint64_t delay_ns)
{
	static const struct judge_limits queue = {ALLOWANCE, 10 * MS};
	struct bed b = bed();

	turns(&b, 0, 100);
	for (unsigned i = 0; i < 300; i++, b.now += I)
		for (uint32_t p = 0; p < PLANES; p++) {
			struct report_wire r = send_over(&b, p);

			if (p == 0 && i % 5)
				judge_report(&b.judge, &times, 0, &r, true, limits,
					     b.now + delay_ns, b.now);
			else if (p)
				arrives(&b, p, &r);
		}
	return judge_losses(&b.judge, 0, &queue);
}

START_TEST(losses_beside_packets_that_wait_are_a_queues)
{
	ck_assert_uint_ge(losses_in_queue(0).lost, 50);
	ck_assert_uint_ge(losses_in_queue(9 * MS).lost, 50);
	ck_assert_uint_eq(losses_in_queue(11 * MS).lost, 0);
}
END_TEST

/*
 * Every packet over plane 0 arrives 2 ms late: reports by the others count it before, at times in
 * the part after that in which it was sent.
 */
START_TEST(slower_plane_loses_nothing)
{
	struct judge_times slow = times;
	uint64_t interval = (unsigned)_i * MS;
	struct bed b = bed();

	slow.interval_ns = interval;
	b.peer.interval = report_wire_units(interval);
	for (unsigned i = 0; i < 2000; i++) {
		struct report_wire late = send_over(&b, 0), r;

		for (uint32_t p = 1; p < PLANES; p++) {
			b.now += MS;
			r = send_over(&b, p);
			judge_report(&b.judge, &slow, p, &r, true, limits, b.now, b.now);
		}
		judge_report(&b.judge, &slow, 0, &late, true, limits, b.now, b.now);
		b.now += interval - (PLANES - 1) * MS;
		ck_assert_uint_eq(judge_losses(&b.judge, 0, limits).lost, 0);
		ck_assert(!is_lossy(&b, &slow, 0));
	}
	ck_assert_uint_ge(judge_losses(&b.judge, 0, limits).sent, 200);
}
END_TEST

START_TEST(what_was_forgotten_is_no_loss)
{
	struct bed b = bed();

	lose(&b, 4, 200);
	ck_assert(is_lossy(&b, &times, 0));
	judge_forget(&b.judge, 0);
	turns(&b, 0, 40);
	ck_assert(!is_lossy(&b, &times, 0));
}
END_TEST

START_TEST(the_peers_flags_are_taken_once_and_seen_while_they_last)
{
	struct bed b = bed();
	struct report_wire r;

	turns(&b, 0, 3);
	b.peer.planes[2].flags = REPORT_LOSSY | REPORT_DEAD;
	turns(&b, 0, 2);
	ck_assert_uint_eq(judge_take_news(&b.judge, 2), REPORT_LOSSY | REPORT_DEAD);
	turns(&b, 0, 2);
	ck_assert_uint_eq(judge_take_news(&b.judge, 2), 0);
	ck_assert_uint_eq(b.judge.planes[2].reported, REPORT_LOSSY | REPORT_DEAD);
	b.peer.planes[2].flags = 0;
	turns(&b, 0, 1);
	ck_assert_uint_eq(b.judge.planes[2].reported, 0);
	/* without authenticity they change nothing */
	b.peer.planes[2].flags = REPORT_DEAD;
	r = send_over(&b, 0);
	judge_report(&b.judge, &times, 0, &r, false, limits, b.now, b.now);
	ck_assert_uint_eq(b.judge.planes[2].reported, 0);
}
END_TEST

START_TEST(report_says_what_was_found)
{
	struct report_wire_plane out = {0};
	struct bed b = bed();

	judge_fill(&b.judge, 0, &out, b.now);
	ck_assert_uint_eq(out.age, REPORT_WIRE_LONG);
	turns(&b, 0, 3);
	turns(&b, 1, 4);
	judge_fill(&b.judge, 0, &out, b.now);
	ck_assert_uint_eq(out.flags, 0); /* not decided yet */
	ck_assert(judge_decide(&b.judge, 0, b.now + ALLOWANCE));
	judge_fill(&b.judge, 0, &out, b.now);
	ck_assert_uint_eq(out.flags, REPORT_DEAD);
	ck_assert_uint_eq(out.age, 5 * I / REPORT_WIRE_UNIT_NS);
}
END_TEST

START_TEST(clock_may_wrap_and_the_peer_may_be_away_for_hours)
{
	struct bed b = bed();

	turns(&b, 0, 400); /* over UINT32_MAX us, see send_over() */
	ck_assert_uint_eq(judge_losses(&b.judge, 0, limits).lost, 0);
	b.now += 3 * 3600 * 1000 * MS;
	b.peer.planes[0].sent += 1000000;
	turns(&b, 0, 3);
	turns(&b, 1, 5);
	ck_assert(judge_decide(&b.judge, 0, b.now + 1000 * MS));
}
END_TEST

START_TEST(report_of_other_planes_is_ignored)
{
	struct bed b = bed();
	struct report_wire r = send_over(&b, 0);

	arrives(&b, PLANES, &r);
	ck_assert_uint_eq(b.judge.reported_ns, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("judge");
	TCase *tc = tcase_create("judge");
	SRunner *r = srunner_create(s);
	int failed;

	tcase_add_test(tc, four_in_a_row_and_the_allowance_are_dead);
	tcase_add_test(tc, one_that_comes_ends_it);
	tcase_add_test(tc, overtaken_one_ends_it_too);
	tcase_add_test(tc, loss_on_all_planes_counts_for_nothing);
	tcase_add_test(tc, late_reading_changes_nothing);
	tcase_add_test(tc, before_the_first_packet_more_are_needed);
	tcase_add_test(tc, another_incarnation_begins_anew);
	tcase_add_test(tc, before_the_first_packet_of_an_incarnation_more_are_needed);
	tcase_add_test(tc, tries_are_in_no_count);
	tcase_add_test(tc, tries_make_up_for_no_loss);
	tcase_add_test(tc, count_of_a_packet_that_was_built_before_is_older);
	tcase_add_test(tc, rates_above_the_bound_are_lossy);
	tcase_add_test(tc, one_burst_is_no_rate);
	tcase_add_test(tc, losses_beside_packets_that_wait_are_a_queues);
	tcase_add_loop_test(tc, slower_plane_loses_nothing, 3, 9);
	tcase_add_test(tc, what_was_forgotten_is_no_loss);
	tcase_add_test(tc, the_peers_flags_are_taken_once_and_seen_while_they_last);
	tcase_add_test(tc, report_says_what_was_found);
	tcase_add_test(tc, clock_may_wrap_and_the_peer_may_be_away_for_hours);
	tcase_add_test(tc, report_of_other_planes_is_ignored);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
