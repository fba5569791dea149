/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * view_internal.h - what the files of a view share: the view being shown, and a builder of panels
 * for each kind.
 */
#ifndef VIEW_INTERNAL_H
#define VIEW_INTERNAL_H

#include "report/cell.h"
#include "report/picture.h"
#include "report/view.h"

#define VIEW_MAX_NOTES 2 /* series with numbers at their points: those of more would overlap */

struct view_show {
	struct doc *doc;
	const struct test *test;
	const struct view *view;
	const struct rows *rows;
	struct column y[TEST_MAX_COLUMNS];
	size_t n_y;
	struct grid *grid;
};

/* The style of place i on the axis of series: that of its strategy, if they are. */
unsigned view_style(const struct view_show *show, size_t i);
/* Of all series of a panel that is of one strategy; 0: it is of none, or of all. */
unsigned view_panel_style(const struct view_show *show, const struct pick *panel);

/* Each builds the picture of one panel from what pick selects. -ENOMEM. */
int view_build_lines(const struct view_show *show, const struct pick *panel, struct picture *out);
int view_build_bars(const struct view_show *show, const struct pick *panel, struct picture *out);
int view_build_stack(const struct view_show *show, const struct pick *panel, struct picture *out);
int view_build_dual(const struct view_show *show, const struct pick *panel, struct picture *out);
int view_build_shaded(const struct view_show *show, const struct pick *panel, struct picture *out);
int view_build_cdf(const struct view_show *show, const struct pick *panel, struct picture *out);
int view_build_heat(const struct view_show *show, const struct pick *panel, struct picture *out);
int view_build_trend(const struct view_show *show, const struct pick *panel, struct picture *out);

/* The whole view: it makes no plots. */
void view_table(const struct view_show *show);
/* Why cells of a table are n/a: below it. */
void view_reasons(const struct view_show *show);

#endif
