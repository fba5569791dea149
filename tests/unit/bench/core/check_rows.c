/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/rows.h"

static char path[64];

static void new_path(void)
{
	strcpy(path, "/tmp/check_rows.XXXXXX");
	close(mkstemp(path));
}

static void no_path(void)
{
	unlink(path);
}

static void file_is(const char *text)
{
	FILE *file = fopen(path, "we");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	ck_assert_int_eq(fclose(file), 0);
}

static const char *file_text(void)
{
	static char text[65536];
	FILE *file = fopen(path, "re");

	ck_assert_ptr_nonnull(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	return text;
}

static struct row row_of(const char *strategy, const char *size, unsigned trial, double value)
{
	struct row row = {.test = "5.1", .kpi = "bw", .trial = trial, .value = value, .n = 41};

	strcpy(row.strategy, strategy);
	ck_assert_int_eq(row_param_set(&row.param[row.n_params++], "size", size), 0);
	ck_assert_int_eq(row_param_set(&row.param[row.n_params++], "qps", "8"), 0);
	return row;
}

static void add(struct rows *rows, const char *strategy, const char *size, unsigned trial,
		double value)
{
	struct row row = row_of(strategy, size, trial, value);

	ck_assert_int_eq(rows_add(rows, &row), 0);
}

START_TEST(numbers_of_parameters)
{
	static const struct {
		const char *text;
		double number;
	} cases[] = {{"8", 8},	   {"0.5", 0.5},  {"64K", 65536},	  {"1M", 1048576},
		     {"-3", -3},   {"1e3", 1000}, {"2T", 2199023255552.}, {"top-k", NAN},
		     {"inf", NAN}, {"nan", NAN},  {"0x10", NAN},	  {"1 M", NAN},
		     {"1MM", NAN}, {"M", NAN},	  {"1e999", NAN},	  {"+", NAN}};
	struct row_param param;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ck_assert_int_eq(row_param_set(&param, "p", cases[i].text), 0);
		ck_assert_str_eq(param.text, cases[i].text);
		if (isnan(cases[i].number))
			ck_assert_double_nan(param.number);
		else
			ck_assert_double_eq(param.number, cases[i].number);
	}
	ck_assert_int_eq(row_param_set(&param, "p", ""), -EINVAL);
	ck_assert_int_eq(row_param_set(&param, "", "1"), -EINVAL);
	ck_assert_int_eq(row_param_set(&param, "p", "\xff"), -EINVAL);
	ck_assert_int_eq(
		row_param_set(&param, "p", "123456789012345678901234567890123456789012345678"),
		-EINVAL);
}
END_TEST

START_TEST(what_is_added_is_read_again)
{
	struct hist hist;
	struct row row = row_of("fare-spray", "1M", 3, 0);
	struct rows *rows;
	const struct row *r;

	new_path();
	ck_assert_int_eq(rows_open(&rows, path), 0);
	add(rows, "fare-spray", "1M", 3, 812.5e6);
	hist_init(&hist);
	hist_add(&hist, 12345);
	row.hist = &hist;
	ck_assert_int_eq(rows_add(rows, &row), 0);
	row.hist = NULL;
	row.text = (char[]){"yes \"\n"};
	ck_assert_int_eq(rows_add(rows, &row), 0);
	row.text = NULL;
	row.missing = (char[]){"no PFC"};
	row.strategy[0] = '\0';
	ck_assert_int_eq(rows_add(rows, &row), 0);
	rows_close(rows);

	ck_assert_int_eq(rows_read(&rows, path), 0);
	ck_assert_uint_eq(rows_count(rows), 4);
	r = rows_at(rows, 0);
	ck_assert_str_eq(r->test, "5.1");
	ck_assert_str_eq(r->strategy, "fare-spray");
	ck_assert_str_eq(r->kpi, "bw");
	ck_assert_uint_eq(r->trial, 3);
	ck_assert_uint_eq(r->n, 41);
	ck_assert_double_eq(r->value, 812.5e6);
	ck_assert_uint_eq(r->n_params, 2);
	ck_assert_str_eq(row_param(r, "size")->text, "1M");
	ck_assert_double_eq(row_param(r, "size")->number, 1048576);
	ck_assert_str_eq(row_param(r, "qps")->text, "8");
	ck_assert_ptr_null(row_param(r, "none"));
	r = rows_at(rows, 1);
	ck_assert_double_nan(r->value);
	ck_assert_mem_eq(r->hist, &hist, sizeof(hist));
	ck_assert_str_eq(rows_at(rows, 2)->text, "yes \"\n");
	ck_assert_str_eq(rows_at(rows, 3)->missing, "no PFC");
	ck_assert_str_eq(rows_at(rows, 3)->strategy, "");
	rows_close(rows);
	no_path();
}
END_TEST

