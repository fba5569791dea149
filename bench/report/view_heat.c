/* SPDX-License-Identifier: BSD-2-Clause */
/* view_heat.c - y as colour over x and series; the number stands in each field, so that nobody
 * needs to see colours. */
#include <math.h>
#include <stdio.h>

#include "report/view_internal.h"

static int heat_field(const struct view_show *show, const struct pick *panel, size_t x, size_t y,
		      struct picture *out)
{
	struct pick pick = *panel;
	struct rows_filter filter;
	struct report_cell cell;
	char text[32] = "n/a";
	int err;

	pick_add(&pick, &show->grid->x, x);
	pick_add(&pick, &show->grid->series, y);
	filter = pick_filter(&pick);
	err = cell_read(&cell, show->rows, &filter, &show->y[0]);
	if (err || (cell.kind != CELL_NUMBER && cell.kind != CELL_MISSING))
		return err;
	if (cell.kind == CELL_NUMBER)
		cell_number(cell.value, text, sizeof(text));
	return picture_field(out, x, y, cell.kind == CELL_NUMBER ? cell.value : NAN, text);
}

int view_build_heat(const struct view_show *show, const struct pick *panel, struct picture *out)
{
	const struct grid *grid = show->grid;
	int err = 0;

	picture_axis(out, &grid->x, show->test, false);
	axis_label(&grid->series, show->test, out->y_label, sizeof(out->y_label));
	snprintf(out->y2_label, sizeof(out->y2_label), "%s", show->y[0].label);
	out->row[0] = "";
	for (size_t y = 0; y < grid->series.n; y++)
		out->row[y] = grid->series.level[y].text;
	out->plot.rows = out->row;
	out->plot.n_rows = axis_places(&grid->series);
	out->plot.n_tics = axis_places(&grid->x);
	picture_add(out, "");
	for (size_t y = 0; !err && y < out->plot.n_rows; y++)
		for (size_t x = 0; !err && x < out->plot.n_tics; x++)
			err = heat_field(show, panel, x, y, out);
	return err;
}
