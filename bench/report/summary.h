/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * summary.h - the chapters of a report that are not one test's: system and workload, KPI summary,
 * fabric health, anomalies, what was not measured, which KPI is measured where.
 *
 * Owns: nothing. In: results and tests; out: chapters of a document. Thread: one.
 */
#ifndef SUMMARY_H
#define SUMMARY_H

#include "report/doc.h"
#include "report/results.h"

#define SUMMARY_HEALTH "Fabric health" /* the table of a run, and the chapter */

void summary_run(struct doc *doc, const struct results *results, const struct results_tests *tests);
void summary_kpis(struct doc *doc, const struct results *results,
		  const struct results_tests *tests);
/* The tables of the drafts that the run has tests of. */
void summary_health(struct doc *doc, const struct results *results,
		    const struct results_tests *tests, bool inference, bool training);
void summary_anomalies(struct doc *doc, const struct results *results,
		       const struct results_tests *tests);
/* What has no value, and why. */
void summary_not_measured(struct doc *doc, const struct results *results,
			  const struct results_tests *tests);
/* What a report has beyond the older revisions of the drafts (suite/edition.h, edition_show.c):
 * nothing where the run follows those. */
void edition_show(struct doc *doc, const struct results *results,
		  const struct results_tests *tests);
void summary_map(struct doc *doc, const struct results *results, const struct results_tests *tests);

#endif