START_TEST(rows_that_cannot_be_are_refused)
{
	struct row row = row_of("", "1M", 0, NAN);
	struct rows *rows;

	new_path();
	ck_assert_int_eq(rows_open(&rows, path), 0);
	ck_assert_int_eq(rows_add(rows, &row), -EINVAL);
	row.value = INFINITY;
	ck_assert_int_eq(rows_add(rows, &row), -EINVAL);
	row.value = 1;
	row.text = row.missing = (char[]){"x"};
	ck_assert_int_eq(rows_add(rows, &row), -EINVAL);
	row.missing = NULL;
	row.text = (char[]){"\xc3"};
	ck_assert_int_eq(rows_add(rows, &row), -EINVAL);
	row.text = NULL;
	row.kpi[0] = '\0';
	ck_assert_int_eq(rows_add(rows, &row), -EINVAL);
	row = row_of("", "1M", 0, 1);
	strcpy(row.param[1].name, "size");
	ck_assert_int_eq(rows_add(rows, &row), -EINVAL);
	row.n_params = ROWS_MAX_PARAMS + 1;
	ck_assert_int_eq(rows_add(rows, &row), -EINVAL);
	ck_assert_uint_eq(rows_count(rows), 0);
	rows_close(rows);
	ck_assert_str_eq(file_text(), "");
	no_path();
}
END_TEST

#define GOOD "{\"test\":\"5.1\",\"kpi\":\"bw\",\"value\":1}\n"

START_TEST(a_last_line_cut_off_is_dropped)
{
	struct rows *rows;

	new_path();
	file_is(GOOD "{\"test\":\"5.1\",\"kp");
	ck_assert_int_eq(rows_read(&rows, path), 0); /* a reader leaves the file as it is */
	ck_assert_uint_eq(rows_count(rows), 1);
	rows_close(rows);
	ck_assert_str_eq(file_text(), GOOD "{\"test\":\"5.1\",\"kp");
	ck_assert_int_eq(rows_open(&rows, path), 0);
	ck_assert_uint_eq(rows_count(rows), 1);
	add(rows, "", "1M", 1, 2);
	rows_close(rows);
	ck_assert_int_eq(rows_open(&rows, path), 0);
	ck_assert_uint_eq(rows_count(rows), 2);
	rows_close(rows);
	no_path();
}
END_TEST

START_TEST(a_last_line_without_its_newline_is_kept)
{
	struct rows *rows;

	new_path();
	file_is("{\"test\":\"5.1\",\"kpi\":\"bw\",\"value\":1}");
	ck_assert_int_eq(rows_open(&rows, path), 0);
	ck_assert_uint_eq(rows_count(rows), 1);
	rows_close(rows);
	ck_assert_str_eq(file_text(), GOOD);
	no_path();
}
END_TEST

#define LONG "a test has no name of forty-eight characters, or of even more"
#define ELEVEN                                                                                     \
	"{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1,\"j\":1,\"k\":"  \
	"1}"

static const char *const wrong[] = {
	"\n",
	"{\n",
	"[]\n",
	"{\"test\":\"5.1\",\"value\":1}\n",
	"{\"test\":\"5.1\",\"kpi\":\"\",\"value\":1}\n",
	"{\"test\":\"5.1\",\"kpi\":\"bw\"}\n",
	"{\"test\":\"5.1\",\"kpi\":\"bw\",\"value\":\"1\"}\n",
	"{\"test\":\"5.1\",\"kpi\":\"bw\",\"value\":1,\"text\":\"a\"}\n",
	"{\"test\":\"5.1\",\"kpi\":\"bw\",\"value\":1,\"value\":2}\n",
	"{\"test\":\"5.1\",\"kpi\":\"bw\",\"value\":1,\"colour\":2}\n",
	"{\"test\":\"5.1\",\"kpi\":\"bw\",\"value\":1e999}\n",
	"{\"test\":\"5.1\",\"kpi\":\"bw\",\"value\":1,\"trial\":-1}\n",
	"{\"test\":\"5.1\",\"kpi\":\"bw\",\"value\":1,\"trial\":4294967296}\n",
	"{\"test\":\"5.1\",\"kpi\":\"bw\",\"value\":1,\"trial\":1.5}\n",
	"{\"test\":\"5.1\",\"kpi\":\"bw\",\"value\":1,\"n\":-1}\n",
	"{\"test\":\"5.1\",\"kpi\":\"bw\",\"value\":1,\"params\":[]}\n",
	"{\"test\":\"5.1\",\"kpi\":\"bw\",\"value\":1,\"params\":{\"a\":null}}\n",
	"{\"test\":\"5.1\",\"kpi\":\"bw\",\"value\":1,\"params\":{\"a\":\"\"}}\n",
	"{\"test\":\"5\",\"kpi\":\"b\",\"value\":1,\"params\":" ELEVEN "}\n",
	"{\"test\":\"5.1\",\"kpi\":\"bw\",\"hist\":{}}\n",
	"{\"test\":\"5.1\",\"kpi\":\"bw\",\"text\":1}\n",
	"{\"test\":\"5.1\",\"kpi\":\"b\\u0000w\",\"value\":1}\n",
	"{\"test\":\"" LONG "\",\"kpi\":\"bw\",\"value\":1}\n",
};

