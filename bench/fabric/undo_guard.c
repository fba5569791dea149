/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/undo_guard.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/interrupt.h"

/* Written by the creator alone, read by the guard once that has ended. */
struct in_force {
	atomic_bool is;
	_Alignas(max_align_t) char state[];
};

struct undo_guard {
	const char *who;
	int (*undo)(const void *context, const void *state);
	const void *context;
	struct in_force *in_force;
	size_t bytes;
	pid_t pid; /* 0: it is gone */
	/*
	 * the guard has the other end: it says when it is ready, and takes a byte, or the end, for
	 * ours
	 */
	int guard_fd;
};

static int undo(const struct undo_guard *g)
{
	if (!atomic_load(&g->in_force->is))
		return 0;
	return g->undo(g->context, g->in_force->state) ? -EREMOTEIO : 0;
}

static _Noreturn void be_guard(const struct undo_guard *g, int guard_fd)
{
	char byte;

	setsid();
	interrupt_hold();
	if (send(guard_fd, "", 1, MSG_NOSIGNAL) != 1)
		_exit(1);
	while (read(guard_fd, &byte, 1) < 0 && errno == EINTR)
		;
	_exit(undo(g) ? 1 : 0);
}

static int undo_guard_start(struct undo_guard *g)
{
	int ends[2], err;
	char byte;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	g->guard_fd = ends[1];
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
	return err;
}

static void undo_guard_release(struct undo_guard *g)
{
	if (g->guard_fd >= 0)
		close(g->guard_fd);
	munmap(g->in_force, sizeof(*g->in_force) + g->bytes);
	free(g);
}

int undo_guard_create(struct undo_guard **out, const char *who,
		      int (*undo_it)(const void *context, const void *state), const void *context,
		      size_t bytes)
{
	struct undo_guard *g = calloc(1, sizeof(*g));
	int err;

	if (!g)
		return -ENOMEM;
	*g = (struct undo_guard){
		.who = who, .undo = undo_it, .context = context, .bytes = bytes, .guard_fd = -1};
	g->in_force = mmap(NULL, sizeof(*g->in_force) + bytes, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (g->in_force == MAP_FAILED) {
		free(g);
		return -ENOMEM;
	}
	err = undo_guard_start(g);
	if (err)
		undo_guard_release(g);
	else
		*out = g;
	return err;
}

void *undo_guard_state(struct undo_guard *g)
{
	return g->in_force->state;
}

int undo_guard_begin(struct undo_guard *g)
{
	if (g->pid && waitpid(g->pid, NULL, WNOHANG) != 0)
		g->pid = 0;
	if (!g->pid) {
		fprintf(stderr, "%s: the process that would undo faults was killed: none is made\n",
			g->who);
		return -EPIPE;
	}
	atomic_store(&g->in_force->is, true);
	return 0;
}

void undo_guard_end(struct undo_guard *g)
{
	atomic_store(&g->in_force->is, false);
}

int undo_guard_destroy(struct undo_guard *g)
{
	bool ended = false;
	int status = 0, rc;

	if (!g)
		return 0;
	/* not by closing alone: a child of the creator may hold this end, too */
	if (g->pid && send(g->guard_fd, "", 1, MSG_NOSIGNAL) == 1) {
		while (!ended && (waitpid(g->pid, &status, 0) == g->pid || errno != EINTR))
			ended = true;
		ended = ended && WIFEXITED(status);
	}
	rc = !ended ? undo(g) : WEXITSTATUS(status) ? -EREMOTEIO : 0;
	undo_guard_release(g);
	return rc;
}
