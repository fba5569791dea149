/* SPDX-License-Identifier: BSD-2-Clause */
#include "launch/launch.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define LAUNCH_GRACE_MS 10000

struct launch {
	unsigned n;
	pid_t *pid; /* 0: it has ended */
};

/* Appends text; with quote: as one word of a shell. -ENAMETOOLONG. */
static int launch_append(char *out, size_t size, const char *text, bool quote)
{
	size_t used = strlen(out);

	if (quote && used + 1 < size)
		out[used++] = '\'';
	for (; *text; text++) {
		int n = snprintf(out + used, size - used, quote && *text == '\'' ? "'\\''" : "%c",
				 *text);

		used += (size_t)n;
		if (used + 2 >= size)
			return -ENAMETOOLONG;
	}
	if (quote)
		out[used++] = '\'';
	out[used] = '\0';
	return 0;
}

static int launch_option(char *out, size_t size, const char *option, const char *value)
{
	int err = launch_append(out, size, option, false);

	return err ? err : launch_append(out, size, value, true);
}

int launch_line(const struct launch_options *o, const char *host, char *out, size_t size)
{
	char program[PATH_MAX], inventory[PATH_MAX], key[PATH_MAX];
	int err;

	if (!realpath("/proc/self/exe", program) || !realpath(o->inventory, inventory) ||
	    !realpath(o->key, key))
		return -errno;
	out[0] = '\0';
	err = launch_append(out, size, program, true);
	if (!err)
		err = launch_option(out, size, " agent --connect ", o->listen);
	if (!err)
		err = launch_option(out, size, " --key ", key);
	if (!err)
		err = launch_option(out, size, " --hosts ", inventory);
	if (!err)
		err = launch_option(out, size, " --name ", host);
	return err;
}

int launch_fill(const char *how, const char *host, const char *agent, char *out, size_t size)
{
	const char *at = how;
	bool found = false;
	int err = 0;

	out[0] = '\0';
	while (!err && *at) {
		const char one[2] = {*at, '\0'};

		if (strncmp(at, "{host}", 6) == 0) {
			err = launch_append(out, size, host, false);
			at += 6;
		} else if (strncmp(at, "{agent}", 7) == 0) {
			err = launch_append(out, size, agent, false);
			at += 7;
			found = true;
		} else {
			err = launch_append(out, size, one, false);
			at++;
		}
	}
	return err ? err : found ? 0 : -EINVAL;
}

/* ---- processes ---- */

static _Noreturn void launch_exec(const struct launch_options *o, const char *host,
				  const char *line)
{
	const char *config = o->how[3] == ':' ? o->how + 4 : NULL;
	bool ssh = strncmp(o->how, "ssh", 3) == 0 && (!o->how[3] || o->how[3] == ':');
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (ssh && config)
		execlp("ssh", "ssh", "-F", config, "-o", "BatchMode=yes", host, line, NULL);
	else if (ssh)
		execlp("ssh", "ssh", "-o", "BatchMode=yes", host, line, NULL);
	else
		execl("/bin/sh", "sh", "-c", line, NULL);
	fprintf(stderr, "farebench: %s: %s\n", ssh ? "ssh" : "/bin/sh", strerror(errno));
	_exit(127);
}

/* What runs for a host. */
static int launch_host(const struct launch_options *o, const char *host, char *line, size_t size)
{
	char agent[LAUNCH_LINE_MAX];
	int err = launch_line(o, host, agent, sizeof(agent));

	if (err) {
		fprintf(stderr, "farebench: the agent's command line: %s\n", strerror(-err));
		return err;
	}
	if (!o->how || strcmp(o->how, "ssh") == 0 || strncmp(o->how, "ssh:", 4) == 0) {
		snprintf(line, size, "%s", agent);
		return 0;
	}
	err = launch_fill(o->how, host, agent, line, size);
	if (err)
		fprintf(stderr, "farebench: --launch %s: %s\n", o->how,
			err == -EINVAL ? "{agent} has to stand where the agent's command line goes"
				       : strerror(-err));
	return err;
}

int launch_start(struct launch **out, const struct launch_options *o,
		 const struct inventory *inventory)
{
	struct launch *launch = calloc(1, sizeof(*launch));
	char line[2 * LAUNCH_LINE_MAX];
	int err = 0;

	if (launch)
		launch->pid = calloc(inventory->topo->n_servers, sizeof(*launch->pid));
	if (!launch || !launch->pid) {
		free(launch);
		return -ENOMEM;
	}
	if (!o->how)
		fprintf(stderr, "farebench: start on each host:\n");
	for (unsigned i = 0; !err && i < inventory->topo->n_servers; i++) {
		const char *host = inventory->topo->servers[i].name;

		err = launch_host(o, host, line, sizeof(line));
		if (!err && !o->how)
			fprintf(stderr, "%s: %s\n", host, line);
		if (err || !o->how)
			continue;
		fflush(NULL);
		launch->pid[i] = fork();
		if (launch->pid[i] == 0)
			launch_exec(o, host, line);
		err = launch->pid[i] < 0 ? -errno : 0;
		launch->n = i + 1;
	}
	if (err)
		launch_end(launch);
	else
		*out = launch;
	return err;
}

int launch_ended(struct launch *launch, int *status)
{
	for (unsigned i = 0; i < launch->n; i++)
		if (launch->pid[i] > 0 && waitpid(launch->pid[i], status, WNOHANG) > 0) {
			launch->pid[i] = 0;
			return (int)i;
		}
	return -1;
}

void launch_end(struct launch *launch)
{
	unsigned turns = LAUNCH_GRACE_MS / 10, running = 1;
	int status;

	if (!launch)
		return;
	/* agents that were asked to quit end by themselves; the others are asked now */
	for (unsigned turn = 0; running && turn < turns; turn++) {
		while (launch_ended(launch, &status) >= 0)
			;
		running = 0;
		for (unsigned i = 0; i < launch->n; i++) {
			running += launch->pid[i] > 0;
			if (launch->pid[i] > 0 && turn == turns / 2)
				kill(launch->pid[i], SIGTERM);
		}
		if (running)
			clock_pause_ns(10000000);
	}
	for (unsigned i = 0; i < launch->n; i++)
		if (launch->pid[i] > 0) {
			kill(launch->pid[i], SIGKILL);
			waitpid(launch->pid[i], &status, 0);
		}
	free(launch->pid);
	free(launch);
}
