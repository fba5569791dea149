/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * curve.h - what the shape of a measured curve says: where it leaves its low end, and which points
 * no other point beats.
 *
 * Owns: nothing; pure. In: points with their intervals; out: indices. Thread: any.
 */
#ifndef CURVE_H
#define CURVE_H

#include <stdbool.h>
#include <stddef.h>

/* One level of a sweep; points come in the order of x. */
struct curve_point {
	double x, median, low, high; /* low, high: the interval of the median */
};

/*
 * Inflection point: the first point that leaves the noise of the low end, and from which the curve
 * does not come back. Noise is a band: from the lowest low to the highest high of the first
 * n_base points, and at least margin (0.1: 10%) of their mean median to each side. A point has left
 * it if its whole interval is outside; all points behind it must be outside on the same side.
 * Index, or n: there is none. n_base is at least 1.
 */
size_t curve_inflection(const struct curve_point *points, size_t n, size_t n_base, double margin);

/*
 * Pareto front of n_y measures of n points, y[measure][point]: best[i] tells whether no other point
 * is at least as good in all and better in one. more[measure]: more of it is better. Points that
 * are not finite are never on it. Returns how many are.
 */
size_t curve_pareto(const double *const *y, const bool *more, size_t n_y, size_t n, bool *best);

#endif
