/* SPDX-License-Identifier: BSD-2-Clause */
#include "spray_fly.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define SUM_MAX (INT64_C(1) << 40) /* so that a few units times 2n - 2 fit 64 bits */
#define SUM_MIN                                                                                    \
	(INT64_C(1) << 24) /* arrears taken over are rounded to 1 / sum: make that nothing */

static int64_t unit_of(const struct spray_fly *fly)
{
	return fly->sum * SPRAY_FLY_UNIT;
}

static void take_weights(struct spray_fly *fly, const uint64_t *weights, unsigned n)
{
	unsigned shift = 0;

	memset(fly, 0, sizeof(*fly));
	fly->n = n < FARE_MAX_PLANES ? n : FARE_MAX_PLANES;
	for (unsigned p = 0; p < fly->n; p++)
		while (weights[p] >> shift >= (uint64_t)SUM_MAX / FARE_MAX_PLANES)
			shift++;
	for (unsigned p = 0; p < fly->n; p++) {
		fly->w[p] = (int64_t)(weights[p] >> shift);
		fly->w[p] += weights[p] && !fly->w[p]; /* thin is not dead */
		fly->sum += fly->w[p];
		fly->usable += fly->w[p] > 0;
	}
	while (fly->sum && fly->sum < SUM_MIN) {
		fly->sum *= 2;
		for (unsigned p = 0; p < fly->n; p++)
			fly->w[p] *= 2;
	}
}

void spray_fly_init(struct spray_fly *fly, const uint64_t *weights, unsigned n,
		    const double *arrears)
{
	double lost = 0;
	int64_t rest = 0;
	unsigned heaviest = 0;

	take_weights(fly, weights, n);
	if (!fly->sum || !arrears)
		return;
	for (unsigned p = 0; p < fly->n; p++) {
		lost += fly->w[p] ? 0 : arrears[p];
		heaviest = fly->w[p] > fly->w[heaviest] ? p : heaviest;
	}
	for (unsigned p = 0; p < fly->n; p++) {
		double share = (double)fly->w[p] / (double)fly->sum;

		if (fly->w[p])
			fly->arrears[p] =
				llround((arrears[p] + lost * share) * (double)unit_of(fly));
		rest += fly->arrears[p];
	}
	fly->arrears[heaviest] -= rest;
}

void spray_fly_from_counts(struct spray_fly *fly, const struct weights *weights,
			   const uint64_t *counts)
{
	uint64_t w[FARE_MAX_PLANES];
	int64_t done = 0;

	for (unsigned p = 0; p < weights->n; p++) {
		w[p] = weights->w[p];
		done += (int64_t)counts[p];
	}
	take_weights(fly, w, weights->n);
	for (unsigned p = 0; p < fly->n; p++)
		if (fly->w[p])
			fly->arrears[p] =
				(fly->w[p] * done - fly->sum * (int64_t)counts[p]) * SPRAY_FLY_UNIT;
}

/* Tijdeman: of planes 1/(2n-2) behind or more, the one that is first 1 - 1/(2n-2) behind. */
static int first_due(const struct spray_fly *fly, int64_t m)
{
	__int128 best_left = 0;
	int best = -1;

	for (unsigned p = 0; p < fly->n; p++) {
		__int128 left;

		if (!fly->w[p] || fly->arrears[p] * m < unit_of(fly))
			continue;
		left = (__int128)unit_of(fly) * (m - 1) - (__int128)fly->arrears[p] * m;
		if (best < 0 || left * fly->w[best] < best_left * fly->w[p]) {
			best = (int)p;
			best_left = left;
		}
	}
	return best;
}

static void spray_fly_grow(struct spray_fly *fly, unsigned parts)
{
	for (unsigned p = 0; p < fly->n; p++)
		fly->arrears[p] += fly->w[p] * (int64_t)parts;
}

void spray_fly_pay(struct spray_fly *fly, unsigned plane, unsigned parts)
{
	spray_fly_grow(fly, parts);
	fly->arrears[plane] -= fly->sum * (int64_t)parts;
}

int spray_fly_next_part(struct spray_fly *fly, unsigned parts)
{
	int64_t m = fly->usable > 1 ? 2 * (int64_t)fly->usable - 2 : 1;
	int largest = -1, best;
	bool overdue;

	if (!fly->sum)
		return -1;
	spray_fly_grow(fly, parts);
	for (unsigned p = 0; p < fly->n; p++)
		if (fly->w[p] && (largest < 0 || fly->arrears[p] > fly->arrears[largest]))
			largest = (int)p;
	/* with constant weights no plane is further behind than that bound before this unit */
	overdue = (fly->arrears[largest] - fly->w[largest] * (int64_t)parts) * m >
		  unit_of(fly) * (m - 1);
	best = overdue ? largest : first_due(fly, m);
	best = best < 0 ? largest : best;
	fly->arrears[best] -= fly->sum * (int64_t)parts;
	return best;
}

int spray_fly_next(struct spray_fly *fly)
{
	return spray_fly_next_part(fly, SPRAY_FLY_UNIT);
}

double spray_fly_arrears(const struct spray_fly *fly, unsigned plane)
{
	return fly->sum ? (double)fly->arrears[plane] / (double)unit_of(fly) : 0;
}
