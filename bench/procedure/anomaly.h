/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * anomaly.h - samples of a long run that are unlike the others: when, and for how long.
 *
 * Owns: nothing; pure. In: samples in order of time; out: runs of them outside a band. Thread: any.
 */
#ifndef ANOMALY_H
#define ANOMALY_H

#include <stddef.h>

#define ANOMALY_LEAST_SAMPLES 10

struct anomaly {
	double at_s, lasted_s;
	double value; /* the one furthest outside */
};

struct anomaly_band {
	double low, high;
};

/*
 * What is usual of these values: the median, and six times the median distance from it (of a normal
 * distribution four standard deviations), a tenth of it at least, to each side. Fewer samples than
 * ANOMALY_LEAST_SAMPLES: everything is.
 */
struct anomaly_band anomaly_usual(const double *values, size_t n);
/* Runs of samples outside the band; each sample lasts until the next, the last end_s. Returns how
 * many, of which max are written. */
size_t anomaly_find(const double *at_s, double end_s, const double *values, size_t n,
		    struct anomaly_band band, struct anomaly *out, size_t max);

#endif
