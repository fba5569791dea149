/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soak.h - a trial of section 13, or of 12 of the training draft, is one sample of a long run.
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
/* When a sample begins, on one axis for all of its test: a run that goes on begins where the one
 * before ended. */
double soak_at_s(const struct trial *t);
/* Where the last sample of that test ended, on their axis; 0: there is none. Pure. */
double soak_end_s(const struct rows *rows, const char *test);
/* Memory of a process, of that locked or pinned (RDMA devices pin what is registered), and its
 * descriptors: KiB, count; 0 if it is not there. */
double soak_rss_kib(int pid);
double soak_pinned_kib(int pid);
double soak_descriptors(int pid);
/* Least squares of n points; NAN for fewer than three, or all at one x. */
double soak_regression(const double *x, const double *y, size_t n);
/* A KPI over the samples of a row's strategy and level, in the order in which they were made. */
struct soak_series {
	double *at_s, *value;
	size_t n;
};
/* -ENOMEM. soak_series_fini() whatever it returns. */
int soak_series(const struct rows *rows, const struct row *like, const char *kpi,
		struct soak_series *out);
void soak_series_fini(struct soak_series *series);
/* A trend per hour takes so many samples, over so long: a sixth of an hour at least. */
#define SOAK_LEAST_SAMPLES 10
#define SOAK_LEAST_S	   600
bool soak_carries_trend(const struct soak_series *s);
/* Growth per hour, by least squares; NaN where the series carries no trend. */
double soak_fit(const struct soak_series *s);
/* Never less than in the sample before, and more in the end; of three samples at least. */
bool soak_grows(const struct soak_series *s);
/* Calls derive, with that name, for each strategy and level of a KPI that has samples. */
int soak_derive(struct rows *rows, const char *test, const char *kpi,
		int (*derive)(struct rows *rows, const struct row *like,
			      const struct soak_series *s, const char *name),
		const char *name);
/* Rows of that name: growth of a KPI per hour over the samples, by least squares; missing, with the
 * soak's length, where that carries none. Its interval is that of all derived values
 * (suite/derive_interval.h). */
int soak_slope(struct rows *rows, const char *test, const char *kpi, const char *slope);
/* Why there is no trend: "4 samples within 40 s carry no trend per hour ...". */
void soak_too_short(const struct soak_series *s, char *why, size_t size);
/* Rows "soak_length" of each strategy and level: from the first sample's begin to the end of the
 * strategy's last one, s. */
int soak_length(struct rows *rows, const char *test);
/* The largest less the smallest of the samples over their median, in percent. */
int soak_variation(struct rows *rows, const char *test, const char *kpi, const char *name);

#endif
