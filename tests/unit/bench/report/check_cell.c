/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>

#include "bench/report/fake_tests.h"
#include "report/cell.h"

static const struct rows_filter all = {.trial = -1};

static struct rows *rows_of_values(unsigned n)
{
	struct rows *rows;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	for (unsigned i = 0; i < n; i++) {
		struct row row = {.test = "5.1", .kpi = "KV_xfer_bandwidth", .trial = i};

		row.value = i + 1;
		ck_assert_int_eq(rows_add(rows, &row), 0);
	}
	return rows;
}

static struct report_cell cell_of(const struct rows *rows, const char *kpi, char *text, size_t size)
{
	struct column column;
	struct report_cell cell;

	ck_assert_int_eq(column_parse(&column, &fake_one, kpi), 0);
	ck_assert_int_eq(cell_read(&cell, rows, &all, &column), 0);
	cell_text(&cell, text, size);
	return cell;
}

START_TEST(columns)
{
	struct column c;

	ck_assert_int_eq(column_parse(&c, &fake_one, "KV_xfer_latency@p99.9"), 0);
	ck_assert_str_eq(c.label, "KV_xfer_latency P99.9 (us)");
	ck_assert_double_eq_tol(c.quantile, 0.999, 1e-12);
	ck_assert_int_eq(column_parse(&c, &fake_one, "KV_xfer_latency@max"), 0);
	ck_assert_double_eq(c.quantile, 1);
	ck_assert_int_eq(column_parse(&c, &fake_one, "KV_xfer_latency@mean"), 0);
	ck_assert_str_eq(c.label, "KV_xfer_latency mean (us)");
	ck_assert_int_eq(column_parse(&c, &fake_one, "JFI"), 0);
	ck_assert_str_eq(c.label, "JFI");
	ck_assert_int_eq(column_parse(&c, &fake_one, "none"), -ENOENT);
	ck_assert_int_eq(column_parse(&c, &fake_one, "JFI@p"), -EINVAL);
	ck_assert_int_eq(column_parse(&c, &fake_one, "JFI@p100"), -EINVAL);
	ck_assert_int_eq(column_parse(&c, &fake_one, "JFI@p9x"), -EINVAL);
	ck_assert_int_eq(column_parse(&c, &fake_one, "JFI@q9"), -EINVAL);
}
END_TEST

START_TEST(medians_say_how_sure_they_are)
{
	struct rows *rows = rows_of_values(20);
	char text[CELL_TEXT_MAX];
	struct report_cell cell;

	cell_of(rows, "KV_xfer_bandwidth", text, sizeof(text));
	ck_assert_str_eq(text, "10.5\n[6, 15]\nn=20, CV 56%");
	rows_close(rows);
	rows = rows_of_values(6);
	cell = cell_of(rows, "KV_xfer_bandwidth", text, sizeof(text));
	ck_assert_str_eq(text, "3.5\n[1, 6]\nn=6, CV 53%"); /* the fewest that have one */
	ck_assert_double_eq(cell.coverage, 1 - 2. / 64);
	rows_close(rows);
	rows = rows_of_values(5);
	cell = cell_of(rows, "KV_xfer_bandwidth", text, sizeof(text));
	ck_assert_str_eq(text, "3\n(1 to 5)\nn=5, CV 53%"); /* no interval of 95% has five */
	ck_assert_double_eq(cell.coverage, 1 - 2. / 32);
	ck_assert_double_eq_tol(cell.cv, sqrt(2.5) / 3, 1e-12);
	rows_close(rows);
	rows = rows_of_values(1);
	cell_of(rows, "KV_xfer_bandwidth", text, sizeof(text));
	ck_assert_str_eq(text, "1\nn=1");
	cell_of(rows, "JFI", text, sizeof(text));
	ck_assert_str_eq(text, "");
	rows_close(rows);
}
END_TEST

static void add_hist(struct rows *rows, unsigned trial, unsigned n, uint64_t from)
{
	struct row row = {.test = "5.1", .kpi = "KV_xfer_latency", .trial = trial};
	struct hist hist;

	hist_init(&hist);
	for (unsigned i = 0; i < n; i++)
		hist_add(&hist, from + i * 1000);
	row.hist = &hist;
	ck_assert_int_eq(rows_add(rows, &row), 0);
}

