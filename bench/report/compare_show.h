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
#include "suite/edition.h"

struct compare_run {
	const char *dir;
	bool even_busy; /* results_even_busy() */
	struct editions editions;
};

/* As docs/schema/compare.schema.json has it; NULL: no memory. */
json_t *compare_json(const struct compare *compare, const struct compare_run *a,
		     const struct compare_run *b);
/* all: also what is equal within the noise, or undecided. */
void compare_doc(struct doc *doc, const struct compare *compare, const struct compare_run *a,
		 const struct compare_run *b, double min_percent, bool all);

/* The results of two strategies with one of two verdicts; a and b stand above their columns. */
void compare_table_of(struct doc *doc, const struct compare *compare, enum compare_verdict one,
		      enum compare_verdict other, const char *a, const char *b);
json_t *compare_counts_json(const struct compare *compare);
json_t *compare_items_json(const struct compare *compare);

/*
 * Goes on with the run in dir until there are that many trials of each combination, in the lab that
 * it names. -EINVAL, after saying why: it is of another version, or was made on hosts. -EINTR,
 * -EIO: the run was stopped, or failed.
 */
int compare_more(const char *dir, unsigned trials);

/* The command, for given tests. Exit status: 0; 1 failed; 2 usage; 3 something got worse. */
int compare_command(int argc, char **argv, const struct results_tests *tests);
int compare_main(int argc, char **argv);

#endif
