/* SPDX-License-Identifier: BSD-2-Clause */
#include "moe.h"

#include <errno.h>
#include <string.h>

static uint64_t moe_random(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ULL;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

int moe_check(const struct moe *moe)
{
	if (!moe->gpus || !moe->tokens || !moe->top_k || !moe->hidden || !moe->element_bytes)
		return -EINVAL;
	if (moe->experts == 0 || moe->experts > MOE_MAX_EXPERTS || moe->experts % moe->gpus ||
	    moe->top_k > moe->experts)
		return -EINVAL;
	if ((double)moe->tokens * moe->top_k * moe->hidden * moe->element_bytes > 2147483648.0)
		return -EINVAL;
	return 0;
}

/* One token: top_k distinct experts by a partial Fisher-Yates shuffle. */
static void moe_token(const struct moe *moe, uint64_t *state, uint16_t *deck, uint64_t *row)
{
	uint32_t per_gpu = moe->experts / moe->gpus;
	uint64_t copy = (uint64_t)moe->hidden * moe->element_bytes;

	for (uint32_t i = 0; i < moe->top_k; i++) {
		/* multiply-shift: the bias of 1,024 in 2^32 is of no account here */
		uint32_t j = i + (uint32_t)((moe_random(state) >> 32) * (moe->experts - i) >> 32);
		uint16_t expert = deck[j];

		deck[j] = deck[i];
		deck[i] = expert;
		row[expert / per_gpu] += copy;
	}
}

void moe_round(const struct moe *moe, uint64_t round, uint64_t *bytes)
{
	uint16_t deck[MOE_MAX_EXPERTS];

	memset(bytes, 0, (size_t)moe->gpus * moe->gpus * sizeof(*bytes));
	for (uint32_t src = 0; src < moe->gpus; src++) {
		uint64_t state = moe->seed ^ round * 0xd1342543de82ef95ULL ^ (uint64_t)src << 48;

		for (uint32_t i = 0; i < moe->experts; i++)
			deck[i] = (uint16_t)i;
		for (uint32_t token = 0; token < moe->tokens; token++)
			moe_token(moe, &state, deck, &bytes[(size_t)src * moe->gpus]);
		bytes[(size_t)src * moe->gpus + src] = 0;
	}
}
