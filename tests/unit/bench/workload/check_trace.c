/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "workload/trace.h"

#define HEAD "arrival_s,prompt_tokens,output_tokens\n"

static int parse(struct trace *trace, const char *text, char *error)
{
	return trace_parse(trace, "t.csv", text, strlen(text), error, 200);
}

START_TEST(requests_in_order)
{
	struct trace t;
	char error[200];

	ck_assert_int_eq(parse(&t, HEAD "0.5,100,10\r\n0.5,300,7\n2.5,200,20", error), 0);
	ck_assert_uint_eq(t.n, 3);
	ck_assert_uint_eq(t.longest_prompt, 300);
	ck_assert_uint_eq(t.longest_output, 20);
	ck_assert_double_eq(trace_gap_s(&t, 0), 0);
	ck_assert_double_eq(trace_gap_s(&t, 1), 2);
	ck_assert_double_eq(trace_mean_gap_s(&t), 1);
	/* from the last to the first again */
	ck_assert_double_eq(trace_gap_s(&t, 2), 1);
	trace_fini(&t);
}
END_TEST

static const struct {
	const char *text, *where;
} wrong[] = {
	{"", "t.csv:0: two requests"},
	{"1,2,3\n", "t.csv:1: the first line"},
	{HEAD "0,100\n1,100,5\n", "t.csv:2: three numbers"},
	{HEAD "0,100,5,6\n", "t.csv:2: three numbers"},
	{HEAD "0,1e3,5\n", "t.csv:2: three numbers"},
	{HEAD "0, 100,5\n", "t.csv:2: three numbers"},
	{HEAD "0,1.5,5\n", "t.csv:2: three numbers"},
	{HEAD "0,0,5\n", "t.csv:2: 1 to"},
	{HEAD "0,100,20000000\n", "t.csv:2: 1 to"},
	{HEAD "1,100,5\n0.5,100,5\n", "t.csv:3: times"},
	{HEAD "1,100,5\n\n2,100,5\n", "t.csv:3: three numbers"},
	{HEAD "1,100,5\n", "t.csv:2: two requests"},
	{HEAD "1,100,5\n1,100,5\n", "t.csv:3: two requests"},
};

START_TEST(a_wrong_line_is_named)
{
	char error[200] = "";
	struct trace t;

	ck_assert_int_eq(parse(&t, wrong[_i].text, error), -EBADMSG);
	ck_assert_msg(strncmp(error, wrong[_i].where, strlen(wrong[_i].where)) == 0, "%s", error);
	ck_assert_ptr_null(t.request);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("trace");
	TCase *tcase = tcase_create("trace");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, requests_in_order);
	tcase_add_loop_test(tcase, a_wrong_line_is_named, 0, sizeof(wrong) / sizeof(wrong[0]));
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
