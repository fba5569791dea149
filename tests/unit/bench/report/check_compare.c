/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>

#include "bench/check_bench_page.h"
#include "bench/report/fake_tests.h"
#include "report/compare_show.h"

static const struct results_tests tests = {fake_tests, 2};

static void add(struct rows *rows, const char *kpi, unsigned trial, double value)
{
	struct row row = {.test = "5.1", .strategy = "fare-spray", .trial = trial, .n = 1};

	strcpy(row.kpi, kpi);
	row.value = value;
	row.n_params = 1;
	ck_assert_int_eq(row_param_set(&row.param[0], "size", "1M"), 0);
	ck_assert_int_eq(rows_add(rows, &row), 0);
}

/* n values around `middle`, one percent apart. */
static void add_some(struct results *r, const char *kpi, unsigned n, double middle)
{
	for (unsigned i = 0; i < n; i++)
		add(r->rows, kpi, i, middle * (1 + 0.01 * i + 1e-6 * middle));
}

static void open_both(struct results *a, struct results *b)
{
	*a = *b = (struct results){0};
	ck_assert_int_eq(rows_open(&a->rows, NULL), 0);
	ck_assert_int_eq(rows_open(&b->rows, NULL), 0);
}

static void close_both(struct results *a, struct results *b, struct compare *c)
{
	compare_fini(c);
	results_close(a);
	results_close(b);
}

static const struct compare_item *item_of(const struct compare *c, const char *name)
{
	for (size_t i = 0; i < c->n; i++)
		if (strcmp(c->item[i].column.name, name) == 0)
			return &c->item[i];
	ck_abort_msg("%s was not compared", name);
	return NULL;
}

START_TEST(better_worse_and_neither)
{
	struct results a, b;
	struct compare c;

	open_both(&a, &b);
	add_some(&a, "KV_xfer_bandwidth", 8, 100);
	add_some(&b, "KV_xfer_bandwidth", 8, 50); /* more would be better */
	add_some(&a, "PFC_frame_count", 8, 100);
	add_some(&b, "PFC_frame_count", 8, 50); /* less is */
	add_some(&a, "line", 8, 100);
	add_some(&b, "line", 8, 50);
	add_some(&a, "JFI", 8, 1);
	add_some(&b, "JFI", 8, 1);
	ck_assert_int_eq(compare_results(&a, &b, &tests, 2, &c), 0);
	ck_assert_uint_eq(c.n, 4);
	ck_assert_int_eq(item_of(&c, "KV_xfer_bandwidth")->verdict, COMPARE_WORSE);
	ck_assert_double_eq_tol(item_of(&c, "KV_xfer_bandwidth")->percent, -50, 0.1);
	ck_assert_str_eq(item_of(&c, "KV_xfer_bandwidth")->params, "size=1M");
	ck_assert_int_eq(item_of(&c, "PFC_frame_count")->verdict, COMPARE_BETTER);
	ck_assert_int_eq(item_of(&c, "line")->verdict, COMPARE_CHANGED);
	ck_assert_int_eq(item_of(&c, "JFI")->verdict, COMPARE_SAME);
	ck_assert_uint_eq(c.count[COMPARE_WORSE], 1);
	close_both(&a, &b, &c);
}
END_TEST

/* Sure, but too small to matter. */
START_TEST(small_changes_do_not_count)
{
	struct results a, b;
	struct compare c;

	open_both(&a, &b);
	for (unsigned i = 0; i < 20; i++) {
		add(a.rows, "KV_xfer_bandwidth", i, 100 + i * 1e-3);
		add(b.rows, "KV_xfer_bandwidth", i, 99 + i * 1e-3);
	}
	ck_assert_int_eq(compare_results(&a, &b, &tests, 2, &c), 0);
	ck_assert_double_le(c.item[0].p, 1e-6);
	ck_assert_int_eq(c.item[0].verdict, COMPARE_SAME);
	compare_fini(&c);
	ck_assert_int_eq(compare_results(&a, &b, &tests, 0.5, &c), 0);
	ck_assert_int_eq(c.item[0].verdict, COMPARE_WORSE);
	close_both(&a, &b, &c);
}
END_TEST

