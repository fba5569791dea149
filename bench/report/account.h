/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * account.h - which trials were attempted, which of them are in the figures, and why others are
 * not.
 *
 * Owns: nothing. In: results (rows of the suite itself: suite/test.h) and tests; out: a chapter,
 * JSON. Thread: one.
 */
#ifndef ACCOUNT_H
#define ACCOUNT_H

#include <jansson.h>

#include "report/doc.h"
#include "report/results.h"

struct account {
	unsigned combinations; /* of parameters and strategy */
	unsigned least, most;  /* trials of each that count */
	unsigned included, excluded;
	unsigned kept; /* of those included: no attempt was better */
	/* that an included trial took, with set-up and warm-up; 0: none was tried */
	double shortest_s, longest_s;
};

/* "2 to 3 trials of 1 to 6 s, where the draft asks for 20 of 60 s or more": of all tests that were
 * measured, by their own numbers; "": none was, or the run names no profile. -ENOMEM. */
int account_sentence(const struct results *results, const struct results_tests *tests, char *out,
		     size_t size);
/* rows: of one test. */
void account_read(struct account *account, const struct rows *rows);
void account_show(struct doc *doc, const struct results *results,
		  const struct results_tests *tests);
/* {"5.1": {"combinations", "attempted", "included", "excluded", "kept", "draft_trials", ...}};
 * NULL: no memory. */
json_t *account_json(const struct results *results, const struct results_tests *tests);

#endif
