/* SPDX-License-Identifier: BSD-2-Clause */
/* Test 11.1 of the training draft: the largest scale, of ratios made by hand. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "suite/test.h"

extern const struct test test_t11_1;

/* ratio 0: there is none, with a reason. */
static void add(struct rows *rows, const char *strategy, const char *ranks, const char *size,
		double ratio)
{
	static char why[] = "the lab has 4 GPUs";
	struct row row = {.test = "T11.1", .kpi = "JCT_ratio", .value = ratio, .n = 1};

	strcpy(row.strategy, strategy);
	ck_assert_int_eq(row_param_set(&row.param[row.n_params++], "ranks", ranks), 0);
	ck_assert_int_eq(row_param_set(&row.param[row.n_params++], "size", size), 0);
	if (ratio == 0) {
		row.value = NAN;
		row.missing = why;
	}
	ck_assert_int_eq(rows_add(rows, &row), 0);
}

static double limit(const struct rows *rows, const char *strategy, const char *size)
{
	struct row_param param;
	struct rows_filter filter = {.test = "T11.1",
				     .kpi = "Scale_limit",
				     .strategy = strategy,
				     .n_params = 1,
				     .param = &param,
				     .trial = -1};
	size_t at;

	ck_assert_int_eq(row_param_set(&param, "size", size), 0);
	at = rows_next(rows, &filter, 0);
	if (at == rows_count(rows))
		return NAN;
	ck_assert_uint_eq(rows_at(rows, at)->n_params, 1);
	ck_assert_uint_eq(rows_next(rows, &filter, at + 1), rows_count(rows));
	return rows_at(rows, at)->value;
}

START_TEST(the_most_that_were_measured)
{
	struct rows *rows;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	add(rows, "mpi-fare", "2", "1M", 1.1);
	add(rows, "mpi-fare", "4", "1M", 1.3);
	add(rows, "mpi-fare", "64", "1M", 0);
	add(rows, "mpi-fare", "2", "3M", 1.1);
	add(rows, "mpi-ofi-tcp", "64", "1M", 0);
	ck_assert_int_eq(test_t11_1.derive(&test_t11_1, rows), 0);
	ck_assert_double_eq(limit(rows, "mpi-fare", "1M"), 4);
	ck_assert_double_eq(limit(rows, "mpi-fare", "3M"), 2);
	ck_assert(isnan(limit(rows, "mpi-ofi-tcp", "1M")));
	rows_close(rows);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("scale");
	TCase *tcase = tcase_create("scale");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, the_most_that_were_measured);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
