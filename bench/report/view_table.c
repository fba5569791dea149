/* SPDX-License-Identifier: BSD-2-Clause */
/* view_table.c - a row for each panel, x and series: median, interval and n of each KPI. */
#include <stdio.h>
#include <string.h>

#include "report/view_internal.h"

#define VIEW_MAX_ACROSS 24  /* columns of KPIs; more levels than fit are rows */
#define VIEW_NO_CELL	"-" /* no row says anything of it: the legend (legend.h) */
#define VIEW_MAX_CELLS	(GRID_MAX_DIMS + 2 + VIEW_MAX_ACROSS)

struct view_row {
	char text[VIEW_MAX_CELLS][CELL_TEXT_MAX];
	const char *cell[VIEW_MAX_CELLS];
	size_t n;
};

static char *view_row_next(struct view_row *row)
{
	row->cell[row->n] = row->text[row->n];
	return row->text[row->n++];
}

static void view_row_axis(struct view_row *row, const struct axis *axis, size_t i)
{
	if (axis->n)
		snprintf(view_row_next(row), CELL_TEXT_MAX, "%s", axis->level[i].text);
}

/* Levels of the series that a row has columns of; 0: each has a row of its own. */
static size_t view_across(const struct view_show *show)
{
	size_t n = show->view->across ? show->grid->series.n : 0;

	return n * show->n_y <= VIEW_MAX_ACROSS ? n : 0;
}

static void view_headers_across(const struct view_show *show, size_t level, struct view_row *row)
{
	char text[60];

	axis_text(&show->grid->series, level, text, sizeof(text));
	for (size_t y = 0; y < show->n_y; y++)
		snprintf(view_row_next(row), CELL_TEXT_MAX, "%s, %s", show->y[y].label, text);
}

static void view_headers(const struct view_show *show, struct view_row *row)
{
	const struct grid *grid = show->grid;
	size_t across = view_across(show);

	row->n = 0;
	for (size_t i = 0; i < grid->n_dims; i++)
		axis_label(&grid->dim[i], show->test, view_row_next(row), CELL_TEXT_MAX);
	if (grid->x.n)
		axis_label(&grid->x, show->test, view_row_next(row), CELL_TEXT_MAX);
	for (size_t k = 0; k < across; k++)
		view_headers_across(show, k, row);
	if (grid->series.n && !across)
		axis_label(&grid->series, show->test, view_row_next(row), CELL_TEXT_MAX);
	for (size_t y = 0; y < show->n_y && !across; y++)
		snprintf(view_row_next(row), CELL_TEXT_MAX, "%s", show->y[y].label);
}

/* The KPIs at one place; *filled: at least one cell says something. */
static int view_row_cells(const struct view_show *show, const struct pick *pick,
			  struct view_row *row, bool *filled)
{
	const struct rows_filter filter = pick_filter(pick);
	struct report_cell cell;
	int err = 0;

	for (size_t y = 0; !err && y < show->n_y; y++) {
		err = cell_read(&cell, show->rows, &filter, &show->y[y]);
		if (err)
			break;
		if (cell.kind == CELL_NONE)
			snprintf(view_row_next(row), CELL_TEXT_MAX, VIEW_NO_CELL);
		else
			cell_text(&cell, view_row_next(row), CELL_TEXT_MAX);
		*filled |= cell.kind != CELL_NONE;
	}
	return err;
}

static int view_panel_rows(const struct view_show *show, size_t panel, struct table *table,
			   struct view_row *row)
{
	const struct grid *grid = show->grid;
	size_t across = view_across(show), n_series = across ? 1 : axis_places(&grid->series);
	char title[300];
	int err = 0;

	for (size_t i = 0; !err && i < axis_places(&grid->x) * n_series; i++) {
		struct pick pick;
		bool filled = false;

		row->n = 0;
		grid_panel(grid, panel, &pick, title, sizeof(title));
		for (size_t d = 0, left = grid->n_panels + grid->left_out; d < grid->n_dims; d++) {
			left /= grid->dim[d].n;
			view_row_axis(row, &grid->dim[d], panel / left % grid->dim[d].n);
		}
		pick_add(&pick, &grid->x, i / n_series);
		view_row_axis(row, &grid->x, i / n_series);
		if (!across)
			view_row_axis(row, &grid->series, i % n_series);
		for (size_t k = 0; !err && k < (across ? across : 1); k++) {
			struct pick here = pick;

			pick_add(&here, &grid->series, across ? k : i % n_series);
			err = view_row_cells(show, &here, row, &filled);
		}
		if (!err && filled)
			err = table_row(table, row->cell);
	}
	return err;
}

/* Of those panels. */
static void view_one_table(const struct view_show *show, size_t from, size_t to, const char *title)
{
	struct view_row row;
	struct table *table = NULL;
	int err;

	view_headers(show, &row);
	err = table_create(&table, row.n, row.cell);
	for (size_t i = from; !err && i < to; i++)
		err = view_panel_rows(show, i, table, &row);
	doc_fail(show->doc, err);
	doc_heading(show->doc, 4, "", title);
	doc_table(show->doc, table);
}

static bool view_has_value(const struct view_show *show)
{
	for (size_t y = 0; y < show->n_y; y++) {
		const struct rows_filter filter = {.kpi = show->y[y].kpi->name, .trial = -1};

		ROWS_EACH (i, show->rows, &filter)
			if (!rows_at(show->rows, i)->missing)
				return true;
	}
	return false;
}

void view_table(const struct view_show *show)
{
	const struct grid *grid = show->grid;
	bool apart = show->view->apart && grid->n_dims; /* the first axis is the view's panel */
	/* every combination is in a table, however many pictures there would be */
	size_t all = grid->n_panels + grid->left_out, n = apart ? grid->dim[0].n : 1;

	if (!view_has_value(show)) {
		doc_text(show->doc, "%s: no table, as no row has a value.", show->view->title);
		n = 0;
	}
	for (size_t i = 0; i < n; i++) {
		char title[200], level[80] = "";

		if (apart)
			axis_text(&grid->dim[0], i, level, sizeof(level));
		snprintf(title, sizeof(title), "%s%s%s", show->view->title, apart ? ": " : "",
			 level);
		view_one_table(show, all / n * i, all / n * (i + 1), title);
	}
	view_reasons(show);
}
