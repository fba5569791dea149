/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * moe.h - bytes between GPUs when a mixture-of-experts layer dispatches its tokens.
 *
 * Owns: nothing; pure and seeded, so that every GPU computes the same matrix alone. Thread: any.
 *
 * Every GPU holds `tokens` tokens a round. Experts lie on the GPUs in blocks that differ by one at
 * most; where there are fewer experts than GPUs, so do their numbers of replicas, and a GPU uses
 * one of them by its own number. One
 * copy of hidden x element_bytes goes to each chosen expert's GPU (no merging of copies for the
 * same GPU: B x k x H x P bytes leave a GPU, as the methodology's appendix E counts). What a GPU
 * sends to itself crosses no fabric and is left out of the matrix.
 */
#ifndef MOE_H
#define MOE_H

#include <stdbool.h>
#include <stdint.h>

#define MOE_MAX_EXPERTS 1024
#define MOE_MAX_GPUS	1024

/* Table 8 of the methodology. */
enum moe_routing {
	MOE_TOP_K,	   /* each token chooses top_k distinct experts, by their popularity */
	MOE_EXPERT_CHOICE, /* each expert takes tokens x gpus x top_k / experts tokens at random */
	MOE_TOKEN_DROP, /* as TOP_K; an expert that has `capacity` times the mean drops the rest */
	MOE_AUX_LOSS,	/* as TOP_K, of a router trained to balance: even, to one copy a GPU */
	MOE_ROUTINGS
};

int moe_routing_parse(const char *name); /* enum moe_routing, or -ENOENT */

struct moe {
	uint32_t gpus, tokens, top_k, experts, hidden, element_bytes;
	enum moe_routing routing;
	double skew;	 /* popularity of expert i is (i + 1) ^ -skew, experts shuffled; 0: equal */
	double capacity; /* MOE_TOKEN_DROP: 1.0 and more */
	/* low-latency dispatch: every pair carries so much; 0: what was routed */
	uint64_t pad_bytes;
	bool combine;	 /* every second round brings back what the one before dispatched */
	uint32_t period; /* rounds repeat after so many (even); 0: they never do */
	uint32_t first;	 /* global index of the first GPU that takes part */
	uint64_t seed;
};

/* -EINVAL: a zero, top_k > experts, more experts or GPUs than the limits, or a pair above 2^31
 * bytes. */
int moe_check(const struct moe *moe);
/* Pads to the largest pair that the routing gives in a period: shapes are fixed (appendix E). */
void moe_pad(struct moe *moe);
/* Of what a round of a period dispatches: the share that stays inside servers, and the bytes to the
 * busiest GPU over the mean; server[] has the server of each of the gpus. */
struct moe_spread {
	double bytes;  /* of all GPUs a round, mean: what crosses the fabric */
	double egress; /* the same with what stays inside servers */
	double intra_share, imbalance;
};

struct moe_spread moe_spread(const struct moe *moe, const unsigned *server);
/* bytes[src * gpus + dst] for that round; the diagonal is 0. moe must have passed moe_check(). */
void moe_round(const struct moe *moe, uint64_t round, uint64_t *bytes);
/* The most that a pair carries in the first n rounds. */
uint64_t moe_largest(const struct moe *moe, uint64_t rounds);

#endif
