/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/check_bench_page.h"
#include "report/lead_internal.h"
#include "report/results_report.h"

#define TESTS 8

static const struct kpi kpis[] = {{"made", "", "", "", BETTER_NONE, 0},
				  {"rate", "MB/s", "DUT-F", "", BETTER_HIGHER, 0},
				  {"wait", "ms", "DUT-F", "", BETTER_LOWER, 1e-6},
				  {.name = NULL}};
static const struct view views[] = {
	{.kind = VIEW_LINES, .title = "No table", .x = "size", .y = {"wait@p50"}},
	{.kind = VIEW_TABLE, .title = "Table", .x = "size", .y = {"made", "rate", "wait@p99"}},
	{.title = NULL}};
static const struct param params[] = {{.name = "size", .kind = PARAM_COUNT, .unit = "", .what = ""},
				      {.name = NULL}};

/* 9.9 says nothing of the fabric, 5.4 names a percentile. */
static void tests_of(struct test *test, const struct test **list)
{
	static const char *const ids[TESTS] = {"5.1", "5.2", "5.3", "5.4",
					       "8.1", "8.2", "9.9", "5.5"};

	for (size_t i = 0; i < TESTS; i++) {
		test[i] = (struct test){.id = ids[i],
					.name = "Fake",
					.clause = "draft",
					.dut = "DUT-F",
					.summary = "Fake.",
					.trials = {1, 10, 20},
					.seconds = {2, 30, 60},
					.params = params,
					.kpis = kpis,
					.views = views,
					.headline = i == 6   ? ""
						    : i == 3 ? "wait@p99"
							     : NULL};
		list[i] = &test[i];
	}
}

static void add(struct rows *rows, const char *test, const char *strategy, const char *size,
		const char *kpi, double value)
{
	struct row row = {.n = 1, .value = value, .n_params = 1};

	snprintf(row.test, sizeof(row.test), "%s", test);
	snprintf(row.strategy, sizeof(row.strategy), "%s", strategy);
	snprintf(row.kpi, sizeof(row.kpi), "%s", kpi);
	ck_assert_int_eq(row_param_set(&row.param[0], "size", size), 0);
	ck_assert_int_eq(rows_add(rows, &row), 0);
}

static void add_missing(struct rows *rows, const char *test, const char *why)
{
	struct row row = {.value = NAN, .missing = (char *)(uintptr_t)why};

	snprintf(row.test, sizeof(row.test), "%s", test);
	snprintf(row.kpi, sizeof(row.kpi), "rate");
	ck_assert_int_eq(rows_add(rows, &row), 0);
}

/* fare-spray over ecmp-stripe: 0.5 and 8 times in 5.1, twice in 5.2, ten times in 5.3, equal in
 * 5.5; too few measurements in 5.4; 8.1 and 8.2 are not possible here. */
static void results_of(struct results *results)
{
	static const char no_marks[] =
		"the leaves mark nothing: the lab's topology has no ecn_threshold_kb";
	struct rows *rows;

	memset(results, 0, sizeof(*results));
	ck_assert_int_eq(rows_open(&results->rows, NULL), 0);
	results->run = json_pack("{s:s, s:[s,s]}", "profile", "quick", "strategies", "ecmp-stripe",
				 "fare-spray");
	rows = results->rows;
	for (int i = 0; i < 2; i++) {
		const char *strategy = i ? "fare-spray" : "ecmp-stripe";

		add(rows, "5.1", strategy, "1", "rate", i ? 50 : 100);
		add(rows, "5.1", strategy, "2", "rate", i ? 800 : 100);
		add(rows, "5.2", strategy, "1", "rate", i ? 200 : 100);
		add(rows, "5.3", strategy, "1", "rate", i ? 1000 : 100);
		add(rows, "5.5", strategy, "1", "rate", 100);
		add(rows, "9.9", strategy, "1", "rate", i ? 1e6 : 1);
		add(rows, "5.1", strategy, "1", SUITE_DONE, 3);
		for (int n = 0; n < 10; n++) {
			static struct hist hist;
			struct row row = {.test = "5.4", .kpi = "wait", .trial = (unsigned)n};

			hist_init(&hist);
			hist_add(&hist, 1000);
			snprintf(row.strategy, sizeof(row.strategy), "%s", strategy);
			row.hist = &hist;
			ck_assert_int_eq(rows_add(rows, &row), 0);
		}
	}
	add_missing(rows, "8.1", no_marks);
	add_missing(rows, "8.2", "the lab's topology has no pfc");
}

