/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <stdlib.h>

#include "engine/arrivals.h"

START_TEST(names_go_both_ways)
{
	for (int i = 0; i < ARRIVAL_COUNT; i++)
		ck_assert_int_eq(arrival_parse(arrival_name((enum arrival_law)i)), i);
	ck_assert_int_eq(arrival_parse("often"), -ENOENT);
	ck_assert_int_eq(arrival_parse(NULL), -ENOENT);
}
END_TEST

START_TEST(even_ones_are_a_period_apart)
{
	struct arrivals a = {.law = ARRIVAL_EVEN, .mean_ns = 1000, .random = 3};
	double first;

	arrivals_start(&a, 5000);
	first = a.next_ns;
	ck_assert(first >= 5000 && first < 6000);
	for (int i = 1; i < 100; i++) {
		arrivals_take(&a);
		ck_assert_double_eq_tol(a.next_ns, first + 1000 * i, 1e-6);
	}
}
END_TEST

/* Of each period one, in its first part; where in it, differs. */
START_TEST(bursts_are_a_period_apart)
{
	struct arrivals a = {.law = ARRIVAL_BURST, .mean_ns = 1000, .spread_ns = 100, .random = 5};
	double least = 100, most = 0;

	arrivals_start(&a, 7000);
	for (int i = 0; i < 100; i++) {
		double at = a.next_ns - (7000 + 1000 * i);

		ck_assert(at >= 0 && at < 100);
		least = at < least ? at : least;
		most = at > most ? at : most;
		arrivals_take(&a);
	}
	ck_assert(least < 20 && most > 80);
	ck_assert(arrival_is_open(ARRIVAL_BURST) && !arrival_is_open(ARRIVAL_COMMAND));
}
END_TEST

/* Mean and standard deviation of the distances of a Poisson process are equal. */
START_TEST(poisson_ones_have_the_mean)
{
	struct arrivals a = {.law = ARRIVAL_POISSON, .mean_ns = 500, .random = 11};
	double before, sum = 0, squares = 0;
	int n = 50000;

	arrivals_start(&a, 0);
	for (int i = 0; i < n; i++) {
		before = a.next_ns;
		arrivals_take(&a);
		sum += a.next_ns - before;
		squares += (a.next_ns - before) * (a.next_ns - before);
	}
	ck_assert_double_eq_tol(sum / n, 500, 10);
	ck_assert_double_eq_tol(squares / n - (sum / n) * (sum / n), 250000, 10000);
}
END_TEST

START_TEST(closed_ones_are_due_at_once)
{
	struct arrivals a = {.law = ARRIVAL_CLOSED};

	arrivals_start(&a, 77);
	arrivals_take(&a);
	ck_assert_double_eq(a.next_ns, 77);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("arrivals");
	TCase *tc = tcase_create("all");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, names_go_both_ways);
	tcase_add_test(tc, even_ones_are_a_period_apart);
	tcase_add_test(tc, bursts_are_a_period_apart);
	tcase_add_test(tc, poisson_ones_have_the_mean);
	tcase_add_test(tc, closed_ones_are_due_at_once);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
