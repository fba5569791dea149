/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lengths.h - how long prompts and outputs are: fixed, uniform or Zipf.
 *
 * Owns: nothing. In: a law and its bounds; out: lengths,
 * in tokens. Pure and seeded. Thread: any.
 */
#ifndef LENGTHS_H
#define LENGTHS_H

#include <stdint.h>

enum lengths_law { LENGTHS_FIXED, LENGTHS_UNIFORM, LENGTHS_ZIPF };

struct lengths {
	enum lengths_law law;
	unsigned min, max; /* FIXED: min */
	double alpha;	   /* ZIPF: P(min + k) is proportional to (k + 1) ^ -alpha */
};

/* Of requests, where a test has none of its own. */
extern const struct lengths lengths_usual_prompt, lengths_usual_output;

/* The length below which share u (0..1) of them lies. */
unsigned lengths_quantile(const struct lengths *lengths, double u);
/* The mean, within a tenth of a token. */
double lengths_mean(const struct lengths *lengths);
unsigned lengths_draw(const struct lengths *lengths, uint64_t *random);

#endif
