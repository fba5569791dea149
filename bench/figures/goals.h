/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * goals.h - measures the promised figures again and holds them against their goals.
 *
 * Owns: the files that commands write (temporary, unless they are to be kept), and what came of
 * each figure. In: docs/figures.yaml; out: a line per figure, JSON, a page, exit status. A figure
 * whose command fails, takes too long or does not say the number has failed; none is left out
 * silently. Thread: the process has one.
 */
#ifndef GOALS_H
#define GOALS_H

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

#include "figures/figures.h"
#include "report/report.h"

enum goals_verdict {
	GOALS_UNKNOWN, /* not asked for */
	GOALS_MET,
	GOALS_MISSED,
	GOALS_FAILED /* there is no number */
};

/* What came of a figure. */
struct goals_outcome {
	const struct figure *figure;
	enum goals_verdict verdict;
	double value;	       /* if met or missed */
	double low, high;      /* of the numbers that value was folded from */
	int n_numbers;	       /* how many; <= 1: no spread */
	double seconds;	       /* that its command took; the same for all figures of a command */
	double stolen_percent; /* of the machine's time meanwhile, by a hypervisor; < 0: unknown */
	char reason[700];      /* if failed, or missed for another reason than value */
};

/*
 * What json picks out of root, held against the goal. A negative number stands for what was not
 * seen, and misses any goal, unless json takes a difference: no figure passes by an event that did
 * not happen.
 */
void goals_evaluate(const struct figure *figure, const json_t *root, struct goals_outcome *out);

/* One line, the heading of such lines, and the sentence after them. */
void goals_show_heading(FILE *file);
void goals_show_line(const struct goals_outcome *outcome, FILE *file);
void goals_show_sum(const struct goals_outcome *outcomes, size_t n, FILE *file);

/* All that was asked for; a new reference, NULL: -ENOMEM. */
json_t *goals_json(const struct goals_outcome *outcomes, size_t n);
int goals_page(const struct goals_outcome *outcomes, size_t n, struct report *report);

/* `farebench check [GROUP|ID]... ...`: 0 all goals met; 1 some not, or a command failed; 2 usage.
 */
int goals_main(int argc, char **argv);

#endif
