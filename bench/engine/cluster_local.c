/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cluster_local.c - workers on this machine: forked, each in the network namespace of its server.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/cluster.h"
#include "engine/rendezvous.h"
#include "engine/worker.h"

struct local {
	const struct topo *topo; /* borrowed until all have started */
	unsigned n;
	pid_t *pid;
	int listener;
	char dir[64], address[96];
	const char *store;
};

static _Noreturn void local_exec(const struct local *local, unsigned gpu, uint32_t secret)
{
	struct worker_args args;

	worker_args_init(&args, local->topo, gpu, secret);
	worker_args_add(&args, "--rendezvous", "%s", local->address);
	worker_args_add(&args, "--netns", "%s",
			local->topo->servers[local->topo->gpus[gpu].server].netns);
	if (local->store)
		worker_args_add(&args, "--store", "%s", local->store);
	execv("/proc/self/exe", (char *const *)(uintptr_t)args.argv);
	fprintf(stderr, "farebench: starting a worker: %s\n", strerror(errno));
	_exit(127);
}

static int local_spawn(struct local *local)
{
	uint32_t secret;

	if (getrandom(&secret, sizeof(secret), 0) != sizeof(secret))
		return -EIO;
	fflush(NULL);
	for (unsigned i = 0; i < local->n; i++) {
		local->pid[i] = fork();
		if (local->pid[i] == 0)
			local_exec(local, i, secret);
		if (local->pid[i] < 0)
			return -errno;
	}
	return 0;
}

static int local_start(void *arg)
{
	struct local *local = arg;

	strcpy(local->dir, "/tmp/farebench.XXXXXX");
	if (!mkdtemp(local->dir)) {
		local->dir[0] = '\0';
		return -errno;
	}
	snprintf(local->address, sizeof(local->address), "%s/rendezvous", local->dir);
	local->listener = rendezvous_listen(local->address);
	return local->listener < 0 ? local->listener : local_spawn(local);
}

static int local_accept(void *arg, int timeout_ms, struct rendezvous **link)
{
	struct local *local = arg;
	struct pollfd poller = {.fd = local->listener, .events = POLLIN};
	int fd;

	if (poll(&poller, 1, timeout_ms) <= 0) {
		fprintf(stderr, "farebench: not all workers came in %d s\n", timeout_ms / 1000);
		return -ETIMEDOUT;
	}
	fd = accept4(local->listener, NULL, NULL, SOCK_CLOEXEC);
	return fd < 0 ? -errno : rendezvous_create(link, fd);
}

static int local_pid(void *arg, unsigned gpu)
{
	const struct local *local = arg;

	return local->pid[gpu];
}

static void local_end(void *arg, bool whole)
{
	struct local *local = arg;

	for (unsigned i = 0; !whole && i < local->n; i++)
		if (local->pid[i] > 0)
			kill(local->pid[i], SIGKILL);
	if (local->listener >= 0)
		close(local->listener);
	for (unsigned i = 0; i < local->n; i++)
		while (local->pid[i] > 0 && waitpid(local->pid[i], NULL, 0) < 0 && errno == EINTR)
			;
	if (local->dir[0]) {
		unlink(local->address);
		rmdir(local->dir);
	}
	free(local->pid);
	free(local);
}

int cluster_create(struct cluster **out, const struct topo *topo, uint64_t arena_bytes,
		   const char *store)
{
	struct local *local = calloc(1, sizeof(*local));
	struct cluster_source source = {.start = local_start,
					.accept = local_accept,
					.end = local_end,
					.pid = local_pid,
					.arg = local};

	if (!local)
		return -ENOMEM;
	local->topo = topo;
	local->store = store;
	local->listener = -1;
	local->n = topo->n_gpus;
	local->pid = calloc(topo->n_gpus, sizeof(*local->pid));
	if (!local->pid) {
		free(local);
		return -ENOMEM;
	}
	return cluster_create_from(out, topo, arena_bytes, &source);
}
