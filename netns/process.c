/* SPDX-License-Identifier: BSD-2-Clause */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "netns.h"
#include "print_error.h"

/* We may hold signals back while a lab is built; what we start must not inherit that. */
static void signals_default(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
}

int process_batch_start(struct process_batch *batch, const char *const argv[])
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	batch->pid = fork();
	if (batch->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signals_default();
		dup2(fds[0], STDIN_FILENO);
		execvp(argv[0], (char *const *)(uintptr_t)argv);
		print_error("cannot run %s: %s", argv[0], strerror(errno));
		_exit(127);
	}
	close(fds[0]);
	batch->in = batch->pid < 0 ? NULL : fdopen(fds[1], "w");
	if (!batch->in) {
		int rc = -errno;

		close(fds[1]);
		return rc;
	}
	return 0;
}

int process_batch_end(struct process_batch *batch)
{
	bool failed = ferror(batch->in);
	int status = 0;

	failed |= fclose(batch->in) != 0;
	while (waitpid(batch->pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return failed || !WIFEXITED(status) || WEXITSTATUS(status) ? -EIO : 0;
}

unsigned long long process_start_time(pid_t pid)
{
	char path[48], text[1024], state;
	unsigned long long start = 0;
	const char *p;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	p = strrchr(text, ')'); /* the command's name may hold spaces and parentheses */
	if (!p || sscanf(p + 1,
			 " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
			 "%*s %llu",
			 &state, &start) != 2)
		return 0;
	return state == 'Z' || state == 'X' ? 0 : start;
}

static void daemon_child(const char *netns, const char *log_path, const char *const argv[])
{
	int in, out;

	setsid();
	signals_default();
	out = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (in < 0 || out < 0 || netns_join(netns))
		_exit(127);
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	close_range(3, ~0u, 0);
	umask(022);
	execv(argv[0], (char *const *)(uintptr_t)argv);
	print_error("cannot run %s: %s", argv[0], strerror(errno));
	_exit(127);
}

int process_daemon_start(const char *netns, const char *log_path, const char *pid_path,
			 const char *const argv[])
{
	pid_t pid = fork();
	FILE *f;

	if (pid < 0)
		return -errno;
	if (pid == 0)
		daemon_child(netns, log_path, argv);
	f = fopen(pid_path, "we");
	if (!f || fprintf(f, "%d %llu\n", (int)pid, process_start_time(pid)) < 0 || fclose(f)) {
		int rc = -errno;

		kill(pid, SIGKILL);
		return rc;
	}
	return 0;
}

pid_t process_daemon_pid(const char *pid_path)
{
	FILE *f = fopen(pid_path, "re");
	unsigned long long start = 0;
	int pid = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%d %llu", &pid, &start) != 2)
		pid = 0;
	fclose(f);
	return pid > 0 && start && process_start_time(pid) == start ? pid : 0;
}

int process_daemon_kill(const char *pid_path)
{
	const struct timespec pause = {.tv_nsec = 2000000};
	pid_t pid = process_daemon_pid(pid_path);

	if (pid && kill(pid, SIGKILL) && errno != ESRCH)
		return -errno;
	for (unsigned i = 0; pid && i < 2500; i++) {
		if (!process_daemon_pid(pid_path))
			break;
		nanosleep(&pause, NULL);
	}
	if (process_daemon_pid(pid_path))
		return -ETIMEDOUT;
	unlink(pid_path);
	return 0;
}
