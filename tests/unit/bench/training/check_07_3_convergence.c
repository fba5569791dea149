/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/rows.h"
#include "suite/derive.h"
#include "suite/test.h"

extern const struct test test_t7_3;

static void fairness(struct rows *rows, const char *flows, const char *timer, int trial,
		     double value)
{
	struct row row = {.test = "T7.3",
			  .kpi = "JFI",
			  .strategy = "fare-flow",
			  .trial = trial,
			  .n_params = 3,
			  .n = 1};

	row.value = value;
	ck_assert_int_eq(row_param_set(&row.param[0], "flows", flows), 0);
	ck_assert_int_eq(row_param_set(&row.param[1], "g", "0"), 0);
	ck_assert_int_eq(row_param_set(&row.param[2], "timer", timer), 0);
	ck_assert_int_eq(rows_add(rows, &row), 0);
}

/* The medians' difference to the published parameters, of as many flows; those have none. */
START_TEST(sensitivity)
{
	const struct rows_filter filter = {
		.test = "T7.3", .kpi = "JFI_change", .trial = DERIVED_TRIAL};
	struct rows *rows;
	size_t at;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	for (int trial = 0; trial < 3; trial++) {
		fairness(rows, "4", "0", trial, 0.5 + 0.1 * trial);
		fairness(rows, "4", "5", trial, 0.8 + 0.05 * trial);
		fairness(rows, "16", "0", trial, 0.2);
		fairness(rows, "64", "5", trial, 0.9); /* published ones were not measured */
	}
	ck_assert_int_eq(test_t7_3.derive(&test_t7_3, rows), 0);
	at = rows_next(rows, &filter, 0);
	ck_assert_uint_lt(at, rows_count(rows));
	ck_assert_str_eq(rows_at(rows, at)->param[0].text, "4");
	ck_assert_str_eq(rows_at(rows, at)->param[2].text, "5");
	ck_assert_double_eq_tol(rows_at(rows, at)->value, 0.85 - 0.6, 1e-9);
	ck_assert_uint_eq(rows_next(rows, &filter, at + 1), rows_count(rows));
	rows_close(rows);
}
END_TEST

/* Of several means a trial has as many times to converge: no table puts them together. */
START_TEST(means_are_not_pooled)
{
	ck_assert_str_eq(test_t7_3.added[0].name, "mean_ms");
	for (const struct view *v = test_t7_3.views; v->title; v++)
		for (size_t k = 0; k < TEST_MAX_COLUMNS && v->y[k]; k++)
			ck_assert(strcmp(v->y[k], "Convergence") != 0 ||
				  strcmp(v->x, "mean_ms") == 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("07_3_convergence");
	TCase *tcase = tcase_create("07_3_convergence");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, sensitivity);
	tcase_add_test(tcase, means_are_not_pooled);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
