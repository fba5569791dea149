/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * prng.h - SplitMix64: every choice of a schedule comes from its seed (pure).
 */
#ifndef SIM_PRNG_H
#define SIM_PRNG_H

#include <stdbool.h>
#include <stdint.h>

struct prng {
	uint64_t state;
};

static inline uint64_t prng_mix(uint64_t z)
{
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static inline uint64_t prng_next(struct prng *p)
{
	return prng_mix(p->state += UINT64_C(0x9e3779b97f4a7c15));
}

/* 0 .. n - 1; n is small, so the bias of the remainder does not matter. */
static inline uint64_t prng_below(struct prng *p, uint64_t n)
{
	return prng_next(p) % n;
}

/* low .. high, both included. */
static inline uint64_t prng_between(struct prng *p, uint64_t low, uint64_t high)
{
	return low + prng_below(p, high - low + 1);
}

static inline bool prng_chance(struct prng *p, unsigned per_mille)
{
	return prng_below(p, 1000) < per_mille;
}

/* low .. high, of every order of magnitude between them equally often. */
static inline uint64_t prng_log(struct prng *p, uint64_t low, uint64_t high)
{
	unsigned doublings = 63u - (unsigned)__builtin_clzll(high / low);
	uint64_t from = low << prng_below(p, doublings + 1), to = from * 2;

	return prng_between(p, from, to < high ? to : high);
}

#endif
