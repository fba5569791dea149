/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/view.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/view_internal.h"

struct view_builder {
	enum report_plot_kind kind;
	int (*build)(const struct view_show *show, const struct pick *panel, struct picture *out);
	bool x_is_panel, series_is_panel; /* axes that the kind has no use for */
	bool own_scale;			  /* panels are not drawn to one scale */
};

static const struct view_builder view_builders[] = {
	[VIEW_LINES] = {REPORT_LINES, view_build_lines, false, false, false},
	[VIEW_CDF] = {REPORT_STEPS, view_build_cdf, true, false, true},
	[VIEW_HEAT] = {REPORT_HEAT, view_build_heat, false, false, false},
	[VIEW_STACK] = {REPORT_STACK, view_build_stack, false, true, false},
	[VIEW_BARS] = {REPORT_BARS, view_build_bars, false, false, false},
	[VIEW_DUAL] = {REPORT_LINES, view_build_dual, false, false, false},
	[VIEW_PANELS] = {REPORT_LINES, view_build_dual, false, false, false},
	[VIEW_SHADED] = {REPORT_LINES, view_build_shaded, false, true, false},
	[VIEW_TREND] = {REPORT_LINES, view_build_trend, false, false, true},
};

unsigned view_style(const struct view_show *show, size_t i)
{
	const struct axis *axis = &show->grid->series;

	if (!axis->n || !axis->name || strcmp(axis->name, "strategy") != 0)
		return (unsigned)i + 1;
	return test_strategy_style(show->test, axis->level[i].text, (unsigned)i);
}

unsigned view_panel_style(const struct view_show *show, const struct pick *panel)
{
	return panel->strategy ? test_strategy_style(show->test, panel->strategy, 0) : 0;
}

static int view_parse(struct view_show *show)
{
	for (size_t i = 0; i < TEST_MAX_COLUMNS && show->view->y[i]; i++) {
		int err = column_parse(&show->y[show->n_y], show->test, show->view->y[i]);

		if (err) {
			doc_text(show->doc, "%s: the test declares no KPI \"%s\".",
				 show->view->title, show->view->y[i]);
			return err;
		}
		show->n_y++;
	}
	return show->n_y ? 0 : -EINVAL;
}

static int view_grid(struct view_show *show)
{
	const struct view *view = show->view;
	const struct view_builder *b = &view_builders[view->kind];
	bool is_table = view->kind == VIEW_TABLE, is_trend = view->kind == VIEW_TREND;
	const char *x = is_trend || b->x_is_panel ? NULL : view->x;
	const char *series = b->series_is_panel ? NULL : view->series;
	const char *extra = b->x_is_panel ? view->x : b->series_is_panel ? view->series : NULL;

	/* a table of several KPIs has the places of all rows; of one, those of its own, which may
	 * lack a parameter that others have */
	return grid_create(&show->grid, show->test, show->rows,
			   is_table && show->n_y > 1 ? NULL : show->y[0].kpi->name, x, series,
			   view->panel, extra);
}

/* The reason that the first row without a value gives. */
static void view_report_missing(const struct view_show *show)
{
	struct pick all;
	struct rows_filter filter;
	struct report_cell cell;

	pick_init(&all, show->test);
	filter = pick_filter(&all);
	doc_fail(show->doc, cell_read(&cell, show->rows, &filter, &show->y[0]));
	doc_text(show->doc, "%s: not available: %s.", show->view->title,
		 cell.kind == CELL_MISSING ? cell.text : "no row has a value of it");
}

static bool view_has_open(const struct picture *picture)
{
	for (size_t i = 0; i < picture->plot.n_series; i++)
		if (picture->series[i].has_open)
			return true;
	return false;
}

static bool view_has_rings(const struct picture *picture)
{
	for (size_t i = 0; i < picture->plot.n_series; i++)
		if (picture->series[i].has_ringed)
			return true;
	return false;
}

/* What the marks in the pictures mean. */
static void view_legend(const struct view_show *show, struct picture *const *panel, size_t n)
{
	bool open = false, rings = false;

	for (size_t i = 0; i < n && show->view->kind != VIEW_HEAT; i++) {
		open |= view_has_open(panel[i]);
		rings |= view_has_rings(panel[i]);
	}
	if (open && (show->view->kind == VIEW_STACK || show->view->kind == VIEW_SHADED))
		doc_text(show->doc,
			 "%s with too few measurements for the percentile are the "
			 "largest measured; the table says which.",
			 show->view->kind == VIEW_STACK ? "Parts" : "Open points and shaded parts");
	else if (open)
		doc_text(show->doc, "Open points, and bars with \"max\": too few measurements for "
				    "the percentile; the largest is shown.");
	if (rings)
		doc_text(show->doc, "Ringed: on the Pareto front of %s and %s.", show->y[0].name,
			 show->y[1].name);
	if (show->view->note && axis_places(&show->grid->series) <= VIEW_MAX_NOTES)
		doc_text(show->doc, "Numbers at the points: %s.", show->view->note);
	if (show->grid->left_out)
		doc_text(show->doc, "%zu further panels are left out; rows.csv has their values.",
			 show->grid->left_out);
}

