/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * compare_show.h - a comparison of two runs as text, JSON and a page with a picture:
 * `farebench compare A B`.
 *
 * Owns: nothing. In: a comparison; out: files, text, the exit status. Thread: one.
 */
#ifndef COMPARE_SHOW_H
#define COMPARE_SHOW_H

#include <jansson.h>

#include "report/compare.h"
#include "report/doc.h"

/* {"a", "b", "counts": {verdict: n}, "items": [...]}; NULL: no memory. */
json_t *compare_json(const struct compare *compare, const char *a, const char *b);
/* all: also what is equal within the noise, or cannot be told. */
void compare_doc(struct doc *doc, const struct compare *compare, const char *a, const char *b,
		 double min_percent, bool all);

/* The command, for given tests. Exit status: 0; 1 failed; 2 usage; 3 something got worse. */
int compare_command(int argc, char **argv, const struct results_tests *tests);
int compare_main(int argc, char **argv);

#endif
