/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * export.h - results in columns that users of other benchmarks know.
 *
 * Owns: nothing. In: a run's rows; out: two CSV files (RFC 4180), a line for each combination of a
 * test, its parameters and a strategy, over all its trials. transfers.csv has the columns that
 * nixlbench prints, serving.csv the metrics of InferenceX, in their units; behind them test,
 * strategy and params, and what the figures are of: the medium that blocks lay in (test 5.4) and
 * what of the system is emulated. What was not measured, or too seldom for that percentile, is
 * empty. Thread: any.
 */
#ifndef EXPORT_H
#define EXPORT_H

#include "report/results.h"

/* Writes both into dir; one that would have no line is not written. emulated: of the run; NULL:
 * nothing is known. -errno, after saying why. */
int export_write(const struct rows *rows, const char *emulated, const char *dir);

#endif
