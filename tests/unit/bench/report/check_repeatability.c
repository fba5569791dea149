/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>

#include "bench/report/fake_tests.h"
#include "report/repeatability.h"

static void add(struct rows *rows, const char *strategy, const char *size, unsigned trial,
		double value)
{
	struct row row = {.test = "5.1", .trial = trial, .value = value, .n = 1};

	snprintf(row.strategy, sizeof(row.strategy), "%s", strategy);
	strcpy(row.kpi, "KV_xfer_bandwidth");
	row.n_params = 1;
	ck_assert_int_eq(row_param_set(&row.param[0], "size", size), 0);
	ck_assert_int_eq(rows_add(rows, &row), 0);
}

static struct repeatability repeatability_of(const struct rows *rows)
{
	struct repeatability r;
	struct column column;

	ck_assert_int_eq(column_parse(&column, fake_tests[0], "KV_xfer_bandwidth"), 0);
	ck_assert_int_eq(repeatability_read(&r, fake_tests[0], rows, &column), 0);
	return r;
}

/* Strategies and levels are never put together: what differs between them is no spread. */
START_TEST(each_combination_has_a_spread_of_its_own)
{
	struct repeatability r;
	struct rows *rows;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	for (unsigned i = 0; i < 3; i++) {
		add(rows, "ecmp-flow", "1M", i, 10);
		add(rows, "fare-spray", "1M", i, 1000 + 10 * i); /* CV 10 / 1010 */
	}
	add(rows, "fare-spray", "4M", 0, 90);
	add(rows, "fare-spray", "4M", 1, 110); /* 14.1 / 100 */
	r = repeatability_of(rows);
	ck_assert_uint_eq(r.combinations, 3);
	ck_assert_uint_eq(r.below, 2);
	ck_assert_uint_eq(r.least, 2);
	ck_assert_uint_eq(r.most, 3);
	ck_assert_double_eq_tol(r.middle, 10.0 / 1010, 1e-6);
	ck_assert_double_eq_tol(r.highest, 0.141421, 1e-6);
	rows_close(rows);
}
END_TEST

START_TEST(one_trial_says_nothing)
{
	struct repeatability r;
	struct rows *rows;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	add(rows, "ecmp-flow", "1M", 0, 10);
	add(rows, "fare-spray", "1M", 0, 20);
	r = repeatability_of(rows);
	ck_assert_uint_eq(r.combinations, 0);
	ck_assert(isnan(r.middle) && isnan(r.highest));
	rows_close(rows);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("repeatability");
	TCase *tcase = tcase_create("repeatability");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, each_combination_has_a_spread_of_its_own);
	tcase_add_test(tcase, one_trial_says_nothing);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
