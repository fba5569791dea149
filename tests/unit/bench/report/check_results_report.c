/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>

#include "bench/check_bench_page.h"
#include "bench/report/fake_tests.h"
#include "report/results_report.h"
#include "report/view.h"

#define N_TESTS (sizeof(fake_tests) / sizeof(fake_tests[0]))

static char dir[64];

static void begin(void)
{
	strcpy(dir, "/tmp/check_results.XXXXXX");
	fake_directory(dir, 2);
}

static void end(void)
{
	fake_directory_gone(dir);
}

static void begin_without_drawing(void)
{
	fake_gnuplot();
	begin();
}

static void end_without_drawing(void)
{
	end();
	no_more_gnuplot();
}

/* The files of a directory's report, and its text if there is a file for it. */
static int report_of(const char *path, FILE *text)
{
	const struct results_tests tests = {fake_tests, N_TESTS};
	struct results results;
	int err = results_open(&results, path);

	if (err)
		return err;
	err = results_report(&results, &tests, path, text);
	results_close(&results);
	return err;
}

/* Writes the report; its plain text, free() it. */
static char *text_of_report(void)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/text", dir);
	file = fopen(path, "we");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(report_of(dir, file), 0);
	ck_assert_int_eq(fclose(file), 0);
	return fake_file(dir, "text");
}

/* Every view is there: of the first test lines (2 panels), distribution (2 modes with 3 sizes),
 * heat (2), stack (2 strategies with 2 modes); of the second bars (3 sizes), dual (2 modes),
 * panels (2), shaded (2 strategies with 2 modes), trend (3 sizes with 2 modes). */
START_TEST(the_page_has_every_view)
{
	static const char *const titles[] = {"Lines &lt;1&gt;", "Distribution", "Heat", "Table",
					     "Stack",		"Bars",		"Dual", "Panels",
					     "Shaded",		"Trend"};
	char *page, word[80];

	free(text_of_report());
	page = fake_file(dir, "report.html");
	for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++) {
		snprintf(word, sizeof(word), "<h4>%s</h4>", titles[i]);
		ck_assert_uint_eq(times(page, word), 1);
	}
	ck_assert_uint_eq(times(page, "<figure"), 2 + 6 + 2 + 4 + 3 + 2 + 2 + 4 + 6);
	ck_assert_uint_eq(times(page, "<svg"), times(page, "<figure"));
	ck_assert_uint_eq(times(page, "id=\"test-5.1\""), 1);
	ck_assert_uint_eq(times(page, "href=\"#test-5.1\""), 1);
	ck_assert_uint_eq(times(page, "test-12.2"), 0); /* not run: a line */
	ck_assert_uint_eq(times(page, "id='gpDot'"), 1);
	ck_assert_uint_eq(times(page, "_trial_s"), 0);
	free(page);
}
END_TEST

START_TEST(what_is_missing_says_why)
{
	char *text = text_of_report(), *at;

	ck_assert_ptr_nonnull(strstr(text, "Pauses: not available: no PFC <here>."));
	ck_assert_ptr_nonnull(strstr(text, "n/a (PFC_frame_count): no PFC <here>."));
	ck_assert_ptr_nonnull(strstr(text, "Not run: 12.2 "));
	ck_assert_ptr_nonnull(strstr(text, "Attempts that do not count: 3: busy."));
	/* a value that is missing is no anomaly, and a KPI that none measured is not measured */
	at = strstr(text, "== Anomalies ==");
	ck_assert(at < strstr(text, "None of what is looked for was found."));
	ck_assert(strstr(at, "no PFC <here>") > strstr(at, "== Not measured =="));
	at = strstr(text, "== Which KPI is measured in which test ==");
	at = strstr(at, "PFC_frame_count");
	ck_assert(strstr(at, "no PFC <here>") > at);
	ck_assert(strstr(at, "5.1, 10.2") < strstr(at, "no PFC <here>"));
	ck_assert_ptr_nonnull(strstr(text, "CRC Error Count"));
	ck_assert_ptr_nonnull(strstr(text, "0 here"));
	ck_assert_ptr_nonnull(strstr(text, "2 sessions ended"));
	ck_assert_ptr_nonnull(strstr(text, "3 paths died"));
	ck_assert_ptr_nonnull(strstr(text, "not available: nothing here counts it"));
	free(text);
}
END_TEST

