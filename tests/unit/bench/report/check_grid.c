/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/grid.h"

static const struct param params[] = {
	{.name = "ratio",
	 .kind = PARAM_NAME,
	 .unit = "",
	 .what = "",
	 .level = {"6P6D,1P11D", "1P11D,2P10D,6P6D,11P1D", NULL}},
	{.name = "rate", .kind = PARAM_NUMBER, .unit = "req/s", .what = ""},
	{.name = "one", .kind = PARAM_NUMBER, .unit = "", .what = ""},
	{.name = NULL}};
static const struct kpi kpis[] = {{.name = "TTFT"}, {.name = NULL}};
static const struct test test = {.id = "6.2", .params = params, .kpis = kpis};

static void add(struct rows *rows, const char *strategy, const char *ratio, const char *rate)
{
	struct row row = {.test = "6.2", .kpi = "TTFT", .value = 1, .n_params = 3};

	strcpy(row.strategy, strategy);
	ck_assert_int_eq(row_param_set(&row.param[0], "ratio", ratio), 0);
	ck_assert_int_eq(row_param_set(&row.param[1], "rate", rate), 0);
	ck_assert_int_eq(row_param_set(&row.param[2], "one", "1"), 0);
	ck_assert_int_eq(rows_add(rows, &row), 0);
}

/* In a shuffled order, as trials come. */
static struct rows *some_rows(void)
{
	static const char *const strategies[] = {"fare-spray", "other", "wecmp-flow",
						 "ecmp-stripe"},
				 *const ratios[] = {"6P6D", "none", "11P1D", "1P11D"};
	struct rows *rows;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	for (unsigned i = 0; i < 32; i++)
		add(rows, strategies[i % 4], ratios[i / 4 % 4], i / 16 ? "10" : "20");
	return rows;
}

/* A value that trials add to rows has its unit at the axis, and is no parameter that can be set. */
START_TEST(what_trials_add_has_a_unit)
{
	static const struct param added[] = {
		{.name = "tried", .kind = PARAM_NUMBER, .unit = "req/s", .what = "rate"},
		{.name = NULL}};
	static const struct test with = {
		.id = "6.2", .params = params, .added = added, .kpis = kpis};
	struct rows *rows = some_rows();
	struct axis axis;
	char text[100];

	axis_read(&axis, &with, rows, NULL, "tried");
	ck_assert_str_eq(axis.unit, "req/s");
	axis_label(&axis, &with, text, sizeof(text));
	ck_assert_str_eq(text, "tried (req/s)");
	ck_assert_ptr_null(test_param(&with, "tried"));
	rows_close(rows);
}
END_TEST

START_TEST(names_are_in_their_declared_order)
{
	static const char *const ratios[] = {"1P11D", "6P6D", "11P1D", "none"},
				 *const strategies[] = {"ecmp-stripe", "wecmp-flow", "fare-spray",
							"other"};
	struct rows *rows = some_rows();
	struct axis axis;

	axis_read(&axis, &test, rows, NULL, "ratio");
	ck_assert_uint_eq(axis.n, 4);
	for (size_t i = 0; i < 4; i++)
		ck_assert_str_eq(axis.level[i].text, ratios[i]);
	axis_read(&axis, &test, rows, "TTFT", "strategy");
	ck_assert_uint_eq(axis.n, 4);
	for (size_t i = 0; i < 4; i++)
		ck_assert_str_eq(axis.level[i].text, strategies[i]);
	axis_read(&axis, &test, rows, "TTFT", "rate");
	ck_assert_str_eq(axis.level[0].text, "10");
	axis_read(&axis, &test, rows, NULL, NULL);
	ck_assert_uint_eq(axis_places(&axis), 1);
	rows_close(rows);
}
END_TEST

/* "rate" is on no axis: two panels. "one" has one level: none. */
START_TEST(what_is_on_no_axis_makes_panels)
{
	struct rows *rows = some_rows();
	struct rows_filter filter;
	struct grid *grid;
	struct pick pick;
	char title[100];
	double *values;

	ck_assert_int_eq(grid_create(&grid, &test, rows, "TTFT", "ratio", "strategy", NULL, NULL),
			 0);
	ck_assert_uint_eq(grid->n_panels, 2);
	grid_panel(grid, 0, &pick, title, sizeof(title));
	ck_assert_str_eq(title, "rate 10 req/s");
	pick_add(&pick, &grid->x, 0);
	filter = pick_filter(&pick);
	ck_assert_int_eq(rows_values(rows, &filter, &values), 4); /* strategies */
	free(values);
	pick_add(&pick, &grid->series, 0);
	filter = pick_filter(&pick);
	ck_assert_int_eq(rows_values(rows, &filter, &values), 1);
	free(values);
	free(grid);
	rows_close(rows);
}
END_TEST

START_TEST(panels_multiply_and_are_bounded)
{
	struct rows *rows = some_rows();
	struct grid *grid;
	struct pick pick;
	char title[100], level[8];

	ck_assert_int_eq(grid_create(&grid, &test, rows, NULL, NULL, NULL, "strategy", NULL), 0);
	ck_assert_uint_eq(grid->n_panels, 4 * 4 * 2);
	grid_panel(grid, 31, &pick, title, sizeof(title));
	ck_assert_str_eq(title, "other, ratio none, rate 20 req/s");
	free(grid);
	for (unsigned i = 0; i < 5; i++) {
		snprintf(level, sizeof(level), "%u", 30 + i);
		add(rows, "other", "none", level);
	}
	ck_assert_int_eq(grid_create(&grid, &test, rows, NULL, NULL, NULL, "strategy", NULL), 0);
	ck_assert_uint_eq(grid->n_panels, GRID_MAX_PANELS);
	ck_assert_uint_eq(grid->left_out, 4 * 4 * 7 - GRID_MAX_PANELS);
	free(grid);
	rows_close(rows);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("grid");
	TCase *tcase = tcase_create("grid");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, names_are_in_their_declared_order);
	tcase_add_test(tcase, what_trials_add_has_a_unit);
	tcase_add_test(tcase, what_is_on_no_axis_makes_panels);
	tcase_add_test(tcase, panels_multiply_and_are_bounded);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
