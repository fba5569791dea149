/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lead.h - the first page of a report: what was tested, what came out in two sentences, a picture;
 * and the chapter on which that stands, strategies compared by a rank test.
 *
 * Owns: the comparisons. In: results and tests; out: the first page, a chapter, JSON. Thread: one.
 *
 * What is compared is FARE (fare-spray, or mpi-fare; else the first strategy with fare in its name)
 * with each strategy that has no fare in its name, in all tests that have both: each KPI of which
 * more or less is better, at every combination of parameters (compare.h). The picture and the first
 * sentences are of each test's headline figure (suite/test.h). A sentence says how many times as
 * good only where a difference is beyond chance by that comparison, and of how many that holds.
 */
#ifndef LEAD_H
#define LEAD_H

#include <jansson.h>

#include "report/compare.h"
#include "report/doc.h"

#define LEAD_MAX 8 /* comparisons */

struct lead_contrast {
	char subject[ROW_NAME_MAX], baseline[ROW_NAME_MAX];
	struct compare compare;
};

struct lead {
	const struct results *results;
	const struct results_tests *tests;
	size_t n;
	struct lead_contrast contrast[LEAD_MAX];
};

/* By what a test's strategies are compared: the column that it names, or the first of its tables
 * that is measured, and of which more or less is better. False: by none. */
bool lead_headline(const struct test *test, struct column *out);
/* -ENOMEM. Borrows both; on success the caller calls lead_fini(). */
int lead_init(struct lead *lead, const struct results *results, const struct results_tests *tests);
void lead_fini(struct lead *lead);

void lead_page(struct doc *doc, const struct lead *lead);
void lead_chapter(struct doc *doc, const struct lead *lead); /* nothing if nothing was compared */
/* [{"subject", "baseline", "better", ..., "items": [...]}]; NULL: no memory. */
json_t *lead_json(const struct lead *lead);

#endif
