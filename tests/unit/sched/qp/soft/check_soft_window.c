/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <stdlib.h>

#include "qp/soft/soft_window.h"

#define MTU  1024u
#define MOST (64 * MTU)

static struct soft_window w;
static uint64_t una, sent;

static void setup(void)
{
	una = sent = 0xffffffull - 10; /* positions go on where 24 bits would wrap */
	soft_window_init(&w, MOST, MTU, una);
}

/*
 * A round trip: a window full goes out, and is acknowledged packet by packet. n_marks of them are
 * told of.
 */
static void round_trip(unsigned n_marks)
{
	sent = una + w.bytes / MTU;
	while (n_marks--)
		soft_window_marked(&w, una, sent);
	while (una < sent)
		soft_window_acked(&w, MTU, ++una, sent);
}

static void lose(bool silence)
{
	sent = una + w.bytes / MTU;
	soft_window_lost(&w, silence, una, sent);
}

START_TEST(a_loss_halves_once_a_round_trip)
{
	lose(false);
	ck_assert_uint_eq(w.bytes, MOST / 2);
	soft_window_lost(&w, false, una + 1, sent + 5); /* of the same */
	ck_assert_uint_eq(w.bytes, MOST / 2);
	una = sent;
	lose(false);
	ck_assert_uint_eq(w.bytes, MOST / 4);
}
END_TEST

START_TEST(silence_starts_again_slowly_and_doubles)
{
	lose(true);
	ck_assert_uint_eq(w.bytes, MTU);
	ck_assert_uint_eq(w.slow_start_bytes, MOST / 2);
	una = sent;
	for (unsigned i = 1; i <= 5; i++) {
		round_trip(0);
		ck_assert_uint_ge(w.bytes, (MTU << i) - MTU);
		ck_assert_uint_le(w.bytes, (MTU << i) + MTU);
	}
	/* and then a packet a round trip, to the end and no further */
	for (unsigned i = 0; i < 40; i++) {
		uint32_t before = w.bytes;

		round_trip(0);
		ck_assert_uint_ge(w.bytes, before);
		ck_assert_uint_le(w.bytes, before + MTU + MTU / 2);
	}
	ck_assert_uint_eq(w.bytes, MOST);
}
END_TEST

/*
 * However often it is told: once. And what shrank for a loss does not shrink for the queue that
 * lost it.
 */
START_TEST(a_mark_counts_once_a_round_trip)
{
	sent = una + 64;
	for (unsigned i = 0; i < 10; i++)
		soft_window_marked(&w, una + i, sent);
	ck_assert_uint_eq(w.bytes, MOST / 2);
	una = sent;
	lose(false);
	ck_assert_uint_eq(w.bytes, MOST / 4);
	soft_window_marked(&w, una + 1, sent);
	ck_assert_uint_eq(w.bytes, MOST / 4);
	soft_window_acked(&w, MTU, sent, sent + 16);
	soft_window_marked(&w, sent, sent + 16);
	ck_assert_uint_lt(w.bytes, MOST / 4);
}
END_TEST

/* RFC 8257: the share of marked round trips, not a mark alone, says how much. */
START_TEST(few_marks_cost_little_and_many_much)
{
	uint32_t before;

	for (unsigned i = 0; i < 100; i++)
		round_trip(0);
	ck_assert_uint_le(w.congestion, SOFT_WINDOW_ALWAYS / 64);
	before = w.bytes;
	round_trip(1);
	ck_assert_uint_ge(w.bytes, before - before / 64);
	for (unsigned i = 0; i < 200; i++)
		round_trip(1);
	ck_assert_uint_ge(w.congestion, SOFT_WINDOW_ALWAYS - SOFT_WINDOW_ALWAYS / 64);
	ck_assert_uint_le(w.bytes, 4 * MTU);
	ck_assert_uint_ge(w.bytes, MTU);
	for (unsigned i = 0; i < 200; i++) /* every other one */
		round_trip(i & 1);
	ck_assert_uint_ge(w.congestion, SOFT_WINDOW_ALWAYS / 2 - SOFT_WINDOW_ALWAYS / 16);
	ck_assert_uint_le(w.congestion, SOFT_WINDOW_ALWAYS / 2 + SOFT_WINDOW_ALWAYS / 16);
}
END_TEST

/* Two that meet the same marks end up with equal parts, whatever they began with. */
START_TEST(two_share_a_queue)
{
	struct soft_window a, b;
	uint64_t at = 0;

	soft_window_init(&a, MOST, MTU, 0);
	soft_window_init(&b, MOST, MTU, 0);
	b.bytes = b.slow_start_bytes = 2 * MTU;
	for (unsigned i = 0; i < 2000; i++, at += 64) {
		if (a.bytes + b.bytes > 40 * MTU) {
			/* what the link and the queue's threshold hold */
			soft_window_marked(&a, at, at + 64);
			soft_window_marked(&b, at, at + 64);
		}
		for (uint32_t n = a.bytes / MTU; n; n--)
			soft_window_acked(&a, MTU, at + 64, at + 128);
		for (uint32_t n = b.bytes / MTU; n; n--)
			soft_window_acked(&b, MTU, at + 64, at + 128);
	}
	ck_assert_uint_ge(a.bytes + b.bytes, 30 * MTU);
	ck_assert_uint_le(a.bytes + b.bytes, 44 * MTU);
	ck_assert_uint_le(a.bytes, b.bytes + b.bytes / 8);
	ck_assert_uint_le(b.bytes, a.bytes + a.bytes / 8);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft_window");
	TCase *t = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, a_loss_halves_once_a_round_trip);
	tcase_add_test(t, silence_starts_again_slowly_and_doubles);
	tcase_add_test(t, a_mark_counts_once_a_round_trip);
	tcase_add_test(t, few_marks_cost_little_and_many_much);
	tcase_add_test(t, two_share_a_queue);
	suite_add_tcase(s, t);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
