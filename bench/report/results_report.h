/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * results_report.h - the report of a run (section 14 of the methodology): `farebench report DIR`.
 *
 * Owns: DIR/report.html, DIR/report.md, DIR/rows.csv and those of export.h while they are written.
 * In: DIR's
 * rows.jsonl and run.json, and the tests that may be in them; out: the files, text. Thread: one.
 */
#ifndef RESULTS_REPORT_H
#define RESULTS_REPORT_H

#include <stdio.h>

#include "report/results.h"

/* dir: where the files go; NULL: there are none. text: where the plain text goes; NULL: nowhere.
 * -errno, after saying why. */
int results_report(const struct results *results, const struct results_tests *tests,
		   const char *dir, FILE *text);
/* Only the page. */
int results_page(const struct results *results, const struct results_tests *tests,
		 const char *path);

/* `farebench report ...`: returns the exit status. */
int results_report_main(int argc, char **argv);

#endif
