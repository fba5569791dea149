/* SPDX-License-Identifier: BSD-2-Clause */
/* view_heat.c - y as colour over x and series; the number stands in each field, so that nobody
 * needs to see colours. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/view_internal.h"

#define HEAT_LEFT   110
#define HEAT_TOP    14
#define HEAT_WIDTH  460
#define HEAT_FIELD  34 /* height */
#define HEAT_BOTTOM 92

struct heat {
	const struct view_show *show;
	struct report_cell *cell; /* row by row: series, then x */
	size_t n_x, n_series;
	double min, max; /* of all panels */
};

/* Dark blue to yellow by way of green: also its lightness rises evenly. */
static void heat_colour(double share, unsigned rgb[3])
{
	static const double stops[5][3] = {
		{58, 40, 110}, {49, 90, 140}, {34, 142, 138}, {110, 196, 90}, {247, 227, 70}};
	double at = fmin(fmax(share, 0), 1) * 4;
	size_t i = at >= 4 ? 3 : (size_t)at;

	for (size_t k = 0; k < 3; k++)
		rgb[k] = (unsigned)(stops[i][k] +
				    (stops[i + 1][k] - stops[i][k]) * (at - (double)i));
}

static void heat_text(FILE *file, double x, double y, const char *anchor, const char *fill,
		      const char *text)
{
	fprintf(file,
		"<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\" font-size=\"13\" "
		"font-family=\"sans-serif\">",
		x, y, anchor, fill);
	report_escape(file, text);
	fputs("</text>\n", file);
}

static void heat_field(FILE *file, const struct heat *heat, size_t row, size_t column)
{
	const struct report_cell *cell = &heat->cell[row * heat->n_x + column];
	double width = (double)(HEAT_WIDTH - HEAT_LEFT) / (double)heat->n_x;
	double x = HEAT_LEFT + width * (double)column, y = HEAT_TOP + HEAT_FIELD * (double)row;
	double range = heat->max - heat->min, share;
	unsigned rgb[3];
	char text[CELL_TEXT_MAX];

	if (cell->kind != CELL_NUMBER) {
		heat_text(file, x + width / 2, y + 22, "middle", "currentColor",
			  cell->kind == CELL_MISSING ? "n/a" : "");
		return;
	}
	share = range > 0 ? (cell->value - heat->min) / range : 0.5;
	heat_colour(share, rgb);
	fprintf(file,
		"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" "
		"fill=\"rgb(%u,%u,%u)\"/>\n",
		x + 1, y + 1, width - 2, HEAT_FIELD - 2, rgb[0], rgb[1], rgb[2]);
	cell_number(cell->value, text, sizeof(text));
	heat_text(file, x + width / 2, y + 22, "middle", share > 0.6 ? "#111111" : "#ffffff", text);
}

static void heat_axes(FILE *file, const struct heat *heat)
{
	const struct grid *grid = heat->show->grid;
	double width = (double)(HEAT_WIDTH - HEAT_LEFT) / (double)heat->n_x;
	double bottom = HEAT_TOP + HEAT_FIELD * (double)heat->n_series;
	char text[120];

	for (size_t i = 0; i < grid->series.n; i++)
		heat_text(file, HEAT_LEFT - 8, HEAT_TOP + HEAT_FIELD * (double)i + 22, "end",
			  "currentColor", grid->series.level[i].text);
	for (size_t i = 0; i < grid->x.n; i++)
		heat_text(file, HEAT_LEFT + width * ((double)i + 0.5), bottom + 18, "middle",
			  "currentColor", grid->x.level[i].text);
	axis_label(&grid->x, heat->show->test, text, sizeof(text));
	heat_text(file, (HEAT_LEFT + HEAT_WIDTH) / 2.0, bottom + 38, "middle", "currentColor",
		  text);
	axis_label(&grid->series, heat->show->test, text, sizeof(text));
	heat_text(file, 2, bottom + 18, "start", "currentColor", text);
	heat_text(file, HEAT_LEFT, bottom + 82, "start", "currentColor", heat->show->y[0].label);
}

static void heat_scale(FILE *file, const struct heat *heat)
{
	double y = HEAT_TOP + HEAT_FIELD * (double)heat->n_series + 50;
	char text[32];
	unsigned rgb[3];

	cell_number(heat->min, text, sizeof(text));
	heat_text(file, HEAT_LEFT - 8, y + 12, "end", "currentColor", text);
	for (unsigned i = 0; i < 20; i++) {
		heat_colour(i / 19.0, rgb);
		fprintf(file,
			"<rect x=\"%u\" y=\"%.1f\" width=\"6\" height=\"14\" "
			"fill=\"rgb(%u,%u,%u)\"/>\n",
			HEAT_LEFT + 6 * i, y, rgb[0], rgb[1], rgb[2]);
	}
	cell_number(heat->max, text, sizeof(text));
	heat_text(file, HEAT_LEFT + 128, y + 12, "start", "currentColor", text);
}

static void heat_draw(FILE *file, const void *context)
{
	const struct heat *heat = context;

	fprintf(file, "<svg viewBox=\"0 0 %d %zu\" role=\"img\">\n", HEAT_WIDTH,
		HEAT_TOP + HEAT_FIELD * heat->n_series + HEAT_BOTTOM);
	for (size_t row = 0; row < heat->n_series; row++)
		for (size_t column = 0; column < heat->n_x; column++)
			heat_field(file, heat, row, column);
	heat_axes(file, heat);
	heat_scale(file, heat);
	fputs("</svg>\n", file);
}

static int heat_read(struct heat *heat, const struct pick *panel)
{
	const struct view_show *show = heat->show;
	int err = 0;

	for (size_t i = 0; !err && i < heat->n_series * heat->n_x; i++) {
		struct pick pick = *panel;
		struct rows_filter filter;

		pick_add(&pick, &show->grid->x, i % heat->n_x);
		pick_add(&pick, &show->grid->series, i / heat->n_x);
		filter = pick_filter(&pick);
		err = cell_read(&heat->cell[i], show->rows, &filter, &show->y[0]);
		if (!err && heat->cell[i].kind == CELL_NUMBER) {
			heat->min = fmin(heat->min, heat->cell[i].value);
			heat->max = fmax(heat->max, heat->cell[i].value);
		}
	}
	return err;
}

/* Once over all panels for the common scale (draw false), then to draw them. */
static void heat_panels(struct heat *heat, bool draw)
{
	const struct view_show *show = heat->show;
	char title[300];

	for (size_t i = 0; i < show->grid->n_panels; i++) {
		struct pick pick;

		grid_panel(show->grid, i, &pick, title, sizeof(title));
		doc_fail(show->doc, heat_read(heat, &pick));
		if (draw)
			doc_drawing(show->doc, *title ? title : NULL, heat_draw, heat);
	}
}

void view_heat(const struct view_show *show)
{
	struct heat heat = {.show = show,
			    .n_x = axis_places(&show->grid->x),
			    .n_series = axis_places(&show->grid->series),
			    .min = INFINITY,
			    .max = -INFINITY};

	heat.cell = calloc(heat.n_x * heat.n_series, sizeof(*heat.cell));
	if (!heat.cell) {
		doc_fail(show->doc, -ENOMEM);
		return;
	}
	heat_panels(&heat, false);
	doc_heading(show->doc, 4, "", show->view->title);
	if (heat.min <= heat.max) {
		doc_grid_begin(show->doc);
		heat_panels(&heat, true);
		doc_grid_end(show->doc);
	} else {
		doc_text(show->doc, "Not available: no row has a value of %s.", show->y[0].name);
	}
	free(heat.cell);
}
