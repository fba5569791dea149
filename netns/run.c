/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "netns.h"
#include "print_error.h"
#include "status.h"

/* What the front sends the supervisor, one write each. */
struct news {
	char lab[TOPOLOGY_NAME_MAX + 1];
	pid_t group; /* the command's process group; 0 before it runs and after it ended */
};

static void supervise(int from_front)
{
	struct news news = {0}, next;
	ssize_t n;
	bool found;

	setsid();
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	while ((n = read(from_front, &next, sizeof(next))) > 0 || (n < 0 && errno == EINTR))
		if (n == sizeof(next))
			news = next;
	/* The leader may be dead already, the rest of its group not; the number stays taken as long
	 * as one lives. */
	if (news.group)
		kill(-news.group, SIGKILL);
	_exit(news.lab[0] && lab_down(news.lab, LAB_DOWN_OWNED, getpid(), &found) ? 1 : 0);
}

static int run_notify(int to_supervisor, const char *lab, pid_t group)
{
	struct news news = {.group = group};

	snprintf(news.lab, sizeof(news.lab), "%s", lab);
	return write(to_supervisor, &news, sizeof(news)) == sizeof(news) ? 0 : -EPIPE;
}

/* The command has the terminal while it runs, so that Ctrl-C is for it and not for us. */
static void give_terminal(pid_t group)
{
	void (*old)(int) = signal(SIGTTOU, SIG_IGN);

	if (isatty(STDIN_FILENO))
		tcsetpgrp(STDIN_FILENO, group);
	signal(SIGTTOU, old);
}

/* What a command finds in its environment: the lab, and the FRR that another lab is to have. */
static void set_environment(const struct lab *lab)
{
	setenv("FARELAB_NAME", lab->name, 1);
	setenv("FARELAB_FRR", lab->frr.dir, 1);
}

static int run_child(const struct lab *lab, char *const argv[], int to_supervisor)
{
	int gate[2], status = 0;
	char go = 1;
	pid_t pid;

	if (pipe2(gate, O_CLOEXEC))
		return 1;
	pid = fork();
	if (pid < 0)
		return 1;
	if (pid == 0) {
		/* Runs only once the supervisor knows of it: a front killed in between must leave
		 * nothing. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setpgid(0, 0);
		close(gate[1]);
		if (read(gate[0], &go, 1) != 1)
			_exit(1);
		set_environment(lab);
		signal(SIGPIPE, SIG_DFL);
		execvp(argv[0], argv);
		print_error("cannot run %s: %s", argv[0], strerror(errno));
		_exit(127);
	}
	setpgid(pid, pid);
	close(gate[0]);
	give_terminal(pid);
	if (!run_notify(to_supervisor, lab->name, pid) && write(gate[1], &go, 1) == 1)
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	close(gate[1]);
	run_notify(to_supervisor, lab->name, 0);
	give_terminal(getpgrp());
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int up_and_run(struct lab_up_options *options, double wait_s, char *const argv[],
		      int to_supervisor)
{
	char error[TOPOLOGY_ERROR_MAX];
	struct topology topology;
	struct status status;
	struct lab lab;
	int rc;

	if (topology_load(options->topology_path, &topology, error)) {
		fprintf(stderr, "%s\n", error);
		return 1;
	}
	if (run_notify(to_supervisor, options->name ? options->name : topology.name, 0) ||
	    lab_up(options, &lab))
		return 1;
	rc = status_wait(&lab, wait_s, &status);
	if (rc == -ETIMEDOUT)
		print_error("%s did not converge in %g s: %s", lab.name, wait_s, status.why);
	if (!rc || rc == -ETIMEDOUT)
		status_fini(&status);
	return rc ? 1 : run_child(&lab, argv, to_supervisor);
}

int run_command(struct lab_up_options *options, double wait_s, char *const argv[])
{
	char error[TOPOLOGY_ERROR_MAX];
	struct topology topology;
	int fds[2], result, status = 1;
	pid_t supervisor;
	bool found;

	if (pipe2(fds, O_CLOEXEC))
		return 1;
	signal(SIGPIPE, SIG_IGN);
	supervisor = fork();
	if (supervisor < 0)
		return 1;
	if (supervisor == 0) {
		close(fds[1]);
		supervise(fds[0]);
	}
	close(fds[0]);
	options->owners[0] = supervisor;
	options->owners[1] = getpid();
	result = up_and_run(options, wait_s, argv, fds[1]);
	close(fds[1]);
	while (waitpid(supervisor, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return result;
	if (!options->name && topology_load(options->topology_path, &topology, error))
		return 1;
	if (lab_down(options->name ? options->name : topology.name, LAB_DOWN_OWNED, getpid(),
		     &found))
		return 1;
	return result;
}

int run_inside(const struct lab *lab, struct plan_host host, char *const argv[])
{
	char netns[PLAN_NETNS_NAME_MAX];
	int rc;

	lab_netns(lab, host, netns);
	rc = netns_join(netns);
	if (rc) {
		print_error("cannot enter %s: %s", netns, strerror(-rc));
		return rc;
	}
	set_environment(lab);
	execvp(argv[0], argv);
	rc = -errno;
	print_error("cannot run %s: %s", argv[0], strerror(-rc));
	return rc;
}