/* 700 measurements: a median with its interval, but no P99.9. */
START_TEST(numbers_of_the_table)
{
	char *text = text_of_report(), *md = fake_file(dir, "report.md");

	ck_assert_ptr_nonnull(strstr(text, "max of 700"));
	ck_assert_ptr_nonnull(strstr(text, "[50, 53]"));
	ck_assert_ptr_nonnull(strstr(md, "| size | bytes | here 64K, 1M"));
	ck_assert_ptr_nonnull(strstr(md, "51.5 \\[50, 53\\] n=7, CV 2.1%"));
	/* six combinations: the middle is that of the two in the middle */
	ck_assert_ptr_nonnull(strstr(md, "76.5 lowest 51.5, highest 101.5 of 6, n=42"));
	ck_assert_ptr_nonnull(strstr(text, "no (7 of 7)"));
	ck_assert_ptr_nonnull(strstr(md, "Zipf \\| 1.0"));
	ck_assert_ptr_nonnull(strstr(md, "## KPI summary"));
	ck_assert_ptr_nonnull(strstr(md, "no PFC \\<here\\>"));
	free(text);
	free(md);
}
END_TEST

/* What a customer reads first, and on what it stands. */
START_TEST(the_first_page)
{
	char *md, *at, *verdicts;

	free(text_of_report());
	md = fake_file(dir, "report.md");
	at = strstr(md, "## Tests");
	verdicts = strstr(md, "fare-spray is better than ecmp-stripe in 24 and worse in 0");
	ck_assert_ptr_nonnull(at);
	ck_assert_ptr_nonnull(verdicts);
	ck_assert(verdicts < at); /* the statistics stand beside the first sentence */
	verdicts = strstr(md, "**103.0 against 51.5 MB/s (size=64K, mode=push)");
	ck_assert_ptr_nonnull(verdicts);
	ck_assert(verdicts < at);
	verdicts = strstr(md, "ecmp-stripe: each message cut evenly");
	ck_assert_ptr_nonnull(verdicts);
	ck_assert(verdicts < at);
	ck_assert_ptr_nonnull(strstr(md, "## Trial accounting"));
	ck_assert_ptr_nonnull(strstr(md, "## Repeatability"));
	ck_assert_ptr_nonnull(strstr(md,
				     "| 5.1 | 12 | 7 | 20 trials, 60 s; 0 of 60 s by this project "
				     "| 0 to 360 | 84 | 84 | 0 | 0 | 0 | - |"));
	ck_assert(strstr(md, "## System, workload and run") > strstr(md, "## KPI summary"));
	ck_assert_ptr_null(strstr(md, "even-busy"));
	free(md);
}
END_TEST

/* The plain text of one view; free() it. */
static char *text_of_view(const struct test *test, const struct view *view, const struct rows *rows)
{
	char *text = NULL;
	struct doc *doc;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	ck_assert_int_eq(doc_create(&doc, "x"), 0);
	view_show(doc, test, view, rows);
	ck_assert_int_eq(doc_error(doc), 0);
	doc_print(doc, file);
	doc_destroy(doc);
	fclose(file);
	return text;
}

/* Of one table of fake_one. */
static char *text_of_table(const struct view *view)
{
	struct rows *rows;
	char *text;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	fake_rows(rows, 2);
	text = text_of_view(&fake_one, view, rows);
	rows_close(rows);
	return text;
}

/* Levels of the panel have a table each, with its own rows alone; levels of the series columns. */
START_TEST(tables_apart_and_levels_across)
{
	const struct view apart = {.kind = VIEW_TABLE,
				   .title = "Apart",
				   .x = "size",
				   .series = "strategy",
				   .panel = "mode",
				   .y = {"KV_xfer_bandwidth"},
				   .apart = true};
	struct view across = apart;
	char *text = text_of_table(&apart), *second = strstr(text, "Apart: mode pull");

	ck_assert_ptr_nonnull(strstr(text, "Apart: mode push"));
	ck_assert_ptr_nonnull(second);
	ck_assert_uint_eq(times(second, "fare-spray"), 3);
	ck_assert_uint_eq(times(text, "fare-spray"), 6);
	ck_assert_ptr_null(strstr(second, "push"));
	free(text);
	across.apart = false;
	across.across = true;
	across.x = "mode";
	across.series = "size";
	across.panel = "strategy";
	text = text_of_table(&across);
	ck_assert_uint_eq(times(text, "fare-spray"), 2); /* a row for each mode */
	ck_assert_uint_eq(times(text, "size 64K"), 1);
	ck_assert_ptr_nonnull(strstr(text, "51.5")); /* 64K, push: 50 to 53 */
	ck_assert_ptr_nonnull(strstr(text, "91.5")); /* 16M, push */
	free(text);
}
END_TEST

/* Two reasons for one KPI say where which holds; a trial that is missing inside of a cell is not
 * called n/a; what no row says anything of is no blank. A parameter that has the name of a KPI is
 * called so. */
