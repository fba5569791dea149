/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <string.h>

#include "procedure/soak.h"

static void add(struct rows *rows, const char *kpi, unsigned trial, double value)
{
	struct row row = {
		.test = "13.1", .strategy = "fare-spray", .trial = trial, .value = value, .n = 1};

	strcpy(row.kpi, kpi);
	ck_assert_int_eq(rows_add(rows, &row), 0);
}

/* Samples at 0 and 4.3 s of 4.3 s each: a run that goes on begins at 8.6, not at 0 again. */
START_TEST(a_soak_goes_on_where_it_ended)
{
	struct rows *rows;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	ck_assert_double_eq(soak_end_s(rows, "13.1"), 0);
	add(rows, "at_s", 0, 0);
	add(rows, "_trial_s", 0, 4.3);
	add(rows, "at_s", 1, 4.3);
	add(rows, "_trial_s", 1, 4.3);
	ck_assert_double_eq_tol(soak_end_s(rows, "13.1"), 8.6, 1e-9);
	ck_assert_double_eq(soak_end_s(rows, "13.2"), 0);
	rows_close(rows);
}
END_TEST

/* Stopped and resumed twice, 2 ms worse every hour: one axis, and one slope over all of it. */
START_TEST(a_slope_over_a_soak_that_was_resumed_twice)
{
	struct rows_filter slope = {.test = "13.1", .kpi = "slope_TTFT", .trial = -1};
	struct rows *rows;
	unsigned trial = 0;
	size_t at;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	for (int session = 0; session < 3; session++) {
		double first_s = soak_end_s(rows, "13.1");

		ck_assert_double_eq_tol(first_s, session * 1800, 1e-9);
		for (int i = 0; i < 3; i++, trial++) {
			double at_s = first_s + i * 600;

			add(rows, "at_s", trial, at_s);
			add(rows, "TTFT_p99", trial, 100 + 2 * at_s / 3600);
			add(rows, "_trial_s", trial, 600);
		}
	}
	ck_assert_int_eq(soak_slope(rows, "13.1", "TTFT_p99", "slope_TTFT"), 0);
	at = rows_next(rows, &slope, 0);
	ck_assert_uint_lt(at, rows_count(rows));
	ck_assert_double_eq_tol(rows_at(rows, at)->value, 2, 1e-9);
	/* 100 to 102.67 ms around 101.33 */
	ck_assert_int_eq(soak_variation(rows, "13.1", "TTFT_p99", "TTFT_variation"), 0);
	slope.kpi = "TTFT_variation";
	at = rows_next(rows, &slope, 0);
	ck_assert_uint_lt(at, rows_count(rows));
	ck_assert_double_eq_tol(rows_at(rows, at)->value, 2.6316, 1e-3);
	rows_close(rows);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("soak");
	TCase *tcase = tcase_create("soak");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, a_soak_goes_on_where_it_ended);
	tcase_add_test(tcase, a_slope_over_a_soak_that_was_resumed_twice);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
