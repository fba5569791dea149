/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ep.h - expert-parallel all-to-all dispatch among all GPUs (methodology 7.1), two rounds
 * overlapping.
 *
 * Owns: nothing. In: a cluster and the routing's parameters; out: verified goodput of the whole
 * system against the cut bound. Thread: the coordinator's.
 *
 * Each round is one message per ordered pair, as large as the seeded routing makes it. What is
 * measured lies between the ends of the first and the last round that ended in the window (a round
 * ends when the last GPU has verified the last of its messages): the payload acknowledged in that
 * time, chunk by chunk, so that messages under way at either edge count for what was across and no
 * more. (All of it is verified too, when its message is whole.) Goodput is that over the time; the
 * optimum is what the cut bound allows for the rounds that ended in it. What queues and token
 * buckets hold at the edges remains: about 1% of half a second at the demo's rate, either way, so
 * that single repetitions may read a little above 100%. GPUs of the same server exchange nothing.
 */
#ifndef EP_H
#define EP_H

#include "engine/moe.h"
#include "engine/plan.h"

struct ep_options {
	struct traffic_options traffic;
	struct moe moe;	  /* gpus and period are set by ep_plan() */
	double measure_s; /* and five rounds of the optimum */
};

/* 256 tokens a GPU and round to 8 of 64 experts, 7,168 bytes each; gpus is not set. */
struct moe ep_default_moe(void);

/* Upper bound of the arena that any rounds of this routing can need on this topology. */
uint64_t ep_arena_bytes(const struct topo *topo, const struct ep_options *ep);

/* The load of rounds without end, and its streams: every ordered pair of GPUs on different servers.
 * moe stays in use until the plan has run. */
void ep_plan(const struct topo *topo, const struct ep_options *ep, struct plan *plan,
	     struct moe *moe);

/* One repetition with fresh QPs; repetition chooses the routing's seed. */
int ep_run(struct cluster *cluster, const struct topo *topo, const struct ep_options *ep,
	   unsigned repetition, struct traffic_result *result);

#endif
