/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <math.h>
#include <string.h>

#include "procedure/soak.h"

static void add(struct rows *rows, const char *kpi, unsigned trial, double value)
{
	struct row row = {
		.test = "13.1", .strategy = "fare-spray", .trial = trial, .value = value, .n = 1};

	strcpy(row.kpi, kpi);
	ck_assert_int_eq(rows_add(rows, &row), 0);
}

/* Samples at 0 and 4.3 s of 4.3 s each: a run that goes on begins at 8.6, not at 0 again. */
START_TEST(a_soak_goes_on_where_it_ended)
{
	struct rows *rows;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	ck_assert_double_eq(soak_end_s(rows, "13.1"), 0);
	add(rows, "at_s", 0, 0);
	add(rows, "_trial_s", 0, 4.3);
	add(rows, "at_s", 1, 4.3);
	add(rows, "_trial_s", 1, 4.3);
	ck_assert_double_eq_tol(soak_end_s(rows, "13.1"), 8.6, 1e-9);
	ck_assert_double_eq(soak_end_s(rows, "13.2"), 0);
	rows_close(rows);
}
END_TEST

/* Stopped and resumed twice, 2 ms worse every hour: one axis, and one slope over all of it. */
START_TEST(a_slope_over_a_soak_that_was_resumed_twice)
{
	struct rows_filter slope = {.test = "13.1", .kpi = "slope_TTFT", .trial = -1};
	struct rows *rows;
	unsigned trial = 0;
	size_t at;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	for (int session = 0; session < 3; session++) {
		double first_s = soak_end_s(rows, "13.1");

		ck_assert_double_eq_tol(first_s, session * 2400, 1e-9);
		for (int i = 0; i < 4; i++, trial++) {
			double at_s = first_s + i * 600;

			add(rows, "at_s", trial, at_s);
			add(rows, "TTFT_p99", trial, 100 + 2 * at_s / 3600);
			add(rows, "_trial_s", trial, 600);
		}
	}
	ck_assert_int_eq(soak_slope(rows, "13.1", "TTFT_p99", "slope_TTFT"), 0);
	at = rows_next(rows, &slope, 0);
	ck_assert_uint_lt(at, rows_count(rows));
	ck_assert_double_eq_tol(rows_at(rows, at)->value, 2, 1e-9);
	/* 100 to 103.67 ms around 101.83 */
	ck_assert_int_eq(soak_variation(rows, "13.1", "TTFT_p99", "TTFT_variation"), 0);
	slope.kpi = "TTFT_variation";
	at = rows_next(rows, &slope, 0);
	ck_assert_uint_lt(at, rows_count(rows));
	ck_assert_double_eq_tol(rows_at(rows, at)->value, 3.6007, 1e-3);
	rows_close(rows);
}
END_TEST

static const struct row *found(const struct rows *rows, const char *kpi)
{
	const struct rows_filter filter = {.test = "13.1", .kpi = kpi, .trial = -1};
	size_t at = rows_next(rows, &filter, 0);

	ck_assert_msg(at < rows_count(rows), "no %s", kpi);
	return rows_at(rows, at);
}

/* Medians of 120, 130, 115 and 200 ms at 0, 10, 20 and 30 s would be 8,000 ms an hour. */
START_TEST(a_short_soak_has_no_trend)
{
	static const double ms[] = {120, 130, 115, 200};
	const struct rows_filter length = {.kpi = "soak_length", .trial = -1};
	struct row few;
	struct rows *rows;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	for (unsigned i = 0; i < 4; i++) {
		add(rows, "at_s", i, i * 10);
		add(rows, "TTFT_median", i, ms[i]);
		add(rows, "_trial_s", i, 4.5);
	}
	ck_assert_int_eq(soak_slope(rows, "13.1", "TTFT_median", "slope_TTFT_median"), 0);
	ck_assert_str_eq(found(rows, "slope_TTFT_median")->missing,
			 "4 samples within 30 s carry no trend per hour (10 within 600 s do)");
	ck_assert_int_eq(soak_length(rows, "13.1"), 0);
	ck_assert_double_eq_tol(found(rows, "soak_length")->value, 34.5, 1e-9);
	rows_close(rows);
	/* no sample carries a P99: that is said as well */
	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	add(rows, "at_s", 0, 0);
	few = (struct row){.test = "13.1", .strategy = "fare-spray", .kpi = "TTFT_p99"};
	few.missing = (char[]){"too few"};
	ck_assert_int_eq(rows_add(rows, &few), 0);
	ck_assert_int_eq(soak_slope(rows, "13.1", "TTFT_p99", "slope_TTFT"), 0);
	ck_assert_str_eq(found(rows, "slope_TTFT")->missing,
			 "0 samples within 0 s carry no trend per hour (10 within 600 s do)");
	ck_assert_int_eq(soak_variation(rows, "13.1", "TTFT_p99", "TTFT_variation"), 0);
	ck_assert_ptr_nonnull(found(rows, "TTFT_variation")->missing);
	/* the same sample again, as in a resample of trials */
	add(rows, "at_s", 1, 0);
	ck_assert_int_eq(soak_length(rows, "13.1"), 0);
	ck_assert_uint_eq(rows_next(rows, &length, 0), rows_count(rows));
	rows_close(rows);
}
END_TEST

/* Both: samples enough, and time enough. */
START_TEST(a_trend_takes_samples_and_time)
{
	double at_s[12], value[12];
	struct soak_series s = {at_s, value, 12};

	for (int i = 0; i < 12; i++) {
		at_s[i] = i * 60;
		value[i] = i;
	}
	ck_assert(soak_carries_trend(&s));
	ck_assert_double_eq_tol(soak_fit(&s), 60, 1e-9);
	s.n = 9;
	ck_assert(!soak_carries_trend(&s));
	s.n = 10; /* 0 to 540 s */
	ck_assert(!soak_carries_trend(&s));
	ck_assert(isnan(soak_fit(&s)));
	s.n = 11;
	ck_assert(soak_carries_trend(&s));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("soak");
	TCase *tcase = tcase_create("soak");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, a_soak_goes_on_where_it_ended);
	tcase_add_test(tcase, a_slope_over_a_soak_that_was_resumed_twice);
	tcase_add_test(tcase, a_short_soak_has_no_trend);
	tcase_add_test(tcase, a_trend_takes_samples_and_time);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
