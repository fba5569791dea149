/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <math.h>
#include <string.h>

#include "core/rows.h"
#include "suite/derive.h"
#include "suite/test.h"

extern const struct test test_t5_2;

static void add(struct rows *rows, const char *strategy, const char *load, double mean_us)
{
	struct row row = {
		.test = "T5.2", .kpi = "Round_trip_mean", .n_params = 2, .n = 4, .value = mean_us};

	strcpy(row.strategy, strategy);
	ck_assert_int_eq(row_param_set(&row.param[0], "load", load), 0);
	ck_assert_int_eq(row_param_set(&row.param[1], "size", "64K"), 0);
	ck_assert_int_eq(rows_add(rows, &row), 0);
}

static const struct row *factor_of(struct rows *rows, const char *strategy)
{
	struct rows_filter filter = {.test = "T5.2", .kpi = "Loaded_factor", .trial = -1};

	ROWS_EACH (i, rows, &filter)
		if (strcmp(rows_at(rows, i)->strategy, strategy) == 0)
			return rows_at(rows, i);
	return NULL;
}

/* Four messages carry a mean, not a median: a factor all the same. Without a base: why. */
START_TEST(how_much_longer_under_load)
{
	struct rows *rows;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	add(rows, "fare-spray", "none", 7351);
	add(rows, "fare-spray", "full", 66505);
	add(rows, "ecmp-flow", "full", 84700);
	ck_assert_int_eq(test_t5_2.derive(&test_t5_2, rows), 0);
	ck_assert_ptr_nonnull(factor_of(rows, "fare-spray"));
	ck_assert_double_eq_tol(factor_of(rows, "fare-spray")->value, 66505. / 7351, 1e-9);
	ck_assert_str_eq(factor_of(rows, "fare-spray")->param[0].text, "full");
	ck_assert_ptr_nonnull(factor_of(rows, "ecmp-flow"));
	ck_assert_ptr_nonnull(factor_of(rows, "ecmp-flow")->missing);
	rows_close(rows);
}
END_TEST

/* First pages compare it without load: with it each strategy has a rate of its own. */
START_TEST(conditions_that_are_alike)
{
	ck_assert_str_eq(test_t5_2.headline_where, "load=none");
	ck_assert_str_eq(test_t5_2.unlike[0], "load");
	ck_assert_ptr_null(test_t5_2.unlike[1]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("05_2_latency");
	TCase *tcase = tcase_create("05_2_latency");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, how_much_longer_under_load);
	tcase_add_test(tcase, conditions_that_are_alike);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
