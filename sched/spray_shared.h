/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spray_shared.h - what the sprays of one struct fare share: schedules, and the memory of their
 * heads (private to libfare).
 *
 * Owns: runs, each immutable, one for each weight vector in use and counted by who uses it; blocks
 * of heads (fare_spray_inline.h), which go back to the system only as a whole, at the end: what is
 * looked at for every packet must not be spread over the heap. In: bandwidths and live sub-ports of
 * a pair's planes. Out: a sequence of planes and sub-ports that may be repeated for ever: a whole
 * number of periods W of spray_fly.h, so long that each plane has also gone round its live
 * sub-ports a whole number of times. Thread: that of struct fare; heads of two of them are never in
 * one cache line.
 */
#ifndef SPRAY_SHARED_H
#define SPRAY_SHARED_H

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

struct spray_heads_block;

struct spray_shared { /* all zero: nothing yet */
	struct spray_run *runs;
	struct spray_heads_block *blocks;
	struct fare_spray_head *vacant; /* each one's body points to the next */
};

void spray_shared_fini(struct spray_shared *shared); /* no spray may be left */
/*
 * The run of these weights, made if nobody has it. Give it back. -ENETUNREACH: nothing usable;
 * -E2BIG: its exact length is above SPRAY_RUN_MAX; -ENOMEM.
 */
int spray_shared_take_run(struct spray_shared *shared, const struct spray_weights *weights,
			  const struct spray_run **out);
void spray_shared_give_run(struct spray_shared *shared, const struct spray_run *run); /* or NULL */
struct fare_spray_head *spray_shared_take_head(struct spray_shared *shared); /* zeroed, or NULL */
void spray_shared_give_head(struct spray_shared *shared, struct fare_spray_head *head);

/* The live sub-port after `last`, round and round; live != 0. */
static inline unsigned spray_shared_next_live(uint32_t live, unsigned last)
{
	uint32_t above = last < 31 ? live >> (last + 1) << (last + 1) : 0;

	return (unsigned)__builtin_ctz(above ? above : live);
}

#endif
