/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spray_cursor.h - one thread's place in the schedule of one pair, through every change of weights
 * (pure).
 *
 * Owns: by how much each plane is behind its share (arrears, in units). In: weights; a run
 * (spray_shared.h) where they have one. Out: units to post, in blocks that a caller walks by
 * itself: at .. end, or until FARE_SPRAY_END, which stands at end.
 *
 * With constant weights the bound is the schedule's: every plane within 1 - 1/(2n-2) units of its
 * share at any step. New weights: the cursor goes to that place of the new run where all arrears
 * are most nearly what they are now; what does not fit (at most SPRAY_CURSOR_SLACK) is not
 * forgotten but carried to the next change. If no place is so near, units are computed one by one
 * (spray_fly.h) until there is one. So no plane ever gets a burst, however often weights change:
 * while it is usable a plane is never above its share by 1 + SPRAY_CURSOR_SLACK, summed over all
 * the weights it had, nor below it by more than that (n <= 4; by spray_fly.h's bound else). A
 * plane's arrears when it died are shared out among the others.
 */
#ifndef SPRAY_CURSOR_H
#define SPRAY_CURSOR_H

#include <stdbool.h>

#include "spray_fly.h"
#include "spray_shared.h"

#define SPRAY_CURSOR_SLACK 0.75
#define SPRAY_CURSOR_BLOCK 64 /* units computed at once */

struct spray_cursor {
	const struct fare_slot *begin, *at, *end; /* begin .. at are done; the caller moves at */
	const struct spray_run *run;		  /* borrowed; NULL: these weights have none */
	struct spray_weights weights;
	double arrears[FARE_MAX_PLANES]; /* when at was begin */
	struct spray_fly fly;
	uint8_t last_sub_port[FARE_MAX_PLANES];
	struct fare_slot block[SPRAY_CURSOR_BLOCK + 1];
};

void spray_cursor_init(struct spray_cursor *c); /* at is valid, and at the end */
/* First weights: begins at the pair's phase, in [0, 1). run may be NULL. */
void spray_cursor_start(struct spray_cursor *c, const struct spray_weights *weights,
			const struct spray_run *run, double phase);
/* Other weights. The former run is no longer used when this returns. */
void spray_cursor_reweight(struct spray_cursor *c, const struct spray_weights *weights,
			   const struct spray_run *run);
/* At the end of a block: the next. False: nothing is usable. */
bool spray_cursor_refill(struct spray_cursor *c);

#endif