START_TEST(reasons_name_their_cells)
{
	static const struct kpi kpis[] = {{"peak", "", "DUT-F", "", BETTER_HIGHER, 0},
					  {"model", "", "", "", BETTER_NONE, 0},
					  {.name = NULL}};
	static const struct param params[] = {PARAM("size", PARAM_BYTES, "bytes", "", "1K,2K,4K"),
					      PARAM("model", PARAM_NAME, "", "", "a,b"), LIST_END};
	static const struct view views[] = {{.kind = VIEW_TABLE,
					     .title = "Table",
					     .x = "size",
					     .panel = "model",
					     .y = {"peak", "model"}},
					    {.title = NULL}};
	static const struct test test = {
		.id = "5.1", .dut = "DUT-F", .params = params, .kpis = kpis, .views = views};
	static const char *const why[] = {"too high", "too low", NULL};
	static const char *const sizes[] = {"1K", "2K", "4K"};
	struct row row = {.test = "5.1", .kpi = "peak", .n_params = 2, .n = 1};
	struct rows *rows;
	char *text;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	ck_assert_int_eq(row_param_set(&row.param[1], "model", "a"), 0);
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_int_eq(row_param_set(&row.param[0], "size", sizes[i]), 0);
		row.missing = (char *)(uintptr_t)why[i];
		row.value = why[i] ? NAN : 7;
		ck_assert_int_eq(rows_add(rows, &row), 0);
	}
	row.trial = 1; /* of 4K, whose first trial has a value */
	row.value = NAN;
	row.missing = (char[]){"lost"};
	ck_assert_int_eq(rows_add(rows, &row), 0);
	text = text_of_view(&test, views, rows);
	ck_assert_ptr_nonnull(strstr(text, "model (parameter)"));
	ck_assert_ptr_nonnull(strstr(text, "n/a (peak: size 1K): too high."));
	ck_assert_ptr_nonnull(strstr(text, "n/a (peak: size 2K): too low."));
	ck_assert_ptr_nonnull(
		strstr(text, "At size 4K: a trial has no peak (lost); the cell is of the others."));
	ck_assert_uint_eq(times(text, " -\n"), 3); /* the models */
	ck_assert_ptr_null(strstr(text, "n/a (model"));
	free(text);
	rows_close(rows);
}
END_TEST

/* Marks are explained before a table has them, and once. */
START_TEST(marks_are_explained_first)
{
	char *text = text_of_report(), *legend = strstr(text, "== How to read the tables ==");

	ck_assert_ptr_nonnull(legend);
	ck_assert(legend < strstr(text, "== Tests =="));
	ck_assert(strstr(legend, "max of 41") < strstr(text, "== Tests =="));
	ck_assert_uint_eq(times(text, "in square brackets"), 0);
	free(text);
}
END_TEST

/* Tests of the training draft alone: its own KPIs, the library of its jobs, the health of the
 * fabric; and no tests of the other draft that nobody wanted. */
