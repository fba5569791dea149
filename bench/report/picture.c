/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/picture.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PICTURE_MAX_TICS 12 /* more do not fit side by side: gnuplot chooses then */

int picture_create(struct picture **out, enum report_plot_kind kind)
{
	struct picture *picture = calloc(1, sizeof(*picture));

	if (!picture)
		return -ENOMEM;
	picture->plot.kind = kind;
	*out = picture;
	return 0;
}

static void picture_series_fini(struct picture_series *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->label[i]);
	free(s->x);
	free(s->y);
	free(s->low);
	free(s->high);
	free(s->open);
	free(s->ringed);
	free(s->label);
}

void picture_destroy(struct picture *picture)
{
	if (!picture)
		return;
	for (size_t i = 0; i < picture->plot.n_series; i++)
		picture_series_fini(&picture->series[i]);
	free(picture);
}

struct report_series *picture_add(struct picture *picture, const char *name)
{
	size_t i = picture->plot.n_series;

	if (i == REPORT_MAX_SERIES)
		return NULL;
	snprintf(picture->series[i].name, sizeof(picture->series[i].name), "%s", name);
	picture->plot.n_series++;
	return &picture->drawn[i];
}

static int picture_grow(void *array, size_t room, size_t size)
{
	void **at = array, *grown = realloc(*at, room * size);

	if (!grown)
		return -ENOMEM;
	*at = grown;
	return 0;
}

static int picture_room(struct picture_series *s)
{
	size_t room = s->room ? 2 * s->room : 16;

	if (s->n < s->room)
		return 0;
	if (picture_grow(&s->x, room, sizeof(*s->x)) || picture_grow(&s->y, room, sizeof(*s->y)) ||
	    picture_grow(&s->low, room, sizeof(*s->low)) ||
	    picture_grow(&s->high, room, sizeof(*s->high)) ||
	    picture_grow(&s->open, room, sizeof(*s->open)) ||
	    picture_grow(&s->ringed, room, sizeof(*s->ringed)) ||
	    picture_grow(&s->label, room, sizeof(*s->label)))
		return -ENOMEM;
	s->room = room;
	return 0;
}

static struct picture_series *picture_last(struct picture *picture)
{
	return &picture->series[picture->plot.n_series - 1];
}

/* Levels of x stand at their index. */
static bool picture_is_bars(const struct picture *picture)
{
	return picture->plot.kind == REPORT_BARS || picture->plot.kind == REPORT_STACK ||
	       picture->plot.kind == REPORT_HEAT;
}

int picture_point(struct picture *picture, double x, const struct report_cell *cell)
{
	struct picture_series *s = picture_last(picture);
	bool is_bar = picture_is_bars(picture);

	if (cell->kind != CELL_NUMBER && !is_bar)
		return 0;
	if (picture_room(s))
		return -ENOMEM;
	s->x[s->n] = x;
	s->y[s->n] = cell->kind == CELL_NUMBER ? cell->value : NAN;
	s->low[s->n] = cell->low;
	s->high[s->n] = cell->high;
	s->open[s->n] = cell->is_max;
	s->ringed[s->n] = false;
	s->label[s->n] = NULL;
	s->has_interval |= cell->low < cell->high;
	s->has_open |= cell->is_max;
	s->n++;
	return 0;
}

int picture_xy(struct picture *picture, double x, double y)
{
	const struct report_cell cell = {.kind = CELL_NUMBER, .value = y, .low = y, .high = y};

	return picture_point(picture, x, &cell);
}

int picture_label(struct picture *picture, const char *text)
{
	struct picture_series *s = picture_last(picture);

	if (s->n == 0 || s->label[s->n - 1])
		return 0;
	s->label[s->n - 1] = strdup(text);
	s->has_label = true;
	return s->label[s->n - 1] ? 0 : -ENOMEM;
}

int picture_field(struct picture *picture, size_t x, size_t y, double value, const char *text)
{
	const struct report_cell cell = {
		.kind = CELL_NUMBER, .value = (double)y, .low = value, .high = value};
	struct picture_series *s = picture_last(picture);
	int err = picture_point(picture, (double)x, &cell);

	if (err)
		return err;
	s->open[s->n - 1] = !isfinite(value);
	s->has_interval = s->has_open = true;
	return picture_label(picture, text);
}