START_TEST(a_figure_is_the_geometric_mean)
{
	const struct test *list[TESTS];
	struct results_tests all = {list, TESTS};
	struct lead *lead = calloc(1, sizeof(*lead));
	struct results results;
	struct test test[TESTS];
	struct lead_figure figure;

	tests_of(test, list);
	results_of(&results);
	ck_assert_int_eq(lead_init(lead, &results, &all), 0);
	ck_assert(lead_figure(lead, &test[0], &figure));
	ck_assert_str_eq(figure.column.name, "rate");
	ck_assert_uint_eq(figure.of[0].n, 2);
	ck_assert_uint_eq(figure.of[0].trials, 1);
	ck_assert_double_eq_tol(figure.of[0].low, 0.5, 1e-9);
	ck_assert_double_eq_tol(figure.of[0].middle, 2, 1e-9); /* of 0.5 and 8: not 4.25 */
	ck_assert_double_eq_tol(figure.of[0].high, 8, 1e-9);
	ck_assert(!lead_figure(lead, &test[3], &figure)); /* ten measurements carry no P99 */
	ck_assert_str_eq(figure.column.name, "wait P99");
	ck_assert(!lead_figure(lead, &test[6], &figure));
	lead_fini(lead);
	free(lead);
	json_decref(results.run);
	results.run = NULL;
	results_close(&results);
}
END_TEST

/* Of one trial each nothing is claimed; and what was not measured, for which reasons. */
START_TEST(the_page_of_many_tests)
{
	static const char *const wanted[] = {
		"each combination of parameters and strategy 1 trials of 2 s, where the draft asks "
		"for 20 of 60 s",
		"no difference between fare-spray and ecmp-stripe is beyond chance, so no number "
		"of times is given: of 5 combinations in 4 tests 5 have too few trials to say (4 "
		"of "
		"both are needed at least), and 0 no difference beyond the noise.",
		"fare-spray is better than ecmp-stripe in 0 and worse in 0 beyond chance",
		"Without one, as they say nothing of the fabric: 9.9.",
		"with enough measurements: 5.4 (wait P99).",
		"Not measured: 8.1: the leaves mark nothing: the lab's topology has no "
		"ecn_threshold_kb; a setting of the lab's topology",
		"Not measured: 8.2: the lab's topology has no pfc; a setting",
		"Without 8.1 and 8.2 chapter 8 has no result of congestion control",
	};
	const struct test *list[TESTS];
	struct results_tests all = {list, TESTS};
	struct results results;
	struct test test[TESTS];
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	tests_of(test, list);
	results_of(&results);
	ck_assert_int_eq(results_report(&results, &all, NULL, file), 0);
	fclose(file);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		const char *at = strstr(text, wanted[i]);

		ck_assert_msg(at && at < strstr(text, "== Tests =="), "no %s", wanted[i]);
	}
	free(text);
	json_decref(results.run);
	results.run = NULL;
	results_close(&results);
}
END_TEST

