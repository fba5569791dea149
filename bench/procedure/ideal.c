/* SPDX-License-Identifier: BSD-2-Clause */
/* ideal.c - see ideal.h */
#include "procedure/ideal.h"

#include <math.h>

double ideal_transfer_s(double bytes, double bps, double bucket_bytes)
{
	return bytes > bucket_bytes ? (bytes - bucket_bytes) * 8 / bps : 0;
}

double ideal_pairs_bps(unsigned pairs, unsigned sources, unsigned sinks, double line_bps)
{
	unsigned lines = sources < sinks ? sources : sinks;

	return (pairs < lines ? pairs : lines) * line_bps;
}

double ideal_wait_s(unsigned servers, double use, double service_s, double service_cv)
{
	double term = 1, sum = 1, load = use * servers, busy;

	if (!(use < 1))
		return INFINITY;
	for (unsigned i = 1; i < servers; i++)
		sum += term *= load / i;
	term *= load / servers / (1 - use);
	busy = term / (sum + term); /* Erlang's C: all are busy */
	return busy * service_s / (servers * (1 - use)) * (1 + service_cv * service_cv) / 2;
}

double ideal_ttft_s(double wait_s, double prefill_s, double transfer_s, double step_s)
{
	return wait_s + prefill_s + transfer_s + 1.5 * step_s;
}

double ideal_static_share(unsigned batch, unsigned min, unsigned max)
{
	double n = max - min + 1., longest = max;

	for (unsigned k = 1; k < max - min + 1; k++)
		longest -= pow(k / n, batch);
	return (min + max) / 2. / longest;
}

double ideal_hit_share(double lookups, unsigned prefixes)
{
	return lookups > prefixes ? 1 - prefixes / lookups : 0;
}
