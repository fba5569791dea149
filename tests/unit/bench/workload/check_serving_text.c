/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "workload/serving.h"

START_TEST(requests_in_words)
{
	struct trace_request request[] = {{0, 100, 10, 0, 0}, {1, 300, 30, 0, 0}};
	struct trace trace = {.request = request, .n = 2};
	struct serving_options o = {.prompt = {LENGTHS_UNIFORM, 100, 199, 0},
				    .output = {LENGTHS_FIXED, 4, 0, 0},
				    .per_s = 3};
	char text[SERVING_TEXT_MAX];

	serving_text(&o, text, sizeof(text));
	ck_assert_str_eq(text, "prompts: uniform, 100 to 199 tokens, mean 150, P50 150, P99 199; "
			       "outputs: 4 tokens each; arrivals: Poisson; prefixes: none shared");
	o.per_s = 0;
	o.prefix_share = 0.9;
	o.prefix_tokens = 256;
	serving_text(&o, text, sizeof(text));
	ck_assert_ptr_nonnull(strstr(text, "arrivals: one at a time; prefixes: 90% of requests "
					   "have one of 16, of 256 tokens more"));
	o.per_s = 3;
	o.trace = &trace;
	o.reuse = true;
	serving_text(&o, text, sizeof(text));
	ck_assert_ptr_nonnull(strstr(text, "prompts: of the trace, 100 to 300 tokens, mean 200, "
					   "P50 200, P99 298; outputs: of the trace, 10 to 30"));
	ck_assert_ptr_nonnull(strstr(text, "arrivals: as in the trace, stretched to the rate; "
					   "prefixes: those of the trace's hashes"));
}
END_TEST

/* A trial that runs the same service again (11.1) has one row, and another for another. */
START_TEST(a_row_for_each_text)
{
	static const struct kpi kpis[] = {{.name = NULL}};
	static const struct test test = {.id = "0.1", .kpis = kpis};
	struct trial t = {.test = &test, .strategy_name = ""};
	struct serving_options o = {.prompt = {LENGTHS_FIXED, 100, 0, 0}, .per_s = 3};

	serving_text_add(&t, &o);
	serving_text_add(&t, &o);
	ck_assert_uint_eq(t.n_rows, 1);
	o.prompt.min = 200;
	serving_text_add(&t, &o);
	ck_assert_uint_eq(t.n_rows, 2);
	ck_assert_str_eq(t.row[1].kpi, SUITE_REQUESTS);
	trial_fini(&t);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("serving_text");
	TCase *tc = tcase_create("all");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, requests_in_words);
	tcase_add_test(tc, a_row_for_each_text);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
