/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/hist.h"
#include "core/stats.h"

static struct hist h;

START_TEST(buckets_cover_all_values_without_gaps)
{
	ck_assert_uint_eq(hist_low(0), 0);
	for (unsigned i = 0; i + 1 < HIST_BUCKETS; i++) {
		ck_assert_uint_eq(hist_high(i), hist_low(i + 1));
		/* at most 1/64 of the value wide */
		ck_assert_uint_le(hist_high(i) - hist_low(i),
				  hist_low(i) < 128 ? 1 : hist_low(i) / 64);
	}
	ck_assert_uint_eq(hist_high(HIST_BUCKETS - 1), UINT64_C(1) << 63);
}
END_TEST

START_TEST(every_value_is_in_its_own_bucket)
{
	for (unsigned i = 0; i < HIST_BUCKETS; i++) {
		hist_init(&h);
		hist_add(&h, hist_low(i));
		hist_add(&h, hist_high(i) - 1);
		ck_assert_uint_eq(h.bucket[i], 2);
	}
	hist_init(&h);
	hist_add(&h, UINT64_MAX);
	ck_assert_uint_eq(h.bucket[HIST_BUCKETS - 1], 1);
	ck_assert_uint_eq(h.max, INT64_MAX);
}
END_TEST

START_TEST(nothing_has_no_values)
{
	double low, high;

	hist_init(&h);
	ck_assert_double_eq(hist_quantile(&h, 0.5), 0);
	ck_assert_double_eq(hist_mean(&h), 0);
	ck_assert(!hist_quantile_interval(&h, 0.5, &low, &high));
}
END_TEST

/* small values are exact, so that both conventions must give the same number */
START_TEST(quantiles_are_those_of_stats)
{
	const double v[] = {9, 1, 5, 3, 7, 100, 42, 8};
	struct stats_summary s;

	hist_init(&h);
	for (size_t i = 0; i < 8; i++)
		hist_add(&h, (uint64_t)v[i]);
	ck_assert_int_eq(stats_summarise(v, 8, &s), 0);
	ck_assert_double_eq(hist_quantile(&h, 0), s.min);
	ck_assert_double_eq(hist_quantile(&h, 0.25), s.q1);
	ck_assert_double_eq(hist_quantile(&h, 0.5), s.median);
	ck_assert_double_eq(hist_quantile(&h, 0.75), s.q3);
	ck_assert_double_eq(hist_quantile(&h, 1), s.max);
	ck_assert_double_eq(hist_mean(&h), s.mean);
}
END_TEST

START_TEST(quantiles_of_large_values_are_within_a_bucket)
{
	hist_init(&h);
	for (uint64_t i = 1; i <= 10001; i++)
		hist_add(&h, i * 1000);
	for (unsigned p = 0; p <= 1000; p++) {
		double q = p / 1000.0, exact = (1 + q * 10000) * 1000;

		ck_assert_double_eq_tol(hist_quantile(&h, q), exact, exact / 64);
	}
	ck_assert_double_eq(hist_quantile(&h, 1), 10001000);
}
END_TEST

/* n = 20: 6th smallest to 6th largest, as any table of the sign test, and as stats.h */
START_TEST(interval_of_the_median_is_that_of_stats)
{
	struct stats_summary s;
	double v[1000], low, high;

	hist_init(&h);
	for (unsigned i = 0; i < 100; i++) {
		v[i] = i + 1;
		hist_add(&h, i + 1);
		ck_assert_int_eq(stats_summarise(v, i + 1, &s), 0);
		if (i + 1 < 6) {
			ck_assert(!hist_quantile_interval(&h, 0.5, &low, &high));
			continue;
		}
		ck_assert(hist_quantile_interval(&h, 0.5, &low, &high));
		ck_assert_double_eq(low, s.ci_low);
		ck_assert_double_eq(high, s.ci_high);
	}
}
END_TEST

START_TEST(few_values_have_no_high_percentile)
{
	double low, high;

	hist_init(&h);
	for (unsigned i = 0; i < 299; i++)
		hist_add(&h, i % 100);
	ck_assert(!hist_quantile_interval(&h, 0.99, &low, &high));
	ck_assert(!hist_quantile_interval(&h, 0.01, &low, &high));
	hist_add(&h, 100);
	ck_assert(hist_quantile_interval(&h, 0.99, &low, &high));
	ck_assert_double_eq(high, 100); /* the maximum: nothing lower is sure enough */
	ck_assert(!hist_quantile_interval(&h, 0.999, &low, &high));
}
END_TEST

/* P99.9 of 9,999 rests on nine values: it is none. */
START_TEST(the_farthest_percentiles_take_ten_thousand)
{
	double low, high;

	hist_init(&h);
	for (unsigned i = 0; i < 9999; i++)
		hist_add(&h, i);
	ck_assert(!hist_carries(&h, 0.999));
	ck_assert(!hist_quantile_interval(&h, 0.999, &low, &high));
	ck_assert(hist_carries(&h, 0.99));
	hist_add(&h, 9999);
	ck_assert(hist_carries(&h, 0.999));
	ck_assert(hist_quantile_interval(&h, 0.999, &low, &high));
	ck_assert(!hist_carries(&h, 0.9999));
}
END_TEST

