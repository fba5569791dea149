/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timing.h - a generator of repeatable chance, and what keeps a loop that is measured whole.
 *
 * Owns: nothing. Thread: any.
 */
#ifndef TIMING_H
#define TIMING_H

#include <stdint.h>

static inline uint64_t timing_random(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* Keeps the compiler from dropping what was computed. */
static inline void timing_keep(uint64_t value)
{
	__asm__ volatile("" : : "r"(value) : "memory");
}

#endif
