/* SPDX-License-Identifier: BSD-2-Clause */
/* Test 12.2 of the training draft: what follows from made-up samples of a day. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "suite/test.h"

extern const struct test test_t12_2;

static void add(struct rows *rows, const char *kpi, unsigned trial, const char *process,
		double value)
{
	struct row row = {
		.test = "T12.2", .strategy = "mpi-fare", .trial = trial, .value = value, .n = 1};

	strcpy(row.kpi, kpi);
	ck_assert_int_eq(row_param_set(&row.param[row.n_params++], "size", "1M"), 0);
	if (process)
		ck_assert_int_eq(row_param_set(&row.param[row.n_params++], "process", process), 0);
	ck_assert_int_eq(rows_add(rows, &row), 0);
}

/* Minutes of samples; processes begin at 20 MiB and grow as their names say, noise is 64 KiB. */
static struct rows *grown(unsigned minutes)
{
	static const struct {
		const char *name;
		double kib_h;
	} processes[] = {{"leaks 2 MB/h", 2048},
			 {"grows 0.5 MB/h", 512},
			 {"stays", 0},
			 {"1,000 KiB/h", 1000}};
	struct rows *rows;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	for (unsigned i = 0; i <= minutes; i++) {
		add(rows, "at_s", i, NULL, 60. * i);
		for (size_t p = 0; p < 4; p++)
			add(rows, "Process_memory", i, processes[p].name,
			    20480 + processes[p].kib_h * i / 60 +
				    64 * sin(i * 12.9898 + (double)p));
	}
	ck_assert_int_eq(test_t12_2.derive(&test_t12_2, rows), 0);
	return rows;
}

static double of(const struct rows *rows, const char *kpi, const char *process, const char *part)
{
	struct row_param param[2];
	struct rows_filter filter = {
		.kpi = kpi, .n_params = part ? 2 : 1, .param = param, .trial = -1};
	size_t at;

	ck_assert_int_eq(row_param_set(&param[0], "process", process), 0);
	if (part)
		ck_assert_int_eq(row_param_set(&param[1], "part", part), 0);
	at = rows_next(rows, &filter, 0);
	return at < rows_count(rows) ? rows_at(rows, at)->value : NAN;
}

START_TEST(a_leak_is_found_and_what_is_below_is_not)
{
	struct rows *rows = grown(1440);

	ck_assert_double_eq(of(rows, "Leak", "leaks 2 MB/h", NULL), 1);
	ck_assert_double_eq(of(rows, "Leak", "grows 0.5 MB/h", NULL), 0);
	ck_assert_double_eq(of(rows, "Leak", "stays", NULL), 0);
	ck_assert_double_eq_tol(of(rows, "Memory_slope", "leaks 2 MB/h", NULL), 2048, 2);
	ck_assert_double_eq(of(rows, "Leak", "1,000 KiB/h", NULL), 1); /* 1.02 MB/h */
	ck_assert_double_eq_tol(of(rows, "Memory_at", "leaks 2 MB/h", "0.25"), 20480 + 6 * 2048,
				65);
	ck_assert_double_eq_tol(of(rows, "Memory_at", "leaks 2 MB/h", "1"), 20480 + 24 * 2048, 65);
	rows_close(rows);
}
END_TEST

/* Minutes of samples say nothing of megabytes an hour: no slope, and no verdict. */
START_TEST(a_short_run_finds_no_leak)
{
	struct rows *rows = grown(4);
	const struct rows_filter leak = {.kpi = "Leak", .trial = -1};

	ck_assert(isnan(of(rows, "Leak", "leaks 2 MB/h", NULL)));
	ck_assert_str_eq(rows_at(rows, rows_next(rows, &leak, 0))->missing,
			 "240 s: what a process takes once is no slope in less than 3600 s");
	ck_assert(isnan(of(rows, "Memory_slope", "leaks 2 MB/h", NULL)));
	rows_close(rows);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("leaks");
	TCase *tcase = tcase_create("leaks");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, a_leak_is_found_and_what_is_below_is_not);
	tcase_add_test(tcase, a_short_run_finds_no_leak);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
