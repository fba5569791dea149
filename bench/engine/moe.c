/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/moe.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"

#define MOE_TRIES    64 /* to find an expert that the token has not chosen yet */
#define MOE_MAX_PAIR (UINT64_C(1) << 31)

static const char *const moe_routing_names[MOE_ROUTINGS] = {
	[MOE_TOP_K] = "top-k",
	[MOE_EXPERT_CHOICE] = "expert-choice",
	[MOE_TOKEN_DROP] = "token-drop",
	[MOE_AUX_LOSS] = "aux-loss",
};

int moe_routing_parse(const char *name)
{
	for (int i = 0; name && i < MOE_ROUTINGS; i++)
		if (strcmp(name, moe_routing_names[i]) == 0)
			return i;
	return -ENOENT;
}

int moe_check(const struct moe *moe)
{
	if (!moe->gpus || !moe->tokens || !moe->top_k || !moe->hidden || !moe->element_bytes)
		return -EINVAL;
	if (moe->experts == 0 || moe->experts > MOE_MAX_EXPERTS || moe->gpus > MOE_MAX_GPUS ||
	    moe->top_k > moe->experts || moe->pad_bytes > MOE_MAX_PAIR)
		return -EINVAL;
	if (!(moe->skew >= 0 && moe->skew <= 4) ||
	    (moe->routing == MOE_TOKEN_DROP && !(moe->capacity >= 1)))
		return -EINVAL;
	if ((double)moe->tokens * moe->top_k * moe->hidden * moe->element_bytes > MOE_MAX_PAIR)
		return -EINVAL;
	return 0;
}

/* One round as it is drawn. */
struct moe_draw {
	const struct moe *moe;
	uint64_t *bytes;
	double below[MOE_MAX_EXPERTS]; /* popularity of the experts up to this one */
	uint32_t taken[MOE_MAX_EXPERTS], most;
};

/* GPUs from the first share are the expert's replicas, up to where the next expert's begin. */
static uint32_t moe_home(const struct moe *moe, uint32_t expert, uint32_t src)
{
	uint64_t first = (uint64_t)expert * moe->gpus / moe->experts,
		 next = ((uint64_t)expert + 1) * moe->gpus / moe->experts;

	return (uint32_t)(next > first ? first + src % (next - first) : first);
}

/* Every round shuffles which experts are popular. */
static void moe_popularity(struct moe_draw *draw, uint64_t *state)
{
	uint32_t n = draw->moe->experts;
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		draw->below[i] = pow(i + 1, -draw->moe->skew);
	for (uint32_t i = n; i > 1; i--) {
		uint32_t j = rng_below(state, i);
		double swap = draw->below[j];

		draw->below[j] = draw->below[i - 1];
		draw->below[i - 1] = swap;
	}
	for (uint32_t i = 0; i < n; i++)
		draw->below[i] = sum += draw->below[i];
}

