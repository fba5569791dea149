/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * line_match.h - which lanes of a 64-byte line hold a value: one compare per instruction set
 * (private to sched/).
 *
 * Owns: nothing; pure. In: a line of 64-bit lanes, 64-byte aligned; out: bit i set where lane i
 * matches. Thread: any, also beside a writer.
 *
 * A vector load of a line that another thread writes is outside of the C memory model, so nothing
 * may rest on it but where to look: who gets a set bit loads that lane again as an atomic and
 * compares once more. What it must not do is overlook a value that lies still; it does not, because
 * on every processor that has these instructions an aligned 8-byte part of a vector load is read at
 * once. Race detectors cannot know that and are kept out. line_take7 goes one step further: it
 * returns the lane's value out of the vector that was compared, which is one read of that lane.
 *
 * LINE_MATCH_ISAS(X) is X(enum simd_isa, suffix, target attribute) for each of this architecture's
 * instruction sets.
 */
#ifndef LINE_MATCH_H
#define LINE_MATCH_H

#include <stdatomic.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define LINE_TARGET_SCALAR
#define LINE_TARGET_SSE2   __attribute__((target("sse2")))
#define LINE_TARGET_AVX2   __attribute__((target("avx2,bmi")))
#define LINE_TARGET_AVX512 __attribute__((target("avx512f,avx512vl,bmi")))
#define LINE_MATCH_ISAS(X)                                                                         \
	X(SIMD_SCALAR, scalar, LINE_TARGET_SCALAR)                                                 \
	X(SIMD_SSE2, sse2, LINE_TARGET_SSE2)                                                       \
	X(SIMD_AVX2, avx2, LINE_TARGET_AVX2)                                                       \
	X(SIMD_AVX512, avx512, LINE_TARGET_AVX512)
#elif defined(__aarch64__)
#include <arm_neon.h>
#define LINE_TARGET_SCALAR
#define LINE_TARGET_NEON
#define LINE_MATCH_ISAS(X)                                                                         \
	X(SIMD_SCALAR, scalar, LINE_TARGET_SCALAR)                                                 \
	X(SIMD_NEON, neon, LINE_TARGET_NEON)
#else
#define LINE_TARGET_SCALAR
#define LINE_MATCH_ISAS(X) X(SIMD_SCALAR, scalar, LINE_TARGET_SCALAR)
#endif

#define LINE_LANES 8
#define LINE_RACY  __attribute__((no_sanitize("thread")))

/* match8: lanes 0..7 with (lane & mask) == want. match4: lanes 0..3 with lane == want. */

static inline uint32_t line_match8_scalar(const _Atomic uint64_t *lane, uint64_t mask,
					  uint64_t want)
{
	uint32_t hits = 0;

	for (unsigned i = 0; i < LINE_LANES; i++)
		hits |= (uint32_t)((atomic_load_explicit(&lane[i], memory_order_acquire) & mask) ==
				   want)
			<< i;
	return hits;
}

static inline uint32_t line_match4_scalar(const _Atomic uint64_t *lane, uint64_t want)
{
	uint32_t hits = 0;

	for (unsigned i = 0; i < 4; i++)
		hits |= (uint32_t)(atomic_load_explicit(&lane[i], memory_order_acquire) == want)
			<< i;
	return hits;
}

#if defined(__x86_64__)
/* SSE2 compares 32 bits at a time: a lane matches if both of its halves do. */
LINE_TARGET_SSE2 LINE_RACY static inline uint32_t line_pair_sse2(__m128i v, __m128i mask,
								 __m128i want)
{
	__m128i halves = _mm_cmpeq_epi32(_mm_and_si128(v, mask), want);
	__m128i both = _mm_and_si128(halves, _mm_shuffle_epi32(halves, _MM_SHUFFLE(2, 3, 0, 1)));

	return (uint32_t)_mm_movemask_pd(_mm_castsi128_pd(both));
}

LINE_TARGET_SSE2 LINE_RACY static inline uint32_t line_match8_sse2(const _Atomic uint64_t *lane,
								   uint64_t mask, uint64_t want)
{
	const __m128i *v = (const __m128i *)(const void *)lane;
	__m128i m = _mm_set1_epi64x((long long)mask), w = _mm_set1_epi64x((long long)want);

	return line_pair_sse2(v[0], m, w) | line_pair_sse2(v[1], m, w) << 2 |
	       line_pair_sse2(v[2], m, w) << 4 | line_pair_sse2(v[3], m, w) << 6;
}

LINE_TARGET_SSE2 LINE_RACY static inline uint32_t line_match4_sse2(const _Atomic uint64_t *lane,
								   uint64_t want)
{
	const __m128i *v = (const __m128i *)(const void *)lane;
	__m128i m = _mm_set1_epi64x(-1), w = _mm_set1_epi64x((long long)want);

	return line_pair_sse2(v[0], m, w) | line_pair_sse2(v[1], m, w) << 2;
}