/* Five trials of four tests, one of them with a condition of its own for each strategy. */
START_TEST(a_claim_says_what_of_it_is_beyond_chance)
{
	static const char *const wanted[] = {
		"fare-spray is 2.00 times as good as ecmp-stripe in the middle of 4 tests, of "
		"whose "
		"4 combinations 3 are better and 0 worse beyond chance; most in 5.3 (8.00 times: "
		"rate, 1 combination of 5 trials, of which 1 is better and 0 worse beyond chance)",
		"least in 5.5 (1.00 times: rate, size=1, 1 combination of 5 trials, of which 0 are "
		"better and 0 worse beyond chance)",
		/* the words are of each subject */
		"By each test's headline figure no difference between mpi-fare and mpi-ofi-tcp is "
		"beyond chance",
	};
	static const struct {
		const char *test, *size;
		double times;
	} of[] = {{"5.1", "1", 2},
		  {"5.2", "1", 2},
		  {"5.3", "1", 8},
		  {"5.5", "1", 1},
		  {"5.5", "2", 100}};
	const struct test *list[TESTS];
	struct results_tests all = {list, TESTS};
	struct results results = {0};
	struct test test[TESTS];
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	tests_of(test, list);
	test[7].headline_where = "size=1";
	ck_assert_int_eq(rows_open(&results.rows, NULL), 0);
	for (unsigned trial = 0; trial < 5; trial++)
		for (size_t i = 0; i < 2 * sizeof(of) / sizeof(of[0]); i++) {
			struct row row = {.kpi = "rate", .trial = trial, .n = 1, .n_params = 1};

			snprintf(row.test, sizeof(row.test), "%s", of[i / 2].test);
			snprintf(row.strategy, sizeof(row.strategy), "%s",
				 i % 2 ? "fare-spray" : "ecmp-stripe");
			row.value = (100 + trial) * (i % 2 ? of[i / 2].times : 1);
			ck_assert_int_eq(row_param_set(&row.param[0], "size", of[i / 2].size), 0);
			ck_assert_int_eq(rows_add(results.rows, &row), 0);
		}
	add(results.rows, "9.9", "mpi-fare", "1", "rate", 5);
	add(results.rows, "9.9", "mpi-ofi-tcp", "1", "rate", 5);
	test[6].headline = NULL;
	ck_assert_int_eq(results_report(&results, &all, NULL, file), 0);
	fclose(file);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		ck_assert_msg(strstr(text, wanted[i]), "no %s in %s", wanted[i], text);
	free(text);
	results_close(&results);
}
END_TEST

/* Both where it is better and where neither is; sessions that end by order apart from others. */
START_TEST(what_is_listed)
{
	static const char *const wanted[] = {
		"Where fare-spray is better than ecmp-stripe",
		"size=2",
		"Where fare-spray and ecmp-stripe are equal within the noise",
		"size=1",
		"One to three trials are never called equal",
		"Tests that end BGP sessions by order, which count too: 12.9. Apart from them: 3 "
		"in "
		"the 2 samples of 13.1."};
	static const struct kpi flaps[] = {{"rate", "", "DUT-F", "", BETTER_HIGHER, 0},
					   {"flaps", "", "DUT-S", "", BETTER_LOWER, 0},
					   {.name = NULL}};
	const struct test soak = {.id = "13.1",
				  .name = "Soak",
				  .clause = "draft",
				  .dut = "DUT-F",
				  .summary = "Fake.",
				  .params = params,
				  .kpis = flaps},
			  cuts = {.id = "12.9",
				  .name = "Cut",
				  .clause = "draft",
				  .dut = "DUT-F",
				  .summary = "Fake.",
				  .kpis = flaps,
				  .needs = NEED_FAULTS};
	const struct test *list[] = {&soak, &cuts};
	struct results_tests all = {list, 2};
	struct results results = {0};
	const char *at;
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	ck_assert_int_eq(rows_open(&results.rows, NULL), 0);
	results.run = json_loads("{\"tables\":[{\"title\":\"Fabric health\",\"rows\":[["
				 "\"BGP/OSPF Stability\",\"9 sessions\"]]}]}",
				 0, NULL);
	for (unsigned i = 0; i < 2 * 2 * 5; i++) {
		struct row row = {.test = "13.1", .kpi = "rate", .trial = i / 4, .n_params = 1};

		snprintf(row.strategy, sizeof(row.strategy), "%s",
			 i % 2 ? "fare-spray" : "ecmp-stripe");
		ck_assert_int_eq(row_param_set(&row.param[0], "size", i & 2 ? "2" : "1"), 0);
		row.value = (i & 2 && i % 2 ? 500 : 100) + row.trial;
		ck_assert_int_eq(rows_add(results.rows, &row), 0);
	}
	add(results.rows, "13.1", "x", "1", "flaps", 1);
	add(results.rows, "13.1", "y", "1", "flaps", 2);
	add(results.rows, "12.9", "x", "1", "flaps", 7);
	ck_assert_int_eq(results_report(&results, &all, NULL, file), 0);
	fclose(file);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		at = strstr(text, wanted[i]);
		ck_assert_msg(at, "no %s", wanted[i]);
	}
	at = strstr(text, wanted[2]);
	ck_assert(strstr(strstr(text, wanted[0]), wanted[1]) < at);
	ck_assert_ptr_nonnull(strstr(at, wanted[3]));
	free(text);
	json_decref(results.run);
	results.run = NULL;
	results_close(&results);
}
END_TEST

