/* SPDX-License-Identifier: BSD-2-Clause */
/* What the filter lets through, and that each thing it is there to stop ends the process. */
#include "sandbox.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The wait status of a child that enters the sandbox and does that. */
static int in_child(enum sandbox_mode mode, void (*doing)(void))
{
	char why[200] = "";
	int status;
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (!pid) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || sandbox_enter(mode, why, sizeof(why)))
			_exit(90);
		doing();
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

/* ---- what is stopped ------------------------------------------------------- */

static void run_a_program(void)
{
	char *const argv[] = {(char[]){"true"}, NULL};

	execv("/bin/true", argv);
}

static void make_a_process(void)
{
	if (!fork())
		_exit(0);
}

static void trace(void)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static void signal_others(void)
{
	kill(getppid(), SIGTERM);
}

static void make_memory_executable(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(page, 4096, PROT_READ | PROT_EXEC);
}

static void map_executable_memory(void)
{
	mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void open_a_packet_socket(void)
{
	socket(AF_PACKET, SOCK_RAW, 0);
}

static void become_another(void)
{
	syscall(SYS_setuid, 65534);
}

static void enter_a_namespace(void)
{
	unshare(CLONE_NEWUSER);
}

static void mount_something(void)
{
	mount("none", "/tmp", "tmpfs", 0, NULL);
}

static void push_into_a_terminal(void)
{
	ioctl(0, TIOCSTI, "x");
}

static void raise_a_limit(void)
{
	const struct rlimit l = {1, 1};

	setrlimit(RLIMIT_CORE, &l);
}

static void load_bpf(void)
{
	syscall(SYS_bpf, 0, NULL, 0);
}

static void change_a_mode_by_name(void)
{
	(void)!syscall(SYS_fchmodat, AT_FDCWD, "/tmp/nonexistent", 0777);
}

static void (*const violations[])(void) = {
	run_a_program,
	make_a_process,
	trace,
	signal_others,
	map_executable_memory,
	make_memory_executable,
	open_a_packet_socket,
	become_another,
	enter_a_namespace,
	mount_something,
	push_into_a_terminal,
	raise_a_limit,
	load_bpf,
	change_a_mode_by_name,
};

START_TEST(a_violation_ends_the_process)
{
	int status = in_child(SANDBOX_KILL, violations[_i]);

	ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "status %#x of %d", status,
		      _i);
}
END_TEST

START_TEST(logged_or_off_it_does_not)
{
	ck_assert_int_eq(in_child(SANDBOX_LOG, make_a_process), 0);
	ck_assert_int_eq(in_child(SANDBOX_OFF, make_a_process), 0);
}
END_TEST

/* ---- what is not ----------------------------------------------------------- */

static void *of_a_thread(void *arg)
{
	return arg;
}

/* What is rare in a daemon's life, and must not be its end. */
static void live(void)
{
	char *page =
		mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;
	struct rlimit l;
	FILE *f;

	if (page == MAP_FAILED || pthread_create(&thread, NULL, of_a_thread, NULL) ||
	    pthread_join(thread, NULL) || getrlimit(RLIMIT_STACK, &l))
		_exit(91);
	f = fopen("/proc/self/status", "r");
	if (!f || fgetc(f) == EOF || fclose(f))
		_exit(92);
	for (int family = 0; family < 4; family++) {
		static const int families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
		int fd = socket(families[family], SOCK_DGRAM | SOCK_CLOEXEC, 0);

		if (fd < 0 && errno != EAFNOSUPPORT)
			_exit(93);
		close(fd);
	}
	free(malloc(4 << 20));
}

static void give_up(void)
{
	abort();
}

START_TEST(what_the_daemon_does_is_let_through)
{
	ck_assert_int_eq(in_child(SANDBOX_KILL, live), 0);
}
END_TEST

/* A core dump tells of a defect, so abort() ends as itself. */
START_TEST(an_abort_is_an_abort)
{
	int status = in_child(SANDBOX_KILL, give_up);

	ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "status %#x", status);
}
END_TEST

START_TEST(modes_have_names)
{
	enum sandbox_mode mode;

	ck_assert_int_eq(sandbox_mode_parse("log", &mode), 0);
	ck_assert_int_eq(mode, SANDBOX_LOG);
	ck_assert_int_eq(sandbox_mode_parse("kill", &mode), 0);
	ck_assert_int_eq(mode, SANDBOX_KILL);
	ck_assert_int_eq(sandbox_mode_parse("off", &mode), 0);
	ck_assert_int_eq(mode, SANDBOX_OFF);
	ck_assert_int_eq(sandbox_mode_parse("on", &mode), -EINVAL);
}
END_TEST

int main(void)
{
	Suite *s;
	TCase *tc;
	SRunner *sr;
	int failed;

	if (SANDBOX_IS_SANITIZED) {
		puts("skipped: a sanitizer makes calls of its own, and the filter is off");
		return 77;
	}
	s = suite_create("sandbox");
	tc = tcase_create("filter");
	sr = srunner_create(s);
	tcase_add_loop_test(tc, a_violation_ends_the_process, 0,
			    (int)(sizeof(violations) / sizeof(violations[0])));
	tcase_add_test(tc, logged_or_off_it_does_not);
	tcase_add_test(tc, what_the_daemon_does_is_let_through);
	tcase_add_test(tc, an_abort_is_an_abort);
	tcase_add_test(tc, modes_have_names);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
