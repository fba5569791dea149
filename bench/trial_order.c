/* SPDX-License-Identifier: BSD-2-Clause */
#include "trial_order.h"

/* splitmix64 */
static uint64_t next_random(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static void shuffle(struct trial_order *trials, unsigned n, uint64_t *random)
{
	for (unsigned i = n; i > 1; i--) {
		unsigned j = (unsigned)(next_random(random) % i);
		struct trial_order other = trials[j];

		trials[j] = trials[i - 1];
		trials[i - 1] = other;
	}
}

static bool is_under_equal_weights(const struct trial_order *trial)
{
	if (strategy_mode(trial->strategy) == FARE_MODE_KERNEL)
		return strategy_equal_weights(trial->strategy);
	/* kv and ep take turns, so that both halves have as much of each */
	return (trial->repetition + trial->test) % 2;
}

static unsigned draw_half(const bool wanted[STRATEGY_COUNT], unsigned n, bool equal,
			  struct trial_order *out)
{
	unsigned k = 0;

	for (int s = 0; s < STRATEGY_COUNT; s++)
		for (unsigned test = 0; wanted[s] && test < TRIAL_ORDER_TESTS; test++)
			for (unsigned i = 0; i < n; i++) {
				struct trial_order trial = {(enum strategy)s, test, i};

				if (is_under_equal_weights(&trial) == equal)
					out[k++] = trial;
			}
	return k;
}

unsigned trial_order_draw(const bool wanted[STRATEGY_COUNT], unsigned n, bool equal_first,
			  uint64_t *random, struct trial_order *out)
{
	unsigned first = draw_half(wanted, n, equal_first, out), second;

	shuffle(out, first, random);
	second = draw_half(wanted, n, !equal_first, out + first);
	shuffle(out + first, second, random);
	return first + second;
}