/* One colour and mark, wherever a strategy stands among others. */
START_TEST(a_strategy_has_one_style)
{
	static const char *const own[] = {"mpi-ring", "mpi-fare", NULL};
	const struct test plain = {.id = "5.1"}, named = {.id = "T9.1", .strategies = own};

	ck_assert_uint_eq(test_strategy_style(&plain, "fare-spray", 0),
			  test_strategy_style(&plain, "fare-spray", 2));
	ck_assert_uint_ne(test_strategy_style(&plain, "fare-spray", 0),
			  test_strategy_style(&plain, "ecmp-flow", 0));
	ck_assert_uint_eq(test_strategy_style(&named, "mpi-fare", 0), 2);
	ck_assert_uint_eq(test_strategy_style(&plain, "size 1M", 6), 7);
}
END_TEST

/* Of each test of the methodology: it stands in one of its own tables, or it has none. */
START_TEST(headlines_stand_in_tables)
{
	size_t n, none = 0;
	const struct test *const *all = tests_all(&n);

	for (size_t i = 0; i < n; i++) {
		struct column column, other;
		bool found = false;

		if (!test_is_draft(all[i]) && !test_is_training(all[i]))
			continue;
		if (!lead_headline(all[i], &column)) {
			ck_assert_msg(!all[i]->headline || !*all[i]->headline, "%s: %s", all[i]->id,
				      all[i]->headline);
			none += test_is_draft(all[i]);
			continue;
		}
		for (const struct view *v = all[i]->views; v->title; v++)
			for (size_t k = 0; k < TEST_MAX_COLUMNS && v->y[k]; k++)
				found |= v->kind == VIEW_TABLE &&
					 column_parse(&other, all[i], v->y[k]) == 0 &&
					 other.kpi == column.kpi &&
					 other.quantile == column.quantile;
		ck_assert_msg(found, "%s: %s is in none of its tables", all[i]->id, column.name);
		ck_assert_str_ne(column.kpi->name, "memory_CV");
		ck_assert_str_ne(column.kpi->name, "flaps");
		ck_assert(!kpi_is_simulated(column.kpi->name));
	}
	ck_assert_uint_eq(none, 3);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lead");
	TCase *tcase = tcase_create("lead");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tcase, fake_gnuplot, no_more_gnuplot);
	tcase_add_test(tcase, a_figure_is_the_geometric_mean);
	tcase_add_test(tcase, the_page_of_many_tests);
	tcase_add_test(tcase, a_claim_says_what_of_it_is_beyond_chance);
	tcase_add_test(tcase, what_is_listed);
	tcase_add_test(tcase, a_strategy_has_one_style);
	tcase_add_test(tcase, headlines_stand_in_tables);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
