/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * derive.h - what tests of every draft share: the ends of their lists, and rows that follow from
 * other rows.
 *
 * Owns: nothing. In: rows; out: medians over trials, rows of a trial that does not exist. Thread:
 * the coordinator's.
 */
#ifndef DERIVE_H
#define DERIVE_H

#include "core/rows.h"

#define LIST_END                                                                                   \
	{                                                                                          \
		.name = NULL                                                                       \
	}
#define VIEWS_END                                                                                  \
	{                                                                                          \
		.title = NULL                                                                      \
	}

/* Median of a KPI over trials: for rows that are derived. NaN: there are none. */
double kpi_median(const struct rows *rows, const char *test, const char *strategy, const char *kpi,
		  unsigned n_params, const struct row_param *param, double quantile);
#define DERIVED_TRIAL 1000000 /* no trial has it: such rows are made anew by every run */

int derive_value(struct rows *rows, const struct row *like, const char *kpi, double value);

#endif
