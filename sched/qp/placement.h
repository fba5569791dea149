/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * placement.h - which QP a chunk goes to: one table of functions for each placement.
 *
 * Solely owns: turns, schedule and table of flows. In: a chunk, the weights in force. Out: the
 * chunk's lane and QP. Pure; the domain's thread.
 *
 *	flow	the connection table binds flows to QPs; a message's chunks take flows in turn
 *	spray	the exact schedule over planes, by bytes; then the plane's QP with the fewest
 *	stripe	baseline: chunks are dealt evenly to all QPs
 *	hash	baseline: all of a message to one QP, by a hash of its number
 *	least	baseline: all of a message to the QP with the fewest bytes under way
 */
#ifndef QP_PLACEMENT_H
#define QP_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "fare_limits.h"
#include "spray_fly.h"

struct chunk;
struct conn_shm_entry;
struct flow_table;
struct outlet;
struct transfer;
struct weights;

struct placement_kind {
	/* Sets the chunk's lane and QP. False: no plane is usable. */
	bool (*choose)(struct transfer *t, struct chunk *chunk);
	/* Other weights are in force; bps has n_lanes entries. NULL: nothing to do. */
	void (*follow)(struct transfer *t, const uint64_t *bps, const struct weights *w);
	/* A message whose QP takes no more does not make later messages wait. */
	bool independent;
};

struct placement {
	const struct placement_kind *kind;
	/* FARE_MODE_SPRAY, _PACKET: schedule over lanes, by bytes */
	struct spray_fly spray;
	uint64_t spray_bps[FARE_MAX_PLANES]; /* bandwidths that the schedule was made for */
	struct outlet *stay;		     /* where the last chunk went; NULL: nowhere yet */
	uint64_t stay_bytes;		     /* of chunks that went there on end */
	struct flow_table *flows;	     /* FARE_MODE_FLOW */
	struct conn_shm_entry *entries;
	struct conn_shm_entry *own_entries; /* used if the segment had no rows left */
	uint64_t flow_turn;
	unsigned kernel_turn;
	/* where the record went that the next one follows (FARE_SEND_MORE) */
	bool is_joined;
	uint16_t join_lane, join_qp;
	uint32_t join_bytes; /* of those that went there one behind the other */
};

/* The options were checked. 0, -ENOMEM, or of flow_table_create(): placement_fini() all the same */
int placement_init(struct transfer *t);
void placement_fini(struct transfer *t);
/*
 * Of a record: the QP with the least to do, on the lane where that is done soonest; or that of the
 * message that it follows (FARE_SEND_MORE). Sets chunk's lane and QP; false: no plane is usable.
 */
bool placement_record(struct transfer *t, struct chunk *chunk);

#endif
