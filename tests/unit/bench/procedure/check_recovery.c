/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "procedure/recovery.h"

#define MS  UINT64_C(1000000)
#define T0  (UINT64_C(5000) * MS)
#define END 4000

static double bins[END];
static const struct recovery r = {.from_ns = T0, .n = END, .bytes = bins};

static uint64_t at(unsigned ms)
{
	return T0 + ms * MS;
}

static void level(unsigned from, unsigned to, double bytes)
{
	for (unsigned i = from; i < to; i++)
		bins[i] = bytes;
}

/* Healthy to 1000, nothing for 30 ms, three quarters to 2000, a ramp, healthy from 2300 on. */
static void a_fault(void)
{
	level(0, 1000, 200);
	level(1000, 1030, 0);
	level(1030, 2000, 150);
	level(2000, 2300, 180);
	level(2300, END, 200);
}

START_TEST(a_mean_leaves_out_what_was_not_recorded)
{
	a_fault();
	ck_assert_double_eq(recovery_mean(&r, at(0), at(1000)), 200);
	ck_assert_double_eq(recovery_mean(&r, T0 - 500 * MS, at(1000)), 200);
	ck_assert_double_eq(recovery_mean(&r, at(END - 10), at(END + 1000)), 200);
	ck_assert_double_eq(recovery_mean(&r, at(END), at(END + 1000)), 0);
}
END_TEST

START_TEST(moved_when_a_window_is_what_it_settles_at)
{
	double moved;

	a_fault();
	moved = recovery_moved_ms(&r, at(1000), at(1800), at(2000));
	/* a window may begin in the hole, as long as the rest makes up for it */
	ck_assert_double_ge(moved, 24);
	ck_assert_double_le(moved, 30);
	ck_assert_double_lt(
		recovery_moved_ms(&r, at(1000), at(1800), at(1799 + RECOVERY_HOLD_BINS)), 0);
	ck_assert_double_lt(recovery_moved_ms(&r, at(1000), at(900), at(2000)), 0);
	level(1030, 2000, 0);
	ck_assert_double_lt(recovery_moved_ms(&r, at(1000), at(1800), at(2000)), 0);
}
END_TEST

/* Rounds of 70 ms, of which 20 carry something: 200 ms hold two rounds or three. */
START_TEST(rounds_have_moved_once_they_come_as_they_will)
{
	double moved;

	level(0, 2000, 0);
	for (unsigned at_ms = 1100; at_ms + 70 <= 2000; at_ms += 70)
		level(at_ms + 50, at_ms + 70, 350);
	moved = recovery_moved_ms(&r, at(1000), at(1200), at(2000));
	ck_assert_double_ge(moved, 0);
	ck_assert_double_le(moved, 60);
	level(1100, 1500, 0); /* none of it for longer than rounds ever pause */
	ck_assert_double_ge(recovery_moved_ms(&r, at(1000), at(1500), at(2000)), 350);
}
END_TEST

START_TEST(the_good_moment_before_the_dip_is_not_moved)
{
	a_fault();
	level(1000, 1060, 200); /* detection takes 60 ms of full queues */
	level(1060, 1200, 0);
	ck_assert_double_ge(recovery_moved_ms(&r, at(1000), at(1800), at(2000)), 150);
}
END_TEST

START_TEST(the_longest_hole)
{
	a_fault();
	bins[1500] = bins[1501] = 0;
	ck_assert_double_eq(recovery_gap_ms(&r, at(1000), at(2000)), 30);
	ck_assert_double_eq(recovery_gap_ms(&r, at(1010), at(2000)), 20);
	ck_assert_double_eq(recovery_gap_ms(&r, at(0), at(900)), 0);
}
END_TEST

START_TEST(restored_at_98_percent_for_a_whole_window)
{
	uint64_t restored;

	a_fault();
	restored = recovery_restored_ns(&r, at(100), at(1000), at(2000));
	ck_assert_uint_ge(restored, at(2300 - RECOVERY_BACK_BINS / 5));
	ck_assert_uint_le(restored, at(2300));
	level(2300, END, 195);
	ck_assert_uint_eq(recovery_restored_ns(&r, at(100), at(1000), at(2000)), 0);
	level(600, 600 + RECOVERY_BACK_BINS, 195); /* it was no better when it was well */
	ck_assert_uint_ne(recovery_restored_ns(&r, at(100), at(1000), at(2000)), 0);
}
END_TEST

START_TEST(without_a_healthy_time_nothing_is_restored)
{
	a_fault();
	ck_assert_uint_eq(
		recovery_restored_ns(&r, at(100), at(100 + RECOVERY_BACK_BINS - 1), at(2000)), 0);
	level(0, 1000, 0);
	ck_assert_uint_eq(recovery_restored_ns(&r, at(100), at(1000), at(2000)), 0);
}
END_TEST

/* 200 a millisecond till 1,000, nothing for 40, a fifth for 160, then 100: half is left. */
START_TEST(a_rate_that_steps_down)
{
	struct recovery_step step;

	level(0, 1000, 200);
	level(1000, 1040, 0);
	level(1040, 1200, 40);
	level(1200, END, 100);
	step = recovery_step(bins, END, 1000, 100, 0.1);
	ck_assert_double_eq(step.before, 200);
	ck_assert_double_eq(step.after, 100);
	ck_assert_double_eq(step.below_half_ms, 200);
	/* the last mean of 100 ms that is off by more than a tenth begins at 175 ms */
	ck_assert_double_eq(step.settled_ms, 200);
	level(3900, END, 300);
	ck_assert(isnan(recovery_step(bins, END, 1000, 100, 0.1).settled_ms));
}
END_TEST

/* Twice the rate from 2,150 ms after the command on, when new pairs have their first block: a mean
 * of 500 ms that begins at 2,100 is within a tenth of it, and is no steady state. */
START_TEST(steady_is_not_before_what_changes)
{
	struct recovery_step step;

	level(0, 3150, 100);
	level(3150, END, 200);
	step = recovery_step(bins, END, 1000, 500, 0.1);
	ck_assert_double_lt(step.settled_ms, 2150);
	ck_assert_double_eq(recovery_steady_ms(step.settled_ms, 2150), 2150);
	ck_assert_double_eq(recovery_steady_ms(2500, 2150), 2500);
	ck_assert(isnan(recovery_steady_ms(NAN, 2150)));
	ck_assert(isnan(recovery_steady_ms(2500, NAN)));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("recovery");
	TCase *tc = tcase_create("all");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tc, a_mean_leaves_out_what_was_not_recorded);
	tcase_add_test(tc, moved_when_a_window_is_what_it_settles_at);
	tcase_add_test(tc, rounds_have_moved_once_they_come_as_they_will);
	tcase_add_test(tc, the_good_moment_before_the_dip_is_not_moved);
	tcase_add_test(tc, the_longest_hole);
	tcase_add_test(tc, restored_at_98_percent_for_a_whole_window);
	tcase_add_test(tc, without_a_healthy_time_nothing_is_restored);
	tcase_add_test(tc, a_rate_that_steps_down);
	tcase_add_test(tc, steady_is_not_before_what_changes);
	suite_add_tcase(suite, tc);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