void picture_ring(struct picture *picture, size_t series, size_t point)
{
	picture->series[series].ringed[point] = true;
	picture->series[series].has_ringed = true;
}

double picture_x(const struct axis *axis, size_t i)
{
	for (size_t k = 0; k < axis->n; k++)
		if (!isfinite(axis->level[k].number))
			return (double)i;
	return axis->n ? axis->level[i].number : 0;
}

void picture_axis(struct picture *picture, const struct axis *axis, const struct test *test,
		  bool logarithmic)
{
	bool is_bars = picture_is_bars(picture);

	axis_title(axis, test, picture->x_label, sizeof(picture->x_label));
	picture->plot.log_x = logarithmic && !is_bars;
	for (size_t i = 0; i < axis->n; i++) {
		picture->tic[i] = axis->level[i].text;
		picture->tic_x[i] = picture_x(axis, i);
		picture->plot.log_x &= picture->tic_x[i] > 0;
	}
	if (axis->n == 0)
		picture->tic[0] = "";
	picture->plot.n_tics = axis->n;
	if (is_bars || (axis->n > 0 && axis->n <= PICTURE_MAX_TICS))
		picture->plot.categories = picture->tic;
	if (!is_bars)
		picture->plot.tic_x = picture->tic_x;
}

double picture_max(const struct picture *picture, bool right)
{
	bool is_heat = picture->plot.kind == REPORT_HEAT;
	double max = 0, sum = 0;

	for (size_t i = 0; i < picture->plot.n_series; i++) {
		const struct picture_series *s = &picture->series[i];
		double highest = 0;

		for (size_t k = 0; k < s->n; k++)
			if (isfinite(s->y[k]))
				highest = fmax(highest, fmax(s->high[k], is_heat ? 0 : s->y[k]));
		sum += highest;
		if (is_heat || picture->drawn[i].right == right)
			max = fmax(max, highest);
	}
	return picture->plot.kind == REPORT_STACK ? sum : max;
}

bool picture_is_empty(const struct picture *picture)
{
	bool is_heat = picture->plot.kind == REPORT_HEAT;

	for (size_t i = 0; i < picture->plot.n_series; i++)
		for (size_t k = 0; k < picture->series[i].n; k++)
			if (isfinite(is_heat ? picture->series[i].high[k]
					     : picture->series[i].y[k]))
				return false;
	return true;
}

/* A series without a point, as a strategy has that was not measured, or a model that there is none
 * of: its name would stand in the legend, and nothing in the picture. */
static void picture_drop_empty(struct picture *picture)
{
	size_t kept = 0;

	for (size_t i = 0; i < picture->plot.n_series; i++) {
		if (picture->series[i].n == 0)
			continue;
		if (kept < i) {
			picture->series[kept] = picture->series[i];
			picture->drawn[kept] = picture->drawn[i];
			picture->series[i] = (struct picture_series){.n = 0};
		}
		kept++;
	}
	picture->plot.n_series = kept;
}

const struct report_plot *picture_plot(struct picture *picture)
{
	struct report_plot *plot = &picture->plot;

	picture_drop_empty(picture);
	for (size_t i = 0; i < plot->n_series; i++) {
		struct picture_series *s = &picture->series[i];
		struct report_series *drawn = &picture->drawn[i];

		drawn->name = *s->name ? s->name : NULL;
		drawn->x = s->x;
		drawn->y = s->y;
		drawn->n = s->n;
		drawn->y_low = s->has_interval ? s->low : NULL;
		drawn->y_high = s->has_interval ? s->high : NULL;
		drawn->open = s->has_open ? s->open : NULL;
		drawn->ringed = s->has_ringed ? s->ringed : NULL;
		drawn->label = s->has_label ? (const char *const *)s->label : NULL;
	}
	plot->series = picture->drawn;
	plot->title = *picture->title ? picture->title : NULL;
	plot->x_label = picture->x_label;
	plot->y_label = picture->y_label;
	plot->y2_label = *picture->y2_label ? picture->y2_label : NULL;
	return plot;
}
