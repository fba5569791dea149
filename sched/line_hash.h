/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * line_hash.h - the home line of a key (private to sched/).
 *
 * Owns: nothing; pure; any thread. Keys are anything but random (consecutive QPNs, destinations in
 * the high bits), and whoever picks them must not be able to pick colliding ones: hence two
 * secrets. A key times a constant will not do: it maps evenly spaced keys to evenly spaced values,
 * and with some constants these fall together on few lines. So the key is multiplied with itself,
 * its halves exchanged, each under a secret, and the halves of the product are folded into one.
 */
#ifndef LINE_HASH_H
#define LINE_HASH_H

#include <stdint.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

struct line_hash {
	uint64_t plain, turned;
};

static inline uint64_t line_hash_scramble(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static inline struct line_hash line_hash_from_seed(uint64_t seed)
{
	return (struct line_hash){
		.plain = line_hash_scramble(seed + UINT64_C(0x9e3779b97f4a7c15)),
		.turned = line_hash_scramble(~seed),
	};
}

/* 0 .. n_lines - 1; n_lines <= 2^32, not necessarily a power of two. */
static inline uint64_t line_hash(struct line_hash h, uint64_t key, uint64_t n_lines)
{
	uint64_t turned = ((key << 32 | key >> 32) ^ h.turned) + key;
	unsigned __int128 product = (unsigned __int128)(key + h.plain) * turned;

	return (uint32_t)(product ^ product >> 64) * n_lines >> 32;
}

#if defined(__x86_64__)
/*
 * The same for eight keys at once, n_lines < 2^32. Of a product of 64 by 64 bits only the low 32
 * bits of either half are wanted: four products of halves, and their carries.
 */
__attribute__((target("avx512f,avx512vl"))) static inline void
line_hash8_avx512(struct line_hash h, const uint64_t key[8], uint64_t n_lines, uint32_t out[8])
{
	const __m512i low = _mm512_set1_epi64(UINT32_MAX);
	__m512i k = _mm512_loadu_si512(key);
	__m512i a = _mm512_add_epi64(k, _mm512_set1_epi64((long long)h.plain));
	__m512i b = _mm512_add_epi64(
		_mm512_xor_si512(_mm512_rol_epi64(k, 32), _mm512_set1_epi64((long long)h.turned)),
		k);
	__m512i a_high = _mm512_srli_epi64(a, 32), b_high = _mm512_srli_epi64(b, 32);
	__m512i ll = _mm512_mul_epu32(a, b), lh = _mm512_mul_epu32(a, b_high);
	__m512i hl = _mm512_mul_epu32(a_high, b), hh = _mm512_mul_epu32(a_high, b_high);
	__m512i middle = _mm512_add_epi64(
		_mm512_add_epi64(_mm512_srli_epi64(ll, 32), _mm512_and_si512(lh, low)),
		_mm512_and_si512(hl, low));
	__m512i high = _mm512_add_epi64(
		_mm512_add_epi64(hh, _mm512_srli_epi64(lh, 32)),
		_mm512_add_epi64(_mm512_srli_epi64(hl, 32), _mm512_srli_epi64(middle, 32)));
	__m512i folded = _mm512_xor_si512(ll, high); /* its low halves count */
	__m512i at = _mm512_srli_epi64(
		_mm512_mul_epu32(folded, _mm512_set1_epi64((long long)n_lines)), 32);

	_mm256_storeu_si256((__m256i *)(void *)out, _mm512_cvtepi64_epi32(at));
}
#endif

#endif
