/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hash_model.h - what hashed flows get of the links between two GPUs: the expectation that measured
 * baselines are held against.
 *
 * Two stages, as in the lab and in a real fabric: the sender's kernel hashes each flow to one of
 * its live sub-ports (with equal weights, or as the planes' bandwidths are), and the leaf hashes it
 * to one of the receiver's live sub-ports of that plane. Links are shared max-min fairly. Flows are
 * independent (each always has something to send), or each message is cut evenly over all of them,
 * and so all run as fast as the slowest.
 *
 * Owns: nothing; pure. Thread: any.
 */
#ifndef HASH_MODEL_H
#define HASH_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/topo.h"

#define HASH_MODEL_MAX_FLOWS 1024
#define HASH_MODEL_MAX_DRAWS 10000

struct hash_model {
	unsigned src, dst;
	unsigned flows; /* 1 .. HASH_MODEL_MAX_FLOWS */
	bool striped;	/* else independent */
	bool weighted;	/* by the planes' bandwidths, else equally */
	unsigned draws; /* 1 .. HASH_MODEL_MAX_DRAWS */
	uint64_t seed;
};

/* Shares of what the links can carry, over draws of the hashes. */
struct hash_model_share {
	double median, p10, p90;
};

/* -ENETUNREACH: no plane connects them. -EINVAL, -ENOMEM. */
int hash_model_run(const struct hash_model *model, const struct topo *topo,
		   struct hash_model_share *out);

#endif
