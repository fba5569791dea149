/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "check_bench_page.h"
#include "result_show.h"

static void add_run(struct result *result, const char *scenario, const char *test,
		    enum strategy strategy, uint64_t size_bytes, unsigned qps, double ratio)
{
	struct result_entry entry = {.scenario = scenario,
				     .test = test,
				     .strategy = strategy,
				     .size_bytes = size_bytes,
				     .qps = qps};
	struct traffic_result one = {.goodput_bps = ratio * 1e9, .optimum_bps = 1e9};

	ck_assert_int_eq(result_sample(&entry, &one), 0);
	one.goodput_bps += 1e7;
	ck_assert_int_eq(result_sample(&entry, &one), 0);
	ck_assert_int_eq(result_add_run(result, &entry), 0);
}

static struct result *filled(void)
{
	struct result *result;

	ck_assert_int_eq(result_create(&result), 0);
	add_run(result, "whole", "kv", STRATEGY_ECMP, 1024, 8, 0.5);
	add_run(result, "whole", "kv", STRATEGY_FARE_SPRAY, 1024, 8, 0.9);
	add_run(result, "hurt", "kv", STRATEGY_ECMP, 1024, 8, 0.4);
	add_run(result, "hurt", "ep", STRATEGY_ECMP, 0, 8, 0.3);
	return result;
}

static char *terminal_of(const struct result *result,
			 int (*show)(const struct result *, FILE *, struct report *))
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	ck_assert_int_eq(show(result, file, NULL), 0);
	fclose(file);
	return text;
}

/* The same figures on a terminal and on a page; a picture per test. */
START_TEST(runs)
{
	struct result *result = filled();
	struct report *report;
	char *text = terminal_of(result, result_show_runs), *page;

	ck_assert_uint_eq(times(text, "50.0..51.0"), 1);
	ck_assert_uint_eq(times(text, "\n"), 2 + 4);
	ck_assert_int_eq(report_create(&report, "t"), 0);
	ck_assert_int_eq(result_show_runs(result, NULL, report), 0);
	page = page_of(report);
	ck_assert_uint_eq(times(page, "<figure"), 2);
	ck_assert_uint_eq(times(page, "<tr>"), 1 + 4);
	ck_assert_uint_eq(times(page, "50.0..51.0"), 1);
	free(text);
	result_destroy(result);
}
END_TEST

/* More combinations than a picture can hold: words instead, and the table all the same. */
START_TEST(a_wide_sweep)
{
	struct result *result;
	struct report *report;
	char *page;

	ck_assert_int_eq(result_create(&result), 0);
	for (unsigned i = 0; i < 40; i++)
		add_run(result, "as-is", "kv", STRATEGY_ECMP, 1024 << (i % 8), 1 + i / 8, 0.5);
	ck_assert_int_eq(report_create(&report, "t"), 0);
	ck_assert_int_eq(result_show_runs(result, NULL, report), 0);
	page = page_of(report);
	ck_assert_uint_eq(times(page, "<figure"), 0);
	ck_assert_uint_eq(times(page, "too many combinations"), 1);
	ck_assert_uint_eq(times(page, "<tr>"), 1 + 40);
	result_destroy(result);
}
END_TEST

START_TEST(shifts_and_lines)
{
	const double never[] = {-1}, some[] = {20}, settled[] = {0.9};
	struct result *result;
	struct report *report;
	char *text, *page;

	ck_assert_int_eq(result_create(&result), 0);
	ck_assert_int_eq(result_add_shift(result, "<a>", STRATEGY_ECMP, never, some, settled, 1),
			 0);
	ck_assert_int_eq(
		result_add_shift(result, "<a>", STRATEGY_FARE_FLOW, some, some, settled, 1), 0);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(result_append(result, "shift_timeline",
					       json_pack("{s:s, s:s, s:f, s:f, s:[f, f]}",
							 "scenario", i ? "<a>" : "b", "strategy",
							 "ecmp-stripe", "from_ms", -10.0, "bin_ms",
							 10.0, "of_optimum", 1.0, 0.5)),
				 0);
	text = terminal_of(result, result_show_shift);
	ck_assert_uint_eq(times(text, "> window"), 1);
	ck_assert_int_eq(report_create(&report, "t"), 0);
	ck_assert_int_eq(result_show_shift(result, NULL, report), 0);
	page = page_of(report);
	ck_assert_uint_eq(times(page, "<figure"), 1 + 2);
	ck_assert_uint_eq(times(page, "<figcaption>&lt;a&gt; in mid-transfer"), 1);
	free(text);
	result_destroy(result);
}
END_TEST

/* What was not measured is not shown. */
START_TEST(nothing)
{
	struct result *result;
	char *text;

	ck_assert_int_eq(result_create(&result), 0);
	text = terminal_of(result, result_show_runs);
	ck_assert_str_eq(text, "");
	free(text);
	text = terminal_of(result, result_show_shift);
	ck_assert_str_eq(text, "");
	free(text);
	text = terminal_of(result, result_show_chaos);
	ck_assert_str_eq(text, "");
	free(text);
	result_destroy(result);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("result_show");
	TCase *tcase = tcase_create("result_show");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tcase, fake_gnuplot, no_more_gnuplot);
	tcase_add_test(tcase, runs);
	tcase_add_test(tcase, a_wide_sweep);
	tcase_add_test(tcase, shifts_and_lines);
	tcase_add_test(tcase, nothing);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
