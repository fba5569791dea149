/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * edition.h - which revision of each methodology a run follows, and what differs between them.
 *
 * Owns: the table of differences. In: `--edition`, or a run's description; out: names, numbers of
 * trials, lines for report and documents. Pure. Thread: any.
 */
#ifndef EDITION_H
#define EDITION_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "suite/test.h"

enum edition_draft { EDITION_INFERENCE, EDITION_TRAINING, EDITION_DRAFTS };

/* Zeroes: -02 of both. */
struct editions {
	bool newer[EDITION_DRAFTS]; /* -05 of the inference draft, -04 of the training draft */
};

struct edition_change {
	enum edition_draft draft;
	const char *clause, *older, *newer; /* what each revision asks for */
	const char *here;		    /* what farebench does by the newer one */
};

/* "05", "04", "05,04", "02" (both). -EINVAL. */
int editions_parse(const char *text, struct editions *out);
/* Of a run's description ("editions"): what is not there, or unknown, is the older one. */
struct editions editions_of(const json_t *run);
const char *edition_name(enum edition_draft draft);			   /* "inference" */
const char *edition_revision(struct editions e, enum edition_draft draft); /* "02" */
json_t *editions_json(struct editions e); /* {"inference": "02", "training": "04"} */
/* "-02" in a clause of one of these drafts becomes the revision that the run follows. */
void edition_clause(struct editions e, const char *clause, char *out, size_t size);
/* Trials of a combination that the draft asks for; 0: it asks for none. */
unsigned edition_trials(struct editions e, const struct test *test);
/* How long each takes. */
double edition_seconds(struct editions e, const struct test *test);
/*
 * Both as the draft's text has them: "20 of 60 s"; "... (1.3)" where the test's own clause says
 * nothing and 1.3 of the inference draft holds for all; else what is not stated there, and what
 * this project takes. "-": the test is of no draft.
 */
void edition_asks(struct editions e, const struct test *test, char *out, size_t size);
const struct edition_change *edition_changes(size_t *n);

#endif