/* What the names at the axes mean. */
static void view_axes(const struct view_show *show)
{
	const struct param *x = show->view->x ? test_axis(show->test, show->view->x) : NULL;
	const char *of_x = x ? x->what : "", *of_y = show->y[0].kpi->what;

	if ((show->view->kind != VIEW_LINES && show->view->kind != VIEW_BARS) || !*of_y)
		return;
	doc_text(show->doc, "Up: %s, %s.%s%s%s%s%s", show->y[0].name, of_y,
		 *of_x ? " Across: " : "", *of_x ? show->view->x : "", *of_x ? ", " : "", of_x,
		 *of_x ? "." : "");
}

static void view_draw(const struct view_show *show, struct picture *const *panel, size_t n)
{
	double max = 0, max2 = 0;

	for (size_t i = 0; i < n; i++) {
		max = fmax(max, picture_max(panel[i], false));
		max2 = fmax(max2, picture_max(panel[i], true));
	}
	doc_heading(show->doc, 4, "", show->view->title);
	view_axes(show);
	if (n > 1)
		doc_grid_begin(show->doc);
	for (size_t i = 0; i < n; i++) {
		panel[i]->plot.compact = n > 1;
		panel[i]->plot.log_y = show->view->log_y;
		panel[i]->plot.from_zero = show->view->kind != VIEW_TREND;
		if (n > 1 && !view_builders[show->view->kind].own_scale) {
			panel[i]->plot.y_max = show->view->kind == VIEW_HEAT ? 0 : max;
			panel[i]->plot.y2_max = max2;
		}
		doc_plot(show->doc, picture_plot(panel[i]));
	}
	if (n > 1)
		doc_grid_end(show->doc);
	view_legend(show, panel, n);
}

/* Builds the panels that have something to show. */
static int view_panels(const struct view_show *show, struct picture **panel, size_t *n)
{
	const struct view_builder *b = &view_builders[show->view->kind];
	int err = 0;

	*n = 0;
	for (size_t i = 0; !err && i < show->grid->n_panels; i++) {
		struct pick pick;

		err = picture_create(&panel[*n], b->kind);
		if (err)
			break;
		grid_panel(show->grid, i, &pick, panel[*n]->title, sizeof(panel[*n]->title));
		err = b->build(show, &pick, panel[*n]);
		if (err || picture_is_empty(panel[*n]))
			picture_destroy(panel[*n]);
		else
			(*n)++;
	}
	return err;
}

static void view_pictures(const struct view_show *show)
{
	struct picture *panel[GRID_MAX_PANELS];
	size_t n;

	doc_fail(show->doc, view_panels(show, panel, &n));
	if (n)
		view_draw(show, panel, n);
	else
		view_report_missing(show);
	while (n > 0)
		picture_destroy(panel[--n]);
}

/* Lines over an axis with one place show no course. */
static bool view_is_one_x(const struct view_show *show)
{
	return show->view->kind == VIEW_LINES && show->grid->x.n == 1;
}

static void view_no_course(const struct view_show *show)
{
	char level[80];

	axis_text(&show->grid->x, 0, level, sizeof(level));
	doc_text(show->doc,
		 "%s: no picture, as there is one place on its axis (%s); the values are in the "
		 "tables, and in rows.csv.",
		 show->view->title, level);
}

void view_show(struct doc *doc, const struct test *test, const struct view *view,
	       const struct rows *rows)
{
	struct view_show *show = calloc(1, sizeof(*show));

	if (!show) {
		doc_fail(doc, -ENOMEM);
		return;
	}
	show->doc = doc;
	show->test = test;
	show->view = view;
	show->rows = rows;
	if (!view_parse(show)) {
		int err = view_grid(show);

		if (err)
			doc_fail(doc, err);
		else if (view->kind == VIEW_TABLE)
			view_table(show);
		else if (view_is_one_x(show))
			view_no_course(show);
		else
			view_pictures(show);
	}
	free(show->grid);
	free(show);
}
