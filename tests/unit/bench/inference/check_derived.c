/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows that tests derive from those of all trials, of rows made by hand. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/rows.h"
#include "suite/test.h"

static struct rows *rows;

static const struct test *test_of(const char *id)
{
	size_t n, i = 0;
	const struct test *const *all = tests_all(&n);

	while (i < n && strcmp(all[i]->id, id) != 0)
		i++;
	ck_assert_uint_lt(i, n);
	return all[i];
}

/* value of one: a plain figure; of none: missing; else so many measurements of it. */
static void add(const struct test *test, const char *kpi, const char *level, double value,
		unsigned n)
{
	static char nothing[] = "nothing crosses the fabric";
	struct row row = {.n_params = 1, .n = n, .value = value};

	strcpy(row.test, test->id);
	strcpy(row.strategy, "fare-spray");
	strcpy(row.kpi, kpi);
	ck_assert_int_eq(row_param_set(&row.param[0], test->params[0].name, level), 0);
	if (test->params[1].name && strcmp(test->params[1].name, "rate") == 0)
		ck_assert_int_eq(row_param_set(&row.param[row.n_params++], "rate", "20"), 0);
	if (test->params[1].name && strcmp(test->params[1].name, "load") == 0)
		ck_assert_int_eq(row_param_set(&row.param[row.n_params++], "load", "50"), 0);
	if (n == 0)
		row.missing = nothing;
	if (n > 1) {
		row.hist = malloc(sizeof(*row.hist));
		hist_init(row.hist);
		for (unsigned i = 0; i < n; i++)
			hist_add(row.hist, (uint64_t)value);
		row.value = NAN;
	}
	ck_assert_int_eq(rows_add(rows, &row), 0);
	free(row.hist);
}

static const struct row *row_of(const char *kpi, const char *param, const char *level)
{
	struct row_param p;
	struct rows_filter filter = {.kpi = kpi, .n_params = 1, .param = &p, .trial = -1};
	size_t at;

	ck_assert_int_eq(row_param_set(&p, param, level), 0);
	at = rows_next(rows, &filter, 0);
	return at < rows_count(rows) ? rows_at(rows, at) : NULL;
}

static double found(const char *kpi, const char *param, const char *level)
{
	const struct row *row = row_of(kpi, param, level);

	return row ? row->value : NAN;
}

static const char *words(const char *kpi, const char *param, const char *level)
{
	const struct row *row = row_of(kpi, param, level);

	return row && row->text ? row->text : "";
}

static const char *missing(const char *kpi, const char *param, const char *level)
{
	const struct row *row = row_of(kpi, param, level);

	return row && row->missing ? row->missing : "";
}

static void ratio(const struct test *test, const char *name, double ttft, double itl, double tps)
{
	add(test, "TTFT", name, ttft * 1e6, 600);
	add(test, "ITL", name, itl * 1e6, 600);
	add(test, "TPS_output", name, tps, 1);
}

/* 6P6D beats 8P4D in all; 2P10D loses in TTFT and wins in ITL; 4P8D is only between in two. */
START_TEST(the_front_of_three)
{
	const struct test *test = test_of("6.2");

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	ratio(test, "2P10D", 900, 20, 300);
	ratio(test, "4P8D", 300, 30, 350);
	ratio(test, "6P6D", 200, 25, 350);
	ratio(test, "8P4D", 250, 40, 340);
	ck_assert_int_eq(test->derive(test, rows), 0);
	ck_assert_double_eq(found("on_front", "ratio", "2P10D"), 1);
	ck_assert_double_eq(found("on_front", "ratio", "4P8D"), 0);
	ck_assert_double_eq(found("on_front", "ratio", "6P6D"), 1);
	ck_assert_double_eq(found("on_front", "ratio", "8P4D"), 0);
	ck_assert_double_eq(found("front_percentile", "ratio", "6P6D"), 99);
	/* 2P10D is on it, and takes 900 ms, where 500 are asked for */
	ck_assert_str_eq(words("meets", "ratio", "2P10D"), "no: TTFT P99");
	ck_assert_str_eq(words("meets", "ratio", "6P6D"), "yes, P99");
	rows_close(rows);
}
END_TEST

