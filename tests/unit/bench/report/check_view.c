/* SPDX-License-Identifier: BSD-2-Clause */
/* What views show of rows that are not there, and what is never put together. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/check_bench_page.h"
#include "report/results_report.h"
#include "report/view.h"

/* The plain text of one view; free() it. */
static char *text_of_view(const struct test *test, const struct view *view, const struct rows *rows)
{
	char *text = NULL;
	struct doc *doc;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	ck_assert_int_eq(doc_create(&doc, "x"), 0);
	view_show(doc, test, view, rows);
	ck_assert_int_eq(doc_error(doc), 0);
	doc_print(doc, file);
	doc_destroy(doc);
	fclose(file);
	return text;
}

static const struct kpi view_kpis[] = {{"ratio", "", "SUT-E", "", BETTER_LOWER, 0},
				       {"model", "", "", "", BETTER_NONE, 0},
				       {"limit", "", "SUT-E", "", BETTER_HIGHER, 0},
				       {.name = NULL}};
static const struct param view_params[] = {PARAM("ranks", PARAM_COUNT, "", "", "2,4"),
					   PARAM("load", PARAM_NAME, "", "", "none,full"),
					   LIST_END};

static const struct test view_test = {
	.id = "5.1", .dut = "DUT-F", .params = view_params, .kpis = view_kpis};

/* A row of that test; missing where the value is not finite. */
static void view_add(struct rows *rows, const char *strategy, const char *kpi, const char *ranks,
		     const char *load, double value)
{
	struct row row = {.test = "5.1", .value = value, .n = 1};

	snprintf(row.strategy, sizeof(row.strategy), "%s", strategy);
	snprintf(row.kpi, sizeof(row.kpi), "%s", kpi);
	row.missing = isfinite(value) ? NULL : (char[]){"no model"};
	if (ranks)
		ck_assert_int_eq(row_param_set(&row.param[row.n_params++], "ranks", ranks), 0);
	ck_assert_int_eq(row_param_set(&row.param[row.n_params++], "load", load), 0);
	ck_assert_int_eq(rows_add(rows, &row), 0);
}

/* A strategy without a value, and a model that there is none of, are left out of a picture, which
 * has all others. */
START_TEST(series_without_a_point)
{
	static const struct view view = {.kind = VIEW_LINES,
					 .title = "Ratio",
					 .x = "ranks",
					 .series = "strategy",
					 .y = {"ratio"},
					 .reference = "model"};
	struct rows *rows;
	char *text;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	for (int i = 0; i < 2; i++) {
		view_add(rows, "ecmp-flow", "ratio", i ? "4" : "2", "none", NAN);
		view_add(rows, "fare-spray", "ratio", i ? "4" : "2", "none", 2 + i);
		view_add(rows, "fare-spray", "model", i ? "4" : "2", "none", NAN);
	}
	text = text_of_view(&view_test, &view, rows);
	ck_assert_ptr_null(strstr(text, "nothing that its axes can show"));
	ck_assert_ptr_null(strstr(text, "not available"));
	free(text);
	rows_close(rows);
}
END_TEST

START_TEST(lines_over_one_place)
{
	static const struct view view = {.kind = VIEW_LINES,
					 .title = "Ratio",
					 .x = "ranks",
					 .series = "strategy",
					 .y = {"ratio"},
					 .log_x = true};
	struct rows *rows;
	char *text;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	view_add(rows, "fare-spray", "ratio", "4", "none", 2);
	text = text_of_view(&view_test, &view, rows);
	ck_assert_ptr_nonnull(strstr(text, "Ratio: no picture, as there is one place on its axis "
					   "(ranks 4)"));
	free(text);
	rows_close(rows);
}
END_TEST

/* A KPI that follows from all levels of a parameter has rows without it, and its table has them. */
START_TEST(a_table_of_rows_without_a_parameter)
{
	static const struct view view = {.kind = VIEW_TABLE,
					 .title = "Limit",
					 .x = "load",
					 .series = "strategy",
					 .y = {"limit"}};
	struct rows *rows;
	char *text;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	view_add(rows, "fare-spray", "ratio", "2", "none", 1);
	view_add(rows, "fare-spray", "ratio", "4", "none", 2);
	view_add(rows, "fare-spray", "limit", NULL, "none", 4);
	text = text_of_view(&view_test, &view, rows);
	ck_assert_uint_eq(times(text, "fare-spray"), 1);
	ck_assert_ptr_null(strstr(text, "ranks"));
	free(text);
	rows_close(rows);
}
END_TEST

