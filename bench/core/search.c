/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/search.h"

int search_highest(double low, double high, unsigned steps, search_try *try, void *arg,
		   double *best)
{
	int err = 0;

	for (; !err && steps; steps--) {
		double at = (low + high) / 2;
		bool held = false;

		err = try(arg, at, &held);
		if (!err && held)
			low = at;
		else
			high = at;
	}
	*best = low;
	return err;
}
