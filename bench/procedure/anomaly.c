/* SPDX-License-Identifier: BSD-2-Clause */
#include "procedure/anomaly.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/stats.h"

#define DISTANCES 6
#define LEAST	  0.1

static double anomaly_median(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), stats_ascending);
	return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

struct anomaly_band anomaly_usual(const double *values, size_t n)
{
	double *copy = calloc(n + 1, sizeof(*copy)), median, distance;

	if (!copy || n < ANOMALY_LEAST_SAMPLES) {
		free(copy);
		return (struct anomaly_band){-INFINITY, INFINITY};
	}
	memcpy(copy, values, n * sizeof(*copy));
	median = anomaly_median(copy, n);
	for (size_t i = 0; i < n; i++)
		copy[i] = fabs(values[i] - median);
	distance = fmax(anomaly_median(copy, n) * DISTANCES, fabs(median) * LEAST);
	free(copy);
	return (struct anomaly_band){median - distance, median + distance};
}

static double outside(struct anomaly_band band, double value)
{
	return fmax(band.low - value, value - band.high);
}

size_t anomaly_find(const double *at_s, double end_s, const double *values, size_t n,
		    struct anomaly_band band, struct anomaly *out, size_t max)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++) {
		struct anomaly one = {.at_s = at_s[i], .value = values[i]};

		if (!(outside(band, values[i]) > 0))
			continue;
		for (; i < n && outside(band, values[i]) > 0; i++)
			if (outside(band, values[i]) > outside(band, one.value))
				one.value = values[i];
		one.lasted_s = (i < n ? at_s[i] : end_s) - one.at_s;
		if (found < max)
			out[found] = one;
		found++;
	}
	return found;
}