/* Three against three can be apart by chance once in ten times. */
START_TEST(few_trials_give_a_maybe)
{
	struct results a, b;
	struct compare c;

	open_both(&a, &b);
	add_some(&a, "KV_xfer_bandwidth", 3, 100);
	add_some(&b, "KV_xfer_bandwidth", 3, 50);
	add_some(&a, "JFI", 1, 1);
	add_some(&b, "JFI", 1, 0.5);
	ck_assert_int_eq(compare_results(&a, &b, &tests, 2, &c), 0);
	ck_assert_int_eq(item_of(&c, "KV_xfer_bandwidth")->verdict, COMPARE_MAYBE_WORSE);
	ck_assert_double_nan(item_of(&c, "KV_xfer_bandwidth")->p);
	ck_assert_int_eq(item_of(&c, "JFI")->verdict, COMPARE_FEW); /* one says nothing */
	ck_assert_uint_eq(c.count[COMPARE_WORSE], 0);
	close_both(&a, &b, &c);
}
END_TEST

/* Of 400 comparisons of noise with itself, a test at 5% would flag 20. */
START_TEST(many_comparisons_of_noise_flag_nothing)
{
	struct results a, b;
	struct compare c;
	unsigned small = 0;

	open_both(&a, &b);
	srand48(3);
	for (unsigned place = 0; place < 400; place++)
		for (unsigned i = 0; i < 16; i++) {
			struct row row = {.test = "5.1", .kpi = "KV_xfer_bandwidth", .trial = i};
			char size[16];

			snprintf(size, sizeof(size), "%u", place);
			row.n_params = 1;
			ck_assert_int_eq(row_param_set(&row.param[0], "size", size), 0);
			row.value = 100 + 30 * drand48();
			ck_assert_int_eq(rows_add(i < 8 ? a.rows : b.rows, &row), 0);
		}
	ck_assert_int_eq(compare_results(&a, &b, &tests, 0, &c), 0);
	ck_assert_uint_eq(c.n, 400);
	ck_assert_uint_eq(c.count[COMPARE_SAME], 400);
	for (size_t i = 0; i < c.n; i++)
		small += fabs(c.item[i].percent) > 5;
	ck_assert_uint_ge(small, 20); /* medians did differ */
	close_both(&a, &b, &c);
}
END_TEST

/* Four against four, all apart: with 99 others, p cannot be small enough, and nobody may call them
 * equal. */
START_TEST(many_comparisons_take_more_trials)
{
	struct results a, b;
	struct compare c;

	ck_assert_uint_eq(compare_trials_wanted(0), 4);
	ck_assert_uint_eq(compare_trials_wanted(1), 4);
	ck_assert_uint_eq(compare_trials_wanted(2), 5);	 /* 2 x 2 / 70 is 0.057 */
	ck_assert_uint_eq(compare_trials_wanted(50), 7); /* 50 x 2 / 924 is 0.1 */
	ck_assert_uint_eq(compare_trials_wanted(300), 8);
	open_both(&a, &b);
	for (unsigned place = 0; place < 100; place++)
		for (unsigned i = 0; i < 8; i++) {
			struct row row = {
				.test = "5.1", .kpi = "KV_xfer_bandwidth", .trial = i % 4};
			char size[16];

			snprintf(size, sizeof(size), "%u", place);
			row.n_params = 1;
			ck_assert_int_eq(row_param_set(&row.param[0], "size", size), 0);
			row.value = 100 + i % 4 - (place == 7 && i >= 4 ? 50 : 0);
			ck_assert_int_eq(rows_add(i < 4 ? a.rows : b.rows, &row), 0);
		}
	ck_assert_int_eq(compare_results(&a, &b, &tests, 2, &c), 0);
	ck_assert_uint_eq(c.n_numbers, 100);
	ck_assert_uint_eq(c.least_a, 4);
	ck_assert_uint_eq(c.count[COMPARE_MAYBE_WORSE], 1);
	ck_assert_uint_eq(c.count[COMPARE_SAME], 99);
	close_both(&a, &b, &c);
}
END_TEST

