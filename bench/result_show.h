/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * result_show.h - what a benchmark found, for people: tables on a terminal, tables and pictures on
 * a page.
 *
 * Owns: nothing. In: the document of result.h; out: the same figures in each, so that a terminal, a
 * page and JSON never disagree. Thread: one.
 *
 * file and report may be NULL: then it is not shown there. What the document does not hold is left
 * out. 0, -ENOMEM, or what report_plot() says.
 */
#ifndef RESULT_SHOW_H
#define RESULT_SHOW_H

#include <stdio.h>

#include "report/report.h"
#include "result.h"

int result_show_runs(const struct result *result, FILE *file, struct report *report);
int result_show_shift(const struct result *result, FILE *file, struct report *report);
int result_show_chaos(const struct result *result, FILE *file, struct report *report);
/* What was real, what was emulated, where it was observed. */
void result_show_environment(const struct result *result, struct report *report);

/*
 * What a command that only has runs does at its end: terminal (unless JSON goes to stdout), the
 * document at json, the page of that title at html; NULL: not wanted.
 */
int result_show_all(const struct result *result, const char *title, const char *html,
		    const char *json);

#endif
