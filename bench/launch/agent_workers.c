/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * agent_workers.c - a worker for each GPU of this host. The agent authenticates each
 * connection; the
 * worker gets it ready to use, and the limits of this host's own inventory.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/address.h"
#include "core/machine.h"
#include "engine/worker.h"
#include "launch/agent_internal.h"
#include "launch/handshake.h"

int agent_connect(struct agent *a, struct rendezvous **out)
{
	int fd = rendezvous_connect(a->connect), err;
	const char *reason;

	if (fd < 0)
		return fd;
	err = handshake_enter(out, fd, &a->key, &reason);
	if (err)
		fprintf(stderr, "farebench agent %s: %s: not admitted: %s\n", a->name, a->connect,
			reason);
	return err;
}

#define AGENT_GRACE_MS 5000
#define AGENT_THREADS  8 /* of a GPU at most: they fill and compare more than 50 GB/s */

/* Cores for each GPU of this host, to fill and compare blocks. */
static unsigned agent_threads(const struct agent *a)
{
	const struct topo *topo = a->inventory->topo;
	unsigned gpus = 0, share;
	struct machine machine;

	machine_read(&machine);
	for (unsigned i = 0; i < topo->n_gpus; i++)
		gpus += topo->gpus[i].server == a->host;
	share = (unsigned)machine.cores / gpus;
	return share < 1 ? 1 : share < AGENT_THREADS ? share : AGENT_THREADS;
}

static void args_fill(struct worker_args *args, const struct agent *a, unsigned gpu, int fd,
		      uint32_t secret)
{
	const struct inventory *inventory = a->inventory;

	worker_args_init(args, inventory->topo, gpu, secret);
	worker_args_add(args, "--rendezvous", "fd:%d", fd);
	worker_args_add(args, "--key", "%s", a->key_path);
	worker_args_add(args, "--threads", "%u", agent_threads(a));
	worker_args_add(args, "--max-bps", "%llu", (unsigned long long)inventory->limits.max_bps);
	worker_args_add(args, "--max-run-ns", "%llu",
			(unsigned long long)inventory->limits.max_run_ns);
	for (unsigned i = 0; i < inventory->limits.n_ranges; i++) {
		const struct limits_range *range = &inventory->limits.range[i];
		bool v4 = IN6_IS_ADDR_V4MAPPED(&range->address) && range->length >= 96;
		char text[ADDRESS_TEXT_MAX];

		worker_args_add(args, "--range", "%s/%d", address_format(&range->address, text),
				range->length - (v4 ? 96 : 0));
	}
	if (inventory->host[a->host].store[0])
		worker_args_add(args, "--store", "%s", inventory->host[a->host].store);
	if (inventory->verbs)
		args->argv[args->n++] = "--verbs";
}

static _Noreturn void agent_exec_worker(const struct agent *a, unsigned gpu, int fd,
					uint32_t secret)
{
	struct worker_args args;

	args_fill(&args, a, gpu, fd, secret);
	fcntl(fd, F_SETFD, 0);
	execv("/proc/self/exe", (char *const *)(uintptr_t)args.argv);
	fprintf(stderr, "farebench agent %s: starting a worker: %s\n", a->name, strerror(errno));
	_exit(127);
}

static int agent_start_worker(struct agent *a, unsigned gpu, uint32_t secret)
{
	struct rendezvous *link;
	int fd, err = agent_connect(a, &link);
	pid_t pid;

	if (err)
		return err;
	fd = rendezvous_release(link);
	if (fd < 0) {
		rendezvous_destroy(link);
		return fd;
	}
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		agent_exec_worker(a, gpu, fd, secret);
	err = pid < 0 ? -errno : 0;
	close(fd);
	if (!err)
		a->worker[a->n_workers++] = pid;
	return err;
}

int agent_start_workers(struct agent *a, uint32_t secret, char *why, size_t why_size)
{
	int err = 0;

	agent_end_workers(a);
	for (unsigned gpu = 0; !err && gpu < a->inventory->topo->n_gpus; gpu++)
		if (a->inventory->topo->gpus[gpu].server == a->host)
			err = agent_start_worker(a, gpu, secret);
	if (err)
		snprintf(why, why_size, "starting workers: %s", strerror(-err));
	return err;
}

/* Ended, or never there. */
static bool agent_is_gone(pid_t pid)
{
	return waitpid(pid, NULL, WNOHANG) != 0;
}

void agent_end_workers(struct agent *a)
{
	uint64_t until = clock_now_ns() + AGENT_GRACE_MS * UINT64_C(1000000);

	for (unsigned i = 0; i < a->n_workers; i++) {
		bool gone;

		while (!(gone = agent_is_gone(a->worker[i])) && clock_now_ns() < until)
			clock_pause_ns(5000000);
		if (gone)
			continue;
		kill(a->worker[i], SIGKILL);
		waitpid(a->worker[i], NULL, 0);
	}
	a->n_workers = 0;
}
