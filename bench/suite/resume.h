/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * resume.h - the arguments of a run that was stopped, and what it counted: so that it goes on as it
 * began. Which trials are done suite_has() in suite.c says: those with a row SUITE_DONE.
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
	char started[32]; /* "": it does not say */
};

/*
 * *args: a list of texts, the caller's; NULL: the run has left none. *resume is all 0 where the
 * directory has no run. -EBADMSG, after saying why: its run.json is no such file.
 */
int resume_read(struct resume *resume, json_t **args, const char *dir);

#endif