/* Two strategies of one run; a KPI that only one of them has. */
START_TEST(strategies)
{
	struct results a, b;
	struct compare c;

	open_both(&a, &b);
	for (unsigned i = 0; i < 16; i++) {
		struct row row = {.test = "5.1", .kpi = "KV_xfer_bandwidth", .trial = i % 8};

		strcpy(row.strategy, i < 8 ? "ecmp-stripe" : "fare-spray");
		row.value = (i < 8 ? 50 : 100) + i % 8;
		ck_assert_int_eq(rows_add(a.rows, &row), 0);
		strcpy(row.kpi, "line"); /* neither more nor less is better */
		ck_assert_int_eq(rows_add(a.rows, &row), 0);
	}
	add_some(&a, "JFI", 8, 1);
	ck_assert_int_eq(compare_strategies(&a, &tests, "ecmp-stripe", "fare-spray", 2, &c), 0);
	ck_assert_uint_eq(c.n, 2);
	ck_assert_int_eq(item_of(&c, "KV_xfer_bandwidth")->verdict, COMPARE_BETTER);
	ck_assert_double_eq_tol(item_of(&c, "KV_xfer_bandwidth")->a.value, 53.5, 1e-9);
	ck_assert_int_eq(item_of(&c, "JFI")->verdict, COMPARE_NEW);
	close_both(&a, &b, &c);
}
END_TEST

/* Trials of another version of this program would not be of the same thing. */
START_TEST(no_more_trials_of_another_version)
{
	char a[] = "/tmp/check_compare.XXXXXX";

	fake_directory(a, 2);
	ck_assert_int_eq(compare_more(a, 8), -EINVAL);
	fake_directory_gone(a);
}
END_TEST

static int run(const char *const *argv, char **out)
{
	size_t size;
	int argc = 0, status;
	FILE *was = stdout;

	while (argv[argc])
		argc++;
	*out = NULL;
	stdout = open_memstream(out, &size);
	status = compare_command(argc, (char **)(uintptr_t)argv, &tests);
	fclose(stdout);
	stdout = was;
	return status;
}

/* Of a run by this version: lab and trials, as the run's description names them. */
static void describe(const char *dir, const char *fabric)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/run.json", dir);
	file = fopen(path, "we");
	fprintf(file, "{\"version\":\"%s\",\"tables\":[{\"title\":\"Fabric\",\"rows\":[%s]}]}",
		FARE_VERSION, fabric);
	ck_assert_int_eq(fclose(file), 0);
}

/* What another farebench was started with, a line each; free() it. */
static char *started(const char *log)
{
	char *text = calloc(1, 4096);
	FILE *file = fopen(log, "re");

	ck_assert_ptr_nonnull(text);
	if (file) {
		ck_assert_uint_lt(fread(text, 1, 4095, file), 4095);
		fclose(file);
	}
	unlink(log);
	return text;
}

