/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * moe.h - who sends how much to whom when a mixture-of-experts layer dispatches its tokens.
 *
 * Owns: nothing; pure and seeded, so that every GPU computes the same matrix alone. Thread: any.
 *
 * Every GPU holds `tokens` tokens a round. Each token chooses top_k distinct ones of `experts`
 * experts, uniformly; experts lie on the GPUs in equal blocks; one copy of hidden x element_bytes
 * goes to each chosen expert's GPU (no merging of copies for the same GPU: B x k x H x P bytes
 * leave a GPU, as the methodology's appendix E counts). What a GPU sends to itself crosses no
 * fabric and is left out of the matrix.
 */
#ifndef MOE_H
#define MOE_H

#include <stdint.h>

#define MOE_MAX_EXPERTS 1024

struct moe {
	uint32_t gpus, tokens, top_k, experts, hidden, element_bytes;
	uint64_t seed;
};

/* -EINVAL: a zero, top_k > experts, experts no multiple of gpus or above the limit, or a pair above
 * 2^31 bytes. */
int moe_check(const struct moe *moe);

/* bytes[src * gpus + dst] for that round; the diagonal is 0. moe must have passed moe_check(). */
void moe_round(const struct moe *moe, uint64_t round, uint64_t *bytes);

#endif
