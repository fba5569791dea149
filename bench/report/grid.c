/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/grid.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/strategy.h"

#define GRID_TITLE_MAX 60 /* of what a parameter is: below a picture of half a page */

/* Where text stands in a list with commas; SIZE_MAX: it does not. */
static size_t axis_place_in(const char *list, const char *text)
{
	size_t length = strlen(text), place = 0;

	while (list && *list) {
		size_t item = strcspn(list, ",");

		if (item == length && strncmp(list, text, length) == 0)
			return place;
		list += item + (list[item] == ',');
		place++;
	}
	return SIZE_MAX;
}

/* Baselines first: what hashes over equal weights, over weights, then fare. */
static size_t axis_strategy_rank(const char *name)
{
	int strategy = strategy_parse(name);
	size_t group = strncmp(name, "ecmp", 4) == 0 ? 0 : strncmp(name, "wecmp", 5) == 0 ? 1 : 2;

	return strategy >= 0 ? group * STRATEGY_COUNT + (size_t)strategy : SIZE_MAX;
}

/* The place of a level that is a name; of what is no strategy, as the test lists it. */
static size_t axis_rank(const struct test *test, const char *name, const char *text)
{
	const struct param *param = test_axis(test, name);
	size_t place = SIZE_MAX;

	if (strcmp(name, "strategy") == 0 && test->strategies)
		return (size_t)test_own_strategy(test, text);
	if (strcmp(name, "strategy") == 0)
		return axis_strategy_rank(text);
	for (int i = PROFILE_COUNT; param && place == SIZE_MAX && i-- > 0;)
		place = axis_place_in(param->level[i], text);
	return place;
}

/* Does level k of names come before the one in front of it? */
static bool axis_is_early(const struct axis *axis, const struct test *test, size_t k)
{
	const struct row_param *before = &axis->level[k - 1], *at = &axis->level[k];

	return isnan(at->number) && isnan(before->number) &&
	       axis_rank(test, axis->name, at->text) < axis_rank(test, axis->name, before->text);
}

/* Trials came in a shuffled order: names are put into that of the declaration. */
static void axis_sort(struct axis *axis, const struct test *test)
{
	for (size_t i = 1; i < axis->n; i++)
		for (size_t k = i; k > 0 && axis_is_early(axis, test, k); k--) {
			struct row_param swap = axis->level[k];

			axis->level[k] = axis->level[k - 1];
			axis->level[k - 1] = swap;
		}
}

void axis_read(struct axis *axis, const struct test *test, const struct rows *rows, const char *kpi,
	       const char *name)
{
	const struct rows_filter filter = {.test = test->id, .kpi = kpi, .trial = -1};
	const struct param *param = name ? test_axis(test, name) : NULL;

	axis->name = name;
	axis->unit = param ? param->unit : "";
	axis->n = name ? rows_levels(rows, &filter, name, axis->level, AXIS_MAX_LEVELS) : 0;
	axis_sort(axis, test);
}

static bool grid_has(const struct grid *grid, const char *name)
{
	bool has = (grid->x.name && strcmp(grid->x.name, name) == 0) ||
		   (grid->series.name && strcmp(grid->series.name, name) == 0);

	for (size_t i = 0; i < grid->n_dims; i++)
		has |= strcmp(grid->dim[i].name, name) == 0;
	return has;
}

/* Another axis of panels, unless it is an axis already, or has no choice of levels. */
static void grid_add(struct grid *grid, const struct rows *rows, const char *kpi, const char *name,
		     size_t min_levels)
{
	struct axis *axis = &grid->dim[grid->n_dims];

	if (!name || grid->n_dims == GRID_MAX_DIMS || grid_has(grid, name))
		return;
	axis_read(axis, grid->test, rows, kpi, name);
	if (axis->n < min_levels)
		return;
	grid->n_dims++;
	grid->n_panels *= axis->n;
}

