/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "procedure/recovery.h"

#define BINS 2000

static void fill(double *bins, size_t from, size_t to, double value)
{
	for (size_t i = from; i < to; i++)
		bins[i] = value;
}

START_TEST(mean)
{
	const double bins[] = {1, 2, 3, 10};

	ck_assert_double_eq(recovery_bins_mean(bins, 0, 4), 4);
	ck_assert_double_eq(recovery_bins_mean(bins, 1, 2), 2.5);
}
END_TEST

static double settled(const double *bins)
{
	return recovery_settled_ms(bins, BINS, 300, recovery_bins_mean(bins, 1500, 500), 100, 0.1);
}

/* From 100 to 200 700 ms after the event, or down to 50. */
START_TEST(a_step_up_or_down)
{
	double bins[BINS];

	fill(bins, 0, 1000, 100);
	fill(bins, 1000, BINS, 200);
	ck_assert_double_eq_tol(settled(bins), 700, 25);
	fill(bins, 1000, BINS, 50);
	ck_assert_double_eq_tol(settled(bins), 700, 25);
}
END_TEST

START_TEST(nothing_happens)
{
	double bins[BINS];

	for (size_t i = 0; i < BINS; i++) /* noise within 10% */
		bins[i] = 100 + (i % 2 ? 8 : -8);
	ck_assert_double_eq(settled(bins), 0);
}
END_TEST

/* A late dip, or a late burst, is not steady. */
START_TEST(it_settles_only_after_the_last_change)
{
	double bins[BINS];

	fill(bins, 0, BINS, 100);
	fill(bins, 1200, 1260, 0);
	ck_assert_double_eq_tol(settled(bins), 950, 25);
	fill(bins, 1200, 1260, 200);
	ck_assert_double_eq_tol(settled(bins), 950, 25);
}
END_TEST

START_TEST(it_never_settles)
{
	double bins[BINS];

	fill(bins, 0, BINS, 100);
	fill(bins, 1900, BINS, 20);
	ck_assert_double_nan(settled(bins));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("common");
	TCase *tcase = tcase_create("common");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, mean);
	tcase_add_test(tcase, a_step_up_or_down);
	tcase_add_test(tcase, nothing_happens);
	tcase_add_test(tcase, it_settles_only_after_the_last_change);
	tcase_add_test(tcase, it_never_settles);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