/* n of value, and few of the long ones: P95 is value, P99 is that. */
static void add_tail(const struct test *test, const char *kpi, const char *level, double value,
		     double tail, unsigned n, unsigned few)
{
	struct row row = {.n_params = 2, .value = NAN, .n = n + few};

	strcpy(row.test, test->id);
	strcpy(row.strategy, "fare-spray");
	strcpy(row.kpi, kpi);
	ck_assert_int_eq(row_param_set(&row.param[0], "ratio", level), 0);
	ck_assert_int_eq(row_param_set(&row.param[1], "rate", "20"), 0);
	row.hist = calloc(1, sizeof(*row.hist));
	for (unsigned i = 0; i < n; i++)
		hist_add(row.hist, (uint64_t)(value * 1e6));
	for (unsigned i = 0; i < few; i++)
		hist_add(row.hist, (uint64_t)(tail * 1e6));
	ck_assert_int_eq(rows_add(rows, &row), 0);
	free(row.hist);
}

/*
 * 980 tokens of 20 ms and 20 of 74: ITL P99 is 74, whatever TTFT carries. 60 requests carry a P95:
 * within 500 ms by that says nothing of the P99, and is not called so.
 */
START_TEST(objectives_are_judged_by_p99)
{
	const struct test *test = test_of("6.2");

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	add_tail(test, "TTFT", "6P6D", 300, 762, 59, 1);
	add_tail(test, "ITL", "6P6D", 20, 74, 980, 20);
	add(test, "TPS_output", "6P6D", 300, 1);
	add_tail(test, "TTFT", "4P8D", 300, 762, 59, 1);
	add_tail(test, "ITL", "4P8D", 20, 20, 1000, 0);
	add(test, "TPS_output", "4P8D", 200, 1);
	ck_assert_int_eq(test->derive(test, rows), 0);
	ck_assert_str_eq(words("meets", "ratio", "6P6D"), "no: ITL P99");
	ck_assert_str_eq(words("meets", "ratio", "4P8D"), "within by TTFT P95, ITL P99 alone");
	ck_assert_double_eq(found("front_percentile", "ratio", "6P6D"), 95);
	rows_close(rows);
}
END_TEST

/* Who measures tokens of batches says that they share steps. 10.2 has one request at a time. */
START_TEST(tokens_of_batches_are_correlated)
{
	size_t n;
	const struct test *const *all = tests_all(&n);

	for (size_t i = 0; i < n; i++)
		if (test_kpi(all[i], "ITL"))
			ck_assert_msg(test_correlated(all[i], "ITL") ==
					      (strcmp(all[i]->id, "10.2") != 0),
				      "%s", all[i]->id);
	ck_assert(test_correlated(test_of("11.1"), "ITL_at_rate"));
	ck_assert(!test_correlated(test_of("11.1"), "TTFT"));
}
END_TEST

/* 1, 2 and 4 ms at 8, 16 and 32 GPUs: L(8) / L(N) x N / 8 of the smallest, L(16) / L(N) of 16. */
START_TEST(efficiency_against_eight_and_sixteen)
{
	const struct test *test = test_of("7.3");

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	add(test, "EP_alltoall_latency", "8", 1e6, 600);
	add(test, "EP_alltoall_latency", "16", 2e6, 600);
	add(test, "EP_alltoall_latency", "32", 4e6, 600);
	ck_assert_int_eq(test->derive(test, rows), 0);
	ck_assert_double_eq_tol(found("scaling_efficiency", "ep", "32"), 1, 0.03);
	ck_assert_double_eq_tol(found("efficiency_EP16", "ep", "32"), 0.5, 0.02);
	ck_assert_double_eq_tol(found("efficiency_EP16", "ep", "8"), 2, 0.06);
	rows_close(rows);
}
END_TEST

