/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lead_internal.h - what the files of the first page share: a test's figure, and its picture.
 */
#ifndef LEAD_INTERNAL_H
#define LEAD_INTERNAL_H

#include "core/stats.h"
#include "report/grid.h"
#include "report/lead.h"

#define LEAD_MANY	4 /* tests with a figure: fewer are seen at once in their own chapters */
#define LEAD_MAX_PLACES 1024

/* One contrast over all combinations of parameters: how many times better. n 0: nothing. */
struct lead_spread {
	size_t n;
	double low, middle, high;
	const struct compare_item *least, *most;
};

struct lead_figure {
	const struct test *test;
	const struct kpi *kpi;
	struct lead_spread of[LEAD_MAX]; /* of each contrast */
};

/* False: the test has none. */
bool lead_figure(const struct lead *lead, const struct test *test, struct lead_figure *out);
void lead_picture(struct doc *doc, const struct lead *lead, const struct lead_figure *figure,
		  size_t n);

#endif
