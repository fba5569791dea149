/* SPDX-License-Identifier: BSD-2-Clause */
#include "workload/lengths.h"

#include <math.h>

#include "core/rng.h"

#define LENGTHS_STEPS 65536 /* of a mean */

const struct lengths lengths_usual_prompt = {LENGTHS_ZIPF, 128, 8192, 1.0},
		     lengths_usual_output = {LENGTHS_UNIFORM, 8, 24, 0};

/*
 * Inverse transform of the continuous law with the same exponent over [1, n + 1), rounded down:
 * within a few percent of the discrete Zipf law, without a table.
 */
static unsigned lengths_zipf(const struct lengths *l, double u)
{
	double n = l->max - l->min + 1, x;

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
		return lengths_zipf(lengths, rng_uniform(random));
	case LENGTHS_FIXED:
		break;
	}
	return lengths->min;
}

unsigned lengths_quantile(const struct lengths *lengths, double u)
{
	switch (lengths->law) {
	case LENGTHS_UNIFORM:
		return lengths->min + (unsigned)fmin(u * (lengths->max - lengths->min + 1),
						     lengths->max - lengths->min);
	case LENGTHS_ZIPF:
		return lengths_zipf(lengths, u);
	case LENGTHS_FIXED:
		break;
	}
	return lengths->min;
}

double lengths_mean(const struct lengths *lengths)
{
	double sum = 0;

	for (unsigned i = 0; i < LENGTHS_STEPS; i++)
		sum += lengths_quantile(lengths, (i + 0.5) / LENGTHS_STEPS);
	return sum / LENGTHS_STEPS;
}
