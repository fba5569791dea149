/* SPDX-License-Identifier: BSD-2-Clause */
#include "simd.h"

bool simd_has(enum simd_isa isa)
{
	switch (isa) {
	case SIMD_AUTO:
	case SIMD_SCALAR:
		return true;
#if defined(__x86_64__)
	case SIMD_SSE2:
		return true; /* part of the architecture */
	case SIMD_AVX2:
		return __builtin_cpu_supports("avx2");
	case SIMD_AVX512:
		return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl");
#elif defined(__aarch64__)
	case SIMD_NEON:
		return true; /* part of the architecture */
#endif
	default:
		return false;
	}
}

/*
 * The processors before the ones with VBMI2 (Ice Lake, Zen 4) lower their clock for 512-bit
 * registers.
 */
static bool wide_costs_clock(void)
{
#if defined(__x86_64__)
	return !__builtin_cpu_supports("avx512vbmi2");
#else
	return false;
#endif
}

enum simd_isa simd_best(void)
{
	static const enum simd_isa order[] = {SIMD_AVX512, SIMD_AVX2, SIMD_SSE2, SIMD_NEON};

	for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (simd_has(order[i]) && !(order[i] == SIMD_AVX512 && wide_costs_clock()))
			return order[i];
	return SIMD_SCALAR;
}

const char *simd_name(enum simd_isa isa)
{
	static const char *const names[SIMD_COUNT] = {"auto", "scalar", "sse2",
						      "avx2", "avx512", "neon"};

	return (unsigned)isa < SIMD_COUNT ? names[isa] : "unknown";
}
