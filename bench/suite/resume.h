/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * resume.h - what a run that was stopped was told, and what it counted: so that it goes on as it
 * began.
 *
 * Owns: nothing. In: run.json of its directory, which is checked; out: the words of its command
 * line, its seed, its counts. Thread: one.
 */
#ifndef RESUME_H
#define RESUME_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

struct resume {
	bool has_seed;
	uint64_t seed;
	double seconds;
	char started[32];	 /* "": it does not say */
	unsigned repeated, busy; /* trials, as of describe.h */
};

/*
 * *words: a list of texts, the caller's; NULL: the run has left none. *resume is all 0 where the
 * directory has no run. -EBADMSG, after saying why: its run.json is no such file.
 */
int resume_read(struct resume *resume, json_t **words, const char *dir);

#endif
