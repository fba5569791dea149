/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rng.h - seeded random numbers (splitmix64), the same on every machine.
 *
 * Owns: nothing; the state is the caller's, any 64 bits. Pure. Thread: one per state.
 */
#ifndef RNG_H
#define RNG_H

#include <stdint.h>

uint64_t rng_next(uint64_t *state);
double rng_uniform(uint64_t *state); /* [0, 1) */
/* Exponential with mean 1: distances between arrivals of a Poisson process. */
double rng_exponential(uint64_t *state);
/* 0..n-1; n > 0. */
uint32_t rng_below(uint64_t *state, uint32_t n);

#endif
