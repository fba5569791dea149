/* SPDX-License-Identifier: BSD-2-Clause */
#include "spray_table.h"

#include <string.h>

/*
 * Tijdeman's rule at step t (1-based) for n planes of share w/W, in integers scaled by W(2n-2):
 * among planes whose arrears w*t - W*count are at least W/(2n-2), take the one whose deadline comes
 * first, that is with the least (W(1 - 1/(2n-2)) - arrears) / w.
 */
int spray_table_owed(const struct weights *weights, const uint64_t *counts)
{
	int64_t sum = weights->sum, t = 1, best_num = 0, best_w = 1, m;
	int best = -1, fallback = -1;
	int64_t fallback_arrears = 0;
	unsigned usable = 0;

	for (unsigned i = 0; i < weights->n; i++) {
		t += (int64_t)counts[i];
		usable += weights->w[i] > 0;
	}
	if (!usable)
		return -1;
	m = usable > 1 ? 2 * (int64_t)usable - 2 : 1;
	for (unsigned i = 0; i < weights->n; i++) {
		int64_t w = weights->w[i], arrears, num;

		if (!w)
			continue;
		arrears = w * t - sum * (int64_t)counts[i];
		if (fallback < 0 || arrears > fallback_arrears) {
			fallback = (int)i;
			fallback_arrears = arrears;
		}
		if (usable > 1 && arrears * m < sum)
			continue;
		num = sum * (m - 1) - arrears * m;
		if (best < 0 || num * best_w < best_num * w) {
			best = (int)i;
			best_num = num;
			best_w = w;
		}
	}
	/*
	 * counts that no schedule of ours produced may leave nobody eligible: then the largest
	 * arrears
	 */
	return best >= 0 ? best : fallback;
}

void spray_table_build(struct spray_table *out, const struct weights *weights)
{
	uint64_t counts[FARE_MAX_PLANES] = {0};

	out->period = weights->sum;
	for (uint32_t t = 0; t < weights->sum; t++) {
		int plane = spray_table_owed(weights, counts);

		out->plane[t] = (uint8_t)plane;
		counts[plane]++;
	}
}
