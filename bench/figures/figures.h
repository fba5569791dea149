/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * figures.h - the registry of promised figures: docs/figures.yaml, read and checked.
 *
 * Owns: the list, immutable once read. In: YAML; out: figures whose goals are understood. Thread:
 * any.
 *
 *	figures:
 *	  - id: demo/spray-of-optimum	group/name, unique
 *	    what: in words
 *	    command: farebench ... {out}	for bash -c; writes JSON to the file {out}; {n} is n
 *	    json: runs[...].ratio	selector.h has the syntax
 *	    goal: ">= 0.95"		>= <= > < == and a number: all that is picked has to meet it
 *	    n: 5			repetitions behind the figure; {n} in the command
 *	    full_n: 20			optional: the same with --full
 *	    full: false			optional; true: measured with --full alone, as it takes long
 *	    duration_s: 120		how long the command takes with n repetitions, about
 *	    cheap: false		true: quick enough for every change
 *	    time_limit_s: 7200		optional: limit of the command, 1..86400
 *
 * Without --full the commands of a group take FIGURES_GROUP_S at most, in the sum of duration_s.
 *
 * A goal stands here, not where a test declares its KPI: of about a hundred figures a quarter are
 * of programs that declare none (simulations, scripts over farectl), a third compare two rows, and
 * one KPI has up to eight goals, of other strategies and scenarios. Beside the KPI each would have
 * to pick its rows as well, which selector.c does in 200 lines.
 */
#ifndef FIGURES_H
#define FIGURES_H

#define FIGURES_MAX_TIME_S (24 * 3600)
#define FIGURES_GROUP_S	   900

#include <stdbool.h>
#include <stddef.h>

struct figure {
	char *id, *what, *command, *json, *goal;
	unsigned n, full_n; /* full_n 0: n */
	bool cheap, full;
	unsigned duration_s;   /* of the command, about */
	unsigned time_limit_s; /* 0: it names none */
};

struct figures {
	struct figure *figures;
	unsigned figures_count;
	struct strict_yaml *file; /* owns the figures */
};

/*
 * full: n becomes full_n, and duration_s is scaled with it. -errno: *reason says file, line, figure
 * and what. The list is the caller's: figures_destroy().
 */
int figures_load(struct figures **out, const char *path, bool full, char *reason,
		 size_t reason_size);
void figures_destroy(struct figures *figures); /* NULL is fine */

/* Does value meet goal? 1, 0, or -EBADMSG: goal is none. */
int figures_goal_met(const char *goal, double value);

/* true if selection is NULL, the figure's id, or its group. */
bool figures_selected(const struct figure *figure, const char *selection);

#endif