START_TEST(training_alone)
{
	static const struct kpi kpis[] = {{"BusBW", "Gb/s", "DUT-F", "", BETTER_HIGHER, 0},
					  {.name = NULL}};
	static const struct test training = {.id = "T9.1",
					     .name = "Three",
					     .clause = "draft-training, 9.1",
					     .dut = "DUT-F",
					     .summary = "Fake.",
					     .kpis = kpis};
	static const struct kpi switches[] = {{"Switch_CPU", "%", "DUT-S", "", BETTER_LOWER, 0},
					      {"Power", "W", "DUT-S", "", BETTER_LOWER, 0},
					      {.name = NULL}};
	static const struct test scale = {.id = "T11.1",
					  .name = "Four",
					  .clause = "draft-training, 11.1",
					  .dut = "DUT-F",
					  .summary = "Fake.",
					  .kpis = switches},
				 soak = {.id = "T12.1",
					 .name = "Five",
					 .clause = "draft-training, 12.1",
					 .dut = "DUT-F",
					 .summary = "Fake.",
					 .kpis = switches};
	static const struct test *const list[] = {&fake_one, &training, &scale, &soak};
	const struct results_tests both = {list, 4};
	struct row row = {.test = "T9.1", .strategy = "mpi-fare", .kpi = "BusBW", .value = 3},
		   load = {.test = "T11.1", .kpi = "Switch_CPU", .value = 2, .n = 1},
		   power = {.test = "T12.1",
			    .kpi = "Power",
			    .value = NAN,
			    .missing = (char[]){"no sensor"}};
	struct results results = {0};
	char *text = NULL, *at;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	ck_assert_int_eq(rows_open(&results.rows, NULL), 0);
	ck_assert_int_eq(rows_add(results.rows, &row), 0);
	ck_assert_int_eq(rows_add(results.rows, &power), 0);
	ck_assert_int_eq(rows_add(results.rows, &load), 0);
	load.trial = 1;
	load.value = 4;
	ck_assert_int_eq(rows_add(results.rows, &load), 0);
	strcpy(row.kpi, SUITE_LIBRARY);
	row.text = (char[]){"Open MPI v4.1.4"};
	ck_assert_int_eq(rows_add(results.rows, &row), 0);
	row.trial = 1;
	ck_assert_int_eq(rows_add(results.rows, &row), 0);
	ck_assert_int_eq(results_report(&results, &both, NULL, file), 0);
	fclose(file);
	ck_assert_uint_eq(times(text, "Collective library: Open MPI v4.1.4."), 1);
	ck_assert_ptr_nonnull(strstr(text, "== Fabric health indicators =="));
	ck_assert_ptr_nonnull(strstr(text, "table 7 of the training methodology"));
	ck_assert_ptr_nonnull(strstr(text, "FIB / Route Convergence Time"));
	at = strstr(text, "Switch CPU Utilization");
	ck_assert_ptr_nonnull(at);
	*strchr(at, '\n') = '\0';
	ck_assert_ptr_nonnull(strstr(at, "mean 3, highest 4 % in 2 trials of T11.1 (Switch_CPU)"));
	at[strlen(at)] = '\n';
	at = strstr(text, "Power Consumption");
	ck_assert_ptr_nonnull(strstr(at, "not available: no sensor"));
	ck_assert_ptr_null(strstr(text, "NIC QP State"));
	ck_assert_ptr_nonnull(strstr(text, "AllReduce BusBW           T9.1"));
	ck_assert_ptr_nonnull(strstr(text, "the test is not in this run")); /* T9.3 */
	ck_assert_ptr_nonnull(strstr(text, "draft-training"));
	ck_assert_ptr_null(strstr(text, "One & only"));
	ck_assert_ptr_null(strstr(text, "TTFT"));
	free(text);
	results_close(&results);
}
END_TEST

/* Section 14, workload characterization: the requests of each test, how many came a second, and
 * how many were in the service at once. */
START_TEST(requests_of_each_test)
{
	static const struct kpi kpis[] = {{"Offered_rate", "", "SUT-E", "", BETTER_NONE, 0},
					  {"Concurrent_requests", "", "SUT-E", "", BETTER_NONE, 0},
					  {.name = NULL}};
	static const struct test service = {.id = "6.1",
					    .name = "One",
					    .clause = "draft, 6.1",
					    .dut = "SUT-E",
					    .summary = "Fake.",
					    .kpis = kpis};
	static const struct test *const list[] = {&service};
	const struct results_tests tests = {list, 1};
	struct row row = {.test = "6.1", .n = 1};
	struct results results = {0};
	char *text = NULL, *at;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	ck_assert_int_eq(rows_open(&results.rows, NULL), 0);
	for (unsigned i = 0; i < 3; i++) {
		row.trial = i;
		strcpy(row.kpi, SUITE_REQUESTS);
		row.text = i == 2 ? (char[]){"prompts: long"} : (char[]){"prompts: short"};
		ck_assert_int_eq(rows_add(results.rows, &row), 0);
		row.text = NULL;
		strcpy(row.kpi, "Offered_rate");
		row.value = 10 * (i + 1);
		ck_assert_int_eq(rows_add(results.rows, &row), 0);
		strcpy(row.kpi, "Concurrent_requests");
		row.value = i + 1;
		ck_assert_int_eq(rows_add(results.rows, &row), 0);
	}
	ck_assert_int_eq(results_report(&results, &tests, NULL, file), 0);
	fclose(file);
	at = strstr(text, "Requests of each test");
	ck_assert_ptr_nonnull(at);
	at = strstr(at, "prompts: short");
	ck_assert_ptr_nonnull(at);
	ck_assert_ptr_nonnull(strstr(at, "10 to 20"));
	ck_assert_ptr_nonnull(strstr(at, "1 to 2"));
	at = strstr(at, "prompts: long");
	ck_assert_ptr_nonnull(at);
	ck_assert_ptr_nonnull(strstr(at, "30"));
	ck_assert_ptr_null(strstr(at, "10 to"));
	free(text);
	results_close(&results);
}
END_TEST

