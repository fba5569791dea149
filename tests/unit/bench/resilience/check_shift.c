/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>

#include "resilience/shift.h"
#include "engine/traffic.h"

#define MS 1000000u

/* Messages every step_ns from..to, appended. */
static size_t stretch(uint64_t *times, size_t n, uint64_t from, uint64_t to, uint64_t step_ns)
{
	for (uint64_t t = from; t < to; t += step_ns)
		times[n++] = t;
	return n;
}

START_TEST(progress_interpolates)
{
	const uint64_t times[] = {100, 200, 400};

	ck_assert_double_eq(traffic_progress(times, 3, 50), 0);
	ck_assert_double_eq(traffic_progress(times, 3, 100), 1);
	ck_assert_double_eq(traffic_progress(times, 3, 150), 1.5);
	ck_assert_double_eq(traffic_progress(times, 3, 300), 2.5);
	ck_assert_double_eq(traffic_progress(times, 3, 900), 3);
	ck_assert_double_eq(traffic_progress(times, 0, 900), 0);
}
END_TEST

START_TEST(no_dip_is_no_shift)
{
	static uint64_t times[10000];
	size_t n = stretch(times, 0, 0, 2000 * MS, MS);
	struct shift shift;

	ck_assert_int_eq(shift_analyse(times, n, 1000, 300 * MS, 1800 * MS, 500 * MS, &shift), 0);
	ck_assert_double_eq(shift.shift_ms, 0);
	ck_assert_double_eq_tol(shift.longest_gap_ms, 1, 1e-9);
	ck_assert_double_eq_tol(shift.settled_bps, 8e6, 1);
}
END_TEST

/* A gap of 120 ms from 40 ms after the fault, then half the rate. */
START_TEST(a_gap_ends_where_it_ends)
{
	static uint64_t times[10000];
	size_t n = stretch(times, 0, 0, 340 * MS, MS);
	struct shift shift;

	n = stretch(times, n, 460 * MS, 2000 * MS, 2 * MS);
	ck_assert_int_eq(shift_analyse(times, n, 1000, 300 * MS, 1800 * MS, 500 * MS, &shift), 0);
	ck_assert_double_ge(shift.shift_ms, 140);
	ck_assert_double_le(shift.shift_ms, 170);
	ck_assert_double_eq_tol(shift.longest_gap_ms, 121, 0.01);
	ck_assert_double_eq_tol(shift.settled_bps, 4e6, 20000);
}
END_TEST

/* Traffic that comes in lumps of 60 ms all the time, fault or not, is not called an outage for
 * that. */
START_TEST(lumps_are_no_outage)
{
	static uint64_t times[10000];
	struct shift shift;
	size_t n = 0;

	for (uint64_t lump = 0; lump < 2000 * MS; lump += 120 * MS)
		n = stretch(times, n, lump, lump + 60 * MS, MS);
	ck_assert_int_eq(shift_analyse(times, n, 1000, 300 * MS, 1800 * MS, 500 * MS, &shift), 0);
	ck_assert_double_eq(shift.shift_ms, 0);
}
END_TEST

START_TEST(what_stays_dead_never_shifts)
{
	static uint64_t times[10000];
	size_t n = stretch(times, 0, 0, 400 * MS, MS);
	struct shift shift;

	ck_assert_int_eq(shift_analyse(times, n, 1000, 300 * MS, 1800 * MS, 500 * MS, &shift), 0);
	ck_assert_double_lt(shift.shift_ms, 0);
	ck_assert_double_gt(shift.longest_gap_ms, 1390);
}
END_TEST

START_TEST(recordings_that_hold_too_little_are_refused)
{
	const uint64_t times[] = {3 * MS, 2 * MS, 900 * MS};
	struct shift shift;

	ck_assert_int_eq(shift_analyse(times, 1, 1, 0, 1000 * MS, 500 * MS, &shift), -EINVAL);
	ck_assert_int_eq(shift_analyse(times, 3, 1, 0, 1000 * MS, 500 * MS, &shift), -EINVAL);
	ck_assert_int_eq(shift_analyse(times + 1, 2, 1, 0, 520 * MS, 500 * MS, &shift), -EINVAL);
	ck_assert_int_eq(shift_analyse(times + 1, 2, 1, 900 * MS, 100 * MS, 1, &shift), -EINVAL);
}
END_TEST

START_TEST(gap_counts_the_edges)
{
	const uint64_t times[] = {10 * MS, 20 * MS, 100 * MS};

	ck_assert_double_eq_tol(shift_longest_gap_ms(times, 3, 0, 110 * MS), 80, 1e-9);
	ck_assert_double_eq_tol(shift_longest_gap_ms(times, 3, 15 * MS, 90 * MS), 70, 1e-9);
	ck_assert_double_eq_tol(shift_longest_gap_ms(times, 0, 0, 30 * MS), 30, 1e-9);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shift");
	TCase *tcase = tcase_create("shift");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, progress_interpolates);
	tcase_add_test(tcase, no_dip_is_no_shift);
	tcase_add_test(tcase, a_gap_ends_where_it_ends);
	tcase_add_test(tcase, lumps_are_no_outage);
	tcase_add_test(tcase, what_stays_dead_never_shifts);
	tcase_add_test(tcase, recordings_that_hold_too_little_are_refused);
	tcase_add_test(tcase, gap_counts_the_edges);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