START_TEST(a_wrong_line_is_an_error)
{
	char text[1024];
	struct rows *rows;

	new_path();
	snprintf(text, sizeof(text), "%s%s%s", GOOD, wrong[_i], GOOD);
	file_is(text);
	ck_assert_int_eq(rows_open(&rows, path), -EBADMSG);
	ck_assert_str_eq(file_text(), text);
	no_path();
}
END_TEST

START_TEST(one_process_appends)
{
	struct rows *rows, *second;

	new_path();
	ck_assert_int_eq(rows_open(&rows, path), 0);
	ck_assert_int_eq(rows_open(&second, path), -EBUSY);
	ck_assert_int_eq(rows_read(&second, path), 0);
	rows_close(second);
	rows_close(rows);
	ck_assert_int_eq(rows_open(&rows, path), 0);
	rows_close(rows);
	no_path();
	ck_assert_int_eq(rows_read(&rows, path), -ENOENT);
}
END_TEST

/* The file may not grow any more in the middle of a line: the line is not there, not half of it. */
START_TEST(a_full_disk_leaves_whole_lines)
{
	struct rlimit limit = {200, 200};
	struct row row = row_of("fare-spray", "1M", 0, 1);
	struct rows *rows;
	int err = 0;

	new_path();
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(rows_open(&rows, path), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	for (unsigned i = 0; i < 10 && !err; i++)
		err = rows_add(rows, &row);
	ck_assert_int_ne(err, 0);
	ck_assert_uint_eq(rows_count(rows), 1);
	ck_assert_int_eq(file_text()[strlen(file_text()) - 1], '\n');
	rows_close(rows);
	no_path();
}
END_TEST

START_TEST(filters)
{
	struct rows_filter f = {.trial = -1};
	struct row_param param[2];
	struct rows *rows;
	double *values;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	add(rows, "a", "64K", 1, 1);
	add(rows, "b", "64K", 1, 2);
	add(rows, "a", "1M", 1, 3);
	add(rows, "a", "1M", 2, 4);
	ck_assert_int_eq(rows_values(rows, &f, &values), 4);
	free(values);
	f.strategy = "a";
	f.test = "";
	ck_assert_int_eq(rows_values(rows, &f, &values), 3);
	ck_assert_double_eq(values[2], 4);
	free(values);
	ck_assert_int_eq(row_param_set(&param[0], "size", "1M"), 0);
	ck_assert_int_eq(row_param_set(&param[1], "other", "1"), 0);
	f.n_params = 1;
	f.param = param;
	ck_assert_int_eq(rows_values(rows, &f, &values), 2);
	free(values);
	f.trial = 2;
	ck_assert_uint_eq(rows_next(rows, &f, 0), 3);
	f.n_params = 2;
	ck_assert_uint_eq(rows_next(rows, &f, 0), 4);
	f = (struct rows_filter){.trial = -1, .kpi = "no"};
	ck_assert_int_eq(rows_values(rows, &f, &values), 0);
	free(values);
	rows_close(rows);
}
END_TEST

START_TEST(a_part_borrows)
{
	struct rows_filter f = {.trial = -1, .strategy = "a"};
	struct row row = row_of("a", "1M", 0, 0);
	struct rows *rows, *part;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	add(rows, "a", "64K", 1, 1);
	add(rows, "b", "64K", 1, 2);
	add(rows, "a", "1M", 1, 3);
	ck_assert_int_eq(rows_part(&part, rows, &f), 0);
	ck_assert_uint_eq(rows_count(part), 2);
	ck_assert_ptr_eq(rows_at(part, 1), rows_at(rows, 2));
	ck_assert_int_eq(rows_add(part, &row), -EINVAL);
	rows_close(part);
	ck_assert_double_eq(rows_at(rows, 2)->value, 3);
	rows_close(rows);
}
END_TEST

START_TEST(levels_are_in_order)
{
	static const char *const expected[] = {"2", "64K", "1M", "big", "all"};
	struct rows_filter f = {.trial = -1};
	struct row_param level[8];
	struct rows *rows;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	add(rows, "b", "1M", 10, 1);
	add(rows, "a", "big", 9, 1);
	add(rows, "b", "64K", 10, 1);
	add(rows, "b", "all", 10, 1);
	add(rows, "b", "2", 10, 1);
	add(rows, "b", "1M", 10, 1);
	ck_assert_uint_eq(rows_levels(rows, &f, "size", level, 8), 5);
	for (size_t i = 0; i < 5; i++)
		ck_assert_str_eq(level[i].text, expected[i]);
	ck_assert_uint_eq(rows_levels(rows, &f, "strategy", level, 8), 2);
	ck_assert_str_eq(level[0].text, "b");
	ck_assert_uint_eq(rows_levels(rows, &f, "trial", level, 8), 2);
	ck_assert_str_eq(level[0].text, "9");
	ck_assert_uint_eq(rows_levels(rows, &f, "none", level, 8), 0);
	ck_assert_uint_eq(rows_levels(rows, &f, "size", level, 2), 2);
	rows_close(rows);
}
END_TEST

START_TEST(histograms_add_up)
{
	struct rows_filter f = {.trial = -1, .strategy = "a"};
	struct row row = row_of("a", "1M", 0, 0);
	struct hist hist, sum;
	struct rows *rows;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	hist_init(&hist);
	hist_add(&hist, 5);
	row.hist = &hist;
	ck_assert_int_eq(rows_add(rows, &row), 0);
	ck_assert_int_eq(rows_add(rows, &row), 0);
	strcpy(row.strategy, "b");
	ck_assert_int_eq(rows_add(rows, &row), 0);
	add(rows, "a", "1M", 0, 1);
	hist_init(&sum);
	ck_assert_uint_eq(rows_hist(rows, &f, &sum), 2);
	ck_assert_uint_eq(sum.n, 2);
	ck_assert_uint_eq(sum.bucket[5], 2);
	rows_close(rows);
}
END_TEST

static double unit(const void *context, const char *test, const char *kpi, const char **name,
		   const char **point)
{
	ck_assert_str_eq(context, "context");
	ck_assert_str_eq(test, "5.1");
	ck_assert_str_eq(kpi, "bw");
	*name = "us";
	*point = "DUT-F, DUT-S";
	return 1e-3;
}

START_TEST(csv)
{
	struct row row = row_of("a", "1M", 7, 0);
	struct hist hist;
	struct rows *rows;

	new_path();
	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	add(rows, "a", "1M", 1, 2.5);
	hist_init(&hist);
	for (unsigned i = 0; i < 100; i++)
		hist_add(&hist, i < 50 ? 100 : 1000000);
	row.hist = &hist;
	ck_assert_int_eq(rows_add(rows, &row), 0);
	row.hist = NULL;
	row.text = (char[]){"=1+\"2\""};
	ck_assert_int_eq(rows_add(rows, &row), 0);
	row.text = NULL;
	row.missing = (char[]){"a, b"};
	ck_assert_int_eq(rows_add(rows, &row), 0);
	ck_assert_int_eq(rows_csv(rows, path, unit, "context"), 0);
	ck_assert_str_eq(
		file_text(),
		"test,strategy,kpi,unit,point,trial,params,value,n,p50,p95,p99,p99.9,max,text,"
		"missing\r\n"
		"5.1,a,bw,us,\"DUT-F, DUT-S\",1,size=1M qps=8,2.5,41,,,,,,,\r\n"
		"5.1,a,bw,us,\"DUT-F, DUT-S\",7,size=1M qps=8,,100,500.05,1000,,,1000,,\r\n"
		"5.1,a,bw,us,\"DUT-F, DUT-S\",7,size=1M qps=8,,41,,,,,,\"'=1+\"\"2\"\"\",\r\n"
		"5.1,a,bw,us,\"DUT-F, DUT-S\",7,size=1M qps=8,,41,,,,,,,\"a, b\"\r\n");
	ck_assert_int_eq(rows_csv(rows, "/nonexistent/x", unit, "context"), -ENOENT);
	rows_close(rows);
	no_path();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rows");
	TCase *tcase = tcase_create("rows");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, numbers_of_parameters);
	tcase_add_test(tcase, what_is_added_is_read_again);
	tcase_add_test(tcase, rows_that_cannot_be_are_refused);
	tcase_add_test(tcase, a_last_line_cut_off_is_dropped);
	tcase_add_test(tcase, a_last_line_without_its_newline_is_kept);
	tcase_add_loop_test(tcase, a_wrong_line_is_an_error, 0, sizeof(wrong) / sizeof(wrong[0]));
	tcase_add_test(tcase, one_process_appends);
	tcase_add_test(tcase, a_full_disk_leaves_whole_lines);
	tcase_add_test(tcase, filters);
	tcase_add_test(tcase, a_part_borrows);
	tcase_add_test(tcase, levels_are_in_order);
	tcase_add_test(tcase, histograms_add_up);
	tcase_add_test(tcase, csv);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
