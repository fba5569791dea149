/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spray_fly.h - the exact interleaved schedule for weights of any size, computed pick by pick
 * (pure).
 *
 * Owns: one schedule's arrears. In: weights (bit/s as they are), what is to be sent; out: planes.
 * Any thread, one at a time.
 *
 * By how much a plane is behind its share, its arrears, is kept as an integer over the sum of
 * weights, so that nothing is ever rounded away. With the weights constant each plane is at most 1
 * - 1/(2n-2) units away from its share at every step, n usable planes (Tijdeman's chairman
 * assignment); and where they are small integers, it has its exact number after every W units,
 * their sum. New weights take the arrears over; while arrears so inherited exceed that bound, the
 * plane with the largest goes first, which keeps any plane above -1 and below 1 + 1/2 + ... + 1/n
 * whatever the weights do (the cup game: the fullest cup is emptied).
 *
 * What is sent at once may be less than a unit. Counted as a whole one, pieces of two sizes in turn
 * would leave planes with the small ones alone; so each is paid for by its size, and the last bound
 * holds for any sizes.
 */
#ifndef SPRAY_FLY_H
#define SPRAY_FLY_H

#include <stdint.h>

#include "weights.h"

struct spray_fly {
	unsigned n, usable;
	int64_t w[FARE_MAX_PLANES];
	int64_t sum;			  /* 0: nothing is usable */
	int64_t arrears[FARE_MAX_PLANES]; /* sum x SPRAY_FLY_UNIT is a unit; they add up to 0 */
};

#define SPRAY_FLY_UNIT 256 /* parts of one */

/*
 * Takes weights and arrears (units; NULL: none). The arrears of a plane of weight 0, which can
 * never be made good, are shared out among the others. Weights that sum to more than 2^40 are
 * shifted down until they do not.
 */
void spray_fly_init(struct spray_fly *fly, const uint64_t *weights, unsigned n,
		    const double *arrears);
/* The schedule of weights where each plane has had counts[] units: whatever gave them to it. */
void spray_fly_from_counts(struct spray_fly *fly, const struct weights *weights,
			   const uint64_t *counts);
/* The plane of the next unit; -1: nothing is usable. */
int spray_fly_next(struct spray_fly *fly);
/* The same of a piece that is so many parts of a unit, 1 .. SPRAY_FLY_UNIT. */
int spray_fly_next_part(struct spray_fly *fly, unsigned parts);
/* So many parts go over that plane, which is usable, whether or not it is its turn. */
void spray_fly_pay(struct spray_fly *fly, unsigned plane, unsigned parts);
/* By how much a plane is behind its share now, in units. */
double spray_fly_arrears(const struct spray_fly *fly, unsigned plane);

#endif
