/* SPDX-License-Identifier: BSD-2-Clause */
/* Pid files: a pid that somebody else got since is not ours. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process.h"

static void pid_file(char path[64], const char *text)
{
	FILE *f;
	int fd;

	snprintf(path, 64, "/tmp/check_process.XXXXXX");
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	f = fdopen(fd, "w");
	fputs(text, f);
	fclose(f);
}

START_TEST(start_times)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(0);
	ck_assert(process_start_time(getpid()) > 0);
	ck_assert(process_start_time(0x3fffffff) == 0);
	/* dead, not yet waited for: still in /proc, but nobody to talk to */
	ck_assert_int_eq(waitid(P_PID, (id_t)child, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
	ck_assert(process_start_time(child) == 0);
	waitpid(child, &status, 0);
}
END_TEST

START_TEST(whose_pid)
{
	char path[64], text[64];

	snprintf(text, sizeof(text), "%d %llu\n", (int)getpid(), process_start_time(getpid()));
	pid_file(path, text);
	ck_assert_int_eq(process_daemon_pid(path), getpid());
	unlink(path);
	snprintf(text, sizeof(text), "%d %llu\n", (int)getpid(), process_start_time(getpid()) + 1);
	pid_file(path, text);
	ck_assert_int_eq(process_daemon_pid(path), 0);
	ck_assert_int_eq(process_daemon_kill(path), 0); /* and does not kill us */
	ck_assert_int_ne(access(path, F_OK), 0);
	for (unsigned i = 0; i < 4; i++) {
		static const char *const broken[] = {"", "x y\n", "-1 1\n", "0 0\n"};

		pid_file(path, broken[i]);
		ck_assert_int_eq(process_daemon_pid(path), 0);
		unlink(path);
	}
	ck_assert_int_eq(process_daemon_pid("/nonexistent"), 0);
}
END_TEST

START_TEST(batches)
{
	static const char *const good[] = {"grep", "-q", "needle", NULL};
	static const char *const missing[] = {"/nonexistent/program", NULL};
	struct process_batch batch;

	signal(SIGPIPE, SIG_IGN);
	ck_assert_int_eq(process_batch_start(&batch, good), 0);
	fputs("hay\nneedle\n", batch.in);
	ck_assert_int_eq(process_batch_end(&batch), 0);
	ck_assert_int_eq(process_batch_start(&batch, good), 0);
	fputs("hay\n", batch.in);
	ck_assert_int_lt(process_batch_end(&batch), 0);
	ck_assert_int_eq(process_batch_start(&batch, missing), 0);
	ck_assert_int_lt(process_batch_end(&batch), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("process");
	TCase *tc = tcase_create("process");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, start_times);
	tcase_add_test(tc, whose_pid);
	tcase_add_test(tc, batches);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
