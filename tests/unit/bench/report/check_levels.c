/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>

#include "report/levels.h"

static const struct param sizes = PARAM("size", PARAM_BYTES, "bytes", "", "64K", NULL,
					"64K,256K,1M,4M"),
			  loads = PARAM("load", PARAM_NUMBER, "%", "", "0,0.50", "0,0.5,0.9"),
			  modes = PARAM("mode", PARAM_NAME, "", "", "push,pull");

static void add(struct rows *rows, const char *param, const char *level, char *missing)
{
	struct row row = {.test = "5.1", .kpi = "x", .n_params = 1, .missing = missing};

	ck_assert_int_eq(row_param_set(&row.param[0], param, level), 0);
	ck_assert_int_eq(rows_add(rows, &row), 0);
}

START_TEST(what_ran_and_what_the_draft_has_beside)
{
	char why[] = "no memory";
	struct levels levels;
	struct rows *rows;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	add(rows, "size", "64K", NULL);
	add(rows, "size", "64K", why); /* one trial of it was measured */
	add(rows, "size", "4M", why);
	add(rows, "size", "8M", NULL); /* the draft has none */
	levels_read(&levels, rows, &sizes);
	ck_assert_str_eq(levels.measured, "64K, 8M");
	ck_assert_str_eq(levels.not_possible, "4M");
	ck_assert_str_eq(levels.left_out, "256K, 1M");
	add(rows, "load", "0.50", NULL); /* the number counts, not how it is written */
	levels_read(&levels, rows, &loads);
	ck_assert_str_eq(levels.measured, "0.50");
	ck_assert_str_eq(levels.left_out, "0, 0.9");
	levels_read(&levels, rows, &modes); /* not run at all */
	ck_assert_str_eq(levels.measured, "-");
	ck_assert_str_eq(levels.not_possible, "-");
	ck_assert_str_eq(levels.left_out, "push, pull");
	rows_close(rows);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("levels");
	TCase *tcase = tcase_create("levels");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, what_ran_and_what_the_draft_has_beside);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
