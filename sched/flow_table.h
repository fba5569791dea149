/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flow_table.h - the connection table of one pair: flow key -> (plane, QP index), pure.
 *
 * Solely owns: the bindings of one pair. In: flow keys, weights per plane, now. Out: slots, and how
 * many flows moved and why. Entries live in memory the caller gives (struct conn_shm_entry, so that
 * an operator can see them); everything the logic relies on is private. Keys are found by
 * flow_map.h. One thread.
 *
 * FARE-in-SUN 3.1: flows on unaffected planes stay; when a plane shrinks just enough of its flows
 * are released; when it grows just enough are taken back; idle entries expire.
 *
 * By bytes, when asked: what flows are measured to carry takes the place of their number
 * (flow_balance.h), as soon as anything was measured.
 *
 * By number (flow_spread.h): in proportion where the flows are many, and else so that all pairs
 * together are.
 */
#ifndef FLOW_TABLE_H
#define FLOW_TABLE_H

#include <stdbool.h>

#include "conn_shm.h"
#include "weights.h"

struct flow_table;

struct flow_table_attr {
	/* max_flows of them; borrowed, written only by this table */
	struct conn_shm_entry *entries;
	uint32_t max_flows;		 /* 1 .. 2^20 */
	uint16_t slots[FARE_MAX_PLANES]; /* QPs per plane, >= 1 */
	unsigned n_planes;
	int64_t turn;		 /* as in flow_spread.h */
	uint64_t idle_expiry_ns; /* 0: never */
	/* random, if keys may be chosen so that they collide */
	uint64_t seed;
	bool by_bytes;	      /* flow_table_account() is called for all that flows carry */
	uint64_t balance_ns;  /* by_bytes: time of one measurement; 0: 100 ms */
	struct in6_addr peer; /* for the operator */
	uint32_t local_gpu;
};
struct flow_slot {
	uint16_t plane;
	uint16_t index;
};
struct flow_table_stats {
	uint64_t binds, moves, needless_moves, expiries;
	uint32_t in_use;
	uint32_t count[FARE_MAX_PLANES];
};

int flow_table_create(struct flow_table **out, const struct flow_table_attr *attr);
void flow_table_destroy(struct flow_table *t); /* clears its entries; NULL is fine */
/*
 * New weights. Moves the fewest flows. Flows of a plane whose weight became 0 all move; if no plane
 * is usable they stay where they are, unusable, until one is. Returns how many moved.
 */
unsigned flow_table_reweight(struct flow_table *t, const struct weights *weights);
/*
 * 0; -ENETUNREACH: no usable plane; -ENOSPC: table full of flows that have not expired (a flow that
 * finds it full looks for one that has among the next few only: call flow_table_expire() from time
 * to time).
 */
int flow_table_pick(struct flow_table *t, uint64_t key, uint64_t now_ns, struct flow_slot *out);
/*
 * Whose turn it is to carry size bytes, for a sender that may use its flows in any order: QPs get
 * as even parts of all bytes as the numbers of their flows allow, whichever flows have moved, and
 * the flows of a QP one after the other. 0; -ENOENT: no flow is bound to a usable plane.
 */
int flow_table_turn(struct flow_table *t, uint32_t size, uint64_t *key);
int flow_table_release(struct flow_table *t, uint64_t key);
unsigned flow_table_expire(struct flow_table *t, uint64_t now_ns);
void flow_table_stats(const struct flow_table *t, struct flow_table_stats *out);
/*
 * Adds to the bytes of a flow (for the operator, and measured), and the port it uses (0: unknown).
 * Unknown keys are ignored.
 */
void flow_table_account(struct flow_table *t, uint64_t key, uint64_t bytes,
			uint16_t udp_source_port);

#endif
