/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/pattern.h"

#include <string.h>

#define PATTERN_STEP  0x9e3779b97f4a7c15ULL /* odd: multiples are distinct modulo 2^64 */
#define PATTERN_LANES 8 /* words handled at once, so that the compiler vectorises */

static uint64_t pattern_mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

uint64_t pattern_seed(uint32_t nonce, uint32_t src, uint32_t dst, uint64_t seq)
{
	uint64_t seed = pattern_mix(nonce);

	seed = pattern_mix(seed ^ ((uint64_t)src << 32 | dst));
	return pattern_mix(seed ^ seq);
}

uint64_t pattern_seed_at(uint64_t seed, size_t at)
{
	return seed + at / sizeof(uint64_t) * PATTERN_STEP;
}

static void pattern_start(uint64_t lane[PATTERN_LANES], uint64_t seed)
{
	for (unsigned i = 0; i < PATTERN_LANES; i++)
		lane[i] = seed + (i + 1) * PATTERN_STEP;
}

void pattern_fill(void *buf, size_t bytes, uint64_t seed)
{
	uint64_t lane[PATTERN_LANES];
	uint8_t *at = buf;

	pattern_start(lane, seed);
	for (; bytes >= sizeof(lane); bytes -= sizeof(lane), at += sizeof(lane)) {
		memcpy(at, lane, sizeof(lane));
		for (unsigned i = 0; i < PATTERN_LANES; i++)
			lane[i] += PATTERN_LANES * PATTERN_STEP;
	}
	memcpy(at, lane, bytes);
}

uint64_t pattern_proof(size_t bytes, uint64_t seed)
{
	uint64_t n = bytes / sizeof(uint64_t), last = seed + (n + 1) * PATTERN_STEP, cut = 0;

	memcpy(&cut, &last, bytes % sizeof(uint64_t));
	/* one of n and n + 1 is even */
	return n * seed + (n % 2 ? n * ((n + 1) / 2) : n / 2 * (n + 1)) * PATTERN_STEP + cut;
}

/* The words of less than a block. */
static uint64_t pattern_sum(const uint8_t *at, size_t bytes)
{
	uint64_t word, sum = 0;

	for (; bytes > 0; bytes -= bytes < sizeof(word) ? bytes : sizeof(word)) {
		word = 0;
		memcpy(&word, at, bytes < sizeof(word) ? bytes : sizeof(word));
		sum += word;
		at += sizeof(word);
	}
	return sum;
}

size_t pattern_verify(const void *buf, size_t bytes, uint64_t seed, uint64_t *proof)
{
	uint64_t lane[PATTERN_LANES], word[PATTERN_LANES], sum[PATTERN_LANES] = {0}, wrong;
	const uint8_t *at = buf, *expected = (const uint8_t *)lane;
	size_t left = bytes;

	pattern_start(lane, seed);
	for (; left >= sizeof(lane); left -= sizeof(lane), at += sizeof(lane)) {
		memcpy(word, at, sizeof(word));
		wrong = 0;
		for (unsigned i = 0; i < PATTERN_LANES; i++)
			wrong |= word[i] ^ lane[i];
		if (wrong)
			break;
		for (unsigned i = 0; i < PATTERN_LANES; i++) {
			sum[i] += word[i];
			lane[i] += PATTERN_LANES * PATTERN_STEP;
		}
	}
	/* the tail, or the block that differs: byte by byte */
	for (size_t i = 0; i < left && i < sizeof(lane); i++)
		if (at[i] != expected[i])
			return bytes - left + i;
	for (unsigned i = 0; i < PATTERN_LANES; i++)
		*proof += sum[i];
	*proof += pattern_sum(at, left);
	return bytes;
}
