/* SPDX-License-Identifier: BSD-2-Clause */
#include "rule_keeper.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kernel_rule.h"
#include "privileges.h"

struct rule_keeper {
	int fd;
	uint32_t table;
	rule_keeper_on_error *on_error;
	void *arg;
};

static void rule_keeper_change(const struct rule_keeper *k, bool on)
{
	int rc = kernel_rule_set(k->table, on);

	if (rc)
		k->on_error(k->arg, on, rc);
}

/* The end of fared is the end of the file. */
static void rule_keeper_run(const struct rule_keeper *k)
{
	char on;

	while (read(k->fd, &on, 1) == 1)
		rule_keeper_change(k, on);
	rule_keeper_change(k, false);
}

static void rule_keeper_main(const struct rule_keeper *k)
{
	static const int ignored[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
	int rc;

	for (unsigned i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	prctl(PR_SET_NAME, "fared-rule");
	rc = privileges_keep_net_admin();
	if (rc)
		k->on_error(k->arg, true, rc);
	else
		rule_keeper_run(k);
	_exit(0);
}

int rule_keeper_start(int *fd_out, uint32_t table, rule_keeper_on_error *on_error, void *arg)
{
	struct rule_keeper k = {-1, table, on_error, arg};
	int fds[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		return -errno;
	pid = fork();
	k.fd = fds[1];
	if (pid == 0) {
		close(fds[0]);
		rule_keeper_main(&k);
	}
	close(fds[1]);
	if (pid < 0) {
		close(fds[0]);
		return -EAGAIN;
	}
	*fd_out = fds[0];
	return 0;
}

int rule_keeper_set(int fd, bool on)
{
	const char byte = on;

	return send(fd, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1 ? 0 : -errno;
}
