/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * picture.h - series of points that grow, as a plot (report.h).
 *
 * Owns: the points and names. In: series, points, cells; out: a struct report_plot that points into
 * it. Thread: one.
 */
#ifndef PICTURE_H
#define PICTURE_H

#include "report/cell.h"
#include "report/grid.h"
#include "report/report.h"

struct picture_series {
	char name[140];
	double *x, *y, *low, *high;
	bool *open, *ringed;
	char **label;
	size_t n, room;
	bool has_interval, has_open, has_ringed, has_label;
};

struct picture {
	char title[300], x_label[120], y_label[140], y2_label[140];
	const char *tic[AXIS_MAX_LEVELS], *row[AXIS_MAX_LEVELS];
	double tic_x[AXIS_MAX_LEVELS];
	struct report_series drawn[REPORT_MAX_SERIES];
	struct picture_series series[REPORT_MAX_SERIES];
	struct report_plot plot;
};

int picture_create(struct picture **out, enum report_plot_kind kind); /* -ENOMEM */
void picture_destroy(struct picture *picture);			      /* NULL is fine */

/* The next series; set members of its looks (style, right, ...) through what is returned. NULL:
 * there are REPORT_MAX_SERIES already. */
struct report_series *picture_add(struct picture *picture, const char *name);
/* To the last series. A cell that holds no number is left out, but on bars, where it leaves its
 * place empty. -ENOMEM. */
int picture_point(struct picture *picture, double x, const struct report_cell *cell);
int picture_xy(struct picture *picture, double x, double y);
/* A field of REPORT_HEAT to the last series: its colour, its text. Not finite: it has no colour. */
int picture_field(struct picture *picture, size_t x, size_t y, double value, const char *text);
/* To the last point. */
int picture_label(struct picture *picture, const char *text);
/* Rings around points of series. */
void picture_ring(struct picture *picture, size_t series, size_t point);

/*
 * The axis x: where level i stands, and tics named as the levels are. Levels that are names stand
 * at 0, 1, 2; a logarithmic axis is linear if a level is not above 0.
 */
void picture_axis(struct picture *picture, const struct axis *axis, const struct test *test,
		  bool logarithmic);
double picture_x(const struct axis *axis, size_t i);

/* The largest value (with its interval) on the left axis, or on the right; of colours. */
double picture_max(const struct picture *picture, bool right);
/* Points into picture. */
const struct report_plot *picture_plot(struct picture *picture);
bool picture_is_empty(const struct picture *picture);

#endif
