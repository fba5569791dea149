/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <math.h>

#include "core/search.h"

struct device {
	double bound; /* holds up to here */
	unsigned tries, fails_at;
};

static int offer(void *arg, double at, bool *held)
{
	struct device *d = arg;

	*held = at <= d->bound;
	return ++d->tries == d->fails_at ? -EIO : 0;
}

/* Ten steps come within 0.1% of the range, never above the bound. */
START_TEST(a_bound_is_found)
{
	for (double bound = 0.01; bound < 1; bound += 0.0371) {
		struct device d = {.bound = bound};
		double best;

		ck_assert_int_eq(search_highest(0, 1, 10, offer, &d, &best), 0);
		ck_assert_uint_eq(d.tries, 10);
		ck_assert(best <= bound && best > bound - 0.001);
	}
}
END_TEST

START_TEST(nothing_holds_and_everything_holds)
{
	struct device none = {.bound = -1}, all = {.bound = 2};
	double best;

	ck_assert_int_eq(search_highest(0, 1, 5, offer, &none, &best), 0);
	ck_assert_double_eq(best, 0);
	ck_assert_int_eq(search_highest(0, 1, 5, offer, &all, &best), 0);
	ck_assert_double_eq_tol(best, 1 - 1 / 32., 1e-12);
}
END_TEST

START_TEST(an_error_ends_it)
{
	struct device d = {.bound = 2, .fails_at = 3};
	double best;

	ck_assert_int_eq(search_highest(0, 1, 10, offer, &d, &best), -EIO);
	ck_assert_uint_eq(d.tries, 3);
	ck_assert_double_eq(best, 0.75); /* the last that held */
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("search");
	TCase *tcase = tcase_create("search");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, a_bound_is_found);
	tcase_add_test(tcase, nothing_holds_and_everything_holds);
	tcase_add_test(tcase, an_error_ends_it);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
