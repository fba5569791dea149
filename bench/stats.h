/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stats.h - what a handful of repeated measurements says.
 *
 * Owns: nothing; pure. In: arrays of finite doubles; out: order statistics, the confidence interval
 * of the median, Jain's fairness index. Thread: any.
 */
#ifndef STATS_H
#define STATS_H

#include <stddef.h>

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

#endif
