/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/rng.h"

#include <math.h>

uint64_t rng_next(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ULL;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

double rng_uniform(uint64_t *state)
{
	return (double)(rng_next(state) >> 11) * 0x1p-53;
}

double rng_exponential(uint64_t *state)
{
	return -log1p(-rng_uniform(state));
}

uint32_t rng_below(uint64_t *state, uint32_t n)
{
	/* multiply-shift: its bias is n in 2^32 */
	return (uint32_t)((rng_next(state) >> 32) * n >> 32);
}
