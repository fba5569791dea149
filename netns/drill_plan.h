/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * drill_plan.h - a schedule of faults, as a file says it or as a seed makes it.
 *
 * Owns nothing. In: YAML, a topology, a seed. Out: steps in the order of their time. Pure; any
 * thread.
 * farelab(8), DRILL PLANS, has the keys.
 *
 * The process that runs a plan heals at the end what the plan breaks and does not heal.
 */
#ifndef DRILL_PLAN_H
#define DRILL_PLAN_H

#include <stdint.h>

#include "topology.h"

#define DRILL_PLAN_TEXT_MAX  96
#define DRILL_PLAN_ERROR_MAX 512

struct drill_step {
	double at_s;			/* from the start */
	char text[DRILL_PLAN_TEXT_MAX]; /* "fail subport s1 1 0" */
};

struct drill_plan {
	char name[64];
	unsigned n_steps;
	struct drill_step *steps;
};

/*
 * file is only a name for the error line. faults: that many random ones; 0: as many as the plan
 * says. 0; -EBADMSG with "file:line: key: why" in error (DRILL_PLAN_ERROR_MAX bytes), or -ENOMEM.
 * The plan is the caller's.
 */
int drill_plan_parse(const char *file, const char *text, size_t size, const struct topology *t,
		     uint64_t seed, uint32_t faults, struct drill_plan *out, char *error);
void drill_plan_fini(struct drill_plan *plan);

/*
 * The step that undoes this one, into out; false: it undoes one itself, or there is nothing to
 * undo. Rates are undone to the
 * topology's.
 */
bool drill_plan_undo(const char *text, const struct topology *t, char out[DRILL_PLAN_TEXT_MAX]);

/* Percent that a gray step has its part lose; 100 where it does not say, as farelab has it. */
double drill_plan_loss(const char *text);

#endif
