/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * repeatability.h - how far trials of the same combination are apart: the repeatability statement
 * (section 13, item 7, of the training draft).
 *
 * Owns: nothing. In: results and tests; out: a chapter of a document. Thread: one.
 */
#ifndef REPEATABILITY_H
#define REPEATABILITY_H

#include "report/cell.h"
#include "report/doc.h"
#include "report/results.h"

/* The draft recommends a coefficient of variation below 5% for a test to be valid. */
#define REPEATABILITY_CV 0.05

/* Of one KPI, over all combinations of parameters and strategy that have two trials or more. */
struct repeatability {
	size_t combinations, below; /* below: those with a CV of less than REPEATABILITY_CV */
	unsigned least, most;	    /* trials of each */
	double middle, highest;	    /* CVs; NaN: there is no combination */
};

/* rows: of that test alone. -ENOMEM. */
int repeatability_read(struct repeatability *out, const struct test *test, const struct rows *rows,
		       const struct column *column);
void repeatability_show(struct doc *doc, const struct results *results,
			const struct results_tests *tests);

#endif
