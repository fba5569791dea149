/* SPDX-License-Identifier: BSD-2-Clause */
/* failover_guard.c - see failover_guard.h */
#include "resilience/failover_guard.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interrupt.h"

/* Written by the benchmark alone, read by the guard once that has ended. */
struct in_force {
	atomic_bool broken;
	struct failover_scenario scenario;
};

struct failover_guard {
	struct lab lab;
	struct in_force *in_force;
	pid_t pid; /* 0: it is gone */
	/*
	 * the guard has the other end: it says when it is ready, and takes a byte, or the end, for
	 * ours
	 */
	int life;
};

static int undo(const struct lab *lab, const struct in_force *in_force)
{
	const struct failover_scenario *s = &in_force->scenario;
	int rc = 0;

	if (!atomic_load(&in_force->broken))
		return 0;
	fprintf(stderr, "farebench failover: undoing: %s\n", s->title);
	for (unsigned i = s->n_faults; i-- > 0;) {
		int err = failover_fault_undo(&s->fault[i], lab);

		if (err)
			fprintf(stderr,
				"farebench failover: cannot undo it: %s; `farelab status %s` says "
				"what is broken, "
				"`farelab heal` mends it\n",
				strerror(-err), lab->name);
		rc = err ? -EREMOTEIO : rc;
	}
	return rc;
}

static _Noreturn void be_guard(const struct failover_guard *g, int life)
{
	char byte;

	setsid();
	interrupt_hold();
	if (send(life, "", 1, MSG_NOSIGNAL) != 1)
		_exit(1);
	while (read(life, &byte, 1) < 0 && errno == EINTR)
		;
	_exit(undo(&g->lab, g->in_force) ? 1 : 0);
}

int failover_guard_create(struct failover_guard **out, const struct lab *lab)
{
	struct failover_guard *g = calloc(1, sizeof(*g));
	int ends[2] = {-1, -1}, err = 0;
	char byte;

	if (!g)
		return -ENOMEM;
	g->lab = *lab;
	g->in_force = mmap(NULL, sizeof(*g->in_force), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (g->in_force == MAP_FAILED || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
		err = -errno;
	} else {
		fflush(NULL);
		g->pid = fork();
		err = g->pid < 0 ? -errno : 0;
		if (g->pid == 0) {
			close(ends[1]);
			be_guard(g, ends[0]);
		}
		close(ends[0]);
		if (!err && read(ends[1], &byte, 1) != 1)
			err = -EIO;
	}
	g->life = ends[1];
	if (!err) {
		*out = g;
		return 0;
	}
	if (g->life >= 0)
		close(g->life);
	if (g->in_force != MAP_FAILED)
		munmap(g->in_force, sizeof(*g->in_force));
	free(g);
	return err;
}

int failover_guard_begin(struct failover_guard *g, const struct failover_scenario *scenario)
{
	if (g->pid && waitpid(g->pid, NULL, WNOHANG) != 0)
		g->pid = 0;
	if (!g->pid) {
		fprintf(stderr, "farebench failover: the process that would undo faults was "
				"killed: none is made\n");
		return -EPIPE;
	}
	g->in_force->scenario = *scenario;
	atomic_store(&g->in_force->broken, true);
	return 0;
}

void failover_guard_end(struct failover_guard *g)
{
	atomic_store(&g->in_force->broken, false);
}

int failover_guard_destroy(struct failover_guard *g)
{
	int status = 0, rc;
	bool ended = false;

	if (!g)
		return 0;
	/* not by closing alone: a child that observes may hold this end, too */
	if (g->pid && send(g->life, "", 1, MSG_NOSIGNAL) == 1) {
		while (!ended && (waitpid(g->pid, &status, 0) == g->pid || errno != EINTR))
			ended = true;
		ended = ended && WIFEXITED(status);
	}
	rc = !ended ? undo(&g->lab, g->in_force) : WEXITSTATUS(status) ? -EREMOTEIO : 0;
	close(g->life);
	munmap(g->in_force, sizeof(*g->in_force));
	free(g);
	return rc;
}