int grid_create(struct grid **out, const struct test *test, const struct rows *rows,
		const char *kpi, const char *x, const char *series, const char *panel,
		const char *extra)
{
	struct grid *grid = calloc(1, sizeof(*grid));

	if (!grid)
		return -ENOMEM;
	grid->test = test;
	grid->n_panels = 1;
	axis_read(&grid->x, test, rows, kpi, x);
	axis_read(&grid->series, test, rows, kpi, series);
	grid_add(grid, rows, kpi, panel, 1);
	grid_add(grid, rows, kpi, extra, 1);
	for (const struct param *p = test->params; p && p->name; p++)
		grid_add(grid, rows, kpi, p->name, 2);
	grid_add(grid, rows, kpi, "strategy", 2);
	if (grid->n_panels > GRID_MAX_PANELS) {
		grid->left_out = grid->n_panels - GRID_MAX_PANELS;
		grid->n_panels = GRID_MAX_PANELS;
	}
	*out = grid;
	return 0;
}

size_t axis_places(const struct axis *axis)
{
	return axis->n ? axis->n : 1;
}

void axis_text(const struct axis *axis, size_t i, char *out, size_t size)
{
	if (axis->n == 0)
		snprintf(out, size, "%s", "");
	else if (strcmp(axis->name, "strategy") == 0)
		snprintf(out, size, "%s", axis->level[i].text);
	else
		snprintf(out, size, "%s %s%s%s", axis->name, axis->level[i].text,
			 *axis->unit ? " " : "", axis->unit);
}

void axis_label(const struct axis *axis, const struct test *test, char *out, size_t size)
{
	const struct param *param = axis->name ? test_axis(test, axis->name) : NULL;
	size_t length = axis->name ? strlen(axis->name) : 0;

	if (param && *param->unit)
		snprintf(out, size, "%s (%s)", param->name, param->unit);
	else if (param && test_kpi(test, param->name)) /* two columns of one name */
		snprintf(out, size, "%s (parameter)", param->name);
	else if (!param && length > 3 && strcmp(axis->name + length - 3, "_ms") == 0)
		snprintf(out, size, "%.*s (ms)", (int)length - 3, axis->name);
	else
		snprintf(out, size, "%s", axis->name ? axis->name : "");
}

void axis_title(const struct axis *axis, const struct test *test, char *out, size_t size)
{
	const struct param *param = axis->name ? test_axis(test, axis->name) : NULL;

	if (!param || !*param->what || strlen(param->what) > GRID_TITLE_MAX)
		axis_label(axis, test, out, size);
	else
		snprintf(out, size, *param->unit ? "%s: %s (%s)" : "%s: %s", param->name,
			 param->what, param->unit);
}

void pick_init(struct pick *pick, const struct test *test)
{
	*pick = (struct pick){.test = test->id, .trial = -1};
}

void pick_add(struct pick *pick, const struct axis *axis, size_t i)
{
	if (axis->n == 0)
		return;
	if (strcmp(axis->name, "strategy") == 0)
		pick->strategy = axis->level[i].text;
	else if (strcmp(axis->name, "trial") == 0)
		pick->trial = (int)axis->level[i].number;
	else if (pick->n_params < ROWS_MAX_PARAMS)
		pick->param[pick->n_params++] = axis->level[i];
}

struct rows_filter pick_filter(const struct pick *pick)
{
	return (struct rows_filter){.test = pick->test,
				    .strategy = pick->strategy,
				    .n_params = pick->n_params,
				    .param = pick->param,
				    .trial = pick->trial};
}

void grid_panel(const struct grid *grid, size_t panel, struct pick *pick, char *title, size_t size)
{
	size_t used = 0;
	char text[120];

	pick_init(pick, grid->test);
	*title = '\0';
	/* the first axis changes slowest */
	for (size_t left = grid->n_panels + grid->left_out, i = 0; i < grid->n_dims; i++) {
		const struct axis *axis = &grid->dim[i];

		left /= axis->n;
		pick_add(pick, axis, panel / left % axis->n);
		axis_text(axis, panel / left % axis->n, text, sizeof(text));
		if (used < size)
			used += (size_t)snprintf(title + used, size - used, "%s%s", i ? ", " : "",
						 text);
	}
}
