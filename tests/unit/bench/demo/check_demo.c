/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <getopt.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/check_bench_fabric.h"
#include "demo/demo.h"

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

/* Faults strike the receiver of the KV transfer, on another server than the sender's. */
START_TEST(faults_strike_the_receiver)
{
	struct topo *topo = parsed(fabric(3));
	char spec[96], want[2 * TOPO_NAME_MAX + 16], gpu[2 * TOPO_NAME_MAX];

	ck_assert_uint_ne(topo->gpus[demo_victim(topo)].server, topo->gpus[0].server);
	topo_gpu_label(topo, demo_victim(topo), gpu, sizeof(gpu));
	demo_spec(topo, "healthy", spec, sizeof(spec));
	ck_assert_str_eq(spec, "");
	demo_spec(topo, "sub-port-lost", spec, sizeof(spec));
	snprintf(want, sizeof(want), "subport %s 1 0", gpu);
	ck_assert_str_eq(spec, want);
	demo_spec(topo, "plane-lost", spec, sizeof(spec));
	snprintf(want, sizeof(want), "plane %s 1", gpu);
	ck_assert_str_eq(spec, want);
	topo_destroy(topo);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("demo");
	TCase *tcase = tcase_create("demo");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, a_scenario_has_to_exist);
	tcase_add_test(tcase, faults_strike_the_receiver);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
