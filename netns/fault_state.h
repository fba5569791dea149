/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fault_state.h - what of a lab is broken on purpose.
 *
 * Owns /run/farelab/NAME/faults.json, which lists only what is not as the topology has it. In:
 * faults as they are made and healed (under the lab's lock). Out: for each sub-link and leaf what
 * to expect of it.
 */
#ifndef FAULT_STATE_H
#define FAULT_STATE_H

#include "lab.h"

struct fault_link {
	bool failed; /* by `fail subport` or `fail plane`; a failed leaf is not counted here */
	unsigned from_leaf_loss_ppm; /* gray: what the leaf's end drops of what it sends */
	unsigned to_leaf_loss_ppm;   /* and of what it receives */
	unsigned rate_mbps;	     /* in force now; 0: unshaped */
};

struct fault_state {
	struct fault_link *links; /* by plan_link_number() */
	unsigned n_links;
	bool leaf_failed[16];
};

/* What the file says, or all well without one. The caller frees with fault_state_fini(). */
int fault_state_load(const struct lab *lab, struct fault_state *out);
int fault_state_save(const struct lab *lab, const struct fault_state *state);
void fault_state_fini(struct fault_state *state);

/* Should this sub-link of that plane carry anything? */
bool fault_state_live(const struct fault_state *state, unsigned link, unsigned plane);
bool fault_state_gray(const struct fault_state *state, unsigned link);

#endif
