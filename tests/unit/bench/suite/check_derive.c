/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite/derive.h"

static struct row_param level;

/* n measurements between `from` and `from + n`, at a level. */
static void add(struct rows *rows, const char *text, unsigned trial, unsigned n, uint64_t from)
{
	struct row row = {.test = "10.4",
			  .strategy = "fare-spray",
			  .kpi = "TTFT",
			  .trial = trial,
			  .n_params = 1,
			  .n = n};
	struct hist hist;

	hist_init(&hist);
	for (unsigned i = 0; i < n; i++)
		hist_add(&hist, from + i);
	row.value = NAN;
	row.hist = &hist;
	ck_assert_int_eq(row_param_set(&row.param[0], "background", text), 0);
	level = row.param[0];
	ck_assert_int_eq(rows_add(rows, &row), 0);
}

static struct rows *empty(void)
{
	struct rows *rows;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	return rows;
}

/* Trials of a level are one distribution. */
START_TEST(a_quantile_with_its_interval)
{
	struct rows *rows = empty();
	struct curve_point point;

	add(rows, "50", 0, 2000, 1000000);
	add(rows, "50", 1, 2000, 1002000);
	ck_assert(derive_point(rows, "10.4", "fare-spray", "TTFT", &level, 0.99, &point));
	ck_assert_double_eq(point.x, 50);
	ck_assert_double_eq_tol(point.median / 1003960, 1, 0.01);
	ck_assert_double_lt(point.low, point.high);
	ck_assert(isfinite(point.low) && isfinite(point.high));
	ck_assert_double_eq(derive_median(rows, "10.4", "fare-spray", "TTFT", 1, &level, 0.99),
			    point.median);
	rows_close(rows);
}
END_TEST

/* 50 measurements say nothing of a P99: such a point is outside of no band, and makes none. */
START_TEST(too_few_for_the_quantile)
{
	struct rows *rows = empty();
	struct curve_point point[2];

	add(rows, "0", 0, 50, 1000);
	ck_assert(derive_point(rows, "10.4", "fare-spray", "TTFT", &level, 0.99, &point[0]));
	add(rows, "90", 0, 5000, 1000000);
	ck_assert(derive_point(rows, "10.4", "fare-spray", "TTFT", &level, 0.99, &point[1]));
	ck_assert(isinf(point[0].low) && isinf(point[0].high));
	ck_assert_double_nan(derive_median(rows, "10.4", "fare-spray", "TTFT", 1, &level, 0.99999));
	ck_assert_uint_eq(curve_inflection(point, 2, 1, 0.1), 2);
	rows_close(rows);
}
END_TEST

START_TEST(nothing_there)
{
	struct rows *rows = empty();
	struct curve_point point;

	add(rows, "0", 0, 50, 1000);
	ck_assert(!derive_point(rows, "10.4", "ecmp-flow", "TTFT", &level, 0.99, &point));
	ck_assert_double_nan(derive_median(rows, "10.4", "ecmp-flow", "TTFT", 1, &level, 0.99));
	rows_close(rows);
}
END_TEST

static void add_value(struct rows *rows, const char *strategy, const char *text, const char *kpi,
		      double value, char *missing)
{
	struct row row = {.test = "10.4", .n = 1, .n_params = 1, .value = value};

	snprintf(row.strategy, sizeof(row.strategy), "%s", strategy);
	snprintf(row.kpi, sizeof(row.kpi), "%s", kpi);
	row.missing = missing;
	ck_assert_int_eq(row_param_set(&row.param[0], "background", text), 0);
	ck_assert_int_eq(rows_add(rows, &row), 0);
}

/* Why that KPI is missing there; "" : it is not, or no row says anything. */
static const char *why(const struct rows *rows, const char *strategy, const char *text,
		       const char *kpi)
{
	struct row_param param;
	struct rows_filter filter = {.test = "10.4",
				     .strategy = strategy,
				     .kpi = kpi,
				     .n_params = 1,
				     .param = &param,
				     .trial = -1};
	size_t at;

	ck_assert_int_eq(row_param_set(&param, "background", text), 0);
	at = rows_next(rows, &filter, 0);
	return at < rows_count(rows) && rows_at(rows, at)->missing ? rows_at(rows, at)->missing
								   : "";
}

/* degradation: nothing at all. inflection: at one level, which the test means alone. efficiency: a
 * reason at one level, which holds for the others. over: of one strategy alone. */
START_TEST(what_has_no_row_says_why)
{
	static const struct kpi kpis[] = {{"degradation", "", "", "", BETTER_LOWER, 0},
					  {"inflection", "", "", "", BETTER_LOWER, 0},
					  {"efficiency", "", "", "", BETTER_LOWER, 0},
					  {"over", "", "", "", BETTER_LOWER, 0},
					  {"Simulated_x", "", "", "", BETTER_LOWER, 0},
					  {.name = NULL}};
	static const struct test test = {.id = "10.4", .kpis = kpis},
				 own = {.id = "mine", .kpis = kpis};
	static const char *const strategies[] = {"ecmp-flow", "fare-spray"};
	char few[] = "4 GPUs";
	struct rows *rows = empty();
	size_t before;

	for (unsigned i = 0; i < 2; i++)
		for (unsigned k = 0; k < 4; k++)
			add_value(rows, strategies[i], k % 2 ? "90" : "0", SUITE_DONE, 1, NULL);
	add_value(rows, "fare-spray", "0", "inflection", 3, NULL);
	add_value(rows, "ecmp-flow", "0", "inflection", 3, NULL);
	add_value(rows, "ecmp-flow", "90", "efficiency", NAN, few);
	add_value(rows, "fare-spray", "0", "efficiency", 2, NULL);
	add_value(rows, "fare-spray", "90", "over", 2, NULL);
	before = rows_count(rows);
	ck_assert_int_eq(derive_missing(&own, rows), 0);
	ck_assert_uint_eq(rows_count(rows), before);
	ck_assert_int_eq(derive_missing(&test, rows), 0);
	/* of both strategies at both levels; of one at one; of one at both */
	ck_assert_uint_eq(rows_count(rows), before + 4 + 1 + 2);
	ck_assert_str_eq(why(rows, "fare-spray", "90", "degradation"),
			 "nothing gave a value: 2 trials or their measurements are too few, or "
			 "what it follows from has none");
	ck_assert_str_eq(why(rows, "ecmp-flow", "0", "efficiency"), "4 GPUs");
	ck_assert_str_eq(why(rows, "fare-spray", "90", "inflection"), "");
	ck_assert_ptr_nonnull(strstr(why(rows, "ecmp-flow", "90", "over"), "compares"));
	ck_assert_int_eq(derive_missing(&test, rows), 0); /* once is enough */
	ck_assert_uint_eq(rows_count(rows), before + 7);
	rows_close(rows);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("derive");
	TCase *tcase = tcase_create("derive");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, a_quantile_with_its_interval);
	tcase_add_test(tcase, too_few_for_the_quantile);
	tcase_add_test(tcase, nothing_there);
	tcase_add_test(tcase, what_has_no_row_says_why);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
