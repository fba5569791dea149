/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hist.h - a log-linear histogram of times or sizes: every value within 1/64 of itself.
 *
 * Owns: its buckets; a plain struct that can be copied. In: whole numbers, 0..2^63 (mostly
 * nanoseconds); out: percentiles with confidence intervals, and buckets as JSON. Values below 128
 * are kept exactly; above, every power of two has 64 buckets. Histograms add. Pure. Thread: one.
 */
#ifndef HIST_H
#define HIST_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define HIST_SUB_BITS 6
#define HIST_BEYOND   3
#define HIST_TAIL     10
#define HIST_BUCKETS  ((64 - HIST_SUB_BITS) << HIST_SUB_BITS)

struct hist {
	uint64_t n, min, max;
	double sum;
	uint64_t bucket[HIST_BUCKETS];
};

void hist_init(struct hist *h);
void hist_add(struct hist *h, uint64_t value);
void hist_merge(struct hist *into, const struct hist *from);

/* The lowest value that bucket i stands for, and the first above it. */
uint64_t hist_low(unsigned i);
uint64_t hist_high(unsigned i);

uint64_t hist_floor(uint64_t value); /* the lowest value of the bucket that this one lies in */

/*
 * The value below which share q (0..1) lies, by the convention of stats.h: linear interpolation
 * between the values of the two ranks next to q (n - 1), each the middle of its bucket, within
 * min..max. 0 if empty.
 */
double hist_quantile(const struct hist *h, double q);
/*
 * Is n large enough for that quantile? False: it must not be shown as that percentile. HIST_BEYOND
 * measurements are expected beyond it: with fewer the largest one misses the quantile in over 5% of
 * cases (e^-3). Beyond P99 (and below P1) HIST_TAIL: a P99.9 needs the 10,000 measurements that
 * test 10.2 of the methodology asks for.
 */
bool hist_carries(const struct hist *h, double q);
/*
 * Interval that holds the true quantile in 95 of 100 cases, from order statistics (binomial,
 * normal approximation above n = 1,000). False: n does not carry that quantile.
 */
bool hist_quantile_interval(const struct hist *h, double q, double *low, double *high);
/* Of how many the bucket lies above that value. */
uint64_t hist_above(const struct hist *h, uint64_t value);
double hist_mean(const struct hist *h);

/* {"n", "min", "max", "sum", "buckets": [[low, count], ...]}; NULL: no memory. */
json_t *hist_json(const struct hist *h);
/* -EBADMSG: none, or one that contradicts itself. Adds to what h holds. */
int hist_read(struct hist *h, const json_t *json);

#endif
