/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flow_spread.h - how many flows of one pair each plane and QP carries, how many it should, and
 * whose turn it is (pure).
 *
 * Solely owns: the counts. In: weights, and flows that come and go; which flow is which,
 * flow_table.h knows. Out: where the next one goes, how many each plane is to have under new
 * weights, how many each QP gives up for that, and turns. One thread.
 *
 * Two regimes. With many flows (at least as many as the weight period W, and more than
 * FLOW_SPREAD_FEW a plane) counts minimise max(flows / weight) over the planes (d'Hondt): a change
 * moves only what exceeds a plane's part at that least load, each move necessary. With fewer, no
 * pair can be proportional alone, and d'Hondt would favour the wide planes in every pair alike;
 * then a pair's flows are a window of the exact schedule (no plane is a whole flow from its share),
 * and where the window begins differs from pair to pair, so that all pairs together are
 * proportional. (A lone pair of 16 flows over weights 2:2:2:1 thus may end up to 1.31 times above
 * its optimum, where d'Hondt would give 1.09. But d'Hondt in every pair gives 1.04 for 64 GPUs all
 * to all, where windows give 1.00: no rule that knows only its own pair does both.)
 */
#ifndef FLOW_SPREAD_H
#define FLOW_SPREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "weights.h"

#define FLOW_SPREAD_FEW 4

struct flow_spread_attr {
	const uint16_t *slots; /* QPs per plane, n_planes of them; 0 counts as 1 */
	unsigned n_planes;     /* 1 .. FARE_MAX_PLANES */
	/*
	 * Where in the schedule the pair begins, modulo W. Pairs whose turns are consecutive
	 * (weights_turn()) share the odd flows out exactly, whatever W is.
	 */
	int64_t turn;
};

/*
 * Of one QP: how far behind it is in being given turns, and where its owner looks for the next of
 * its flows.
 */
struct flow_turn {
	int64_t credit;
	uint32_t at;
};

struct flow_spread { /* read by its owner, written here; flow_turn.at is the owner's */
	struct weights weights;
	unsigned n_planes;
	uint16_t slots[FARE_MAX_PLANES];
	int64_t turn;
	uint64_t start[FARE_MAX_PLANES]; /* virtual picks before the first: the pair's turn */
	uint32_t in_use, count[FARE_MAX_PLANES];
	uint32_t *slot_count[FARE_MAX_PLANES];
	/* by flow_spread_targets(): how many flows each QP is to give up */
	uint32_t *excess[FARE_MAX_PLANES];
	struct flow_turn *turns[FARE_MAX_PLANES];
};

/* 0; -ENOMEM, then nothing is held */
int flow_spread_init(struct flow_spread *s, const struct flow_spread_attr *attr);
void flow_spread_fini(struct flow_spread *s);
/*
 * Counts stay as they are: moving is the owner's. Planes beyond n_planes do not count, and those
 * that weights do not reach are of no use. False: nothing has changed.
 */
bool flow_spread_reweight(struct flow_spread *s, const struct weights *weights);

/*
 * One flow more on a plane: on which of its QPs. Ties go round with the turn, so that pairs
 * differ.
 */
unsigned flow_spread_enter(struct flow_spread *s, unsigned plane);
void flow_spread_leave(struct flow_spread *s, unsigned plane, unsigned index);
unsigned flow_spread_fullest(const struct flow_spread *s, unsigned plane);

/* The plane a new flow goes to. Some weight must be positive, as for the next four. */
unsigned flow_spread_next(const struct flow_spread *s);
unsigned flow_spread_least_loaded(const struct flow_spread *s);
/* Would so many flows be too few to be proportional alone? */
bool flow_spread_is_few(const struct flow_spread *s, uint32_t flows);
/* What each plane should have when they are few, whichever have them now. */
void flow_spread_window(const struct flow_spread *s, uint64_t *target);
/* And when they are many, at the fewest moves: returns how many, and sets excess. */
uint32_t flow_spread_targets(struct flow_spread *s, uint32_t *target);

/*
 * The QP whose turn it is to carry size bytes (or whatever is to be in proportion): a smooth
 * weighted round-robin by how many flows each carries, in which a turn costs its size. NULL: none
 * carries any.
 */
struct flow_turn *flow_spread_take_turn(struct flow_spread *s, uint32_t size, unsigned *plane,
					unsigned *index);

#endif
