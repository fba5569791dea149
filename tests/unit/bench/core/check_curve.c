/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <math.h>

#include "core/curve.h"

/* Points at x = 0, 1, ... with an interval of 5% to each side. */
static size_t inflection(const double *medians, size_t n, size_t n_base, double margin)
{
	struct curve_point points[16];

	for (size_t i = 0; i < n; i++)
		points[i] = (struct curve_point){(double)i, medians[i], medians[i] * 0.95,
						 medians[i] * 1.05};
	return curve_inflection(points, n, n_base, margin);
}

START_TEST(a_curve_that_rises)
{
	const double medians[] = {10, 10.2, 9.9, 10.4, 13, 20};

	ck_assert_uint_eq(inflection(medians, 6, 2, 0.1), 4);
	ck_assert_uint_eq(inflection(medians, 6, 2, 0.5), 5); /* 19 is above 15.15, 12.35 is not */
}
END_TEST

START_TEST(a_curve_that_falls)
{
	const double medians[] = {10, 10, 8, 4};

	ck_assert_uint_eq(inflection(medians, 4, 1, 0.1), 2);
}
END_TEST

START_TEST(a_curve_that_stays)
{
	const double medians[] = {10, 10.1, 9.8, 10.3};

	ck_assert_uint_eq(inflection(medians, 4, 1, 0.1), 4);
	ck_assert_uint_eq(inflection(medians, 1, 1, 0.1), 1);
}
END_TEST

/* One high point from which the curve comes back is no inflection; neither is one to the other
 * side. */
START_TEST(a_curve_that_comes_back)
{
	const double back[] = {10, 20, 10, 20}, across[] = {10, 5, 20, 30};

	ck_assert_uint_eq(inflection(back, 4, 1, 0.1), 3);
	ck_assert_uint_eq(inflection(across, 4, 1, 0.1), 2);
}
END_TEST

/* What is not measured well has not left: its interval reaches into the band. */
START_TEST(a_wide_interval_has_not_left)
{
	const struct curve_point points[] = {{0, 10, 9, 11}, {1, 20, 10, 30}, {2, 30, 25, 35}};

	ck_assert_uint_eq(curve_inflection(points, 3, 1, 0.1), 2);
}
END_TEST

static size_t front(const double *x, const double *y, size_t n, bool more_x, bool more_y,
		    bool *best)
{
	const double *const both[2] = {x, y};
	const bool more[2] = {more_x, more_y};

	return curve_pareto(both, more, 2, n, best);
}

START_TEST(pareto_more_and_less)
{
	/* throughput: more is better; latency: less is */
	const double tps[] = {10, 20, 30, 25, NAN}, latency[] = {1, 2, 9, 3, 0};
	bool best[5];

	ck_assert_uint_eq(front(tps, latency, 5, true, false, best), 4);
	ck_assert(best[0] && best[1] && best[2] && best[3] && !best[4]);
	ck_assert_uint_eq(front(tps, latency, 5, true, true, best), 1);
	ck_assert(best[2]);
	ck_assert_uint_eq(front(tps, latency, 5, false, false, best), 1);
	ck_assert(best[0]);
}
END_TEST

START_TEST(pareto_equals)
{
	const double x[] = {1, 1, 1}, y[] = {2, 2, 3};
	bool best[3];

	ck_assert_uint_eq(front(x, y, 2, true, true, best), 2); /* neither beats the other */
	ck_assert_uint_eq(front(x, y, 3, true, true, best), 1);
	ck_assert(best[2]);
}
END_TEST

/* The second is beaten by the first in two measures, and stays for the third. */
START_TEST(pareto_of_three)
{
	const double ttft[] = {1, 2, 2, 3}, itl[] = {20, 25, 25, 30}, tps[] = {10, 12, 11, 12};
	const double *const all[3] = {ttft, itl, tps};
	const bool more[3] = {false, false, true};
	bool best[4];

	ck_assert_uint_eq(curve_pareto(all, more, 2, 4, best), 1);
	ck_assert(best[0]);
	ck_assert_uint_eq(curve_pareto(all, more, 3, 4, best), 2);
	ck_assert(best[0] && best[1]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("curve");
	TCase *tcase = tcase_create("curve");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, a_curve_that_rises);
	tcase_add_test(tcase, a_curve_that_falls);
	tcase_add_test(tcase, a_curve_that_stays);
	tcase_add_test(tcase, a_curve_that_comes_back);
	tcase_add_test(tcase, a_wide_interval_has_not_left);
	tcase_add_test(tcase, pareto_more_and_less);
	tcase_add_test(tcase, pareto_equals);
	tcase_add_test(tcase, pareto_of_three);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
