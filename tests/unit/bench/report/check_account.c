/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>

#include "bench/report/fake_tests.h"
#include "report/account.h"
#include "suite/trial.h"

static const struct results_tests tests = {fake_tests, 2};

static void add(struct rows *rows, const char *size, const char *kpi, unsigned trial, char *text)
{
	struct row row = {.test = "5.1", .strategy = "fare-spray", .trial = trial, .n = 1};

	snprintf(row.kpi, sizeof(row.kpi), "%s", kpi);
	row.value = text ? NAN : trial + (*size == '4' ? 0 : 12.5);
	row.text = text;
	row.n_params = 1;
	ck_assert_int_eq(row_param_set(&row.param[0], "size", size), 0);
	ck_assert_int_eq(rows_add(rows, &row), 0);
}

/* Two combinations: three trials of one, two of the other; three attempts that do not count. */
START_TEST(what_was_attempted_and_what_counts)
{
	char busy[] = "busy", late[] = "late";
	struct results results = {0};
	struct account account;
	json_t *root, *test;

	ck_assert_int_eq(rows_open(&results.rows, NULL), 0);
	for (unsigned i = 0; i < 3; i++)
		add(results.rows, "1M", SUITE_DONE, i, NULL);
	add(results.rows, "4M", SUITE_EXCLUDED, 0, busy);
	add(results.rows, "4M", SUITE_EXCLUDED, 0, late);
	add(results.rows, "4M", SUITE_DONE, 0, NULL);
	add(results.rows, "4M", SUITE_EXCLUDED, 1, busy);
	add(results.rows, "4M", SUITE_KEPT, 1, busy);
	add(results.rows, "4M", SUITE_DONE, 1, NULL);
	account_read(&account, results.rows);
	ck_assert_uint_eq(account.combinations, 2);
	ck_assert_uint_eq(account.least, 2);
	ck_assert_uint_eq(account.most, 3);
	ck_assert_uint_eq(account.included, 5);
	ck_assert_uint_eq(account.excluded, 3);
	ck_assert_uint_eq(account.kept, 1);
	ck_assert_uint_eq(account.not_possible + account.spoilt, 0);
	ck_assert_double_eq(account.shortest_s, 0);
	ck_assert_double_eq(account.longest_s, 14.5);
	results.run = json_pack("{ss}", "profile", "lab");
	root = account_json(&results, &tests);
	test = json_object_get(root, "5.1");
	ck_assert_double_eq(json_number_value(json_object_get(test, "window_s")), 4.5);
	ck_assert_double_eq(json_number_value(json_object_get(test, "draft_window_s")), 0);
	ck_assert_double_eq(json_number_value(json_object_get(test, "longest_s")), 14.5);
	ck_assert_int_eq(json_integer_value(json_object_get(test, "attempted")), 8);
	ck_assert_str_eq(json_string_value(json_object_get(test, "reasons")),
			 "made again: 2: busy; 1: late");
	ck_assert_uint_eq(json_object_size(root), 1);
	json_decref(root);
	results_close(&results);
}
END_TEST

static void add_missing(struct rows *rows, const char *size, unsigned trial, char *why)
{
	struct row row = {.test = "5.1", .strategy = "fare-spray", .trial = trial, .value = NAN};

	strcpy(row.kpi, "KV_xfer_bandwidth");
	row.missing = why;
	row.value = why ? NAN : 3;
	row.n_params = 1;
	ck_assert_int_eq(row_param_set(&row.param[0], "size", size), 0);
	ck_assert_int_eq(rows_add(rows, &row), 0);
	add(rows, size, SUITE_DONE, trial, NULL);
}

/* A trial of which nothing was measured is not among those that were; all four add up. */
START_TEST(what_never_ran_is_not_measured)
{
	char cannot[] = "no such link", lost[] = TRIAL_SPOILT "2 bytes were sent", busy[] = "busy";
	struct results results = {0};
	struct account account;
	json_t *root, *test;

	ck_assert_int_eq(rows_open(&results.rows, NULL), 0);
	add_missing(results.rows, "1M", 0, NULL);
	add_missing(results.rows, "1M", 1, lost);
	add_missing(results.rows, "4M", 0, cannot);
	add_missing(results.rows, "4M", 1, cannot);
	add(results.rows, "1M", SUITE_EXCLUDED, 2, busy);
	add_missing(results.rows, "1M", 2, NULL);
	account_read(&account, results.rows);
	ck_assert_uint_eq(account.included, 2);
	ck_assert_uint_eq(account.not_possible, 2);
	ck_assert_uint_eq(account.spoilt, 1);
	ck_assert_uint_eq(account.excluded, 1);
	ck_assert_uint_eq(account_attempted(&account), 6);
	ck_assert_uint_eq(account.combinations, 1);
	ck_assert_uint_eq(account.all, 2);
	ck_assert_uint_eq(account.least, 2);
	ck_assert_uint_eq(account.most, 2);
	root = account_json(&results, &tests);
	test = json_object_get(root, "5.1");
	ck_assert_int_eq(json_integer_value(json_object_get(test, "attempted")), 6);
	ck_assert_int_eq(json_integer_value(json_object_get(test, "not_possible")), 2);
	ck_assert_str_eq(json_string_value(json_object_get(test, "reasons")),
			 "1: spoilt: 2 bytes were sent; 2: no such link; made again: 1: busy");
	json_decref(root);
	results_close(&results);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("account");
	TCase *tcase = tcase_create("account");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, what_was_attempted_and_what_counts);
	tcase_add_test(tcase, what_never_ran_is_not_measured);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
