/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <getopt.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "demo.h"

/* A typing error is found before a lab is asked for anything, and leaves no document behind. */
START_TEST(a_scenario_has_to_exist)
{
	const char *argv[] = {"demo",	"--lab",  "no-such-lab", "--scenario",
			      "helthy", "--json", "out.json",	 NULL};
	char home[] = "/tmp/check_demo.XXXXXX";

	ck_assert_ptr_nonnull(mkdtemp(home));
	ck_assert_int_eq(chdir(home), 0);
	optind = 0;
	ck_assert_int_eq(demo_main(7, (char **)(uintptr_t)argv), 2);
	ck_assert_int_eq(access("out.json", F_OK), -1);
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(rmdir(home), 0);
}
END_TEST

START_TEST(idle_is_of_runs)
{
	struct result *result;

	ck_assert_int_eq(result_create(&result), 0);
	ck_assert_int_eq(demo_idle(result), 0);
	ck_assert_ptr_null(json_object_get(result_root(result), "idle_cpu_percent"));
	ck_assert_ptr_null(json_object_get(result_root(result), "idle_busiest_core_percent"));
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(result_append(result, "runs",
					       json_pack("{s:f, s:f}", "idle_cpu_percent", 50. + i,
							 "idle_busiest_core_percent", 20. - i)),
				 0);
	ck_assert_int_eq(demo_idle(result), 0);
	ck_assert(json_number_value(json_object_get(result_root(result), "idle_cpu_percent")) ==
		  50);
	ck_assert(json_number_value(
			  json_object_get(result_root(result), "idle_busiest_core_percent")) == 19);
	result_destroy(result);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("demo");
	TCase *tcase = tcase_create("demo");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, a_scenario_has_to_exist);
	tcase_add_test(tcase, idle_is_of_runs);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
