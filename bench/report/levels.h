/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * levels.h - which levels of each test's parameters were measured, and which of the draft's a run
 * left out.
 *
 * Owns: nothing. In: rows, and the levels that tests declare for profile draft (the text's); out: a
 * table. Thread: one.
 */
#ifndef LEVELS_H
#define LEVELS_H

#include "report/doc.h"
#include "report/results.h"

#define LEVELS_TEXT 400

/* Three lists of levels, "-" where there are none. */
struct levels {
	char measured[LEVELS_TEXT];
	char not_possible[LEVELS_TEXT]; /* tried, and nothing was measured */
	char left_out[LEVELS_TEXT];	/* of the draft's */
};

/* rows: of that test. */
void levels_read(struct levels *levels, const struct rows *rows, const struct param *param);
void levels_show(struct doc *doc, const struct results *results, const struct results_tests *tests);

#endif
