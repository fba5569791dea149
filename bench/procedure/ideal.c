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

double ideal_burst_bytes(unsigned n, double queue_bytes, double bucket_bytes)
{
	/* beyond their buckets senders are as fast as the receiver's line, which has its own: while
	 * n bytes come one leaves */
	if (queue_bytes >= (n - 1) * bucket_bytes)
		return queue_bytes / (n - 1);
	return (queue_bytes + bucket_bytes) / n; /* all comes at once */
}

double ideal_paused(unsigned n, double bytes, double held_bytes)
{
	return fmax(0, 1 - 1. / n - held_bytes / bytes);
}
