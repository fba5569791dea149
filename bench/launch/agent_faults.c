/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * agent_faults.c - the faults that this host's inventory has commands for: one at a time, healed
 * whatever happens.
 *
 * Whoever ends by SIGKILL together with the guard (a container, a cgroup of a batch system) leaves
 * the fault; the next agent on this host heals it. So each `up` is run when an agent starts, and
 * has to be harmless where nothing is broken.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "launch/agent_internal.h"

#define AGENT_SHELL_MS 30000

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

static int agent_undo(const void *context, const void *state)
{
	const struct agent *a = context;
	const unsigned *fault = state;
	char why[512];
	int err;

	fprintf(stderr, "farebench agent %s: healing: %s\n", a->name,
		agent_host(a)->fault[*fault].up);
	err = agent_shell(agent_host(a)->fault[*fault].up, why, sizeof(why));
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

	a->fault = -1;
	for (unsigned i = 0; !err && i < host->n_faults; i++) {
		err = agent_shell(host->fault[i].up, why, sizeof(why));
		if (err)
			fprintf(stderr,
				"farebench agent %s: %s: 'up' has to work where nothing is down\n",
				a->name, why);
	}
	if (!err && host->n_faults)
		err = undo_guard_create(&a->guard, "farebench agent", agent_undo, a,
					sizeof(unsigned));
	return err;
}

int agent_fault(struct agent *a, unsigned fault, uint64_t *from_ns, char *why, size_t why_size)
{
	uint64_t unused;
	char more[512];
	int err;

	if (a->fault >= 0) {
		snprintf(why, why_size, "a fault is in force already: heal it first");
		return -EBUSY;
	}
	*(unsigned *)undo_guard_state(a->guard) = fault;
	err = undo_guard_begin(a->guard);
	if (err) {
		snprintf(why, why_size,
			 "the process that would heal the fault is gone: none is "
			 "made");
		return err;
	}
	a->fault = (int)fault;
	*from_ns = agent_now_ns();
	a->heal_ns = *from_ns + a->inventory->limits.max_run_ns;
	err = agent_shell(agent_host(a)->fault[fault].down, why, why_size);
	if (err)
		agent_heal(a, &unused, more, sizeof(more));
	return err;
}

int agent_heal(struct agent *a, uint64_t *from_ns, char *why, size_t why_size)
{
	int err;

	*from_ns = agent_now_ns();
	if (a->fault < 0)
		return 0;
	err = agent_shell(agent_host(a)->fault[a->fault].up, why, why_size);
	if (err)
		return err;
	undo_guard_end(a->guard);
	a->fault = -1;
	return 0;
}

void agent_faults_close(struct agent *a)
{
	undo_guard_destroy(a->guard);
	a->guard = NULL;
	a->fault = -1;
}
