/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "workload/custom.h"

#define MODEL                                                                                      \
	"models:\n  - {name: CFG-E, layers: 10, kv_heads: 4, head_dim: 64, element_bytes: 2, "     \
	"prefill_base_ms: 5, prefill_tokens_per_s: 1000, step_ms: 20}\n"
#define EXPERTS "experts:\n  - {name: M5, experts: 16, top_k: 4, hidden: 512}\n"

static char dir[] = "/tmp/check_custom.XXXXXX", yaml[64], csv[64];

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	ck_assert_int_eq(fclose(file), 0);
}

static void begin(void)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(yaml, sizeof(yaml), "%s/w.yaml", dir);
	snprintf(csv, sizeof(csv), "%s/t.csv", dir);
}

static void end(void)
{
	unlink(yaml);
	unlink(csv);
	rmdir(dir);
}

/* Its names are known as long as it is in force, and its trace is found beside it. */
START_TEST(a_workload_in_force)
{
	put(yaml, MODEL EXPERTS "trace: t.csv\ntrace_tokens: 0.5\n");
	put(csv, "arrival_s,prompt_tokens,output_tokens\n0,100,5\n1,200,6\n");
	ck_assert_ptr_null(model_find("CFG-E"));
	ck_assert_int_eq(custom_load(yaml), 0);
	ck_assert_double_eq(model_kv_bytes(model_find("CFG-E"), 1), 2. * 10 * 4 * 64 * 2);
	ck_assert_double_eq_tol(model_prefill_s(model_find("CFG-E"), 100), 0.105, 1e-9);
	ck_assert_uint_eq(moe_config_find("M5")->top_k, 4);
	ck_assert_uint_eq(custom_trace()->n, 2);
	ck_assert_uint_eq(custom_trace()->longest_prompt, 100);
	custom_fini();
	ck_assert_ptr_null(model_find("CFG-E"));
	ck_assert_ptr_null(moe_config_find("M5"));
	ck_assert_ptr_null(custom_trace());
}
END_TEST

/* Laws of one's own, and 8 requests at once (methodology 3.4.2); what is not named stays. */
START_TEST(laws_and_bursts)
{
	struct lengths prompt = lengths_usual_prompt, output = lengths_usual_output;
	unsigned burst = 0;

	custom_requests(&prompt, &output, &burst);
	ck_assert_uint_eq(burst, 0);
	put(yaml, "prompts: {law: zipf, min: 100, max: 200, alpha: 0.5}\nburst: 8\n");
	ck_assert_int_eq(custom_load(yaml), 0);
	custom_requests(&prompt, &output, &burst);
	ck_assert_int_eq(prompt.law, LENGTHS_ZIPF);
	ck_assert_uint_eq(prompt.min, 100);
	ck_assert_uint_eq(prompt.max, 200);
	ck_assert_double_eq(prompt.alpha, 0.5);
	ck_assert_uint_eq(output.max, lengths_usual_output.max);
	ck_assert_uint_eq(burst, 8);
	custom_fini();
	put(yaml, "prompts: {law: uniform, min: 10, max: 30}\noutputs: {law: fixed, min: 7}\n");
	ck_assert_int_eq(custom_load(yaml), 0);
	custom_requests(&prompt, &output, &burst);
	ck_assert_double_eq_tol(lengths_mean(&prompt), 20, 0.1);
	ck_assert_double_eq(lengths_mean(&output), 7);
	custom_fini();
}
END_TEST

START_TEST(half_a_workload_is_none)
{
	put(yaml, MODEL "trace: t.csv\n");
	ck_assert_int_eq(custom_load(yaml), -ENOENT);
	ck_assert_ptr_null(model_find("CFG-E"));
	put(csv, "arrival_s,prompt_tokens,output_tokens\n0,100,5\n");
	ck_assert_int_eq(custom_load(yaml), -EBADMSG);
	ck_assert_ptr_null(model_find("CFG-E"));
	ck_assert_int_eq(custom_load("/nonexistent"), -ENOENT);
}
END_TEST

static const struct {
	const char *text, *where;
} wrong[] = {
	{"models:\n  - {name: CFG-A, layers: 10, kv_heads: 4, head_dim: 64, element_bytes: 2, "
	 "prefill_base_ms: 5, prefill_tokens_per_s: 1000, step_ms: 20}\n",
	 "another model's name"},
	{"experts:\n  - {name: M1, experts: 16, top_k: 4, hidden: 512}\n",
	 "another configuration's name"},
	{EXPERTS "  - {name: M5, experts: 16, top_k: 4, hidden: 512}\n",
	 "another configuration's name"},
	{"experts:\n  - {name: M5, experts: 16, top_k: 17, hidden: 512}\n", "cannot be chosen"},
	{"experts:\n  - {name: M5, experts: 1, top_k: 1, hidden: 512}\n", "experts"},
	{"experts:\n  - {name: M5, experts: 16, top_k: 4, hidden: 4K}\n", "hidden"},
	{"models:\n  - {name: CFG-E, layers: 10}\n", "missing"},
	{"model: []\n", "model"},
	{"prompts: {law: normal, min: 1, max: 2}\n", "not fixed, uniform or zipf"},
	{"outputs: {law: zipf, min: 5, max: 5}\n", "max is not above min"},
	{"trace: t.csv\nburst: 2\n", "of its own"},
	{"burst: 0\n", "burst"},
};

START_TEST(what_is_wrong_is_named)
{
	char error[512] = "";

	ck_assert_int_eq(custom_check("w.yaml", wrong[_i].text, strlen(wrong[_i].text), error,
				      sizeof(error)),
			 -EBADMSG);
	ck_assert_msg(strstr(error, wrong[_i].where) && strncmp(error, "w.yaml:", 7) == 0, "%s",
		      error);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("custom");
	TCase *tcase = tcase_create("custom");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tcase, begin, end);
	tcase_add_test(tcase, a_workload_in_force);
	tcase_add_test(tcase, laws_and_bursts);
	tcase_add_test(tcase, half_a_workload_is_none);
	tcase_add_loop_test(tcase, what_is_wrong_is_named, 0, sizeof(wrong) / sizeof(wrong[0]));
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
