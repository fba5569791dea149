/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "check_bench_fabric.h"
#include "result.h"

static const char *told(const struct result *result, const char *key)
{
	const char *text = json_string_value(
		json_object_get(json_object_get(result_root(result), "environment"), key));

	ck_assert_msg(text && text[0], "environment.%s is missing", key);
	return text;
}

START_TEST(what_figures_stand_on)
{
	const struct result_basis basis = {"a clock", "routes", "cables"};
	struct result *result;

	ck_assert_int_eq(result_create(&result), 0);
	ck_assert_int_eq(result_describe_basis(result, &basis), 0);
	ck_assert_str_eq(told(result, "observation_point"), "a clock");
	ck_assert_str_eq(told(result, "real"), "routes");
	ck_assert_str_eq(told(result, "emulated"), "cables");
	told(result, "kernel");
	told(result, "processor");
	told(result, "command");
	told(result, "version");
	result_destroy(result);
}
END_TEST

START_TEST(traffic_in_a_lab)
{
	struct topo *topo = parsed(fabric(3));
	struct result *result;
	const json_t *environment;

	ck_assert_int_eq(result_create(&result), 0);
	ck_assert_int_eq(result_describe(result, topo), 0);
	ck_assert_ptr_nonnull(strstr(told(result, "real"), "bgpd"));
	ck_assert_ptr_nonnull(strstr(told(result, "emulated"), "veth"));
	ck_assert_ptr_nonnull(strstr(told(result, "observation_point"), "verified"));
	environment = json_object_get(result_root(result), "environment");
	ck_assert_int_eq(json_integer_value(json_object_get(environment, "gpus")), 3);
	ck_assert_int_eq(json_integer_value(json_object_get(environment, "sub_port_rate_bps")),
			 200000000);
	result_destroy(result);
	topo_destroy(topo);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("result");
	TCase *tcase = tcase_create("result");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, what_figures_stand_on);
	tcase_add_test(tcase, traffic_in_a_lab);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
