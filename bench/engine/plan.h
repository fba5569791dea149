/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plan.h - the loads and streams of a run: endpoints, memory, indices.
 *
 * Owns: the lists. In: loads one by one, streams of each; out: arrays for measure.h, and what every
 * GPU needs of arena. What cannot be added (no memory, too many) is kept as plan->err. Thread: one.
 */
#ifndef PLAN_H
#define PLAN_H

#include "engine/traffic.h"

#define PLAN_MAX_LOADS 16

struct plan {
	int err;
	struct traffic_load load[PLAN_MAX_LOADS];
	unsigned n_loads;
	struct traffic_stream *stream;
	unsigned n_streams, room;
	uint64_t tx_bytes[TOPO_MAX_GPUS], rx_bytes[TOPO_MAX_GPUS];
};

void plan_fini(struct plan *plan); /* of one that was zeroed before its first use */

/* Returns the load's index. */
unsigned plan_load(struct plan *plan, const struct traffic_load *load);
/* Returns the stream's index. Both ends get slots x slot_bytes of their own. */
unsigned plan_stream(struct plan *plan, unsigned load, unsigned src, unsigned dst, unsigned slots,
		     uint64_t slot_bytes);
/* Every ordered pair of GPUs first..first + n - 1 on different servers. */
void plan_all_to_all(struct plan *plan, const struct topo *topo, unsigned load, unsigned first,
		     unsigned n, unsigned slots, uint64_t slot_bytes);
/* Opens its streams, with timelines, and starts them at once; takes the plan. */
int plan_begin(struct plan *plan, struct cluster *cluster, const struct topo *topo);
/* The most that a GPU needs. */
uint64_t plan_arena_bytes(const struct plan *plan);

#endif
