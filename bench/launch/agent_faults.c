/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * agent_faults.c - the faults that this host's inventory has commands for, healed whatever happens.
 *
 * One that ends by SIGKILL together with the guard (a container, a cgroup of a batch system) leaves
 * the fault; the next agent on this host heals it. So each `up` is run when an agent starts, and
 * has to be harmless where nothing is broken.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/command.h"
#include "launch/agent_internal.h"

const struct inventory_host *agent_host(const struct agent *a)
{
	return &a->inventory->host[a->host];
}

#define AGENT_SHELL_MS 30000

_Static_assert(INVENTORY_MAX_FAULTS <= 64, "agent.faults has a bit for each");

int agent_shell(const char *command, char *why, size_t why_size)
{
	const char *const argv[] = {"/bin/sh", "-c", command, NULL};
	struct command_result result;
	int err = command_run(argv, AGENT_SHELL_MS, &result);

	if (err) {
		snprintf(why, why_size, "%.200s: %s", command, strerror(-err));
		return err;
	}
	if (result.status) {
		snprintf(why, why_size, "%.200s: exit status %d: %.200s", command, result.status,
			 result.err);
		err = -EREMOTEIO;
	}
	free(result.out);
	return err;
}

/* Runs `up` of those; the bits that are left in force stay in *faults. */
static int agent_up(const struct agent *a, uint64_t *faults, char *why, size_t why_size)
{
	int err = 0;

	for (unsigned i = 0; i < agent_host(a)->n_faults; i++) {
		int rc = *faults >> i & 1 ? agent_shell(agent_host(a)->fault[i].up, why, why_size)
					  : 0;

		if (!rc)
			*faults &= ~(UINT64_C(1) << i);
		err = err ? err : rc;
	}
	return err;
}

static int agent_undo(const void *context, const void *state)
{
	const struct agent *a = context;
	uint64_t faults = *(const uint64_t *)state;
	char why[512];
	int err;

	for (unsigned i = 0; i < agent_host(a)->n_faults; i++)
		if (faults >> i & 1)
			fprintf(stderr, "farebench agent %s: healing: %s\n", a->name,
				agent_host(a)->fault[i].up);
	err = agent_up(a, &faults, why, sizeof(why));
	if (err)
		fprintf(stderr, "farebench agent %s: not healed: %s; run it by hand\n", a->name,
			why);
	return err;
}

int agent_faults_open(struct agent *a)
{
	const struct inventory_host *host = agent_host(a);
	char why[512];
	int err = 0;

	a->faults = 0;
	for (unsigned i = 0; !err && i < host->n_faults; i++) {
		err = agent_shell(host->fault[i].up, why, sizeof(why));
		if (err)
			fprintf(stderr,
				"farebench agent %s: %s: 'up' has to work where nothing is down\n",
				a->name, why);
	}
	if (!err && host->n_faults)
		err = undo_guard_create(&a->guard, "farebench agent", agent_undo, a,
					sizeof(uint64_t));
	return err;
}

int agent_fault(struct agent *a, unsigned fault, uint64_t *from_ns, char *why, size_t why_size)
{
	uint64_t bit = UINT64_C(1) << fault, unused;
	char more[512];
	int err;

	if (a->faults & bit) {
		snprintf(why, why_size, "that fault is in force already: heal it first");
		return -EBUSY;
	}
	*(uint64_t *)undo_guard_state(a->guard) = a->faults | bit;
	err = undo_guard_begin(a->guard);
	if (err) {
		snprintf(why, why_size,
			 "the process that would heal the fault is gone: none is made");
		return err;
	}
	*from_ns = clock_now_ns();
	if (!a->faults)
		a->heal_ns = *from_ns + a->inventory->limits.max_run_ns;
	a->faults |= bit;
	err = agent_shell(agent_host(a)->fault[fault].down, why, why_size);
	if (err)
		agent_heal(a, &unused, more, sizeof(more));
	return err;
}

int agent_heal(struct agent *a, uint64_t *from_ns, char *why, size_t why_size)
{
	int err;

	*from_ns = clock_now_ns();
	if (!a->faults)
		return 0;
	err = agent_up(a, &a->faults, why, why_size);
	if (err)
		return err;
	undo_guard_end(a->guard);
	return 0;
}

void agent_faults_close(struct agent *a)
{
	undo_guard_destroy(a->guard);
	a->guard = NULL;
	a->faults = 0;
}
