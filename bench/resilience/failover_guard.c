/* SPDX-License-Identifier: BSD-2-Clause */
/* failover_guard.c - see failover_guard.h */
#include "resilience/failover_guard.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "undo_guard.h"

struct failover_guard {
	struct lab lab;
	struct undo_guard *guard;
};

static int undo(const void *context, const void *state)
{
	const struct failover_scenario *s = state;
	const struct lab *lab = context;
	int rc = 0;

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

int failover_guard_create(struct failover_guard **out, const struct lab *lab)
{
	struct failover_guard *g = calloc(1, sizeof(*g));
	int err;

	if (!g)
		return -ENOMEM;
	g->lab = *lab;
	err = undo_guard_create(&g->guard, "farebench failover", undo, &g->lab,
				sizeof(struct failover_scenario));
	if (err)
		free(g);
	else
		*out = g;
	return err;
}

int failover_guard_begin(struct failover_guard *g, const struct failover_scenario *scenario)
{
	memcpy(undo_guard_state(g->guard), scenario, sizeof(*scenario));
	return undo_guard_begin(g->guard);
}

void failover_guard_end(struct failover_guard *g)
{
	undo_guard_end(g->guard);
}

int failover_guard_destroy(struct failover_guard *g)
{
	int err;

	if (!g)
		return 0;
	err = undo_guard_destroy(g->guard);
	free(g);
	return err;
}