static uint32_t moe_pick(const struct moe_draw *draw, uint64_t *state)
{
	uint32_t low = 0, high = draw->moe->experts - 1;
	double at;

	if (draw->moe->skew == 0)
		return rng_below(state, draw->moe->experts);
	at = rng_uniform(state) * draw->below[high];
	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (draw->below[middle] > at)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static bool moe_is_chosen(const uint16_t *chosen, uint32_t n, uint32_t expert)
{
	for (uint32_t i = 0; i < n; i++)
		if (chosen[i] == expert)
			return true;
	return false;
}

static void moe_send(struct moe_draw *draw, uint32_t src, uint32_t expert)
{
	const struct moe *moe = draw->moe;

	if (draw->most && draw->taken[expert]++ >= draw->most)
		return; /* dropped */
	draw->bytes[(size_t)src * moe->gpus + moe_home(moe, expert, src)] +=
		(uint64_t)moe->hidden * moe->element_bytes;
}

/* One token: top_k distinct experts, each by its popularity among those not yet chosen. */
static void moe_token(struct moe_draw *draw, uint64_t *state, uint32_t src)
{
	uint16_t chosen[MOE_MAX_EXPERTS];

	for (uint32_t i = 0; i < draw->moe->top_k; i++) {
		uint32_t expert = moe_pick(draw, state);

		for (int tries = 0; moe_is_chosen(chosen, i, expert); tries++)
			expert = tries < MOE_TRIES ? moe_pick(draw, state)
						   : (expert + 1) % draw->moe->experts;
		chosen[i] = (uint16_t)expert;
		moe_send(draw, src, expert);
	}
}

static void moe_draw_top_k(struct moe_draw *draw, uint64_t *state)
{
	for (uint32_t token = 0; token < draw->moe->tokens; token++)
		for (uint32_t src = 0; src < draw->moe->gpus; src++)
			moe_token(draw, state, src);
}

/* An expert's tokens come from wherever there are any: an urn with every GPU's tokens in it. */
static void moe_draw_expert_choice(struct moe_draw *draw, uint64_t *state)
{
	const struct moe *moe = draw->moe;
	uint64_t all = (uint64_t)moe->tokens * moe->gpus;
	uint64_t taken = 0;
	uint32_t left[MOE_MAX_GPUS];

	for (uint32_t expert = 0; expert < moe->experts; expert++) {
		for (uint32_t src = 0; src < moe->gpus; src++)
			left[src] = moe->tokens;
		/* few tokens: not every expert has one */
		uint64_t end = (expert + UINT64_C(1)) * all * moe->top_k / moe->experts;

		for (uint64_t i = 0; taken < end && i < all; i++, taken++) {
			uint64_t at = (uint64_t)(rng_uniform(state) * (double)(all - i));
			uint32_t src = 0;

			while (src < moe->gpus - 1 && at >= left[src])
				at -= left[src++];
			left[src]--;
			moe_send(draw, src, expert);
		}
	}
}

/* The i-th expert, one of each block in turn. */
static uint32_t moe_deal(const struct moe *moe, uint64_t i)
{
	uint64_t blocks = moe->gpus < moe->experts ? moe->gpus : moe->experts, block = i % blocks,
		 first = (block * moe->experts + blocks - 1) / blocks,
		 next = ((block + 1) * moe->experts + blocks - 1) / blocks;

	return (uint32_t)(first + i / blocks % (next - first));
}

/* Each GPU deals its copies out to all GPUs in turn, and on each to its experts in turn. */
static void moe_draw_aux_loss(struct moe_draw *draw, uint64_t *state)
{
	const struct moe *moe = draw->moe;

	for (uint32_t src = 0; src < moe->gpus; src++) {
		uint32_t at = rng_below(state, moe->experts);

		for (uint64_t i = 0; i < (uint64_t)moe->tokens * moe->top_k; i++)
			moe_send(draw, src, moe_deal(moe, at + i));
	}
}

static void moe_draw(const struct moe *moe, uint64_t round, uint64_t *bytes)
{
	struct moe_draw draw = {.moe = moe, .bytes = bytes};
	uint64_t state = moe->seed ^ round * 0xd1342543de82ef95ULL;

	moe_popularity(&draw, &state);
	if (moe->routing == MOE_TOKEN_DROP)
		draw.most = (uint32_t)ceil(moe->capacity * moe->tokens * moe->gpus * moe->top_k /
					   moe->experts);
	if (moe->routing == MOE_EXPERT_CHOICE)
		moe_draw_expert_choice(&draw, &state);
	else if (moe->routing == MOE_AUX_LOSS)
		moe_draw_aux_loss(&draw, &state);
	else
		moe_draw_top_k(&draw, &state);
}

static void moe_transpose(uint32_t n, uint64_t *bytes)
{
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t j = i + 1; j < n; j++) {
			uint64_t swap = bytes[(size_t)i * n + j];

			bytes[(size_t)i * n + j] = bytes[(size_t)j * n + i];
			bytes[(size_t)j * n + i] = swap;
		}
	}
}

void moe_round(const struct moe *moe, uint64_t round, uint64_t *bytes)
{
	size_t cells = (size_t)moe->gpus * moe->gpus;

	round = moe->period ? round % moe->period : round;
	memset(bytes, 0, cells * sizeof(*bytes));
	if (moe->pad_bytes)
		for (size_t i = 0; i < cells; i++)
			bytes[i] = moe->pad_bytes;
	else
		moe_draw(moe, moe->combine ? round / 2 : round, bytes);
	for (uint32_t i = 0; i < moe->gpus; i++)
		bytes[(size_t)i * moe->gpus + i] = 0;
	if (moe->combine && round % 2)
		moe_transpose(moe->gpus, bytes);
}

uint64_t moe_largest(const struct moe *moe, uint64_t rounds)
{
	size_t cells = (size_t)moe->gpus * moe->gpus;
	uint64_t *bytes = calloc(cells, sizeof(*bytes)), largest = 0;

	rounds = moe->period && moe->period < rounds ? moe->period : rounds;
	for (uint64_t round = 0; bytes && round < rounds; round++) {
		moe_round(moe, round, bytes);
		for (size_t i = 0; i < cells; i++)
			largest = bytes[i] > largest ? bytes[i] : largest;
	}
	free(bytes);
	return largest;
}

void moe_pad(struct moe *moe)
{
	moe->pad_bytes = 0;
	moe->pad_bytes = moe_largest(moe, moe->period ? moe->period : 1);
}

struct moe_spread moe_spread(const struct moe *moe, const unsigned *server)
{
	uint32_t n = moe->gpus, rounds = moe->period ? moe->period : 1;
	uint64_t *bytes = calloc((size_t)n * n, sizeof(*bytes));
	double *to = calloc(n, sizeof(*to)), intra = 0, all = 0, most = 0;

	for (uint32_t round = 0; bytes && to && round < rounds; round++) {
		moe_round(moe, round, bytes);
		for (uint32_t src = 0; src < n; src++)
			for (uint32_t dst = 0; dst < n; dst++) {
				double pair = (double)bytes[(size_t)src * n + dst];

				to[dst] += pair;
				all += pair;
				intra += server[src] == server[dst] ? pair : 0;
			}
	}
	for (uint32_t i = 0; to && i < n; i++)
		most = fmax(most, to[i]);
	free(bytes);
	free(to);
	return (struct moe_spread){.bytes = (all - intra) / rounds,
				   .egress = all / rounds,
				   .intra_share = all > 0 ? intra / all : 0,
				   .imbalance = all > 0 ? most / (all / n) : 0};
}
