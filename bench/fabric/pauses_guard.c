/* SPDX-License-Identifier: BSD-2-Clause */
/* pauses_guard.c - see pauses_guard.h */
#include "fabric/pauses_guard.h"

#include <errno.h>
#include <stdlib.h>

#include "fabric/pauses.h"
#include "fabric/undo_guard.h"

struct pauses_guard {
	struct lab lab;
	uint64_t of_topology[PAUSES_SETTINGS];
	struct undo_guard *undo;
};

static int (*const guard_setter[PAUSES_SETTINGS])(const struct lab *lab, uint64_t value) = {
	[PAUSES_HEADROOM] = pauses_set_headroom,
	[PAUSES_WATCHDOG] = pauses_set_watchdog,
	[PAUSES_XOFF] = pauses_set_xoff,
};

/* state: which were set. */
static int guard_give_back(const void *context, const void *state)
{
	const struct pauses_guard *g = context;
	const bool *is_set = state;
	int err = 0;

	for (unsigned i = 0; i < PAUSES_SETTINGS; i++) {
		int one = is_set[i] ? guard_setter[i](&g->lab, g->of_topology[i]) : 0;

		err = err ? err : one;
	}
	return err;
}

int pauses_guard_create(struct pauses_guard **out, const struct lab *lab,
			const struct topo_pfc *pfc)
{
	struct pauses_guard *g = calloc(1, sizeof(*g));
	int err;

	if (!g)
		return -ENOMEM;
	g->lab = *lab;
	g->of_topology[PAUSES_HEADROOM] = pfc->headroom_bytes;
	g->of_topology[PAUSES_WATCHDOG] = pfc->watchdog_ms;
	g->of_topology[PAUSES_XOFF] = pfc->xoff_bytes;
	err = undo_guard_create(&g->undo, "farebench", guard_give_back, g,
				PAUSES_SETTINGS * sizeof(bool));
	if (err)
		free(g);
	else
		*out = g;
	return err;
}

int pauses_guard_set(struct pauses_guard *g, enum pauses_setting setting, uint64_t value)
{
	bool *is_set = undo_guard_state(g->undo);
	int err = undo_guard_begin(g->undo);

	if (err)
		return err;
	is_set[setting] = true; /* before it is: who is killed between leaves none */
	return guard_setter[setting](&g->lab, value);
}

int pauses_guard_destroy(struct pauses_guard *g)
{
	int err = g ? undo_guard_destroy(g->undo) : 0;

	free(g);
	return err;
}
