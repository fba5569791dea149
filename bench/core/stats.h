/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stats.h - what a handful of repeated measurements says.
 *
 * Owns: nothing; pure. In: arrays of finite doubles; out: order statistics, the confidence interval
 * of the median, Jain's fairness index, spread, a rank test. Thread: any.
 *
 * One convention for quantiles, here and in core/hist.h: linear interpolation between the values of
 * the two ranks next to q (n - 1).
 */
#ifndef STATS_H
#define STATS_H

#include <stddef.h>

#define STATS_CONFIDENCE 0.95

struct stats_summary {
	size_t n;
	double min, q1, median, q3, max, mean;
	/*
	 * Distribution-free interval for the median from order statistics. With n < 6 no such
	 * interval reaches 95%: then it is min..max, and ci_coverage tells how little that covers
	 * (n = 5: 0.9375).
	 */
	double ci_low, ci_high, ci_coverage;
};

/* -EINVAL: no values, or one that is not finite. -ENOMEM. Values are left as they are. */
int stats_summarise(const double *values, size_t n, struct stats_summary *out);

/* Jain's fairness index (sum x)^2 / (n * sum x^2), 1/n..1; 1 when all are zero. n must not be 0. */
double stats_jfi(const double *values, size_t n);

/* For qsort() of doubles. */
int stats_ascending(const void *a, const void *b);

/* Quantile q (0..1) of values in ascending order; n must not be 0. */
double stats_quantile(const double *sorted, size_t n, double q);

/* Coefficient of variation: standard deviation of the sample (n - 1) over the mean. NaN: n < 2, or
 * the mean is 0. */
double stats_cv(const double *values, size_t n);

/* The largest over the smallest; infinite if only the smallest is 0, 1 if all are. n must not be 0.
 */
double stats_max_min(const double *values, size_t n);

/*
 * Mann-Whitney: probability that two samples of one distribution differ in rank as much as these
 * (two-sided). Exact where both have at most 20 values and none is equal to another; else by the
 * normal approximation with corrections for ties and continuity. 1: a sample is empty. -ENOMEM as
 * a negative number.
 */
double stats_rank_test(const double *a, size_t n_a, const double *b, size_t n_b);

#endif
