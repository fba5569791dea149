/* SPDX-License-Identifier: BSD-2-Clause */
#include "workload/lengths.h"

#include <math.h>

#include "core/rng.h"

/*
 * Inverse transform of the continuous law with the same exponent over [1, n + 1), rounded down:
 * within a few percent of the discrete Zipf law, without a table.
 */
static unsigned lengths_zipf(const struct lengths *l, uint64_t *random)
{
	double n = l->max - l->min + 1, u = rng_uniform(random), x;

	if (fabs(l->alpha - 1) < 1e-9)
		x = pow(n + 1, u);
	else
		x = pow(u * (pow(n + 1, 1 - l->alpha) - 1) + 1, 1 / (1 - l->alpha));
	return l->min + (unsigned)fmin(x - 1, n - 1);
}

unsigned lengths_draw(const struct lengths *lengths, uint64_t *random)
{
	switch (lengths->law) {
	case LENGTHS_UNIFORM:
		return lengths->min + rng_below(random, lengths->max - lengths->min + 1);
	case LENGTHS_ZIPF:
		return lengths_zipf(lengths, random);
	case LENGTHS_FIXED:
		break;
	}
	return lengths->min;
}