/* Of one tenant: n measurements, of so many ns. */
static void tenant_add(const char *kpi, const char *tenants, uint64_t ns, unsigned n)
{
	struct row row = {.test = "10.3", .strategy = "fare-spray", .n_params = 2, .n = n};
	char missing[] = "nothing ended";
	struct hist hist;

	hist_init(&hist);
	for (unsigned i = 0; i < n; i++)
		hist_add(&hist, ns);
	strcpy(row.kpi, kpi);
	row.value = NAN;
	row.hist = n ? &hist : NULL;
	row.missing = n ? NULL : missing;
	ck_assert_int_eq(row_param_set(&row.param[0], "tenants", tenants), 0);
	ck_assert_int_eq(row_param_set(&row.param[1], "tenant", "first"), 0);
	ck_assert_int_eq(rows_add(rows, &row), 0);
}

static void tenants_add(unsigned itl, unsigned dispatches)
{
	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	tenant_add("TTFT", "alone", 100000000, 2000);
	tenant_add("TTFT", "together", 150000000, 2000);
	tenant_add("ITL", "alone", 20000000, itl);
	tenant_add("ITL", "together", 22000000, itl);
	tenant_add("ITL_fabric", "together", 2000000, dispatches);
	ck_assert_int_eq(test_of("10.3")->derive(test_of("10.3"), rows), 0);
}

/* 100 to 150 ms is 50% more, 20 to 22 ms 10%; what is not known has its reason. */
START_TEST(penalties_of_a_tenant)
{
	tenants_add(2000, 100);
	ck_assert_double_eq_tol(found("penalty_TTFT", "tenant", "first"), 50, 3);
	ck_assert_double_eq_tol(found("penalty_ITL", "tenant", "first"), 10, 3);
	rows_close(rows);
	tenants_add(20, 100);
	ck_assert_ptr_nonnull(strstr(missing("penalty_ITL", "tenant", "first"), "too few"));
	ck_assert_str_eq(missing("penalty_TTFT", "tenant", "first"), "");
	rows_close(rows);
	tenants_add(2000, 0);
	ck_assert_ptr_nonnull(strstr(missing("penalty_ITL", "tenant", "first"), "one decode GPU"));
	rows_close(rows);
}
END_TEST

/* Two trials of one load are one number of samples, those of another none of it. */
START_TEST(samples_of_all_trials)
{
	const struct test *test = test_of("10.2");

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	add(test, "ITL", "none", 8e6, 600);
	add(test, "ITL", "none", 8e6, 500);
	add(test, "ITL", "heavy", 8e6, 70);
	ck_assert_int_eq(test->derive(test, rows), 0);
	ck_assert_double_eq(found("ITL_samples", "load", "none"), 1100);
	ck_assert_double_eq(found("ITL_samples", "load", "heavy"), 70);
	rows_close(rows);
}
END_TEST

/* 2 GPUs send 30 KB each at 50 MB/s: 1.2 ms on the line. A median of 0.35 ms passed buckets, and is
 * nothing to divide by; of 1.35 ms it is. 4 GPUs: 44 KB each at 96 MB/s, 1.8 ms; they took 3.9. */
START_TEST(no_efficiency_of_what_passed_buckets)
{
	const struct test *test = test_of("7.3");

	for (unsigned i = 0; i < 2; i++) {
		ck_assert_int_eq(rows_open(&rows, NULL), 0);
		add(test, "EP_alltoall_latency", "2", i ? 1.35e6 : 0.35e6, 600);
		add(test, "S_fabric", "2", 30, 1);
		add(test, "model", "2", 50, 1);
		add(test, "EP_alltoall_latency", "4", 3.9e6, 600);
		add(test, "S_fabric", "4", 44, 1);
		add(test, "model", "4", 96, 1);
		ck_assert_int_eq(test->derive(test, rows), 0);
		if (i) {
			ck_assert_double_eq_tol(found("scaling_efficiency", "ep", "4"), .692, 0.03);
		} else {
			ck_assert_double_nan(found("scaling_efficiency", "ep", "4"));
			ck_assert_ptr_nonnull(
				strstr(missing("scaling_efficiency", "ep", "4"), "buckets"));
		}
		rows_close(rows);
	}
}
END_TEST