/* 60 measurements have a median and a P95, but no P99 (that takes 300). */
START_TEST(a_percentile_that_n_does_not_support_is_the_maximum)
{
	struct rows *rows;
	char text[CELL_TEXT_MAX];
	struct report_cell cell;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	add_hist(rows, 0, 60, 1000);
	cell = cell_of(rows, "KV_xfer_latency@p99", text, sizeof(text));
	ck_assert(cell.is_max);
	ck_assert_str_eq(text, "60\nmax of 60");
	cell = cell_of(rows, "KV_xfer_latency@p95", text, sizeof(text));
	ck_assert(!cell.is_max);
	ck_assert_double_eq_tol(cell.value, 57, 1);
	cell = cell_of(rows, "KV_xfer_latency@max", text, sizeof(text));
	ck_assert_str_eq(text, "60\nn=60");
	rows_close(rows);
}
END_TEST

/* 1, 2, 3 and 10 are 4 on the mean, and 2.5 in the middle; measurements have a mean as well. */
START_TEST(means)
{
	struct rows *rows = rows_of_values(3);
	struct row row = {.test = "5.1", .kpi = "KV_xfer_bandwidth", .trial = 3, .value = 10};
	char text[CELL_TEXT_MAX];

	ck_assert_int_eq(rows_add(rows, &row), 0);
	ck_assert_double_eq(cell_of(rows, "KV_xfer_bandwidth@mean", text, sizeof(text)).value, 4);
	ck_assert_str_eq(text, "4\nn=4, CV 102%");
	ck_assert_double_eq(cell_of(rows, "KV_xfer_bandwidth", text, sizeof(text)).value, 2.5);
	add_hist(rows, 0, 2, 10000);
	add_hist(rows, 1, 1, 30000);
	ck_assert_double_eq_tol(cell_of(rows, "KV_xfer_latency@mean", text, sizeof(text)).value, 17,
				0.1);
	ck_assert_str_eq(strchr(text, '\n'), "\nn=3 in 2 trials");
	rows_close(rows);
}
END_TEST

/* Two trials that differ: the interval of their sum alone would hide it. */
START_TEST(intervals_hold_the_trials)
{
	struct rows *rows;
	char text[CELL_TEXT_MAX];
	struct report_cell cell;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	add_hist(rows, 0, 1001, 100000);
	add_hist(rows, 1, 1001, 300000);
	cell = cell_of(rows, "KV_xfer_latency@p50", text, sizeof(text));
	ck_assert_uint_eq(cell.n, 2002);
	ck_assert_uint_eq(cell.trials, 2);
	ck_assert_double_le(cell.low, 605);
	ck_assert_double_ge(cell.high, 795);
	ck_assert_ptr_nonnull(strstr(text, "n=2002 in 2 trials, CV "));
	rows_close(rows);
}
END_TEST

/*
 * 976 tokens of 20 ms and 24 of one step of 44.8: order statistics would put P99 into that step's
 * bucket, as if 24 had been measured. One trial has no interval; five have a range; six have one.
 */
START_TEST(tokens_of_one_step_are_no_interval)
{
	const struct test stepped = {
		.id = "5.1",
		.kpis = KPIS({"ITL", "ms", "SUT-E", "", BETTER_LOWER, 1e-6}),
		.correlated = NAMES("ITL"),
	};
	struct rows *rows;
	struct column column;
	struct report_cell cell;
	char text[CELL_TEXT_MAX];

	ck_assert_int_eq(column_parse(&column, &stepped, "ITL@p99"), 0);
	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	for (unsigned trial = 0; trial < 6; trial++) {
		struct row row = {.test = "5.1", .kpi = "ITL", .trial = trial};
		struct hist hist;

		hist_init(&hist);
		for (unsigned i = 0; i < 1000; i++)
			hist_add(&hist, i < 976 ? 20000000 : 44800000 + trial * 5000000);
		row.hist = &hist;
		ck_assert_int_eq(rows_add(rows, &row), 0);
		ck_assert_int_eq(cell_read(&cell, rows, &all, &column), 0);
		cell_text(&cell, text, sizeof(text));
		ck_assert(cell.is_range == (trial < 5));
		if (trial == 0)
			ck_assert_str_eq(strchr(text, '\n'), "\nn=1000");
	}
	/* each to its bucket, 1/64 */
	ck_assert_double_eq_tol(cell.low, 44.8, 0.7);
	ck_assert_double_eq_tol(cell.high, 69.8, 1.1);
	ck_assert_double_eq(cell.coverage, 1 - 2. / 64);
	rows_close(rows);
}
END_TEST

