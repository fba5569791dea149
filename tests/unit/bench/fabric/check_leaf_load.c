/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "fabric/leaf_load.h"

static struct topo_leaf leaf;
static const struct topo topo = {.n_leaves = 1, .leaves = &leaf};

/* Two leaves, two seconds: half a second of one, a tenth of the other; a daemon that ended. */
START_TEST(the_busiest_and_the_largest)
{
	uint64_t cpu_from[] = {1000000000, 0, 900000000}, cpu_to[] = {1500000000, 100000000, 0};
	uint64_t rss[] = {4096, 8192, 0};
	const struct leaf_load from = {5, cpu_from, rss}, to = {2000000005, cpu_to, rss};

	ck_assert_double_eq_tol(leaf_load_cpu_percent(&from, &to, 3), 25, 1e-9);
	ck_assert_double_eq_tol(leaf_load_cpu_percent(&from, &from, 3), 0, 1e-9);
	ck_assert_double_eq(leaf_load_rss_bytes(&to, 3), 8192);
}
END_TEST

START_TEST(a_namespace_that_is_not_there)
{
	struct leaf_load load;

	snprintf(leaf.netns, sizeof(leaf.netns), "no%d", getpid());
	ck_assert_int_eq(leaf_load_read(&load, &topo), -ENOENT);
	ck_assert_ptr_null(load.cpu_ns);
}
END_TEST

static void in_netns(const char *verb)
{
	char command[160];

	snprintf(command, sizeof(command), "ip netns %s %s", verb, leaf.netns);
	ck_assert_int_eq(system(command), 0);
}

/* A process that computes in the leaf's namespace is seen; those elsewhere are not. */
START_TEST(processes_of_a_namespace)
{
	struct leaf_load from, to = {0};
	uint64_t end_ns = clock_now_ns() + 20000000000;
	pid_t child;

	snprintf(leaf.netns, sizeof(leaf.netns), "load%d", getpid());
	in_netns("add");
	ck_assert_int_eq(leaf_load_read(&from, &topo), 0);
	ck_assert_double_eq(leaf_load_rss_bytes(&from, 1), 0);
	child = fork();
	if (child == 0) {
		execlp("ip", "ip", "netns", "exec", leaf.netns, "sh", "-c", "while :; do :; done",
		       NULL);
		_exit(127);
	}
	do {
		leaf_load_fini(&to);
		if (leaf_load_read(&to, &topo))
			break;
	} while (to.cpu_ns[0] < 50000000 && clock_now_ns() < end_ns);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	in_netns("del");
	ck_assert_double_gt(leaf_load_cpu_percent(&from, &to, 1), 0);
	ck_assert_double_gt(leaf_load_rss_bytes(&to, 1), 10000);
	leaf_load_fini(&from);
	leaf_load_fini(&to);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("leaf_load");
	TCase *tcase = tcase_create("leaf_load");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tcase, 30);
	tcase_add_test(tcase, the_busiest_and_the_largest);
	tcase_add_test(tcase, a_namespace_that_is_not_there);
	if (geteuid() == 0)
		tcase_add_test(tcase, processes_of_a_namespace);
	else
		puts("skipped: processes_of_a_namespace: no root");
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
