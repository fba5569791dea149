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

int main(void)
{
	Suite *suite = suite_create("soak");
	TCase *tcase = tcase_create("soak");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, a_soak_goes_on_where_it_ended);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
