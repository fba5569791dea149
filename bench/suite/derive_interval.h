/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * derive_interval.h - how sure a derived value is: the bootstrap of its trials.
 *
 * Owns: nothing. In: a test and the rows of its trials; out: the rows that the test derives, and
 * two more for each of them, whose KPIs begin with DERIVED_LOW and DERIVED_HIGH: its 95% interval.
 * Thread: the coordinator's.
 *
 * As many trials as there were are drawn from them, with replacement, and the test derives anew; of
 * DERIVED_RESAMPLES such values 95% are between the bounds (Efron's percentile method). A drawn
 * trial comes with all its combinations, as it was interleaved. What is read of other tests is not
 * there in a resample: what follows from it has no interval.
 */
#ifndef DERIVE_INTERVAL_H
#define DERIVE_INTERVAL_H

#include "suite/test.h"

#define DERIVED_LOW	  "_low_"
#define DERIVED_HIGH	  "_high_"
#define DERIVED_TRIALS	  6 /* with fewer no interval is given, as of a median (stats.h) */
#define DERIVED_RESAMPLES 199

/* test has derive(). 0, or -errno. */
int derive_with_intervals(const struct test *test, struct rows *rows);
/* The interval of a row of DERIVED_TRIAL, and of how many trials; false: it has none. */
bool derive_interval(const struct rows *rows, const struct row *derived, double *low, double *high,
		     uint64_t *trials);

#endif
