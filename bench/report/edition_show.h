/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * edition_show.h - what a report has beyond the older revisions of the drafts (suite/edition.h).
 *
 * Owns: nothing. In: a run that follows a newer revision; out: a chapter. Thread: one.
 */
#ifndef EDITION_SHOW_H
#define EDITION_SHOW_H

#include "report/doc.h"
#include "report/results.h"

/* Nothing where the run follows the older ones. */
void edition_show(struct doc *doc, const struct results *results,
		  const struct results_tests *tests);

#endif
