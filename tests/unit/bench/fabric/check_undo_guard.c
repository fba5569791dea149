/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fabric/undo_guard.h"
#include "resilience/failover.h"

/* A farelab that writes down what it was asked for, or (broken) fails. */
static char dir[64], record[96];
static struct lab lab = {.name = "x"};

static void begin(void)
{
	FILE *script;

	strcpy(dir, "/tmp/check_guard.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(record, sizeof(record), "%s/record", dir);
	snprintf(lab.farelab, sizeof(lab.farelab), "%s/farelab", dir);
	script = fopen(lab.farelab, "w");
	ck_assert_ptr_nonnull(script);
	fprintf(script, "#!/bin/sh\n[ ! -e %s/broken ] || exit 1\necho \"$@\" >>%s\n", dir, record);
	fclose(script);
	ck_assert_int_eq(chmod(lab.farelab, 0755), 0);
}

static void end(void)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	ck_assert_int_eq(system(command), 0);
}

/* What farelab was asked for, "" if for nothing. */
static const char *asked(void)
{
	static char text[256];
	FILE *in = fopen(record, "r");
	size_t n = in ? fread(text, 1, sizeof(text) - 1, in) : 0;

	if (in)
		fclose(in);
	text[n] = '\0';
	return text;
}

static struct failover_scenario loss(void)
{
	struct failover_scenario s = {.name = "loss", .title = "a leaf loses some", .n_faults = 1};

	s.fault[0].kind = FAILOVER_SPEC;
	strcpy(s.fault[0].spec_on, "gray leaf l0 --loss-percent 5");
	strcpy(s.fault[0].spec_off, "gray leaf l0 --loss-percent 0");
	return s;
}

static int create(struct undo_guard **g)
{
	return undo_guard_create(g, "check", failover_scenario_undo, &lab,
				 sizeof(struct failover_scenario));
}

static int put_in_force(struct undo_guard *g, const struct failover_scenario *s)
{
	memcpy(undo_guard_state(g), s, sizeof(*s));
	return undo_guard_begin(g);
}

START_TEST(what_is_broken_at_the_end_is_undone)
{
	const struct failover_scenario s = loss();
	struct undo_guard *g;

	ck_assert_int_eq(create(&g), 0);
	ck_assert_int_eq(put_in_force(g, &s), 0);
	ck_assert_str_eq(asked(), "");
	ck_assert_int_eq(undo_guard_destroy(g), 0);
	ck_assert_str_eq(asked(), "gray x leaf l0 --loss-percent 0\n");
}
END_TEST

START_TEST(what_was_healed_is_left_alone)
{
	const struct failover_scenario s = loss();
	struct undo_guard *g;

	ck_assert_int_eq(create(&g), 0);
	ck_assert_int_eq(undo_guard_destroy(g), 0);
	ck_assert_int_eq(create(&g), 0);
	ck_assert_int_eq(put_in_force(g, &s), 0);
	undo_guard_end(g);
	ck_assert_int_eq(undo_guard_destroy(g), 0);
	ck_assert_str_eq(asked(), "");
}
END_TEST

START_TEST(both_faults_are_undone_the_last_first)
{
	struct failover_scenario s = loss();
	struct undo_guard *g;

	s.fault[s.n_faults++] = s.fault[0];
	strcpy(s.fault[1].spec_off, "heal bgpd s1");
	ck_assert_int_eq(create(&g), 0);
	ck_assert_int_eq(put_in_force(g, &s), 0);
	ck_assert_int_eq(undo_guard_destroy(g), 0);
	ck_assert_str_eq(asked(), "heal x bgpd s1\ngray x leaf l0 --loss-percent 0\n");
}
END_TEST

START_TEST(what_cannot_be_undone_is_said)
{
	const struct failover_scenario s = loss();
	struct undo_guard *g;
	char path[96];
	FILE *broken;

	snprintf(path, sizeof(path), "%s/broken", dir);
	broken = fopen(path, "w");
	ck_assert_ptr_nonnull(broken);
	fclose(broken);
	ck_assert_int_eq(create(&g), 0);
	ck_assert_int_eq(put_in_force(g, &s), 0);
	ck_assert_int_eq(undo_guard_destroy(g), -EREMOTEIO);
}
END_TEST

/* Its group dies by a signal that nobody can catch; the guard has a session of its own. */
START_TEST(a_benchmark_that_is_killed_leaves_nothing)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	const struct failover_scenario s = loss();
	struct undo_guard *g;
	pid_t pid = fork();
	int status;

	if (!pid) {
		setpgid(0, 0);
		if (create(&g) || put_in_force(g, &s))
			_exit(1);
		kill(0, SIGKILL);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status));
	while (!*asked()) /* the test's own time-out is the end of it */
		nanosleep(&pause, NULL);
	ck_assert_str_eq(asked(), "gray x leaf l0 --loss-percent 0\n");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("undo_guard");
	TCase *tc = tcase_create("all");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, what_is_broken_at_the_end_is_undone);
	tcase_add_test(tc, what_was_healed_is_left_alone);
	tcase_add_test(tc, both_faults_are_undone_the_last_first);
	tcase_add_test(tc, what_cannot_be_undone_is_said);
	tcase_add_test(tc, a_benchmark_that_is_killed_leaves_nothing);
	suite_add_tcase(suite, tc);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
