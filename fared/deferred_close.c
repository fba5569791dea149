/* SPDX-License-Identifier: BSD-2-Clause */
#include "deferred_close.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

struct deferred_close {
	int tx, rx; /* a pipe of descriptors' numbers: the loop's end, and the thread's */
	bool running;
	atomic_uint n_owners; /* the loop, and the thread while it runs */
	atomic_uint n_waiting;
};

static void let_go(struct deferred_close *c)
{
	if (atomic_fetch_sub(&c->n_owners, 1) > 1)
		return;
	close(c->rx);
	free(c);
}

/* Ends when the other end of the pipe is closed. */
static void *deferred_close_run(void *arg)
{
	struct deferred_close *c = arg;
	int fd;

	while (read(c->rx, &fd, sizeof(fd)) == sizeof(fd)) {
		close(fd);
		atomic_fetch_sub(&c->n_waiting, 1);
	}
	let_go(c);
	return NULL;
}

/* Signals are the loop's. Without the thread descriptors wait, and the next call tries again. */
static void deferred_close_start(struct deferred_close *c)
{
	pthread_attr_t detached;
	sigset_t all, before;
	pthread_t thread;

	if (c->running || pthread_attr_init(&detached))
		return;
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	atomic_fetch_add(&c->n_owners, 1);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	c->running = !pthread_create(&thread, &detached, deferred_close_run, c);
	if (!c->running)
		atomic_fetch_sub(&c->n_owners, 1);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&detached);
}

int deferred_close_create(struct deferred_close **out)
{
	struct deferred_close *c = calloc(1, sizeof(*c));
	int rc, ends[2];

	*out = NULL;
	if (!c)
		return -ENOMEM;
	rc = pipe2(ends, O_CLOEXEC) ? -errno : 0;
	if (rc) {
		free(c);
		return rc;
	}
	c->n_owners = 1;
	c->rx = ends[0];
	c->tx = ends[1];
	fcntl(c->tx, F_SETFL, O_NONBLOCK);
	*out = c;
	return 0;
}

void deferred_close_destroy(struct deferred_close *c)
{
	if (!c)
		return;
	close(c->tx);
	let_go(c);
}

void deferred_close_take(struct deferred_close *c, int fd)
{
	ssize_t n;

	if (fd < 0)
		return;
	atomic_fetch_add(&c->n_waiting, 1);
	n = write(c->tx, &fd, sizeof(fd));
	/* room for a hundred times DEFERRED_CLOSE_FULL; what did not fit would stay open */
	(void)n;
	deferred_close_start(c);
}

bool deferred_close_is_full(struct deferred_close *c)
{
	if (atomic_load(&c->n_waiting) < DEFERRED_CLOSE_FULL)
		return false;
	deferred_close_start(c);
	return true;
}
