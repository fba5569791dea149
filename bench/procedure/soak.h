/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soak.h - a trial of section 13 is one sample of a long run of a service.
 *
 * Owns: when the first sample of a test began, on the axis of all its samples. Thread: the
 * coordinator's.
 */
#ifndef SOAK_H
#define SOAK_H

#include <stddef.h>

#include "suite/trial.h"
#include "workload/serving.h"

/* One sample: the service at 80% of its bound, "at_s" and what else the test declares of it.
 * meanwhile as of serving_run(). */
int soak_sample(struct trial *t, int (*meanwhile)(void *arg, uint64_t now_ns), void *arg);
/* Where the last sample of that test ended, on their axis; 0: there is none. Pure. */
double soak_end_s(const struct rows *rows, const char *test);
/* Memory and descriptors of a process: KiB, count; 0 if it is not there. */
double soak_rss_kib(int pid);
double soak_descriptors(int pid);
/* Least squares of n points; NAN for fewer than three, or all at one x. */
double soak_regression(const double *x, const double *y, size_t n);
/* Growth of a KPI per hour over the samples, by least squares; a row "slope_NAME" each. */
int soak_slope(struct rows *rows, const char *test, const char *kpi, const char *slope);

#endif
