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

/* Every attempt is one of four: included, not possible, spoilt, excluded. */
struct account {
	unsigned combinations; /* of parameters and strategy, of which something was measured */
	unsigned all;	       /* the same, with those that are not possible here */
	unsigned least, most;  /* trials of each that was measured */
	unsigned included;     /* trials of which something was measured */
	unsigned not_possible; /* trials of which nothing was, as the rows say why */
	unsigned spoilt;       /* trials that broke a sum: trial_spoil() */
	unsigned excluded;     /* attempts that were made again */
	unsigned kept;	       /* of those included: no attempt was better */
	/* that an included trial took, with set-up and warm-up */
	double shortest_s, longest_s;
};

/* "2 to 3 trials of 1 to 6 s, where the draft asks for 20 of 60 s or more": of all tests that were
 * measured, by their own numbers; "": none was, or the run names no profile. -ENOMEM. */
int account_sentence(const struct results *results, const struct results_tests *tests, char *out,
		     size_t size);
unsigned account_attempted(const struct account *account);
/* rows: of one test. */
void account_read(struct account *account, const struct rows *rows);
void account_show(struct doc *doc, const struct results *results,
		  const struct results_tests *tests);
/* {"5.1": {"combinations", "attempted", "included", "not_possible", "spoilt", "excluded", ...}};
 * NULL: no memory. */
json_t *account_json(const struct results *results, const struct results_tests *tests);

#endif