/* Of n/a alone: what it would be of, and why there is none. */
START_TEST(a_table_without_a_value)
{
	static const struct view view = {.kind = VIEW_TABLE,
					 .title = "Limit",
					 .x = "load",
					 .series = "strategy",
					 .y = {"limit", "model"}};
	struct rows *rows;
	char *text;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	view_add(rows, "fare-spray", "ratio", "2", "none", 1);
	view_add(rows, "fare-spray", "limit", "2", "none", NAN);
	text = text_of_view(&view_test, &view, rows);
	ck_assert_ptr_nonnull(strstr(text, "Limit: no table, as no row has a value."));
	ck_assert_ptr_nonnull(strstr(text, "no model"));
	ck_assert_ptr_null(strstr(text, "fare-spray"));
	free(text);
	rows_close(rows);
}
END_TEST

/* No middle is made of what was measured with load and without. */
START_TEST(unlike_conditions_have_lines_of_their_own)
{
	static const char *const unlike[] = {"load", NULL};
	static const struct test test = {.id = "5.1",
					 .name = "Unlike",
					 .clause = "5.1",
					 .dut = "DUT-F",
					 .summary = "Fake.",
					 .unlike = unlike,
					 .params = view_params,
					 .kpis = view_kpis};
	static const struct test *const list[] = {&test};
	const struct results_tests tests = {list, 1};
	struct results results = {0};
	char *text = NULL, *at;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	ck_assert_int_eq(rows_open(&results.rows, NULL), 0);
	view_add(results.rows, "fare-spray", "ratio", "2", "none", 1);
	view_add(results.rows, "fare-spray", "ratio", "4", "none", 3);
	view_add(results.rows, "fare-spray", "ratio", "2", "full", 21);
	view_add(results.rows, "fare-spray", "ratio", "4", "full", 23);
	view_add(results.rows, "fare-spray", "model", "4", "full", NAN);
	ck_assert_int_eq(results_report(&results, &tests, NULL, file), 0);
	fclose(file);
	at = strstr(text, "== KPI summary ==");
	ck_assert_ptr_nonnull(at);
	ck_assert_ptr_nonnull(strstr(at, "ratio, load none"));
	ck_assert_ptr_nonnull(strstr(at, "ratio, load full"));
	ck_assert_ptr_nonnull(strstr(at, "lowest 1, highest 3 of 2"));
	ck_assert_ptr_nonnull(strstr(at, "lowest 21, highest 23 of 2"));
	ck_assert_ptr_null(strstr(at, "of 4, n=4"));
	ck_assert_ptr_null(strstr(at, "model, load")); /* n/a alone */
	free(text);
	results_close(&results);
}
END_TEST

/* A reason that several KPIs have at the same cells is said once. */
START_TEST(a_reason_is_said_once)
{
	static const struct view view = {.kind = VIEW_TABLE,
					 .title = "Table",
					 .x = "ranks",
					 .series = "strategy",
					 .y = {"ratio", "model", "limit"}};
	struct rows *rows;
	char *text;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	view_add(rows, "fare-spray", "ratio", "2", "none", NAN);
	view_add(rows, "fare-spray", "model", "2", "none", NAN);
	view_add(rows, "fare-spray", "limit", "4", "none", NAN);
	text = text_of_view(&view_test, &view, rows);
	ck_assert_ptr_nonnull(strstr(text, "n/a (ratio, model): no model."));
	ck_assert_ptr_nonnull(strstr(text, "n/a (limit): no model."));
	ck_assert_uint_eq(times(text, "no model."), 2);
	free(text);
	rows_close(rows);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("view");
	TCase *tcase = tcase_create("view");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tcase, fake_gnuplot, no_more_gnuplot);
	tcase_add_test(tcase, series_without_a_point);
	tcase_add_test(tcase, lines_over_one_place);
	tcase_add_test(tcase, a_table_of_rows_without_a_parameter);
	tcase_add_test(tcase, a_table_without_a_value);
	tcase_add_test(tcase, unlike_conditions_have_lines_of_their_own);
	tcase_add_test(tcase, a_reason_is_said_once);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