START_TEST(words_and_reasons)
{
	struct row row = {.test = "5.1", .kpi = "storm"};
	char text[CELL_TEXT_MAX];
	struct rows *rows;
	struct report_cell cell;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	row.text = (char[]){"no"};
	ck_assert_int_eq(rows_add(rows, &row), 0);
	ck_assert_int_eq(rows_add(rows, &row), 0);
	row.text = (char[]){"yes"};
	ck_assert_int_eq(rows_add(rows, &row), 0);
	row.text = NULL;
	row.missing = (char[]){"no leaf"};
	ck_assert_int_eq(rows_add(rows, &row), 0);
	strcpy(row.kpi, "JFI");
	ck_assert_int_eq(rows_add(rows, &row), 0);
	cell_of(rows, "storm", text, sizeof(text));
	ck_assert_str_eq(text, "no (2 of 3), yes (1 of 3)");
	cell = cell_of(rows, "JFI", text, sizeof(text));
	ck_assert_str_eq(text, "n/a");
	ck_assert_str_eq(cell.text, "no leaf");
	rows_close(rows);
}
END_TEST

START_TEST(numbers)
{
	static const struct {
		double value;
		const char *text;
	} cases[] = {{0, "0"},		{1234567, "1234567"},  {1000.4, "1000"},
		     {123.45, "123.5"}, {0.012345, "0.01235"}, {-2.5, "-2.5"},
		     {1e20, "1e+20"},	{0.99996, "0.99996"},  {0.999999, "0.999999"},
		     {1, "1"},		{1.00001, "1.00001"}};
	char text[32];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cell_number(cases[i].value, text, sizeof(text));
		ck_assert_str_eq(text, cases[i].text);
	}
}
END_TEST

/* A constant that follows from parameters has no n; what trials measured has, whatever it is. */
START_TEST(computed_constants_stand_alone)
{
	static const struct {
		const char *kpi;
		double value[3];
		unsigned n;
		const char *text;
	} cases[] = {
		{"line", {200}, 1, "200.0"},
		{"line", {200, 200 * (1 + 1e-15), 200}, 3, "200.0"},
		{"line", {200, 201, 202}, 3, "201.0\n(200.0 to 202.0)\nn=3, CV 0.5%"},
		{"at_s", {4, 4, 4}, 3, "4"},
		{"at_s", {4}, 1, "4\nn=1"},
		{"JFI", {0, 0, 0}, 3, "0\nn=3"},
		{"JFI", {1, 1, 1}, 3, "1\nn=3"},
	};
	char text[CELL_TEXT_MAX];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct row row = {.test = "5.1", .n = 1};
		struct rows *rows;

		ck_assert_int_eq(rows_open(&rows, NULL), 0);
		strcpy(row.kpi, cases[i].kpi);
		for (row.trial = 0; row.trial < cases[i].n; row.trial++) {
			row.value = cases[i].value[row.trial];
			ck_assert_int_eq(rows_add(rows, &row), 0);
		}
		cell_of(rows, cases[i].kpi, text, sizeof(text));
		ck_assert_str_eq(text, cases[i].text);
		rows_close(rows);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cell");
	TCase *tcase = tcase_create("cell");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, columns);
	tcase_add_test(tcase, medians_say_how_sure_they_are);
	tcase_add_test(tcase, computed_constants_stand_alone);
	tcase_add_test(tcase, a_percentile_that_n_does_not_support_is_the_maximum);
	tcase_add_test(tcase, means);
	tcase_add_test(tcase, intervals_hold_the_trials);
	tcase_add_test(tcase, tokens_of_one_step_are_no_interval);
	tcase_add_test(tcase, words_and_reasons);
	tcase_add_test(tcase, numbers);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
