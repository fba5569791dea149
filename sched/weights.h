/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weights.h - bandwidths in, small integer weights out (pure).
 *
 * Owns nothing; any thread.
 */
#ifndef WEIGHTS_H
#define WEIGHTS_H

#include <netinet/in.h>
#include <stdint.h>

#include "fare_limits.h"

/* The largest sum of weights, hence the longest spray period. */
#define WEIGHTS_MAX_SUM 4096

struct weights {
	unsigned n;		     /* planes */
	uint32_t w[FARE_MAX_PLANES]; /* 0: unusable. No common divisor over those > 0 */
	uint32_t sum;		     /* the period W; 0: nothing is usable */
};

/*
 * Reduces usable bandwidths to weights. Exact if the bandwidths over their greatest common divisor
 * sum to at most WEIGHTS_MAX_SUM; else rounded to 1/256 of the largest (error of a share < 0.2% of
 * it), a usable plane never below 1. n > FARE_MAX_PLANES is cut.
 */
void weights_from_bps(struct weights *out, const uint64_t *usable_bps, unsigned n);

uint64_t weights_gcd(uint64_t a, uint64_t b); /* greatest common divisor; of 0 the other */

/*
 * A pair's phase in [0, 1): fractional part of (source + destination) x golden ratio, so that
 * sources that know nothing of each other do not all begin on the same plane.
 */
double weights_phase(const struct in6_addr *source, const struct in6_addr *destination);

/*
 * A pair's turn, given how many addresses of the fabric lie between its two: consecutive whole
 * numbers over all destinations of one source, and over all sources of one destination, so that
 * pairs that take the places of a schedule in turn fill them evenly at both ends, however addresses
 * are spaced.
 */
int64_t weights_turn(const struct in6_addr *source, const struct in6_addr *destination,
		     uint32_t n_between);

#endif
