/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/rows.h"
#include "suite/test.h"
#include "suite/trial.h"

extern const struct test test_t9_4;

static struct rows *rows;
static struct trial trial;

/* A row of T9.1: a value, or why there is none. */
static void add(const char *kpi, double value, char *missing)
{
	struct row row = {.test = "T9.1", .strategy = "mpi-fare", .n_params = 1, .n = !missing};

	snprintf(row.kpi, sizeof(row.kpi), "%s", kpi);
	row.value = value;
	row.missing = missing;
	ck_assert_int_eq(row_param_set(&row.param[0], "size", "8M"), 0);
	ck_assert_int_eq(rows_add(rows, &row), 0);
}

static const struct row *of(const char *kpi)
{
	for (unsigned i = 0; i < trial.n_rows; i++)
		if (strcmp(trial.row[i].kpi, kpi) == 0)
			return &trial.row[i];
	ck_abort_msg("no row of %s", kpi);
}

/* The value is T9.1's, and so is a reason; where it says nothing it was not measured. */
START_TEST(values_and_reasons_are_those_of_the_test)
{
	char why[] = "this mode of leaves is not simulated";

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	add("BusBW", 3.5, NULL);
	add("Simulated_BusBW", NAN, why);
	trial = (struct trial){
		.test = &test_t9_4, .strategy_name = "mpi-fare", .rows = rows, .n_params = 2};
	ck_assert_int_eq(row_param_set(&trial.param[0], "collective", "allreduce"), 0);
	ck_assert_int_eq(row_param_set(&trial.param[1], "size", "8M"), 0);
	ck_assert_int_eq(test_t9_4.run(&trial), 0);
	ck_assert_double_eq(of("BusBW")->value, 3.5);
	ck_assert_str_eq(of("Simulated_BusBW")->missing,
			 "T9.1: this mode of leaves is not simulated");
	ck_assert_str_eq(of("of_optimum")->missing, "T9.1 was not measured in this run");
	trial_fini(&trial);
	rows_close(rows);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("T9.4");
	TCase *tcase = tcase_create("summary");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, values_and_reasons_are_those_of_the_test);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
