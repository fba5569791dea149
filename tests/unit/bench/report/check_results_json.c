/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <math.h>

#include "bench/report/fake_tests.h"
#include "report/results_json.h"
#include "figures/selector.h"

static const struct results_tests tests = {fake_tests, 2};

static void add(struct rows *rows, const char *size, unsigned trial, const char *kpi, double value)
{
	struct row row = {.trial = trial, .n = 1, .n_params = 1, .value = value};

	strcpy(row.test, fake_tests[0]->id);
	strcpy(row.strategy, "fare-spray");
	strcpy(row.kpi, kpi);
	ck_assert_int_eq(row_param_set(&row.param[0], "size", size), 0);
	if (isnan(value))
		row.missing = strdup("nothing was seen");
	ck_assert_int_eq(rows_add(rows, &row), 0);
	free(row.missing);
}

/* The last of what it picks. */
static double pick(const json_t *root, const char *expression)
{
	char reason[128];
	double value[8];
	int n = selector_numbers(expression, root, value, 8, reason, sizeof(reason));

	ck_assert_msg(n >= 1, "%s: %s", expression, reason);
	return value[n - 1];
}

/* Trials by themselves, medians of trials, percentiles of all that a cell's trials hold. */
START_TEST(trials_and_cells)
{
	struct results results = {0};
	struct row row = {.n = 3, .n_params = 1, .value = NAN};
	json_t *root;
	char path[160];

	ck_assert_int_eq(rows_open(&results.rows, NULL), 0);
	for (unsigned trial = 0; trial < 3; trial++) {
		add(results.rows, "64K", trial, "KV_xfer_bandwidth", 10.0 + trial);
		add(results.rows, "1M", trial, "KV_xfer_bandwidth", 100.0 - trial);
		add(results.rows, "1M", trial, "JFI", trial == 1 ? NAN : 0.5);
	}
	strcpy(row.test, fake_tests[0]->id);
	strcpy(row.strategy, "fare-spray");
	strcpy(row.kpi, "KV_xfer_latency");
	ck_assert_int_eq(row_param_set(&row.param[0], "size", "1M"), 0);
	row.hist = malloc(sizeof(*row.hist));
	hist_init(row.hist);
	hist_add(row.hist, 1000);
	hist_add(row.hist, 3000);
	hist_add(row.hist, 9000);
	ck_assert_int_eq(rows_add(results.rows, &row), 0);
	free(row.hist);
	root = results_json(&results, &tests);
	ck_assert_ptr_nonnull(root);
	/* ids hold points: a step of a path does not */
	snprintf(path, sizeof(path), "%s", fake_tests[0]->id);
	ck_assert_int_eq(json_array_size(json_object_get(json_object_get(root, "trials"), path)),
			 6);
	ck_assert_int_eq(json_array_size(json_object_get(json_object_get(root, "cells"), path)), 2);
	json_object_set(root, "t", json_object_get(json_object_get(root, "trials"), path));
	json_object_set(root, "c", json_object_get(json_object_get(root, "cells"), path));
	ck_assert_double_eq(pick(root, "t[size=64K].KV_xfer_bandwidth"), 12);
	ck_assert_double_eq(pick(root, "c[size=64K].KV_xfer_bandwidth"), 11);
	ck_assert_double_eq(pick(root, "c[size=1M].KV_xfer_bandwidth"), 99);
	ck_assert_double_eq_tol(pick(root, "c[size=1M].KV_xfer_latency@max"), 9, 0.3);
	ck_assert_double_eq(pick(root, "c[size=1M].KV_xfer_latency@n"), 3);
	/* what was not measured is null, and is passed over */
	ck_assert_double_eq(pick(root, "t[size=1M].JFI"), 0.5);
	ck_assert(json_is_null(
		json_object_get(json_array_get(json_object_get(root, "t"), 3), "JFI")));
	json_decref(root);
	results_close(&results);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("results_json");
	TCase *tcase = tcase_create("results_json");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, trials_and_cells);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
