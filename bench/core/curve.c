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

/* Is a at least as good as b in both, and better in one? */
static bool curve_beats(double ax, double ay, double bx, double by)
{
	return ax >= bx && ay >= by && (ax > bx || ay > by);
}

size_t curve_pareto(const double *x, const double *y, size_t n, bool more_x, bool more_y,
		    bool *best)
{
	double sign_x = more_x ? 1 : -1, sign_y = more_y ? 1 : -1;
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		best[i] = isfinite(x[i]) && isfinite(y[i]);
		for (size_t j = 0; best[i] && j < n; j++)
			best[i] = !curve_beats(sign_x * x[j], sign_y * y[j], sign_x * x[i],
					       sign_y * y[i]);
		count += best[i];
	}
	return count;
}