/* The run that lacks trials is gone on with, in its lab; the other is left alone. */
START_TEST(more_trials_of_the_run_that_lacks_them)
{
	char a[] = "/tmp/check_compare.XXXXXX", b[] = "/tmp/check_compare.XXXXXX", log[64],
	     wanted[200], path[128], *out, *text;
	struct rows *rows;

	fake_directory(a, 2);
	fake_directory(b, 2);
	describe(a, "[\"Lab\",\"one\"]");
	describe(b, "[\"Lab\",\"two\"]");
	snprintf(log, sizeof(log), "%s/log", a);
	setenv("CHECK_COMPARE_LOG", log, 1);
	/* 7 of each in both; b: 2 */
	snprintf(path, sizeof(path), "%s/rows.jsonl", b);
	unlink(path);
	ck_assert_int_eq(rows_open(&rows, path), 0);
	for (unsigned i = 0; i < 2; i++)
		add(rows, "KV_xfer_bandwidth", i, 100 + i);
	rows_close(rows);
	snprintf(path, sizeof(path), "%s/rows.jsonl", a);
	unlink(path);
	ck_assert_int_eq(rows_open(&rows, path), 0);
	for (unsigned i = 0; i < 7; i++)
		add(rows, "KV_xfer_bandwidth", i, 100 + i);
	rows_close(rows);
	/* one comparison takes four of both */
	ck_assert_int_ne(run((const char *const[]){"compare", "--more", a, b, NULL}, &out), 1);
	free(out);
	text = started(log);
	snprintf(wanted, sizeof(wanted), "run --resume %s --trials 4 --lab two\n", b);
	ck_assert_str_eq(text, wanted);
	free(text);
	/* nothing is missing: none is started */
	ck_assert_int_ne(run((const char *const[]){"compare", "--more", a, a, NULL}, &out), 1);
	free(out);
	text = started(log);
	ck_assert_str_eq(text, "");
	free(text);
	/* it fails, and so does the comparison */
	setenv("CHECK_COMPARE_LOG", "/nonexistent/log", 1);
	ck_assert_int_eq(run((const char *const[]){"compare", "--more", a, b, NULL}, &out), 1);
	free(out);
	/* of hosts it cannot be made from here */
	setenv("CHECK_COMPARE_LOG", log, 1);
	describe(b, "[\"Inventory\",\"hosts\"]");
	ck_assert_int_eq(run((const char *const[]){"compare", "--more", a, b, NULL}, &out), 1);
	free(out);
	text = started(log);
	ck_assert_str_eq(text, "");
	free(text);
	fake_directory_gone(a);
	fake_directory_gone(b);
}
END_TEST

/* Runs by different revisions are said to be so; two of one are not. */
START_TEST(editions_that_differ)
{
	struct compare_run a = {"a", false, {{false}}}, b = {"b", false, {{true, false}}};
	struct results none_a, none_b;
	struct compare c;
	struct doc *doc;
	size_t size;
	char *text;
	FILE *file;

	open_both(&none_a, &none_b);
	ck_assert_int_eq(compare_results(&none_a, &none_b, &tests, 2, &c), 0);
	for (int same = 0; same < 2; same++) {
		file = open_memstream(&text, &size);
		ck_assert_int_eq(doc_create(&doc, "x"), 0);
		compare_doc(doc, &c, &a, same ? &a : &b, 2, false);
		doc_print(doc, file);
		doc_destroy(doc);
		fclose(file);
		ck_assert_int_eq(!strstr(text, "inference draft A follows -02, B -05"), same);
		ck_assert_ptr_null(strstr(text, "training draft"));
		free(text);
	}
	close_both(&none_a, &none_b, &c);
}
END_TEST

START_TEST(gone_and_new)
{
	struct results a, b;
	struct compare c;

	open_both(&a, &b);
	add_some(&a, "JFI", 5, 1);
	add_some(&b, "line", 5, 1);
	ck_assert_int_eq(compare_results(&a, &b, &tests, 2, &c), 0);
	ck_assert_int_eq(item_of(&c, "JFI")->verdict, COMPARE_GONE);
	ck_assert_int_eq(item_of(&c, "line")->verdict, COMPARE_NEW);
	close_both(&a, &b, &c);
}
END_TEST

static json_t *compared(const char *a, const char *b)
{
	json_t *json;
	char *out;

	run((const char *const[]){"compare", "--json", "-", a, b, NULL}, &out);
	json = json_loads(out, 0, NULL);
	ck_assert_ptr_nonnull(json);
	free(out);
	return json;
}

