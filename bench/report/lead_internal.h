/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lead_internal.h - what the files of the first page share: a test's figure, its picture, verdicts.
 */
#ifndef LEAD_INTERNAL_H
#define LEAD_INTERNAL_H

#include "core/stats.h"
#include "report/grid.h"
#include "report/lead.h"

#define LEAD_MANY 4 /* tests with a figure: fewer are seen at once in their own chapters */

/* One contrast over all combinations of parameters: how many times better. n 0: nothing. */
struct lead_spread {
	size_t n;
	size_t better, worse, tested; /* of these: beyond chance; with trials enough to say */
	unsigned trials;	      /* behind each, at least */
	double low, middle, high;
	const struct compare_item *least, *most;
};

struct lead_figure {
	const struct test *test;
	struct column column;		 /* its headline */
	char name[160];			 /* that, and where: "Round_trip P99, load=none" */
	struct lead_spread of[LEAD_MAX]; /* of each contrast */
};

/* Is "size=1M", so long, one of "size=1M qps=8"? */
bool lead_has_param(const char *params, const char *param, size_t length);

/* How many times better than the baseline; NaN: no ratio. */
double lead_ratio(const struct compare_item *item);
/* False: the test has none. */
bool lead_figure(const struct lead *lead, const struct test *test, struct lead_figure *out);
/* How many results are better, worse or neither, and by what. */
void lead_verdicts(struct doc *doc, const struct lead_contrast *c);
void lead_picture(struct doc *doc, const struct lead *lead, const struct lead_figure *figure,
		  size_t n);

#endif
