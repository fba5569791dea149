/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * doctor.h - what is wrong with a server before a job runs there, and what to do about it.
 *
 * Owns nothing. In: facts (doctor_facts.h), one JSON object. Out: a line for each check of the
 * table in doctor.c. Pure. Thread: any.
 *
 * A fact that is missing or null was not to be had: what depends on it is unknown, not wrong.
 */
#ifndef DOCTOR_H
#define DOCTOR_H

#include <jansson.h>
#include <stddef.h>

enum doctor_state {
	DOCTOR_OK,
	DOCTOR_UNKNOWN, /* it could not be looked at */
	DOCTOR_ADVICE,	/* works, and would work better */
	DOCTOR_WRONG,
};

struct doctor_line {
	const char *name;
	enum doctor_state state;
	char text[400];	    /* what was found */
	const char *remedy; /* what to do, unless it is ok */
};

#define DOCTOR_MAX_LINES 48

/* How many lines there are; each check has one. */
size_t doctor_run(const json_t *facts, struct doctor_line lines[DOCTOR_MAX_LINES]);
const char *doctor_state_name(enum doctor_state state);

#endif
