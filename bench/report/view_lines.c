/* SPDX-License-Identifier: BSD-2-Clause */
/* view_lines.c - lines over x: one axis, two axes with the Pareto front, a shaded part, time. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/curve.h"
#include "report/view_internal.h"

static int view_cell(const struct view_show *show, const struct pick *pick,
		     const struct column *column, struct report_cell *cell)
{
	const struct rows_filter filter = pick_filter(pick);

	return cell_read(cell, show->rows, &filter, column);
}

/* The note beside the last point: the median of the view's `note`. */
static int view_note(const struct view_show *show, const struct pick *pick, struct picture *out)
{
	struct column column;
	struct report_cell cell;
	char text[32];
	int err;

	if (!show->view->note || axis_places(&show->grid->series) > VIEW_MAX_NOTES ||
	    column_parse(&column, show->test, show->view->note))
		return 0;
	err = view_cell(show, pick, &column, &cell);
	if (err || cell.kind != CELL_NUMBER)
		return err;
	cell_number(cell.value, text, sizeof(text));
	return picture_label(out, text);
}

/* Points of one column over the axis x, for one place on the axis of series (or all: -1). */
static int view_points(const struct view_show *show, const struct pick *panel, int series,
		       const struct column *column, bool with_notes, struct picture *out)
{
	const struct axis *x = &show->grid->x;
	int err = 0;

	for (size_t i = 0; !err && i < axis_places(x); i++) {
		struct pick pick = *panel;
		size_t before = out->series[out->plot.n_series - 1].n;
		struct report_cell cell;

		pick_add(&pick, x, i);
		if (series >= 0)
			pick_add(&pick, &show->grid->series, (size_t)series);
		err = view_cell(show, &pick, column, &cell);
		if (!err)
			err = picture_point(out, picture_x(x, i), &cell);
		if (!err && with_notes && out->series[out->plot.n_series - 1].n > before)
			err = view_note(show, &pick, out);
	}
	return err;
}

static int view_reference(const struct view_show *show, const struct pick *panel,
			  struct picture *out)
{
	struct column column;
	struct report_series *drawn;

	if (!show->view->reference || column_parse(&column, show->test, show->view->reference))
		return 0;
	drawn = picture_add(out, column.name);
	if (!drawn)
		return 0;
	drawn->reference = true;
	return view_points(show, panel, -1, &column, false, out);
}

static void view_axes(const struct view_show *show, struct picture *out)
{
	picture_axis(out, &show->grid->x, show->test, show->view->log_x);
	snprintf(out->y_label, sizeof(out->y_label), "%s", show->y[0].label);
}

int view_build_lines(const struct view_show *show, const struct pick *panel, struct picture *out)
{
	int err = 0;

	view_axes(show, out);
	for (size_t i = 0; !err && i < axis_places(&show->grid->series); i++) {
		struct report_series *drawn;
		char name[140];

		axis_text(&show->grid->series, i, name, sizeof(name));
		drawn = picture_add(out, name);
		if (!drawn)
			break;
		drawn->pointed = true;
		drawn->style = view_style(show, i);
		err = view_points(show, panel, (int)i, &show->y[0], true, out);
	}
	if (!err && !picture_is_empty(out))
		err = view_reference(show, panel, out);
	return err;
}

/* Rings around those points of the last two series (y[0], y[1]) that are on the Pareto front. Both
 * series must have a value at the same x, and no point may be the largest of too few for its
 * percentile: that is no front of the percentile on the axis. */
static int view_front(const struct view_show *show, struct picture *out)
{
	size_t first = out->plot.n_series - 2;
	const struct picture_series *a = &out->series[first], *b = &out->series[first + 1];
	const bool more[2] = {show->y[0].kpi->better == BETTER_HIGHER,
			      show->y[1].kpi->better == BETTER_HIGHER};
	const double *const y[2] = {a->y, b->y};
	bool *best = calloc(a->n + 1, sizeof(*best));

	if (!best)
		return -ENOMEM;
	if (a->n == b->n && a->n > 1 && !a->has_open && !b->has_open && show->y[0].kpi->better &&
	    show->y[1].kpi->better)
		curve_pareto(y, more, 2, a->n, best);
	for (size_t i = 0; i < a->n; i++)
		if (best[i])
			picture_ring(out, first, i);
	free(best);
	return 0;
}

/* y[0] on the left axis and y[1] on the right, for one place on the axis of series. */
static int view_pair(const struct view_show *show, const struct pick *panel, size_t i,
		     struct picture *out)
{
	char series[80], name[170];
	int err = 0;

