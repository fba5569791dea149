/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <math.h>

#include "core/stats.h"

START_TEST(quartiles_and_median)
{
	const double v[] = {9, 1, 5, 3, 7};
	struct stats_summary s;

	ck_assert_int_eq(stats_summarise(v, 5, &s), 0);
	ck_assert_double_eq(s.min, 1);
	ck_assert_double_eq(s.q1, 3);
	ck_assert_double_eq(s.median, 5);
	ck_assert_double_eq(s.q3, 7);
	ck_assert_double_eq(s.max, 9);
	ck_assert_double_eq(s.mean, 5);
	ck_assert_double_eq(v[0], 9); /* the caller's order stays */
}
END_TEST

START_TEST(even_count_interpolates)
{
	const double v[] = {1, 2, 3, 4};
	struct stats_summary s;

	ck_assert_int_eq(stats_summarise(v, 4, &s), 0);
	ck_assert_double_eq_tol(s.median, 2.5, 1e-12);
	ck_assert_double_eq_tol(s.q1, 1.75, 1e-12);
}
END_TEST

START_TEST(interval_of_few_is_the_range_and_says_so)
{
	const double v[] = {5, 4, 3, 2, 1};
	struct stats_summary s;

	ck_assert_int_eq(stats_summarise(v, 5, &s), 0);
	ck_assert_double_eq(s.ci_low, 1);
	ck_assert_double_eq(s.ci_high, 5);
	ck_assert_double_eq_tol(s.ci_coverage, 0.9375, 1e-12);
	ck_assert_int_eq(stats_summarise(v, 1, &s), 0);
	ck_assert_double_eq(s.ci_coverage, 0);
}
END_TEST

/* n = 20: the 6th smallest to the 6th largest, coverage 0.9586 (any table of the sign test) */
START_TEST(interval_of_twenty)
{
	struct stats_summary s;
	double v[20];

	for (int i = 0; i < 20; i++)
		v[i] = i + 1;
	ck_assert_int_eq(stats_summarise(v, 20, &s), 0);
	ck_assert_double_eq(s.ci_low, 6);
	ck_assert_double_eq(s.ci_high, 15);
	ck_assert_double_eq_tol(s.ci_coverage, 0.9586, 1e-4);
}
END_TEST

START_TEST(nothing_or_nonsense_is_refused)
{
	const double nan_value[] = {1, NAN}, infinite[] = {INFINITY};
	struct stats_summary s;

	ck_assert_int_eq(stats_summarise(nan_value, 0, &s), -EINVAL);
	ck_assert_int_eq(stats_summarise(nan_value, 2, &s), -EINVAL);
	ck_assert_int_eq(stats_summarise(infinite, 1, &s), -EINVAL);
}
END_TEST

START_TEST(jain)
{
	const double even[] = {3, 3, 3, 3}, one[] = {4, 0, 0, 0}, none[] = {0, 0};

	ck_assert_double_eq_tol(stats_jfi(even, 4), 1, 1e-12);
	ck_assert_double_eq_tol(stats_jfi(one, 4), 0.25, 1e-12);
	ck_assert_double_eq_tol(stats_jfi(none, 2), 1, 1e-12);
}
END_TEST

START_TEST(quantile)
{
	const double v[] = {10, 20, 40};

	ck_assert_double_eq(stats_quantile(v, 3, 0), 10);
	ck_assert_double_eq(stats_quantile(v, 3, 0.5), 20);
	ck_assert_double_eq(stats_quantile(v, 3, 0.75), 30);
	ck_assert_double_eq(stats_quantile(v, 3, 1), 40);
}
END_TEST

START_TEST(variation)
{
	const double v[] = {8, 10, 12}, none[] = {-1, 1}, even[] = {3, 3}, zero[] = {0, 0};
	/* a sixth of it, six times, is not it */
	const double line[] = {24.650938854116514, 24.650938854116514, 24.650938854116514,
			       24.650938854116514, 24.650938854116514, 24.650938854116514};

	ck_assert_double_eq_tol(stats_cv(v, 3), 0.2, 1e-12);
	ck_assert_double_nan(stats_cv(none, 2));
	ck_assert_double_nan(stats_cv(v, 1));
	ck_assert_double_eq(stats_cv(even, 2), 0);
	ck_assert_double_eq(stats_cv(line, 6), 0);
	ck_assert_double_eq(stats_max_min(v, 3), 1.5);
	ck_assert_double_eq(stats_max_min(zero, 2), 1);
	ck_assert_double_infinite(stats_max_min((const double[]){0, 2}, 2));
}
END_TEST

/* Exact probabilities as in tables of the test: 3 against 3 apart 2/20, 4 against 4 apart 2/70 */
START_TEST(rank_test_exact)
{
	const double a[] = {1, 2, 3, 4, 9.5}, b[] = {11, 12, 13, 14}, c[] = {1.5, 9, 13};

	ck_assert_double_eq_tol(stats_rank_test(a, 3, b, 3), 0.1, 1e-12);
	ck_assert_double_eq_tol(stats_rank_test(a, 4, b, 4), 2.0 / 70, 1e-12);
	ck_assert_double_eq_tol(stats_rank_test(b, 4, a, 4), 2.0 / 70, 1e-12);
	/* a exceeds c in 5 of 15 pairs; of the 56 arrangements 16 have U at most 5 */
	ck_assert_double_eq_tol(stats_rank_test(a, 5, c, 3), 2 * 16.0 / 56, 1e-12);
	ck_assert_double_eq(stats_rank_test(a, 0, b, 4), 1);
}
END_TEST

START_TEST(rank_test_approximate)
{
	double a[60], b[60], p;

	for (int i = 0; i < 60; i++) {
		a[i] = i % 20;
		b[i] = i % 20;
	}
	ck_assert_double_eq(stats_rank_test(a, 60, b, 60), 1);
	for (int i = 0; i < 60; i++)
		b[i] += 5;
	p = stats_rank_test(a, 60, b, 60);
	ck_assert_double_le(p, 1e-4);
	ck_assert_double_ge(p, 1e-8);
	for (int i = 0; i < 60; i++)
		a[i] = b[i] = 7; /* no variance */
	ck_assert_double_eq(stats_rank_test(a, 60, b, 60), 1);
}
END_TEST

/* The approximation meets the exact test where both apply (one value moved onto another: a tie). */
START_TEST(rank_test_both_agree)
{
	double a[15], b[15], exact;

	for (int i = 0; i < 15; i++) {
		a[i] = 2 * i;
		b[i] = 2 * i + 9;
	}
	exact = stats_rank_test(a, 15, b, 15);
	b[0] = a[5];
	ck_assert_double_eq_tol(stats_rank_test(a, 15, b, 15), exact, 0.02);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stats");
	TCase *tcase = tcase_create("stats");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, quartiles_and_median);
	tcase_add_test(tcase, even_count_interpolates);
	tcase_add_test(tcase, interval_of_few_is_the_range_and_says_so);
	tcase_add_test(tcase, interval_of_twenty);
	tcase_add_test(tcase, nothing_or_nonsense_is_refused);
	tcase_add_test(tcase, jain);
	tcase_add_test(tcase, quantile);
	tcase_add_test(tcase, variation);
	tcase_add_test(tcase, rank_test_exact);
	tcase_add_test(tcase, rank_test_approximate);
	tcase_add_test(tcase, rank_test_both_agree);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