/* What trials add is a combination of its own: one trial at each of two rates, not two at both. */
START_TEST(added_parameters_are_not_pooled)
{
	static const struct kpi kpis[] = {{"TPS_at_rate", "", "SUT-E", "", BETTER_NONE, 0},
					  {.name = NULL}};
	static const struct param added[] = {PARAM("rate", PARAM_NUMBER, "req/s", "", ""),
					     LIST_END};
	static const struct test search = {.id = "11.1",
					   .name = "One",
					   .clause = "draft, 11.1",
					   .dut = "SUT-E",
					   .summary = "Fake.",
					   .added = added,
					   .kpis = kpis};
	static const struct test *const list[] = {&search};
	const struct results_tests tests = {list, 1};
	struct row row = {.test = "11.1", .kpi = "TPS_at_rate", .n = 1, .n_params = 1};
	struct results results = {0};
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	ck_assert_int_eq(rows_open(&results.rows, NULL), 0);
	for (int i = 1; i <= 2; i++) {
		ck_assert_int_eq(row_param_set(&row.param[0], "rate", i == 1 ? "10" : "20"), 0);
		row.value = 100 * i;
		ck_assert_int_eq(rows_add(results.rows, &row), 0);
	}
	ck_assert_int_eq(results_report(&results, &tests, NULL, file), 0);
	fclose(file);
	ck_assert_ptr_nonnull(strstr(text, "lowest 100.0, highest 200.0 of 2, n=2"));
	ck_assert_ptr_null(strstr(text, ", CV"));
	free(text);
	results_close(&results);
}
END_TEST

START_TEST(a_busy_run_says_so_in_bold)
{
	char path[128], *md;
	FILE *file;

	snprintf(path, sizeof(path), "%s/run.json", dir);
	file = fopen(path, "we");
	fputs("{\"even_busy\":true,\"tables\":[]}", file);
	fclose(file);
	free(text_of_report());
	md = fake_file(dir, "report.md");
	ck_assert_ptr_nonnull(strstr(md, "**Measured with --even-busy"));
	ck_assert(strstr(md, "**Measured with --even-busy") < strstr(md, "## Tests"));
	free(md);
}
END_TEST

START_TEST(rows_as_csv)
{
	char *csv;

	free(text_of_report());
	csv = fake_file(dir, "rows.csv");
	ck_assert_ptr_nonnull(strstr(
		csv, "5.1,fare-spray,KV_xfer_bandwidth,MB/s,DUT-N,0,size=64K mode=push,100,1"));
	free(csv);
}
END_TEST

START_TEST(only_described)
{
	char path[128], *text;

	snprintf(path, sizeof(path), "%s/run.json", dir);
	unlink(path);
	text = text_of_report();
	ck_assert_ptr_nonnull(strstr(text, "no description of the run"));
	free(text);
}
END_TEST

static const char *const wrong[] = {
	"{",
	"{\"tables\":3}",
	"{\"tables\":[3]}",
	"{\"tables\":[{\"title\":\"t\"}]}",
	"{\"tables\":[{\"title\":\"t\",\"rows\":[[\"a\"]]}]}",
	"{\"tables\":[{\"title\":\"t\",\"rows\":[[\"a\",3]]}]}",
};

START_TEST(a_wrong_description)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/run.json", dir);
	file = fopen(path, "we");
	fputs(wrong[_i], file);
	fclose(file);
	ck_assert_int_eq(report_of(dir, NULL), -EBADMSG);
}
END_TEST

START_TEST(no_directory)
{
	ck_assert_int_eq(report_of("/nonexistent", NULL), -ENOENT);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("results_report");
	TCase *drawn = tcase_create("drawn"), *tcase = tcase_create("results_report");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(drawn, begin, end);
	tcase_add_test(drawn, the_page_has_every_view);
	suite_add_tcase(suite, drawn);
	tcase_add_checked_fixture(tcase, begin_without_drawing, end_without_drawing);
	tcase_add_test(tcase, what_is_missing_says_why);
	tcase_add_test(tcase, numbers_of_the_table);
	tcase_add_test(tcase, the_first_page);
	tcase_add_test(tcase, tables_apart_and_levels_across);
	tcase_add_test(tcase, reasons_name_their_cells);
	tcase_add_test(tcase, marks_are_explained_first);
	tcase_add_test(tcase, training_alone);
	tcase_add_test(tcase, requests_of_each_test);
	tcase_add_test(tcase, added_parameters_are_not_pooled);
	tcase_add_test(tcase, a_busy_run_says_so_in_bold);
	tcase_add_test(tcase, rows_as_csv);
	tcase_add_test(tcase, only_described);
	tcase_add_loop_test(tcase, a_wrong_description, 0, sizeof(wrong) / sizeof(wrong[0]));
	tcase_add_test(tcase, no_directory);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
