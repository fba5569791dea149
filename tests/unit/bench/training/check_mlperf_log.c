/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "training/mlperf_log.h"

#define EVENT(time, type, key, value, more)                                                        \
	":::MLLOG {\"namespace\": \"\", \"time_ms\": " time ", \"event_type\": \"" type            \
	"\", \"key\": \"" key "\", \"value\": " value                                              \
	", \"metadata\": {\"file\": \"train.py\", \"lineno\": 7" more "}}\n"
#define POINT(key, value) EVENT("1700000000100", "POINT_IN_TIME", key, value, "")
#define START		  EVENT("1700000001000", "INTERVAL_START", "run_start", "null", "")
#define STOP(time, more)  EVENT(time, "INTERVAL_END", "run_stop", "null", more)
#define SUCCEEDED(time)	  STOP(time, ", \"status\": \"success\"")
#define RATE(time, samples)                                                                        \
	EVENT(time, "POINT_IN_TIME", "tracked_stats", "{\"throughput\": " samples "}",             \
	      ", \"step\": 10")
#define EVAL(time, samples)                                                                        \
	EVENT(time, "POINT_IN_TIME", "eval_accuracy", "0.71", ", \"samples_count\": " samples)
#define HEAD                                                                                       \
	"Container nvidia build\n" POINT("submission_benchmark", "\"bert\"")                       \
		POINT("global_batch_size", "448") POINT("max_sequence_length", "512")

static struct mlperf_log out;
static char error[200];

static int parse(const char *text)
{
	/* without a terminator behind it, for ASan */
	size_t length = strlen(text);
	char *copy = malloc(length + 1);
	int err;

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, text, length);
	copy = realloc(copy, length ? length : 1);
	error[0] = '\0';
	err = mlperf_log_parse(&out, copy, length, error, sizeof(error));
	free(copy);
	return err;
}

START_TEST(a_run_with_samples)
{
	ck_assert_int_eq(parse(HEAD START "step 1 loss 3.2\n" EVAL("1700000031000", "30000") RATE(
				 "1700000032000", "7") "3: " EVAL("1700000060000", "60000")
				       SUCCEEDED("1700000061000")),
			 0);
	ck_assert_str_eq(out.benchmark, "bert");
	ck_assert_str_eq(out.status, "success");
	ck_assert_double_eq(out.seconds, 60);
	ck_assert_double_eq(out.batch, 448);
	ck_assert_double_eq(out.sequence, 512);
	ck_assert_double_eq(out.samples_per_s, 1000); /* counted, before what a line says */
	ck_assert_uint_eq(out.n, 1);
}
END_TEST

START_TEST(a_run_with_rates)
{
	/* before run_start it is warming up: that does not count */
	ck_assert_int_eq(parse(HEAD RATE("1700000000500", "1") START RATE("1700000002000", "100")
				       RATE("1700000003000", "200")
					       STOP("1700000002500", ", \"status\": \"aborted\"")
						       RATE("1700000004000", "9000")),
			 0); /* nor after run_stop */
	ck_assert_double_eq(out.seconds, 1.5);
	ck_assert_double_eq(out.samples_per_s, 150);
	ck_assert_uint_eq(out.n, 2);
	ck_assert_str_eq(out.status, "aborted");
}
END_TEST

START_TEST(a_long_name_is_cut_between_characters)
{
	/* 62 bytes, and a character of two that the 63rd would begin */
	ck_assert_int_eq(
		parse(POINT("submission_benchmark",
			    "\"12345678901234567890123456789012345678901234567890123456789012"
			    "\xc3\xa9\"") START SUCCEEDED("1700000061000")),
		0);
	ck_assert_uint_eq(strlen(out.benchmark), 62);
}
END_TEST

START_TEST(what_is_not_said_is_nothing)
{
	ck_assert_int_eq(parse(START STOP("1700000001001", "")), 0);
	ck_assert_double_eq(out.seconds, 0.001);
	ck_assert_str_eq(out.status, "");
	ck_assert_str_eq(out.benchmark, "");
	ck_assert_double_eq(out.samples_per_s, 0);
	ck_assert_double_eq(out.sequence, 0);
	/* values of other kinds than they are are not said either */
	ck_assert_int_eq(
		parse(POINT("global_batch_size", "\"448\"") POINT("submission_benchmark", "[1]")
			      START RATE("1700000001000", "-5") RATE("1700000001000", "1e300")
				      EVAL("1700000001000", "-1") SUCCEEDED("1700000002000")),
		0);
	ck_assert_double_eq(out.batch, 0);
	ck_assert_double_eq(out.samples_per_s, 0);
}
END_TEST

static const struct {
	const char *text, *says;
} bad[] = {
	{"", "line 0: it has no run_start"},
	{"no log at all\n", "line 1: it has no run_start"},
	{HEAD START EVAL("1700000002000", "5"), "it ends before run_stop"},
	/* cut in the middle of a line */
	{START ":::MLLOG {\"namespace\": \"\", \"time_ms\": 17000", "line 2: no whole JSON object"},
	{":::MLLOG", "line 1: no whole JSON object"},
	{":::MLLOG [1, 2]\n", "line 1: no whole JSON object"},
	{":::MLLOG {\"key\": \"a\", \"key\": \"run_start\"}\n", "line 1: no whole JSON object"},
	{":::MLLOG {\"key\": 7}\n", "line 1: no key"},
	{":::MLLOG {\"key\": \"run_start\"}\n", "run_start has no time_ms"},
	{":::MLLOG {\"key\": \"run_start\", \"time_ms\": -1}\n", "run_start has no time_ms"},
	{":::MLLOG {\"key\": \"run_start\", \"time_ms\": 1e300}\n", "run_start has no time_ms"},
	{START START, "line 2: a second run_start"},
	{SUCCEEDED("1700000002000"), "a run_stop without its run_start"},
	{START SUCCEEDED("1700000002000") SUCCEEDED("1700000002000"), "line 3: a run_stop without"},
	{START SUCCEEDED("1700000001000"), "run_stop is not after run_start"},
	{START SUCCEEDED("1600000001000"), "run_stop is not after run_start"},
};

START_TEST(logs_that_are_wrong)
{
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ck_assert_int_eq(parse(bad[i].text), -EBADMSG);
		ck_assert_msg(strstr(error, bad[i].says), "%zu: %s", i, error);
	}
}
END_TEST

START_TEST(hostile_lines)
{
	size_t length = 200u << 10;
	char *text = malloc(length + 1);

	/* long, and nested deeply; and a long line that is none of MLPerf's */
	ck_assert_ptr_nonnull(text);
	memset(text, '[', length);
	text[length] = '\0';
	memcpy(text, ":::MLLOG ", strlen(":::MLLOG "));
	ck_assert_int_eq(parse(text), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(error, "longer than 64 KiB"));
	text[40000] = '\0';
	ck_assert_int_eq(parse(text), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(error, "no whole JSON object"));
	text[0] = '[';
	ck_assert_int_eq(parse(text), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(error, "it has no run_start"));
	free(text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("mlperf_log");
	TCase *tcase = tcase_create("mlperf_log");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, a_run_with_samples);
	tcase_add_test(tcase, a_long_name_is_cut_between_characters);
	tcase_add_test(tcase, a_run_with_rates);
	tcase_add_test(tcase, what_is_not_said_is_nothing);
	tcase_add_test(tcase, logs_that_are_wrong);
	tcase_add_test(tcase, hostile_lines);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
