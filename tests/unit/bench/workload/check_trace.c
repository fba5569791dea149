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

#define MOONCAKE                                                                                   \
	"{\"timestamp\": 500, \"input_length\": 1500, \"output_length\": 10, \"hash_ids\": [46, "  \
	"47, "                                                                                     \
	"48]}\n"                                                                                   \
	"{\"timestamp\": 2500, \"input_length\": 1030, \"output_length\": 2, \"hash_ids\": [46, "  \
	"47, "                                                                                     \
	"99]}\n"                                                                                   \
	"{\"timestamp\": 2500, \"input_length\": 3, \"output_length\": 2, \"session\": 4}\n"

START_TEST(a_trace_of_mooncake)
{
	struct trace t;
	char error[200] = "";

	ck_assert_msg(parse(&t, MOONCAKE, error) == 0, "%s", error);
	ck_assert_uint_eq(t.n, 3);
	ck_assert_double_eq(trace_gap_s(&t, 0), 2);
	ck_assert_uint_eq(t.longest_prompt, 1500);
	ck_assert_uint_eq(t.n_blocks, 6);
	ck_assert_uint_eq(t.request[1].n_blocks, 3);
	ck_assert_uint_eq(t.block[t.request[1].first_block + 2], 99);
	ck_assert_uint_eq(t.request[2].n_blocks, 0);
	trace_scale(&t, 0.1);
	ck_assert_uint_eq(t.request[0].prompt, 150);
	ck_assert_uint_eq(t.request[2].prompt, 1);
	ck_assert_uint_eq(t.longest_output, 1);
	ck_assert_double_eq_tol(t.block_tokens, 51.2, 1e-9);
	trace_fini(&t);
}
END_TEST

#define AZURE "TIMESTAMP,ContextTokens,GeneratedTokens\n"

START_TEST(a_trace_of_azure)
{
	struct trace t;
	char error[200] = "";

	ck_assert_msg(parse(&t,
			    AZURE "2023-11-16 18:17:03.9799600,4808,10\r\n"
				  "2023-11-16 18:17:04.0319600,3180,8\n"
				  "2023-11-17 00:00:00+00:00,110,27\n",
			    error) == 0,
		      "%s", error);
	ck_assert_uint_eq(t.n, 3);
	ck_assert_uint_eq(t.request[0].prompt, 4808);
	ck_assert_uint_eq(t.request[1].output, 8);
	ck_assert_double_eq_tol(trace_gap_s(&t, 0), 0.052, 1e-6);
	ck_assert_double_eq_tol(trace_gap_s(&t, 1), 20575.96804, 1e-5);
	ck_assert_ptr_null(t.block);
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
	{AZURE "2023-11-16,1,2\n", "t.csv:2: a date"},
	{AZURE "2023-11-16 18:17:03.,1,2\n", "t.csv:2: a date"},
	{AZURE "2023-11-16 18:17:03+02:00,1,2\n", "t.csv:2: a date"},
	{AZURE "2023-11-16 18:17:04,1,2\n2023-11-16 18:17:03,1,2\n", "t.csv:3: times"},
	{"[1]\n", "t.csv:1: the first line"},
	{"{\"timestamp\": 1}\n", "t.csv:1: a JSON object"},
	{"{\"timestamp\": 1, \"input_length\": 2, \"output_length\": 2\n",
	 "t.csv:1: a JSON object"},
	{"{\"timestamp\": 1, \"input_length\": 2.5, \"output_length\": 2}\n", "t.csv:1: a JSON"},
	{"{\"timestamp\": -1, \"input_length\": 2, \"output_length\": 2}\n", "t.csv:1: times"},
	{"{\"timestamp\": 1, \"input_length\": -2, \"output_length\": 2}\n", "t.csv:1: 1 to"},
	{"{\"timestamp\": 1, \"input_length\": 2, \"output_length\": 2, \"hash_ids\": 3}\n",
	 "t.csv:1: hash_ids"},
	{"{\"timestamp\": 1, \"input_length\": 2, \"output_length\": 2, \"hash_ids\": [-1]}\n",
	 "t.csv:1: hash_ids"},
	{MOONCAKE "\n", "t.csv:4: a JSON object"},
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
	tcase_add_test(tcase, a_trace_of_mooncake);
	tcase_add_test(tcase, a_trace_of_azure);
	tcase_add_loop_test(tcase, a_wrong_line_is_named, 0, sizeof(wrong) / sizeof(wrong[0]));
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
