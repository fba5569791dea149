/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"
#include "report/cell.h"
#include "suite/derive.h"
#include "suite/derive_interval.h"

static int ratio_derive(const struct test *test, struct rows *rows)
{
	const struct rows_filter filter = {.test = test->id, .kpi = "own", .trial = 0};
	int err = 0;

	ROWS_EACH_WHILE (!err, i, rows, &filter) {
		const struct row row = *rows_at(rows, i);
		double own = derive_median(rows, "1", "", "own", 0, NULL, 0.5);

		err = derive_value(rows, &row, "ratio",
				   own / derive_median(rows, "1", "", "base", 0, NULL, 0.5));
		if (!err)
			err = derive_value(
				rows, &row, "of_other",
				own / derive_median(rows, "2", "", "base", 0, NULL, 0.5));
	}
	return err;
}

static const struct kpi kpis[] = {KPI("ratio", "", "", "", BETTER_HIGHER, 0), LIST_END};
static const struct test ratio = {.id = "1", .kpis = kpis, .derive = ratio_derive};

static void add(struct rows *rows, const char *test, const char *kpi, unsigned trial, double value)
{
	struct row row = {.trial = trial, .value = value, .n = 1};

	strcpy(row.test, test);
	strcpy(row.kpi, kpi);
	ck_assert_int_eq(rows_add(rows, &row), 0);
}

/* n trials; noise: how far apart at most. */
static struct rows *trials(unsigned n, double noise, uint64_t *random)
{
	struct rows *rows;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	add(rows, "2", "base", 0, 5);
	for (unsigned i = 0; i < n; i++) {
		add(rows, "1", "own", i, 20 + noise * rng_uniform(random));
		add(rows, "1", "base", i, 10 + noise * rng_uniform(random));
		add(rows, "1", SUITE_DONE, i, 1);
	}
	ck_assert_int_eq(derive_with_intervals(&ratio, rows), 0);
	return rows;
}

static bool interval(struct rows *rows, const char *kpi, double *low, double *high)
{
	const struct rows_filter filter = {.test = "1", .kpi = kpi, .trial = DERIVED_TRIAL};
	size_t at = rows_next(rows, &filter, 0);
	uint64_t n;

	ck_assert_uint_lt(at, rows_count(rows));
	return derive_interval(rows, rows_at(rows, at), low, high, &n);
}

/* The true ratio of the medians, (20 + 1) / (10 + 1), is inside in 95% of the cases. */
START_TEST(bounds_hold_what_they_should)
{
	uint64_t random = 7;
	double low, high, width = 0;
	unsigned held = 0;

	for (unsigned i = 0; i < 100; i++) {
		struct rows *rows = trials(20, 2, &random);

		ck_assert(interval(rows, "ratio", &low, &high));
		ck_assert_double_lt(low, high);
		/* the standard errors of both medians, 0.22, make about 0.17 */
		ck_assert_double_lt(high - low, 0.35);
		width += (high - low) / 100;
		held += low <= 21. / 11 && 21. / 11 <= high;
		rows_close(rows);
	}
	ck_assert_uint_ge(held, 89);
	ck_assert_uint_lt(held, 100);
	ck_assert_double_eq_tol(width, 0.17, 0.04);
}
END_TEST

START_TEST(trials_that_agree)
{
	uint64_t random = 1;
	struct rows *rows = trials(DERIVED_TRIALS, 0, &random);
	double low, high;

	ck_assert(interval(rows, "ratio", &low, &high));
	ck_assert_double_eq(low, 2);
	ck_assert_double_eq(high, 2);
	/* of another test's rows, which were not drawn anew */
	ck_assert(!interval(rows, "of_other", &low, &high));
	rows_close(rows);
}
END_TEST

START_TEST(too_few_trials)
{
	uint64_t random = 1;
	struct rows *rows = trials(DERIVED_TRIALS - 1, 1, &random);
	double low, high;

	ck_assert(!interval(rows, "ratio", &low, &high));
	rows_close(rows);
}
END_TEST

/* In a report it looks as that of a median does, and the trials are counted. */
START_TEST(in_a_table)
{
	const struct rows_filter all = {.test = "1", .trial = -1};
	uint64_t random = 3;
	struct rows *rows = trials(8, 2, &random);
	struct report_cell cell;
	struct column column;
	char text[CELL_TEXT_MAX];
	double low, high;

	ck_assert(interval(rows, "ratio", &low, &high));
	ck_assert_int_eq(column_parse(&column, &ratio, "ratio"), 0);
	ck_assert_int_eq(cell_read(&cell, rows, &all, &column), 0);
	ck_assert_double_eq(cell.low, low);
	ck_assert_double_eq(cell.high, high);
	ck_assert(cell.low <= cell.value && cell.value <= cell.high && !cell.is_range);
	cell_text(&cell, text, sizeof(text));
	ck_assert_ptr_nonnull(strchr(text, '['));
	ck_assert_ptr_nonnull(strstr(text, "n=8"));
	rows_close(rows);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("derive_interval");
	TCase *tcase = tcase_create("derive_interval");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, bounds_hold_what_they_should);
	tcase_add_test(tcase, trials_that_agree);
	tcase_add_test(tcase, too_few_trials);
	tcase_add_test(tcase, in_a_table);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
