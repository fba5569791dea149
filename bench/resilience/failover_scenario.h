/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * failover_scenario.h - the faults that `farebench failover` injects, and what each ought to do.
 *
 * Owns: nothing; pure, but for undoing them. In: the topology, which GPU sends to which, the plane
 * whose turn it is. Out: faults, ready for failover_fault.h, and for each path whether it may
 * change. Thread: any.
 */
#ifndef FAILOVER_SCENARIO_H
#define FAILOVER_SCENARIO_H

#include "resilience/failover_fault.h"
#include "fabric/topo.h"

enum failover_scenario_id {
	FAILOVER_LOCAL_SUB_PORT,
	FAILOVER_REMOTE_SUB_PORT,
	FAILOVER_REMOTE_PLANE,
	FAILOVER_LEAF_KILLED,
	FAILOVER_LEAF_GRAY,
	FAILOVER_LEAF_GRAY_ONE_WAY,
	FAILOVER_LEAF_LOSS_5,
	FAILOVER_FLAP_1HZ,
	FAILOVER_FLAP_20HZ,
	FAILOVER_BGPD_KILLED,
	FAILOVER_FARED_KILLED,
	FAILOVER_TWO_FAULTS,
	FAILOVER_SCENARIOS
};

struct failover_scenario {
	const char *name, *title;
	bool carrier;	  /* links lose and regain carrier */
	bool may_not_see; /* so short, or so mild, that no decision is due */
	unsigned n_faults;
	struct failover_fault fault[2];
};

const char *failover_scenario_name(enum failover_scenario_id id);

void failover_scenario_make(struct failover_scenario *out, enum failover_scenario_id id,
			    const struct topo *topo, unsigned src, unsigned dst, unsigned plane);

/* What the faults leave of the path's weight; 1: it may not change. */
double failover_scenario_remaining(const struct failover_scenario *s, unsigned src, unsigned dst,
				   unsigned plane);

/* For undo_guard.h: context is the lab, state the scenario in force. The last fault first. */
int failover_scenario_undo(const void *context, const void *state);

#endif
