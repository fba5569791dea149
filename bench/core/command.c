/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define COMMAND_GRACE_MS 10000

static _Noreturn void command_child(const char *const *argv, int in, int out, int err)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (in >= 0)
		dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	execvp(argv[0], (char *const *)(uintptr_t)argv);
	dprintf(STDERR_FILENO, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

/* Who is given lines, and where the first one begins that was not. */
struct command_lines {
	int (*on_line)(void *arg, const char *line);
	void *arg;
	size_t from;
};

/* Gives out the lines that are whole now. */
static int command_lines_take(struct command_lines *lines, struct command_result *r)
{
	char *end;
	int err = 0;

	while (!err && lines->on_line && (end = strchr(r->out + lines->from, '\n'))) {
		*end = '\0';
		err = lines->on_line(lines->arg, r->out + lines->from);
		*end = '\n';
		lines->from = (size_t)(end - r->out) + 1;
	}
	return err;
}

static int command_append(struct command_result *r, const char *bytes, size_t n)
{
	char *grown;

	if (r->out_bytes + n > COMMAND_MAX_OUTPUT)
		return -E2BIG;
	grown = realloc(r->out, r->out_bytes + n + 1);
	if (!grown)
		return -ENOMEM;
	memcpy(grown + r->out_bytes, bytes, n);
	r->out = grown;
	r->out_bytes += n;
	grown[r->out_bytes] = '\0';
	return 0;
}

/* Keeps the last bytes of stderr. */
static void command_append_err(struct command_result *r, const char *bytes, size_t n)
{
	size_t room = sizeof(r->err) - 1, used = strlen(r->err);

	if (n > room) {
		bytes += n - room;
		n = room;
	}
	if (used + n > room) {
		memmove(r->err, r->err + used + n - room, room - n);
		used = room - n;
	}
	for (size_t i = 0; i < n; i++)
		r->err[used + i] = bytes[i] && bytes[i] != '\n' ? bytes[i] : ' ';
	r->err[used + n] = '\0';
}

/* Takes what is in the pipe. 1: more may come; 0: it has ended, or is empty now; -errno. */
static int command_read(int fd, bool is_err, struct command_lines *lines, struct command_result *r)
{
	char bytes[16384];
	ssize_t n = read(fd, bytes, sizeof(bytes));
	int err;

	if (n <= 0)
		return 0;
	if (is_err) {
		command_append_err(r, bytes, (size_t)n);
		return 1;
	}
	err = command_append(r, bytes, (size_t)n);
	if (!err)
		err = command_lines_take(lines, r);
	return err ? err : 1;
}

/*
 * Reads both pipes until the child has ended: not until they close, because a daemon that the
 * command started may hold them for ever.
 */
static int command_collect(const int fds[2], int pidfd, int64_t deadline,
			   struct command_lines *lines, struct command_result *r)
{
	struct pollfd poller[3] = {{.fd = fds[0], .events = POLLIN},
				   {.fd = fds[1], .events = POLLIN},
				   {.fd = pidfd, .events = POLLIN}};
	int got;

	for (;;) {
		int64_t left = deadline - clock_now_ms();

		if (left <= 0)
			return -ETIMEDOUT;
		if (poll(poller, 3, (int)left) < 0 && errno != EINTR)
			return -errno;
		for (int i = 0; i < 2; i++) {
			if (!(poller[i].revents & (POLLIN | POLLHUP)))
				continue;
			do
				got = command_read(fds[i], i == 1, lines, r);
			while (got == 1);
			if (got < 0)
				return got;
			if (poller[i].revents & POLLHUP)
				poller[i].fd = -1;
		}
		if (poller[2].revents)
			break;
	}
	for (int i = 0; i < 2; i++) {
		do
			got = command_read(fds[i], i == 1, lines, r);
		while (got == 1);
		if (got < 0)
			return got;
	}
	return 0;
}

/* Waits until a pidfd tells of an end, or a pipe has come to its own. */
static void command_await(int fd, int64_t deadline)
{
	struct pollfd poller = {.fd = fd, .events = POLLIN};
	char nobody_reads_this[4096];
	ssize_t n;

	for (;;) {
		int64_t left = deadline - clock_now_ms();

		if (left <= 0 || (poll(&poller, 1, (int)left) < 0 && errno != EINTR))
			return;
		if (!(poller.revents & (POLLIN | POLLHUP)))
			continue;
		n = read(fd, nobody_reads_this, sizeof(nobody_reads_this));
		/* a pidfd cannot be read, and is done; a pipe is done at its end */
		if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
			return;
	}
}

/* Ends a child and, if it was only slow, gives its helpers time to clear up after it. */
static void command_end(pid_t pid, const int fds[2], int pidfd, bool slow)
{
	int64_t deadline = clock_now_ms() + COMMAND_GRACE_MS;

	kill(pid, SIGTERM);
	if (pidfd >= 0)
		command_await(pidfd, deadline);
	kill(pid, SIGKILL);
	for (int i = 0; slow && i < 2; i++)
		command_await(fds[i], deadline + COMMAND_GRACE_MS);
}

/* Follows a started child to its end. */
static int command_follow(pid_t pid, const int fds[2], int timeout_ms, struct command_lines *lines,
			  struct command_result *result)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0), status = 0, err;

	if (pidfd < 0) {
		err = -errno;
	} else {
		fcntl(fds[0], F_SETFL, O_NONBLOCK);
		fcntl(fds[1], F_SETFL, O_NONBLOCK);
		err = command_append(result, "", 0);
		if (!err)
			err = command_collect(fds, pidfd, clock_now_ms() + timeout_ms, lines,
					      result);
	}
	if (err)
		command_end(pid, fds, pidfd, err != -E2BIG);
	if (pidfd >= 0)
		close(pidfd);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	result->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	return err;
}

