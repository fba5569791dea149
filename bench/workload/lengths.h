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

unsigned lengths_draw(const struct lengths *lengths, uint64_t *random);

#endif
