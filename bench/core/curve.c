/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/curve.h"

#include <math.h>

/* The band of noise around the first n points. */
static void curve_band(const struct curve_point *points, size_t n, double margin, double *low,
		       double *high)
{
	double mean = 0;

	*low = INFINITY;
	*high = -INFINITY;
	for (size_t i = 0; i < n; i++) {
		*low = fmin(*low, points[i].low);
		*high = fmax(*high, points[i].high);
		mean += points[i].median / (double)n;
	}
	*low = fmin(*low, mean - margin * fabs(mean));
	*high = fmax(*high, mean + margin * fabs(mean));
}

/* 1: above the band, -1: below, 0: not wholly outside */
static int curve_side(const struct curve_point *point, double low, double high)
{
	return point->low > high ? 1 : point->high < low ? -1 : 0;
}

size_t curve_inflection(const struct curve_point *points, size_t n, size_t n_base, double margin)
{
	double low, high;
	size_t first = n;

	if (n <= n_base)
		return n;
	curve_band(points, n_base, margin, &low, &high);
	for (size_t i = n; i-- > n_base;) {
		int side = curve_side(&points[i], low, high);

		if (side == 0 || (first < n && side != curve_side(&points[first], low, high)))
			break;
		first = i;
	}
	return first;
}

/* Is a at least as good as b in all, and better in one? */
static bool curve_beats(const double *const *y, const bool *more, size_t n_y, size_t a, size_t b)
{
	bool better = false;

	for (size_t k = 0; k < n_y; k++) {
		double gain = more[k] ? y[k][a] - y[k][b] : y[k][b] - y[k][a];

		if (!(gain >= 0))
			return false;
		better |= gain > 0;
	}
	return better;
}

size_t curve_pareto(const double *const *y, const bool *more, size_t n_y, size_t n, bool *best)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		best[i] = true;
		for (size_t k = 0; k < n_y; k++)
			best[i] = best[i] && isfinite(y[k][i]);
		for (size_t j = 0; best[i] && j < n; j++)
			best[i] = !curve_beats(y, more, n_y, j, i);
		count += best[i];
	}
	return count;
}
