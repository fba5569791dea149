/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * grid.h - which combinations of parameters a view has: levels of x, of its series, and panels.
 *
 * Owns: the levels of each axis. In: a test, a view of it, rows; out: filters for rows. What varied
 * and is on no axis of the view makes panels as well: numbers of different models, say, are never
 * put together. Pure. Thread: any.
 */
#ifndef GRID_H
#define GRID_H

#include "core/rows.h"
#include "suite/test.h"

#define AXIS_MAX_LEVELS 64
#define GRID_MAX_DIMS	(ROWS_MAX_PARAMS + 2)
#define GRID_MAX_PANELS 36

/* A parameter, "strategy" or "trial". Without a name or levels it is no axis: one place, no filter.
 */
struct axis {
	const char *name;
	const char *unit; /* "" where it has none */
	size_t n;
	struct row_param level[AXIS_MAX_LEVELS];
};

/* Places on axes, and the filter that they make. */
struct pick {
	const char *test, *strategy;
	int trial;
	unsigned n_params;
	struct row_param param[ROWS_MAX_PARAMS];
};

struct grid {
	const struct test *test;
	struct axis x, series;
	size_t n_dims, n_panels; /* at most GRID_MAX_PANELS: */
	size_t left_out;	 /* panels more than that */
	struct axis dim[GRID_MAX_DIMS];
};

/*
 * kpi: whose rows count (NULL: all). extra: an axis whose levels are panels too (NULL: none); x and
 * series may be NULL. -ENOMEM; the grid is the caller's to free().
 */
int grid_create(struct grid **out, const struct test *test, const struct rows *rows,
		const char *kpi, const char *x, const char *series, const char *panel,
		const char *extra);

/* The levels of name (NULL: no axis) among rows of a KPI (NULL: of all): numbers in their order,
 * names as the test declares them. */
void axis_read(struct axis *axis, const struct test *test, const struct rows *rows, const char *kpi,
	       const char *name);
size_t axis_places(const struct axis *axis); /* at least 1 */
/* "fare-spray"; "load 50 %"; "": no axis. */
void axis_text(const struct axis *axis, size_t i, char *out, size_t size);
/* The axis's name with its unit: "size (bytes)"; "model (parameter)" if a KPI has the same name. */
void axis_label(const struct axis *axis, const struct test *test, char *out, size_t size);
/* The same with what the parameter is, below a picture: "size: of a message (bytes)". */
void axis_title(const struct axis *axis, const struct test *test, char *out, size_t size);

void pick_init(struct pick *pick, const struct test *test);
void pick_add(struct pick *pick, const struct axis *axis, size_t i);
struct rows_filter pick_filter(const struct pick *pick); /* of all KPIs; pick's */

/* The panel's places into pick, and its title ("": the only one). */
void grid_panel(const struct grid *grid, size_t panel, struct pick *pick, char *title, size_t size);

#endif