/* The true p99 of 0..9999 drawn evenly is 9900: how often does the interval hold it? */
static unsigned covered(unsigned n, double q, unsigned rounds)
{
	unsigned held = 0;
	double low, high;

	srand48(7);
	for (unsigned round = 0; round < rounds; round++) {
		hist_init(&h);
		for (unsigned i = 0; i < n; i++)
			hist_add(&h, (uint64_t)(drand48() * 127));
		ck_assert(hist_quantile_interval(&h, q, &low, &high));
		held += low <= q * 127 && q * 127 <= high + 1;
	}
	return held;
}

START_TEST(interval_holds_the_true_quantile)
{
	ck_assert_uint_ge(covered(300, 0.99, 1000), 940);
	ck_assert_uint_ge(covered(400, 0.95, 1000), 940);
	ck_assert_uint_ge(covered(2000, 0.9, 1000), 940);
	ck_assert_uint_ge(covered(2000, 0.5, 1000), 940);
}
END_TEST

START_TEST(json_and_back)
{
	static struct hist back;
	json_t *json;

	hist_init(&h);
	for (uint64_t i = 1; i < 1000; i++)
		hist_add(&h, i * i * i);
	json = hist_json(&h);
	ck_assert_ptr_nonnull(json);
	hist_init(&back);
	ck_assert_int_eq(hist_read(&back, json), 0);
	ck_assert_mem_eq(&back, &h, sizeof(h));
	ck_assert_int_eq(hist_read(&back, json), 0); /* adds */
	ck_assert_uint_eq(back.n, 2 * h.n);
	ck_assert_uint_eq(back.bucket[1], 2);
	ck_assert_uint_eq(back.min, h.min);
	json_decref(json);
}
END_TEST

START_TEST(empty_json_and_back)
{
	static struct hist back;
	json_t *json;

	hist_init(&h);
	json = hist_json(&h);
	hist_init(&back);
	ck_assert_int_eq(hist_read(&back, json), 0);
	ck_assert_uint_eq(back.n, 0);
	json_decref(json);
}
END_TEST

#define HUGE "9000000000000000000"

static const char *const contradictions[] = {
	"3",
	"{}",
	"{\"n\":1,\"min\":5,\"max\":5,\"sum\":5,\"buckets\":[]}",
	"{\"n\":2,\"min\":5,\"max\":5,\"sum\":10,\"buckets\":[[5,1]]}",
	"{\"n\":1,\"min\":4,\"max\":5,\"sum\":5,\"buckets\":[[5,1]]}",
	"{\"n\":1,\"min\":5,\"max\":6,\"sum\":5,\"buckets\":[[5,1]]}",
	"{\"n\":1,\"min\":5,\"max\":5,\"sum\":50,\"buckets\":[[5,1]]}",
	"{\"n\":1,\"min\":5,\"max\":5,\"sum\":5,\"buckets\":[[5,1]],\"more\":1}",
	"{\"n\":1,\"min\":129,\"max\":129,\"sum\":129,\"buckets\":[[129,1]]}",
	"{\"n\":2,\"min\":5,\"max\":6,\"sum\":11,\"buckets\":[[6,1],[5,1]]}",
	"{\"n\":2,\"min\":5,\"max\":5,\"sum\":10,\"buckets\":[[5,1],[5,1]]}",
	"{\"n\":0,\"min\":5,\"max\":5,\"sum\":0,\"buckets\":[[5,0]]}",
	"{\"n\":0,\"min\":5,\"max\":5,\"sum\":0,\"buckets\":[]}",
	"{\"n\":1,\"min\":-5,\"max\":5,\"sum\":5,\"buckets\":[[-5,1]]}",
	"{\"n\":" HUGE ",\"min\":0,\"max\":0,\"sum\":0,\"buckets\":[[0," HUGE "]]}",
	"{\"n\":1,\"min\":5,\"max\":5,\"sum\":5,\"buckets\":[[5]]}",
	"{\"n\":1,\"min\":5,\"max\":5,\"sum\":5,\"buckets\":[[5,1,1]]}",
};

START_TEST(contradictions_are_refused)
{
	json_t *json = json_loads(contradictions[_i], JSON_DECODE_ANY, NULL);

	ck_assert_ptr_nonnull(json);
	hist_init(&h);
	ck_assert_int_eq(hist_read(&h, json), -EBADMSG);
	ck_assert_uint_eq(h.n, 0);
	json_decref(json);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("hist");
	TCase *tcase = tcase_create("hist");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, buckets_cover_all_values_without_gaps);
	tcase_add_test(tcase, every_value_is_in_its_own_bucket);
	tcase_add_test(tcase, nothing_has_no_values);
	tcase_add_test(tcase, quantiles_are_those_of_stats);
	tcase_add_test(tcase, quantiles_of_large_values_are_within_a_bucket);
	tcase_add_test(tcase, the_farthest_percentiles_take_ten_thousand);
	tcase_add_test(tcase, interval_of_the_median_is_that_of_stats);
	tcase_add_test(tcase, few_values_have_no_high_percentile);
	tcase_add_test(tcase, interval_holds_the_true_quantile);
	tcase_add_test(tcase, json_and_back);
	tcase_add_test(tcase, empty_json_and_back);
	tcase_add_loop_test(tcase, contradictions_are_refused, 0,
			    sizeof(contradictions) / sizeof(contradictions[0]));
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