/* in < 0: the child has our stdin. */
static int command_start(const char *const *argv, int in, int timeout_ms,
			 struct command_lines *lines, struct command_result *result)
{
	int out[2], err_pipe[2], err;
	pid_t pid;

	*result = (struct command_result){0};
	if (pipe2(out, O_CLOEXEC))
		return -errno;
	if (pipe2(err_pipe, O_CLOEXEC)) {
		err = -errno;
		close(out[0]);
		close(out[1]);
		return err;
	}
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		command_child(argv, in, out[1], err_pipe[1]);
	err = pid < 0 ? -errno : 0;
	close(out[1]);
	close(err_pipe[1]);
	if (!err)
		err = command_follow(pid, (const int[2]){out[0], err_pipe[0]}, timeout_ms, lines,
				     result);
	close(out[0]);
	close(err_pipe[0]);
	if (err) {
		free(result->out);
		result->out = NULL;
	}
	return err;
}

int command_run(const char *const *argv, int timeout_ms, struct command_result *result)
{
	return command_watch(argv, timeout_ms, NULL, NULL, result);
}

int command_watch(const char *const *argv, int timeout_ms,
		  int (*on_line)(void *arg, const char *line), void *arg,
		  struct command_result *result)
{
	struct command_lines lines = {.on_line = on_line, .arg = arg};

	return command_start(argv, -1, timeout_ms, &lines, result);
}

/* A file in memory rather than a pipe: nobody has to write while the child's output is read. */
int command_feed(const char *const *argv, const char *input, size_t input_bytes, int timeout_ms,
		 struct command_result *result)
{
	int in = memfd_create("stdin", MFD_CLOEXEC), err = 0;

	if (in < 0)
		return -errno;
	while (input_bytes > 0 && !err) {
		ssize_t n = write(in, input, input_bytes);

		err = n < 0 && errno != EINTR ? -errno : 0;
		if (n > 0) {
			input += n;
			input_bytes -= (size_t)n;
		}
	}
	if (!err && lseek(in, 0, SEEK_SET) < 0)
		err = -errno;
	if (!err)
		err = command_start(argv, in, timeout_ms, &(struct command_lines){0}, result);
	close(in);
	return err;
}

static void command_complain(const char *const *argv, const char *what)
{
	fputs("farebench:", stderr);
	for (; *argv; argv++)
		fprintf(stderr, " %s", *argv);
	fprintf(stderr, ": %s\n", what);
}

int command_check(const char *const *argv, int timeout_ms, char **out)
{
	struct command_result result;
	int err = command_run(argv, timeout_ms, &result);

	if (err) {
		command_complain(argv, strerror(-err));
		return err;
	}
	if (result.status) {
		char what[600];

		snprintf(what, sizeof(what), "exit status %d: %s", result.status, result.err);
		command_complain(argv, what);
		free(result.out);
		return -EREMOTEIO;
	}
	if (out)
		*out = result.out;
	else
		free(result.out);
	return 0;
}

void command_sibling(const char *name, char *out, size_t size)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (n > 0) {
		self[n] = '\0';
		slash = strrchr(self, '/');
		if (slash &&
		    (size_t)snprintf(out, size, "%.*s/%s", (int)(slash - self), self, name) <
			    size &&
		    access(out, X_OK) == 0)
			return;
	}
	snprintf(out, size, "%s", name);
}
