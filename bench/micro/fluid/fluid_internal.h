/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fluid_internal.h - what the fluid solver is made of, shared by its two files only.
 *
 * fluid.c owns links and flows as they are given, and time; fluid_fill.c owns what is derived from
 * them: who crosses which link, the independent parts, and the order in which flows were frozen.
 * Thread: as fluid.h.
 *
 * Filling keeps the freezing order, and that is what makes one event cheap. A flow that goes
 * changes nothing that froze at a lower level than its own: until then it was one more unfrozen
 * flow on links that were not yet full, and without it they fill later still. So only the order's
 * tail, from the group of flows that its bottleneck froze, is thawed and filled again; and as
 * nothing before the tail changes, a running minimum along the order tells who ends next.
 */
#ifndef FLUID_INTERNAL_H
#define FLUID_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "micro/fluid/fluid.h"

#define FLUID_THAWED UINT32_MAX

struct fluid_link {
	double capacity_bps;
	double left_bps;   /* not taken by frozen flows */
	double weight;	   /* of thawed flows that cross it */
	double level_bps;  /* its key in the heap: never above what it is now */
	uint32_t thawed;   /* flows; 0 between fillings */
	uint32_t first, n; /* in crossed_by: the flows that cross it */
	uint32_t next;	   /* another link of the same part, during indexing: towards the root */
};

struct fluid_flow {
	double weight, rate_bps;
	double left_bytes; /* at since_s */
	double since_s, ends_s;
	uint32_t first, n_links; /* in crossings */
	uint32_t place;		 /* in the part's order, or FLUID_THAWED */
	bool finished;
};

/* A frozen flow, in order of levels. */
struct fluid_place {
	double earliest_s; /* the first end among this and all before it */
	uint32_t flow;
	uint32_t group; /* the first place that the same link froze */
};

/* Links and flows that share nothing with others; they have a clock of their own. */
struct fluid_part {
	uint32_t first, n; /* in members: its flows */
	struct fluid_place *order;
	uint32_t n_frozen;
	double now_s;
};

struct fluid {
	struct fluid_link *links;
	struct fluid_flow *flows;
	uint32_t *crossings;
	size_t n_links, n_flows, n_crossings;
	size_t room_links, room_flows, room_crossings;
	double merge; /* relative */
	size_t n_events;

	bool indexed;
	uint32_t *crossed_by, *members, *heap;
	struct fluid_place *places;
	struct fluid_part *parts;
	uint32_t n_parts, n_heap;
};

/* Derives everything below `indexed` anew. -ENOMEM. */
int fluid_fill_index(struct fluid *fluid);
void fluid_fill_drop(struct fluid *fluid);

/* Rates for all unfinished flows of a part, from nothing. */
void fluid_fill_all(struct fluid *fluid, struct fluid_part *part);
/*
 * Lets the next flow of a part end, and all that end by relative tolerance together with it; then
 * fills again what that changes. -ENETUNREACH: those that are left never end.
 */
int fluid_fill_next(struct fluid *fluid, struct fluid_part *part);

#endif