LINE_TARGET_AVX2 LINE_RACY static inline uint32_t line_match8_avx2(const _Atomic uint64_t *lane,
								   uint64_t mask, uint64_t want)
{
	const __m256i *v = (const __m256i *)(const void *)lane;
	__m256i m = _mm256_set1_epi64x((long long)mask), w = _mm256_set1_epi64x((long long)want);
	__m256i low = _mm256_cmpeq_epi64(_mm256_and_si256(v[0], m), w);
	__m256i high = _mm256_cmpeq_epi64(_mm256_and_si256(v[1], m), w);

	return (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(low)) |
	       (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(high)) << 4;
}

LINE_TARGET_AVX2 LINE_RACY static inline uint32_t line_match4_avx2(const _Atomic uint64_t *lane,
								   uint64_t want)
{
	const __m256i *v = (const __m256i *)(const void *)lane;
	__m256i equal = _mm256_cmpeq_epi64(v[0], _mm256_set1_epi64x((long long)want));

	return (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(equal));
}

LINE_TARGET_AVX512 LINE_RACY static inline uint32_t line_match8_avx512(const _Atomic uint64_t *lane,
								       uint64_t mask, uint64_t want)
{
	__m512i v = *(const __m512i *)(const void *)lane;
	__m512i differ = _mm512_xor_si512(v, _mm512_set1_epi64((long long)want));

	return _mm512_testn_epi64_mask(differ, _mm512_set1_epi64((long long)mask));
}

/*
 * Of the first of lanes 0..6 with (lane & mask) == want, what the mask leaves out; 0: there is
 * none.
 */
LINE_TARGET_AVX512 LINE_RACY static inline uint64_t line_take7_avx512(const _Atomic uint64_t *lane,
								      uint64_t mask, uint64_t want)
{
	__m512i differ = _mm512_xor_si512(*(const __m512i *)(const void *)lane,
					  _mm512_set1_epi64((long long)want));
	/*
	 * under a mask of all ones lane 7 hits only where it differs in nothing, and is taken as
	 * the 0 that this leaves
	 */
	long long m = (long long)mask;
	__mmask8 hits = _mm512_testn_epi64_mask(differ, _mm512_set_epi64(-1, m, m, m, m, m, m, m));

	/* no branch on hits: the processor goes on to the next line while this one is under way */
	differ = _mm512_maskz_compress_epi64(hits, differ);
	return (uint64_t)_mm_cvtsi128_si64(_mm512_castsi512_si128(differ));
}

LINE_TARGET_AVX512 LINE_RACY static inline uint32_t line_match4_avx512(const _Atomic uint64_t *lane,
								       uint64_t want)
{
	const __m256i *v = (const __m256i *)(const void *)lane;

	return _mm256_cmpeq_epi64_mask(v[0], _mm256_set1_epi64x((long long)want));
}
#elif defined(__aarch64__)
LINE_RACY static inline uint32_t line_match8_neon(const _Atomic uint64_t *lane, uint64_t mask,
						  uint64_t want)
{
	static const uint8_t weight[8] = {1, 2, 4, 8, 16, 32, 64, 128};
	const uint64_t *v = (const uint64_t *)(const void *)lane;
	uint64x2_t m = vdupq_n_u64(mask), w = vdupq_n_u64(want), e[4];
	uint16x4_t low, high;

	for (unsigned i = 0; i < 4; i++)
		e[i] = vceqq_u64(vandq_u64(vld1q_u64(v + 2 * i), m), w);
	low = vmovn_u32(vcombine_u32(vmovn_u64(e[0]), vmovn_u64(e[1])));
	high = vmovn_u32(vcombine_u32(vmovn_u64(e[2]), vmovn_u64(e[3])));
	return vaddv_u8(vand_u8(vmovn_u16(vcombine_u16(low, high)), vld1_u8(weight)));
}

LINE_RACY static inline uint32_t line_match4_neon(const _Atomic uint64_t *lane, uint64_t want)
{
	static const uint16_t weight[4] = {1, 2, 4, 8};
	const uint64_t *v = (const uint64_t *)(const void *)lane;
	uint64x2_t w = vdupq_n_u64(want);
	uint64x2_t low = vceqq_u64(vld1q_u64(v), w), high = vceqq_u64(vld1q_u64(v + 2), w);
	uint16x4_t equal = vmovn_u32(vcombine_u32(vmovn_u64(low), vmovn_u64(high)));

	return vaddv_u16(vand_u16(equal, vld1_u16(weight)));
}
#endif

#endif
