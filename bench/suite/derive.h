/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * derive.h - rows that follow from other rows.
 *
 * Owns: nothing. In: rows; out: medians over trials, rows of a trial that does not exist. Thread:
 * the coordinator's.
 */
#ifndef DERIVE_H
#define DERIVE_H

#include "core/curve.h"
#include "core/rows.h"
#include "suite/test.h"

/* Median of a KPI over trials, or the quantile of all its measurements: for rows that are derived.
 * NaN: there are none, or too few for that quantile. */
double derive_median(const struct rows *rows, const char *test, const char *strategy,
		     const char *kpi, unsigned n_params, const struct row_param *param,
		     double quantile);
/*
 * The same with its 95% interval, as a point at x (core/curve.h). Too few measurements for that
 * quantile: the interval is infinite. False: there are none.
 */
bool derive_point(const struct rows *rows, const char *test, const char *strategy, const char *kpi,
		  const struct row_param *param, double quantile, struct curve_point *out);
#define DERIVED_TRIAL 1000000 /* no trial has it: such rows are made anew by every run */

/* Nothing where it is not finite. */
int derive_value(struct rows *rows, const struct row *like, const char *kpi, double value);
/* The same, but where it is not finite the row is missing, because. */
int derive_value_or(struct rows *rows, const struct row *like, const char *kpi, double value,
		    const char *why);

/*
 * Every KPI of a test of a draft without any value of a strategy, and without a row at one of its
 * combinations, is missing there: with the reason that the test gave at another one, or that there
 * are too few trials or measurements. What has a value at some combinations is left as it is: the
 * test means it for these. Called when all else is derived.
 */
int derive_missing(const struct test *test, struct rows *rows);

#endif
