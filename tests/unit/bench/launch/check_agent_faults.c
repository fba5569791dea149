/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/agent_internal.h"

/* Two faults: each is a file that is there. */
static char directory[] = "/tmp/check_agent_faults.XXXXXX", path[2][64];
static struct inventory_host host;
static struct inventory inventory = {.host = &host};
static struct agent agent;

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(directory));
	memset(&host, 0, sizeof(host));
	inventory.limits.max_run_ns = UINT64_C(60000000000);
	host.n_faults = 2;
	for (int i = 0; i < 2; i++) {
		snprintf(path[i], sizeof(path[i]), "%s/%d", directory, i);
		snprintf(host.fault[i].down, sizeof(host.fault[i].down), "touch %s", path[i]);
		snprintf(host.fault[i].up, sizeof(host.fault[i].up), "rm -f %s", path[i]);
	}
	agent = (struct agent){.inventory = &inventory, .name = "h0"};
}

static void teardown(void)
{
	unlink(path[0]);
	unlink(path[1]);
	rmdir(directory);
	strcpy(directory + strlen(directory) - 6, "XXXXXX");
}

static bool in_force(int i)
{
	return access(path[i], F_OK) == 0;
}

static int make(unsigned fault)
{
	uint64_t from_ns;
	char why[512];

	return agent_fault(&agent, fault, &from_ns, why, sizeof(why));
}

START_TEST(several_are_healed_at_once)
{
	uint64_t at_ns;
	char why[512];

	ck_assert_int_eq(agent_faults_open(&agent), 0);
	ck_assert_int_eq(make(0), 0);
	ck_assert(in_force(0) && !in_force(1));
	ck_assert_int_eq(make(1), 0);
	ck_assert(in_force(0) && in_force(1));
	ck_assert_int_eq(make(1), -EBUSY);
	ck_assert_int_eq(agent_heal(&agent, &at_ns, why, sizeof(why)), 0);
	ck_assert(!in_force(0) && !in_force(1));
	ck_assert_int_eq(make(1), 0); /* and can be made again */
	ck_assert(in_force(1));
	agent_faults_close(&agent);
	ck_assert(!in_force(1));
}
END_TEST

/* A command that fails half-way is undone, with what was in force before. */
START_TEST(one_that_fails)
{
	char *down = host.fault[1].down;

	snprintf(down, sizeof(host.fault[1].down), "touch %s; exit 3", path[1]);
	ck_assert_int_eq(agent_faults_open(&agent), 0);
	ck_assert_int_eq(make(0), 0);
	ck_assert_int_eq(make(1), -EREMOTEIO);
	ck_assert(!in_force(0) && !in_force(1));
	agent_faults_close(&agent);
}
END_TEST

/* The guard sees the second fault as well as the first. */
START_TEST(an_agent_that_is_killed)
{
	pid_t child = fork();
	int status;

	ck_assert_int_ge(child, 0);
	if (child == 0) {
		if (agent_faults_open(&agent) || make(0) || make(1) || !in_force(0) || !in_force(1))
			_exit(1);
		raise(SIGKILL);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status));
	for (int i = 0; (in_force(0) || in_force(1)) && i < 1000; i++)
		usleep(10000);
	ck_assert(!in_force(0) && !in_force(1));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("agent_faults");
	TCase *tcase = tcase_create("agent_faults");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, several_are_healed_at_once);
	tcase_add_test(tcase, one_that_fails);
	tcase_add_test(tcase, an_agent_that_is_killed);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