/* Two directories; in B fare-spray has 30% less than in A, with 7 trials at every place. */
START_TEST(the_command)
{
	char a[] = "/tmp/check_compare.XXXXXX", b[] = "/tmp/check_compare.XXXXXX", html[64], *out;
	json_t *json, *item;
	unsigned numbers = 0;
	char *page;
	size_t i;

	fake_directory(a, 2);
	fake_directory(b, 1.4);
	snprintf(html, sizeof(html), "%s/compare.html", b);
	ck_assert_int_eq(run((const char *const[]){"compare", "--html", html, a, b, NULL}, &out),
			 3);
	ck_assert_ptr_nonnull(strstr(out, "-30.0%"));
	ck_assert_ptr_nonnull(strstr(out, "worse"));
	free(out);
	page = fake_file(b, "compare.html");
	ck_assert_uint_eq(times(page, "<svg"), 1);
	ck_assert_uint_ge(times(page, "l6 11 h-12 z"), 12);
	free(page);
	ck_assert_int_eq(run((const char *const[]){"compare", b, a, NULL}, &out), 0); /* better */
	free(out);
	ck_assert_int_eq(run((const char *const[]){"compare", a, a, NULL}, &out), 0);
	ck_assert_ptr_nonnull(strstr(out, "rows were compared"));
	ck_assert_ptr_null(strstr(out, "+0.0%"));
	free(out);
	ck_assert_int_eq(run((const char *const[]){"compare", "--all", a, a, NULL}, &out), 0);
	json = compared(a, a);
	json_array_foreach (json_object_get(json, "items"), i, item)
		numbers += json_object_get(item, "percent") != NULL;
	ck_assert_uint_ge(numbers, 24);
	ck_assert_uint_eq(times(out, "+0.0%"), numbers);
	json_decref(json);
	free(out);
	json = compared(a, b);
	/* bandwidth of fare-spray: 2 tests x 3 sizes x 2 modes; latency twice (P50; P99 has too few
	 * measurements in a trial) */
	ck_assert_int_eq(
		json_integer_value(json_object_get(json_object_get(json, "counts"), "worse")), 24);
	json_decref(json);
	fake_directory_gone(a);
	fake_directory_gone(b);
}
END_TEST

START_TEST(wrong_usage)
{
	char *out;

	ck_assert_int_eq(run((const char *const[]){"compare", NULL}, &out), 2);
	free(out);
	ck_assert_int_eq(run((const char *const[]){"compare", "--min", "x", "a", "b", NULL}, &out),
			 2);
	free(out);
	ck_assert_int_eq(run((const char *const[]){"compare", "--min", "-1", "a", "b", NULL}, &out),
			 2);
	free(out);
	ck_assert_int_eq(
		run((const char *const[]){"compare", "/nonexistent", "/nonexistent", NULL}, &out),
		1);
	free(out);
	ck_assert_int_eq(run((const char *const[]){"compare", "--help", NULL}, &out), 0);
	ck_assert_ptr_nonnull(strstr(out, "Exit status"));
	free(out);
}
END_TEST

/* In place of farebench run: what it was started with is in the log. */
static int stand_in(int argc, char **argv)
{
	const char *log = getenv("CHECK_COMPARE_LOG");
	FILE *file = log ? fopen(log, "ae") : NULL;

	if (!file)
		return 1;
	for (int i = 1; i < argc; i++)
		fprintf(file, "%s%s", i > 1 ? " " : "", argv[i]);
	fputc('\n', file);
	return fclose(file) ? 1 : 0;
}

static int check(void)
{
	Suite *suite = suite_create("compare");
	TCase *tcase = tcase_create("compare");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tcase, fake_gnuplot, no_more_gnuplot);
	tcase_set_timeout(tcase, 20); /* on busy cores */
	tcase_add_test(tcase, better_worse_and_neither);
	tcase_add_test(tcase, small_changes_do_not_count);
	tcase_add_test(tcase, few_trials_give_a_maybe);
	tcase_add_test(tcase, many_comparisons_of_noise_flag_nothing);
	tcase_add_test(tcase, many_comparisons_take_more_trials);
	tcase_add_test(tcase, strategies);
	tcase_add_test(tcase, no_more_trials_of_another_version);
	tcase_add_test(tcase, more_trials_of_the_run_that_lacks_them);
	tcase_add_test(tcase, gone_and_new);
	tcase_add_test(tcase, editions_that_differ);
	tcase_add_test(tcase, the_command);
	tcase_add_test(tcase, wrong_usage);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}

int main(int argc, char **argv)
{
	return argc > 1 && strcmp(argv[1], "run") == 0 ? stand_in(argc, argv) : check();
}
