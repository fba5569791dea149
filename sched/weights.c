/* SPDX-License-Identifier: BSD-2-Clause */
#include "weights.h"

#include <string.h>

uint64_t weights_gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t r = a % b;

		a = b;
		b = r;
	}
	return a;
}

static uint64_t common_divisor(const uint64_t *v, unsigned n)
{
	uint64_t d = 0;

	for (unsigned i = 0; i < n; i++)
		d = weights_gcd(d, v[i]);
	return d;
}

void weights_from_bps(struct weights *out, const uint64_t *usable_bps, unsigned n)
{
	uint64_t v[FARE_MAX_PLANES] = {0}, largest = 0, d, sum = 0;

	memset(out, 0, sizeof(*out));
	out->n = n = n < FARE_MAX_PLANES ? n : FARE_MAX_PLANES;
	for (unsigned i = 0; i < n; i++)
		largest = usable_bps[i] > largest ? usable_bps[i] : largest;
	if (!largest)
		return;
	d = common_divisor(usable_bps, n);
	for (unsigned i = 0; i < n && sum <= WEIGHTS_MAX_SUM; i++)
		sum += usable_bps[i] / d > WEIGHTS_MAX_SUM ? WEIGHTS_MAX_SUM + 1
							   : usable_bps[i] / d;
	for (unsigned i = 0; i < n; i++) {
		v[i] = usable_bps[i];
		if (sum > WEIGHTS_MAX_SUM && v[i]) {
			v[i] = (uint64_t)((double)v[i] / (double)largest * 256 + 0.5);
			v[i] = v[i] ? v[i] : 1;
		}
	}
	d = common_divisor(v, n);
	for (unsigned i = 0; i < n; i++) {
		out->w[i] = (uint32_t)(v[i] / d);
		out->sum += out->w[i];
	}
}

static uint64_t low_bits(const struct in6_addr *a)
{
	uint64_t v = 0;

	for (int i = 8; i < 16; i++)
		v = v << 8 | a->s6_addr[i];
	/*
	 * an IPv4-mapped address carries ffff above its 32 bits: the same for both ends, a constant
	 * shift
	 */
	return v;
}

double weights_phase(const struct in6_addr *source, const struct in6_addr *destination)
{
	/* 2^64 / golden ratio: multiplication modulo 2^64 is the fractional part, exactly */
	uint64_t x = (low_bits(source) + low_bits(destination)) * UINT64_C(11400714819323198485);

	return (double)(x >> 11) * 0x1p-53;
}

int64_t weights_turn(const struct in6_addr *source, const struct in6_addr *destination,
		     uint32_t n_between)
{
	/*
	 * rank of the destination less that of the source, with no gap where the pair (x, x) would
	 * be
	 */
	return memcmp(destination, source, sizeof(*source)) > 0 ? (int64_t)n_between
								: -(int64_t)n_between - 1;
}
