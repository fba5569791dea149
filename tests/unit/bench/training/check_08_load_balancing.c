/* SPDX-License-Identifier: BSD-2-Clause */
/* Section 8 of the training draft: what a mode changes against ECMP, of rows made by hand. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "suite/test.h"

extern const struct test test_t8_2;

/* NAN: there is none, with a reason. */
static void add(struct rows *rows, const char *strategy, unsigned trial, const char *kpi,
		double value)
{
	static char why[] = "spoilt: bytes were lost";

	struct row row = {.test = "T8.2", .trial = trial, .value = value, .n = 1};

	row.missing = isnan(value) ? why : NULL;
	strcpy(row.kpi, kpi);
	strcpy(row.strategy, strategy);
	ck_assert_int_eq(row_param_set(&row.param[row.n_params++], "qps", "4"), 0);
	ck_assert_int_eq(rows_add(rows, &row), 0);
}

/* Of the only such row; NAN: there is none. */
static double delta(const struct rows *rows, const char *strategy, const char *kpi)
{
	struct rows_filter filter = {.test = "T8.2", .kpi = kpi, .strategy = strategy, .trial = -1};
	size_t at = rows_next(rows, &filter, 0);

	if (at == rows_count(rows))
		return NAN;
	ck_assert_uint_eq(rows_next(rows, &filter, at + 1), rows_count(rows));
	return rows_at(rows, at)->value;
}

START_TEST(a_mode_against_ecmp)
{
	static const double ecmp[] = {160, 200, 600}, flowlet[] = {NAN, 299, 301};
	struct rows *rows;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	for (unsigned trial = 0; trial < 3; trial++) {
		add(rows, "ecmp", trial, "goodput", ecmp[trial]);
		add(rows, "flowlet", trial, "goodput", flowlet[trial]);
		add(rows, "ecmp", trial, "JFI", 0.5);
		add(rows, "flowlet", trial, "JFI", 0.9);
	}
	ck_assert_int_eq(test_t8_2.derive(&test_t8_2, rows), 0);
	/* in percent of ECMP's median, as appendix A has it */
	ck_assert_double_eq_tol(delta(rows, "flowlet", "goodput_delta"), 50, 1e-9);
	ck_assert_double_eq_tol(delta(rows, "flowlet", "JFI_delta"), 0.4, 1e-9);
	ck_assert(isnan(delta(rows, "ecmp", "goodput_delta")));
	ck_assert(isnan(delta(rows, "flowlet", "MMR_delta")));
	rows_close(rows);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("load_balancing");
	TCase *tcase = tcase_create("load_balancing");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, a_mode_against_ecmp);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
