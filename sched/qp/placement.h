/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * placement.h - which QP a chunk goes to: one table of functions for each placement.
 *
 * Owns nothing: turns, schedule and connection table are the group's. In: a chunk, the weights in
 * force. Out: the chunk's lane and QP. Pure; the domain's thread.
 *
 *	flow	the connection table binds flows to QPs; a message's chunks take flows in turn
 *	spray	the exact schedule over planes, by bytes; then the plane's QP with the fewest
 *	stripe	FARE_KERNEL_STRIPE: chunks are dealt evenly to all QPs
 *	hash	FARE_KERNEL_HASH: all of a message to one QP, by a hash of its number
 *	least	FARE_KERNEL_LEAST: all of a message to the QP with the fewest bytes under way
 */
#ifndef QP_PLACEMENT_H
#define QP_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

struct chunk;
struct fare_group;
struct weights;

struct placement {
	/* Sets the chunk's lane and QP. False: no plane is usable. */
	bool (*choose)(struct fare_group *group, struct chunk *chunk);
	/* Other weights are in force; bps has n_lanes entries. NULL: nothing to do. */
	void (*follow)(struct fare_group *group, const uint64_t *bps, const struct weights *w);
	/* A message whose QP takes no more does not make later messages wait. */
	bool independent;
};

/* The placement of a group's options, which were checked. */
const struct placement *placement_of(const struct fare_group *group);
/*
 * Of a record: the QP with the least to do, on the lane where that is done soonest; or that of the
 * message that it follows (FARE_SEND_MORE). Sets chunk's lane and QP; false: no plane is usable.
 */
bool placement_record(struct fare_group *group, struct chunk *chunk);

#endif