/* The smallest group, on one server, has no latency: then there is no efficiency, and why. */
START_TEST(no_efficiency_against_nothing)
{
	const struct test *test = test_of("7.3");

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	add(test, "EP_alltoall_latency", "8", NAN, 0);
	add(test, "EP_alltoall_latency", "16", 2e6, 600);
	ck_assert_int_eq(test->derive(test, rows), 0);
	ck_assert_double_nan(found("scaling_efficiency", "ep", "16"));
	ck_assert_ptr_nonnull(strstr(missing("scaling_efficiency", "ep", "16"), "smallest group"));
	ck_assert_double_eq_tol(found("efficiency_EP16", "ep", "16"), 1, 0.03);
	rows_close(rows);
}
END_TEST

/* 4 ms beside KV transfers where 2 are enough alone; of KV transfers alone there is no P99. */
START_TEST(a_penalty_or_why_there_is_none)
{
	const struct test *test = test_of("7.4");

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	add(test, "EP_alltoall_latency", "ep", 2e6, 600);
	add(test, "EP_alltoall_latency", "both", 4e6, 600);
	add(test, "KV_xfer_latency", "kv", 1e6, 20);
	add(test, "KV_xfer_latency", "both", 3e6, 600);
	ck_assert_int_eq(test->derive(test, rows), 0);
	ck_assert_double_eq_tol(found("penalty_EP", "traffic", "both"), 2, 0.06);
	ck_assert_double_nan(found("penalty_KV", "traffic", "both"));
	ck_assert_ptr_nonnull(strstr(missing("penalty_KV", "traffic", "both"), "no P99"));
	rows_close(rows);
}
END_TEST

/* 30 of 40 MB/s; without a tier between GPUs the reason stands there, and not nothing. */
START_TEST(tiers_are_related_to_that_between_gpus)
{
	const struct test *test = test_of("5.4");

	for (unsigned has = 0; has < 2; has++) {
		ck_assert_int_eq(rows_open(&rows, NULL), 0);
		add(test, "KV_xfer_bandwidth", "dram-nvme", 30, 1);
		if (has)
			add(test, "KV_xfer_bandwidth", "hbm-hbm", 40, 1);
		ck_assert_int_eq(test->derive(test, rows), 0);
		if (has)
			ck_assert_double_eq(found("tier_ratio", "tier", "dram-nvme"), 0.75);
		else
			ck_assert_ptr_nonnull(
				strstr(missing("tier_ratio", "tier", "dram-nvme"), "of hbm-hbm"));
		rows_close(rows);
	}
}
END_TEST

/* From 2 to 8 GPUs transfers lose 8, then 15%; TTFT grows by 5%. */
START_TEST(the_scale_at_which_a_figure_is_worse_by_a_tenth)
{
	const struct test *test = test_of("12.1");
	struct rows_filter limit = {.kpi = "Scale_limit", .trial = -1},
			   by = {.kpi = "Limited_by", .trial = -1};
	size_t at;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	add(test, "KV_xfer_bandwidth", "2", 100, 1);
	add(test, "KV_xfer_bandwidth", "4", 92, 1);
	add(test, "TTFT", "2", 100e6, 600);
	add(test, "TTFT", "4", 105e6, 600);
	ck_assert_int_eq(test->derive(test, rows), 0);
	at = rows_next(rows, &by, 0);
	ck_assert_uint_lt(at, rows_count(rows));
	ck_assert_str_eq(rows_at(rows, at)->text, "none");
	ck_assert_uint_eq(rows_next(rows, &limit, 0), rows_count(rows));
	rows_close(rows);
	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	add(test, "KV_xfer_bandwidth", "2", 100, 1);
	add(test, "KV_xfer_bandwidth", "4", 92, 1);
	add(test, "KV_xfer_bandwidth", "8", 85, 1);
	ck_assert_int_eq(test->derive(test, rows), 0);
	at = rows_next(rows, &limit, 0);
	ck_assert_uint_lt(at, rows_count(rows));
	ck_assert_double_eq(rows_at(rows, at)->value, 8);
	ck_assert_str_eq(rows_at(rows, at)->param[0].text, "8");
	at = rows_next(rows, &by, 0);
	ck_assert_str_eq(rows_at(rows, at)->text, "none");
	at = rows_next(rows, &by, at + 1);
	ck_assert_str_eq(rows_at(rows, at)->text, "KV_xfer_bandwidth");
	rows_close(rows);
}
END_TEST

