/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules of the kernel come and go with the process that asks for them; an operator's stay. */
#include "rule_keeper.h"

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../own_net.h"

#define TABLE 7784

static unsigned n_errors;

static void on_error(void *arg, bool on, int rc)
{
	(void)arg;
	(void)on;
	(void)rc;
	n_errors++;
}

static unsigned n_rules(const char *command)
{
	unsigned n = 0;
	char line[200];
	FILE *f = popen(command, "r");

	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f))
		n += strstr(line, "lookup 7784") != NULL;
	pclose(f);
	return n;
}

static void wait_for(unsigned n)
{
	while (n_rules("ip rule") != n || n_rules("ip -6 rule") != n)
		usleep(1000);
}

static int start(void)
{
	int fd;

	ck_assert_int_eq(rule_keeper_start(&fd, TABLE, on_error, NULL), 0);
	return fd;
}

static void end(int fd)
{
	close(fd);
	ck_assert_int_gt(wait(NULL), 0);
}

START_TEST(rules_are_as_asked_and_go_at_the_end)
{
	int fd = start();

	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(rule_keeper_set(fd, true), 0);
		wait_for(1);
		ck_assert_int_eq(rule_keeper_set(fd, false), 0);
		wait_for(0);
	}
	ck_assert_int_eq(rule_keeper_set(fd, true), 0);
	ck_assert_int_eq(rule_keeper_set(fd, true), 0);
	wait_for(1);
	end(fd);
	ck_assert_uint_eq(n_rules("ip rule"), 0);
}
END_TEST

/* What SIGKILL leaves of fared is nothing; the lock is free only once the rules have gone. */
START_TEST(a_killed_fared_leaves_no_rule)
{
	char path[] = "/tmp/check_rule_keeper.XXXXXX";
	int lock, gone = mkstemp(path);
	pid_t fared = fork();

	if (!fared) {
		lock = open(path, O_RDWR);
		flock(lock, LOCK_EX);
		rule_keeper_set(start(), true);
		pause();
	}
	wait_for(1);
	kill(fared, SIGKILL);
	ck_assert_int_eq(waitpid(fared, NULL, 0), fared);
	ck_assert_int_eq(flock(gone, LOCK_EX), 0);
	ck_assert_uint_eq(n_rules("ip rule"), 0);
	ck_assert_uint_eq(n_rules("ip -6 rule"), 0);
	unlink(path);
	close(gone);
}
END_TEST

/* A service manager stops all processes of a service: this one waits for fared's end. */
START_TEST(signals_to_all_do_not_end_it)
{
	int fd;

	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	setpgid(0, 0);
	fd = start();
	ck_assert_int_eq(rule_keeper_set(fd, true), 0);
	wait_for(1);
	kill(0, SIGTERM);
	kill(0, SIGINT);
	ck_assert_int_eq(rule_keeper_set(fd, false), 0);
	wait_for(0);
	end(fd);
}
END_TEST

START_TEST(an_operators_rule_stays)
{
	int fd = start();

	ck_assert_int_eq(system("ip rule add pref 32765 lookup 7784"), 0);
	ck_assert_int_eq(system("ip -6 rule add pref 100 lookup 7784"), 0);
	ck_assert_int_eq(rule_keeper_set(fd, true), 0);
	ck_assert_int_eq(rule_keeper_set(fd, false), 0);
	end(fd);
	ck_assert_uint_eq(n_rules("ip rule"), 1);
	ck_assert_uint_eq(n_rules("ip -6 rule"), 1);
	ck_assert_int_eq(system("ip rule del lookup 7784; ip -6 rule del lookup 7784"), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rule_keeper");
	TCase *tc = tcase_create("rules");
	SRunner *runner = srunner_create(suite);
	int rc = own_net(), failed;

	if (!rc && system("ip rule >/dev/null 2>&1")) {
		puts("skipped: iproute2 is not installed");
		rc = 77;
	}
	if (rc)
		return rc;
	suite_add_tcase(suite, tc);
	tcase_set_timeout(tc, 30);
	tcase_add_test(tc, rules_are_as_asked_and_go_at_the_end);
	tcase_add_test(tc, a_killed_fared_leaves_no_rule);
	tcase_add_test(tc, signals_to_all_do_not_end_it);
	tcase_add_test(tc, an_operators_rule_stays);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
