/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <math.h>
#include <string.h>

#include "suite/kpis.h"
#include "suite/trial.h"

static const struct kpi kpis[] = {{"latency", "us", "DUT-N", "", BETTER_LOWER, 1e-3},
				  KPI_MODEL("latency", "us"),
				  {.name = NULL}};
static const struct test test = {.id = "0.1", .kpis = kpis};

static struct trial begin(double clock_error_ns)
{
	return (struct trial){.test = &test, .strategy_name = "", .clock_error_ns = clock_error_ns};
}

static void some(struct hist *hist)
{
	hist_init(hist);
	for (unsigned i = 0; i < 100; i++)
		hist_add(hist, 100000); /* 100 us */
}

START_TEST(one_clock_measures_any_time)
{
	struct trial t = begin(0);
	struct hist hist;

	some(&hist);
	trial_one_way(&t, "latency", &hist);
	ck_assert_uint_eq(t.n_rows, 1);
	ck_assert_ptr_nonnull(t.row[0].hist);
	trial_fini(&t);
}
END_TEST

/* A clock that is off by more than a tenth of what it should measure gives no figure. */
START_TEST(clocks_that_differ_measure_nothing_short)
{
	struct trial t = begin(9000), u = begin(11000), v = begin(INFINITY);
	struct hist hist;

	some(&hist);
	trial_one_way(&t, "latency", &hist);
	ck_assert_ptr_nonnull(t.row[0].hist);
	trial_one_way(&u, "latency", &hist);
	ck_assert_ptr_null(u.row[0].hist);
	ck_assert_ptr_nonnull(strstr(u.row[0].missing, "within 11.0 us only, for times of 1"));
	trial_one_way(&v, "latency", &hist);
	ck_assert_ptr_nonnull(v.row[0].missing);
	trial_one_way_value(&v, "latency", 5, 1, 1e12);
	ck_assert_ptr_nonnull(v.row[1].missing);
	trial_one_way_value(&t, "latency", 5, 1, 100000);
	ck_assert_double_eq(t.row[1].value, 5);
	trial_fini(&t);
	trial_fini(&u);
	trial_fini(&v);
}
END_TEST

START_TEST(nothing_measured_is_said_as_such)
{
	struct trial t = begin(1e9);
	struct hist hist;

	hist_init(&hist);
	trial_one_way(&t, "latency", &hist);
	ck_assert_ptr_nonnull(strstr(t.row[0].missing, "was seen to end"));
	trial_fini(&t);
}
END_TEST

/* 100 us measured, 80 computed: 1.25; where there is no model its reason stands. */
START_TEST(a_model_beside_what_was_measured)
{
	struct trial t = begin(0), u = begin(0);
	struct hist hist;

	some(&hist);
	trial_hist(&t, "latency", &hist);
	trial_model(&t, "latency", 80, "");
	ck_assert_str_eq(t.row[1].kpi, "model");
	ck_assert_double_eq(t.row[1].value, 80);
	ck_assert_str_eq(t.row[2].kpi, "model_ratio");
	ck_assert_double_eq_tol(t.row[2].value, 1.25, .01);
	trial_model(&u, "latency", NAN, "no reason");
	ck_assert_str_eq(u.row[0].missing, "no reason");
	ck_assert_str_eq(u.row[1].missing, "no reason");
	trial_model(&u, "latency", 80, "");
	ck_assert_str_eq(u.row[3].missing, "latency was not measured");
	trial_fini(&t);
	trial_fini(&u);
}
END_TEST

/* A trial in which something was lost has no figure, and says why. */
START_TEST(a_spoilt_trial_has_no_figure)
{
	struct trial t = begin(0);

	trial_value(&t, "latency", 5, 1);
	trial_spoil(&t, "7 tokens came from workers, and of requests are 6");
	ck_assert_uint_eq(t.n_rows, 3);
	for (unsigned i = 0; i < t.n_rows; i++)
		ck_assert_str_eq(t.row[i].missing,
				 "spoilt: 7 tokens came from workers, and of requests are 6");
	trial_fini(&t);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("trial");
	TCase *tcase = tcase_create("trial");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, one_clock_measures_any_time);
	tcase_add_test(tcase, clocks_that_differ_measure_nothing_short);
	tcase_add_test(tcase, nothing_measured_is_said_as_such);
	tcase_add_test(tcase, a_model_beside_what_was_measured);
	tcase_add_test(tcase, a_spoilt_trial_has_no_figure);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