static void soaked(const struct test *test, unsigned samples)
{
	static const double memory[] = {100, 102, 102, 106, 108, 110, 112, 114, 116, 118},
			    descriptors[] = {40, 45, 40, 41, 40, 41, 40, 41, 40, 40};

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	for (unsigned i = 0; i < samples; i++) {
		struct row row = {.test = "13.2", .strategy = "fare-spray", .trial = i, .n = 1};

		strcpy(row.kpi, "at_s");
		row.value = 900 * i;
		ck_assert_int_eq(rows_add(rows, &row), 0);
		strcpy(row.kpi, "worker_memory");
		row.value = memory[i];
		ck_assert_int_eq(rows_add(rows, &row), 0);
		strcpy(row.kpi, "descriptors");
		row.value = descriptors[i];
		ck_assert_int_eq(rows_add(rows, &row), 0);
	}
	ck_assert_int_eq(test->derive(test, rows), 0);
}

/* Memory that never falls in ten samples of a quarter of an hour; descriptors go up and down again.
 * Of four samples nothing is said but what there was. */
START_TEST(a_metric_that_never_falls_is_flagged)
{
	const struct test *test = test_of("13.2");
	struct rows_filter trend = {.kpi = "Trend", .trial = -1};
	size_t at;

	soaked(test, 10);
	ck_assert_double_eq(found("Monotonic", "metric", "worker_memory"), 1);
	ck_assert_double_eq(found("Monotonic", "metric", "descriptors"), 0);
	at = rows_next(rows, &trend, 0);
	ck_assert_str_eq(rows_at(rows, at)->text,
			 "118 at most, 118 at the end; 8.242 more an hour");
	at = rows_next(rows, &trend, at + 1);
	ck_assert_ptr_nonnull(strstr(rows_at(rows, at)->text, "45 at most, 40 at the end; -"));
	rows_close(rows);
	soaked(test, 4);
	ck_assert_str_eq(missing("Monotonic", "metric", "worker_memory"),
			 "4 samples within 2700 s carry no trend per hour (10 within 600 s do)");
	at = rows_next(rows, &trend, 0);
	ck_assert_str_eq(rows_at(rows, at)->text, "106 at most, 106 at the end");
	rows_close(rows);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("derived");
	TCase *tcase = tcase_create("derived");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, the_front_of_three);
	tcase_add_test(tcase, objectives_are_judged_by_p99);
	tcase_add_test(tcase, tokens_of_batches_are_correlated);
	tcase_add_test(tcase, efficiency_against_eight_and_sixteen);
	tcase_add_test(tcase, penalties_of_a_tenant);
	tcase_add_test(tcase, samples_of_all_trials);
	tcase_add_test(tcase, no_efficiency_against_nothing);
	tcase_add_test(tcase, no_efficiency_of_what_passed_buckets);
	tcase_add_test(tcase, a_penalty_or_why_there_is_none);
	tcase_add_test(tcase, tiers_are_related_to_that_between_gpus);
	tcase_add_test(tcase, the_scale_at_which_a_figure_is_worse_by_a_tenth);
	tcase_add_test(tcase, a_metric_that_never_falls_is_flagged);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