	axis_text(&show->grid->series, i, series, sizeof(series));
	for (size_t y = 0; !err && y < 2; y++) {
		struct report_series *drawn;

		snprintf(name, sizeof(name), "%s%s%s%s", series, *series ? ": " : "",
			 show->y[y].name, y ? " (right axis)" : "");
		drawn = picture_add(out, name);
		if (!drawn)
			return 0;
		drawn->pointed = true;
		drawn->style = view_style(show, i);
		drawn->right = y == 1;
		err = view_points(show, panel, (int)i, &show->y[y], y == 0, out);
	}
	if (!err && show->view->kind == VIEW_PANELS)
		err = view_front(show, out);
	return err;
}

int view_build_dual(const struct view_show *show, const struct pick *panel, struct picture *out)
{
	int err = 0;

	if (show->n_y < 2)
		return view_build_lines(show, panel, out);
	view_axes(show, out);
	snprintf(out->y2_label, sizeof(out->y2_label), "%s", show->y[1].label);
	for (size_t i = 0; !err && i < axis_places(&show->grid->series); i++)
		err = view_pair(show, panel, i, out);
	return err;
}

/* Of an axis that several KPIs share. */
static void view_y_label(const struct view_show *show, struct picture *out)
{
	if (show->n_y > 1)
		snprintf(out->y_label, sizeof(out->y_label), "%s and others (%s)", show->y[0].name,
			 show->y[0].kpi->unit);
	else
		snprintf(out->y_label, sizeof(out->y_label), "%s", show->y[0].label);
}

int view_build_shaded(const struct view_show *show, const struct pick *panel, struct picture *out)
{
	unsigned style = view_panel_style(show, panel);
	int err = 0;

	view_axes(show, out);
	view_y_label(show, out);
	for (size_t i = show->n_y; !err && i-- > 0;) { /* the area first: lines lie on it */
		struct report_series *drawn = picture_add(out, show->y[i].name);

		if (!drawn)
			break;
		drawn->filled = i == 2;
		drawn->pointed = i != 2;
		drawn->style = style ? style : (unsigned)i + 1;
		drawn->line = style ? (unsigned)i + 1 : 0;
		err = view_points(show, panel, -1, &show->y[i], false, out);
	}
	return err;
}

/* One point per trial: x is a KPI of the same trial. */
static int view_trial(const struct view_show *show, const struct pick *pick, const struct column *x,
		      const struct column *y, struct picture *out)
{
	struct report_cell at, value;
	int err = view_cell(show, pick, x, &at);

	if (!err)
		err = view_cell(show, pick, y, &value);
	if (err || at.kind != CELL_NUMBER)
		return err;
	value.low = value.high = value.value; /* one trial has no interval */
	return picture_point(out, at.value, &value);
}

static int view_trend_series(const struct view_show *show, const struct pick *panel, int series,
			     const struct column *x, const struct column *y, struct picture *out)
{
	struct pick pick = *panel;
	struct rows_filter filter;
	int err = 0;

	pick_add(&pick, &show->grid->series, (size_t)series);
	filter = pick_filter(&pick);
	filter.kpi = x->kpi->name;
	ROWS_EACH_WHILE (!err, i, show->rows, &filter) {
		struct pick trial = pick;

		trial.trial = (int)rows_at(show->rows, i)->trial;
		err = view_trial(show, &trial, x, y, out);
	}
	return err;
}

int view_build_trend(const struct view_show *show, const struct pick *panel, struct picture *out)
{
	struct column x;
	char series[80], name[200];
	int err = 0;

	if (!show->view->x || column_parse(&x, show->test, show->view->x))
		return 0;
	snprintf(out->x_label, sizeof(out->x_label), "%s", x.label);
	view_y_label(show, out);
	for (size_t i = 0; !err && i < axis_places(&show->grid->series); i++)
		for (size_t y = 0; !err && y < show->n_y; y++) {
			struct report_series *drawn;

			axis_text(&show->grid->series, i, series, sizeof(series));
			snprintf(name, sizeof(name), "%s%s%s", series,
				 *series && show->n_y > 1 ? ": " : "",
				 show->n_y > 1 ? show->y[y].name : "");
			drawn = picture_add(out, name);
			if (!drawn)
				return 0;
			drawn->pointed = true;
			drawn->style = view_style(show, i);
			drawn->line = show->n_y > 1 ? (unsigned)y + 1 : 0;
			err = view_trend_series(show, panel, (int)i, &x, &show->y[y], out);
		}
	return err;
}
