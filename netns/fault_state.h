/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fault_state.h - what of a lab is broken on purpose.
 *
 * Owns /run/farelab/NAME/faults.json, which lists only what is not as the topology has it. In:
 * faults as they are made and healed (under the lab's lock). Out: for each link, leaf and spine
 * what to expect of it.
 */
#ifndef FAULT_STATE_H
#define FAULT_STATE_H

#include "lab.h"

struct fault_link {
	bool failed; /* by itself; what a failed switch takes along is not counted here */
	unsigned from_leaf_loss_ppm; /* gray: what the leaf's end drops of what it sends */
	unsigned to_leaf_loss_ppm;   /* and of what it receives */
	unsigned rate_mbps;	     /* in force now; 0: unshaped */
};

struct fault_state {
	const struct topology *topology; /* the lab's; borrowed */
	struct fault_link *links;	 /* by number (plan.h) */
	unsigned *announced_mbps;	 /* by number: the rate that BGP and fared have */
	unsigned n_links;
	bool switch_failed[PLAN_SUPERSPINE + 1][PLAN_SWITCHES_MAX]; /* by role and index */
};

/* What the file says, or all well without one. The caller frees with fault_state_fini(). */
int fault_state_load(const struct lab *lab, struct fault_state *out);
int fault_state_save(const struct lab *lab, const struct fault_state *state);
void fault_state_fini(struct fault_state *state);

bool fault_state_host_failed(const struct fault_state *state, struct plan_host host);
/* Should this link carry anything? */
bool fault_state_live(const struct fault_state *state, unsigned link);
bool fault_state_gray(const struct fault_state *state, unsigned link);

/*
 * Each fault that is recorded, as the command that makes it, without the lab's name: "fail leaf
 * l0", "throttle subport s1/g0 2 1 50".
 */
void fault_state_each(const struct fault_state *state, void (*visit)(const char *text, void *arg),
		      void *arg);

#endif
