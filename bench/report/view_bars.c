/* SPDX-License-Identifier: BSD-2-Clause */
/* view_bars.c - bars over x, side by side or on each other; distributions. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/view_internal.h"

/* A bar at each place of x; series below 0: no such axis. */
static int view_bar_points(const struct view_show *show, const struct pick *panel, int series,
			   const struct column *column, struct picture *out)
{
	int err = 0;

	for (size_t i = 0; !err && i < axis_places(&show->grid->x); i++) {
		struct pick pick = *panel;
		struct rows_filter filter;
		struct report_cell cell;

		pick_add(&pick, &show->grid->x, i);
		if (series >= 0)
			pick_add(&pick, &show->grid->series, (size_t)series);
		filter = pick_filter(&pick);
		err = cell_read(&cell, show->rows, &filter, column);
		if (!err)
			err = picture_point(out, (double)i, &cell);
		if (!err && cell.is_max && out->plot.kind == REPORT_BARS)
			err = picture_label(out, "max");
	}
	return err;
}

int view_build_bars(const struct view_show *show, const struct pick *panel, struct picture *out)
{
	int err = 0;

	picture_axis(out, &show->grid->x, show->test, false);
	snprintf(out->y_label, sizeof(out->y_label), "%s", show->y[0].label);
	for (size_t i = 0; !err && i < axis_places(&show->grid->series); i++) {
		struct report_series *drawn;
		char name[140];

		axis_text(&show->grid->series, i, name, sizeof(name));
		drawn = picture_add(out, name);
		if (!drawn)
			break;
		drawn->style = view_style(show, i);
		err = view_bar_points(show, panel, (int)i, &show->y[0], out);
	}
	return err;
}

int view_build_stack(const struct view_show *show, const struct pick *panel, struct picture *out)
{
	unsigned style = view_panel_style(show, panel);
	int err = 0;

	picture_axis(out, &show->grid->x, show->test, false);
	snprintf(out->y_label, sizeof(out->y_label), "sum of the parts (%s)", show->y[0].kpi->unit);
	for (size_t y = 0; !err && y < show->n_y; y++) {
		struct report_series *drawn = picture_add(out, show->y[y].name);

		if (!drawn)
			break;
		drawn->style = style;
		drawn->line = style ? (unsigned)y + 1 : 0;
		err = view_bar_points(show, panel, -1, &show->y[y], out);
	}
	return err;
}

/* Steps: the share of measurements at most as large as the end of each bucket. */
static int view_cdf_series(const struct hist *hist, double scale, struct picture *out)
{
	uint64_t below = 0;
	int err = picture_xy(out, (double)hist->min * scale, 0);

	for (unsigned i = 0; !err && i < HIST_BUCKETS; i++) {
		double end = fmin((double)(hist_high(i) - 1), (double)hist->max);

		if (!hist->bucket[i])
			continue;
		below += hist->bucket[i];
		err = picture_xy(out, end * scale, (double)below / (double)hist->n);
	}
	return err;
}

static int view_cdf_one(const struct view_show *show, const struct pick *panel, size_t i,
			struct hist *hist, struct picture *out)
{
	const struct kpi *kpi = show->y[0].kpi;
	struct pick pick = *panel;
	struct rows_filter filter;
	struct report_series *drawn;
	char series[80], name[140];

	pick_add(&pick, &show->grid->series, i);
	filter = pick_filter(&pick);
	filter.kpi = kpi->name;
	hist_init(hist);
	rows_hist(show->rows, &filter, hist);
	if (hist->n == 0)
		return 0;
	axis_text(&show->grid->series, i, series, sizeof(series));
	snprintf(name, sizeof(name), "%s%sn=%llu", series, *series ? ", " : "",
		 (unsigned long long)hist->n);
	drawn = picture_add(out, name);
	if (!drawn)
		return 0;
	drawn->style = view_style(show, i);
	return view_cdf_series(hist, kpi->scale > 0 ? kpi->scale : 1, out);
}

int view_build_cdf(const struct view_show *show, const struct pick *panel, struct picture *out)
{
	struct hist *hist = malloc(sizeof(*hist));
	int err = hist ? 0 : -ENOMEM;

	snprintf(out->x_label, sizeof(out->x_label), "%s", show->y[0].label);
	snprintf(out->y_label, sizeof(out->y_label), "share at most as large");
	out->plot.log_x = show->view->log_x;
	out->plot.y_max = 1;
	for (size_t i = 0; !err && i < axis_places(&show->grid->series); i++)
		err = view_cdf_one(show, panel, i, hist, out);
	free(hist);
	return err;
}
