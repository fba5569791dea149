/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * drill_random.h - faults by chance, of which a seed means the same everywhere.
 *
 * Owns nothing. In: how many, how often, of which kinds; a topology; a seed. Out: pairs of steps,
 * each fault and when it is healed. Pure; any thread.
 *
 * Faults may overlap, on different parts: a part that is broken is not broken again before it has
 * been healed and has had time to come back. And every two GPUs keep at least one plane that is
 * sound, or coming back from nothing: a fabric that is dead altogether is no drill.
 */
#ifndef DRILL_RANDOM_H
#define DRILL_RANDOM_H

#include <stdint.h>

#include "drill_plan.h"

struct drill_random {
	uint32_t faults;
	double start_s;
	double every_s; /* one begins in each such stretch of time, at a random moment */
	double hold_s;	/* and lasts from half to one and a half of that */
	unsigned n_kinds;
	const char *const *kinds;
};

/*
 * Fills steps with 2 * faults steps, in no order of time: the fault, then the time of what undoes
 * it, whose text is the caller's. -EINVAL: a kind that there is not (*bad),
 * -EDOM: so many faults at once leave nothing more to break.
 */
int drill_random_draw(const struct drill_random *random, const struct topology *t, uint64_t seed,
		      struct drill_step *steps, const char **bad);

#endif
