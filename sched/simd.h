/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * simd.h - which vector instructions this processor has, asked at run time.
 *
 * Owns: nothing. In: the processor; out: an instruction set that the tables of this directory can
 * look up with. Thread: any. A binary built for the oldest processor of an architecture thus uses
 * the best of the one it runs on.
 */
#ifndef SIMD_H
#define SIMD_H

#include <stdbool.h>

enum simd_isa {
	SIMD_AUTO = 0, /* the best that is there */
	SIMD_SCALAR,
	SIMD_SSE2,
	SIMD_AVX2,
	SIMD_AVX512, /* F and VL */
	SIMD_NEON,
	SIMD_COUNT
};

bool simd_has(enum simd_isa isa);	  /* SIMD_AUTO and SIMD_SCALAR: always */
enum simd_isa simd_best(void);		  /* never SIMD_AUTO */
const char *simd_name(enum simd_isa isa); /* "avx2"; never NULL */

#endif
