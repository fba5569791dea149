/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "suite/derive.h"

static struct row_param level;

/* n measurements between `from` and `from + n`, at a level. */
static void add(struct rows *rows, const char *text, unsigned trial, unsigned n, uint64_t from)
{
	struct row row = {.test = "10.4",
			  .strategy = "fare-spray",
			  .kpi = "TTFT",
			  .trial = trial,
			  .n_params = 1,
			  .n = n};
	struct hist hist;

	hist_init(&hist);
	for (unsigned i = 0; i < n; i++)
		hist_add(&hist, from + i);
	row.value = NAN;
	row.hist = &hist;
	ck_assert_int_eq(row_param_set(&row.param[0], "background", text), 0);
	level = row.param[0];
	ck_assert_int_eq(rows_add(rows, &row), 0);
}

static struct rows *empty(void)
{
	struct rows *rows;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	return rows;
}

/* Trials of a level are one distribution. */
START_TEST(a_quantile_with_its_interval)
{
	struct rows *rows = empty();
	struct curve_point point;

	add(rows, "50", 0, 2000, 1000000);
	add(rows, "50", 1, 2000, 1002000);
	ck_assert(derive_point(rows, "10.4", "fare-spray", "TTFT", &level, 0.99, &point));
	ck_assert_double_eq(point.x, 50);
	ck_assert_double_eq_tol(point.median / 1003960, 1, 0.01);
	ck_assert_double_lt(point.low, point.high);
	ck_assert(isfinite(point.low) && isfinite(point.high));
	ck_assert_double_eq(derive_median(rows, "10.4", "fare-spray", "TTFT", 1, &level, 0.99),
			    point.median);
	rows_close(rows);
}
END_TEST

/* 50 measurements say nothing of a P99: such a point is outside of no band, and makes none. */
START_TEST(too_few_for_the_quantile)
{
	struct rows *rows = empty();
	struct curve_point point[2];

	add(rows, "0", 0, 50, 1000);
	ck_assert(derive_point(rows, "10.4", "fare-spray", "TTFT", &level, 0.99, &point[0]));
	add(rows, "90", 0, 5000, 1000000);
	ck_assert(derive_point(rows, "10.4", "fare-spray", "TTFT", &level, 0.99, &point[1]));
	ck_assert(isinf(point[0].low) && isinf(point[0].high));
	ck_assert_double_nan(derive_median(rows, "10.4", "fare-spray", "TTFT", 1, &level, 0.99999));
	ck_assert_uint_eq(curve_inflection(point, 2, 1, 0.1), 2);
	rows_close(rows);
}
END_TEST

START_TEST(nothing_there)
{
	struct rows *rows = empty();
	struct curve_point point;

	add(rows, "0", 0, 50, 1000);
	ck_assert(!derive_point(rows, "10.4", "ecmp-flow", "TTFT", &level, 0.99, &point));
	ck_assert_double_nan(derive_median(rows, "10.4", "ecmp-flow", "TTFT", 1, &level, 0.99));
	rows_close(rows);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("derive");
	TCase *tcase = tcase_create("derive");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, a_quantile_with_its_interval);
	tcase_add_test(tcase, too_few_for_the_quantile);
	tcase_add_test(tcase, nothing_there);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
