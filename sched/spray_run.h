/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spray_run.h - one weight vector's whole schedule, planes and sub-ports, shared by all pairs that
 * have it.
 *
 * Owns: immutable runs, counted by who uses them. In: bandwidths and live sub-ports of a pair's
 * planes; out: a sequence that may be repeated for ever: a whole number of periods W of
 * spray_table.h, so long that each plane has also gone round its live sub-ports a whole number of
 * times. Thread: any; one lock, taken when weights change and never to pick.
 */
#ifndef SPRAY_RUN_H
#define SPRAY_RUN_H

#include <stdint.h>

#include "fare_spray_inline.h"

struct spray_weights {
	unsigned n;			/* planes */
	uint64_t bps[FARE_MAX_PLANES];	/* usable; 0: not at all. Then so is what has no live
					   sub-port */
	uint32_t live[FARE_MAX_PLANES]; /* bit s: sub-port s */
};

#define SPRAY_RUN_MAX 8192 /* units; what would be longer has no run (spray_fly.h) */

struct spray_run {
	struct spray_run *next;
	uint32_t users;
	struct spray_weights weights; /* reduced: the key */
	uint32_t period;	      /* W: after so many units every plane had its exact part */
	uint32_t length;	      /* of unit[], a multiple of period */
	struct fare_slot unit[];      /* then FARE_SPRAY_END */
};

struct spray_runs; /* all runs in use */

int spray_runs_create(struct spray_runs **out);
void spray_runs_destroy(struct spray_runs *runs); /* no run may be in use; NULL is fine */
/*
 * The run of these weights, made if nobody has it. Give it back. -ENETUNREACH: nothing usable;
 * -E2BIG: its exact length is above SPRAY_RUN_MAX; -ENOMEM.
 */
int spray_runs_get(struct spray_runs *runs, const struct spray_weights *weights,
		   const struct spray_run **out);
void spray_runs_put(struct spray_runs *runs, const struct spray_run *run); /* NULL is fine */

/* The live sub-port after `last`, round and round; live != 0. */
unsigned spray_run_next_live(uint32_t live, unsigned last);

#endif
