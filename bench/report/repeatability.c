/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/repeatability.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/stats.h"
#include "report/grid.h"
#include "report/lead.h"

#define REPEATABILITY_COLUMNS 7

/* The CV of the trials at a place; NaN: there are fewer than two, or it has no number. */
static int repeatability_cv(struct repeatability *r, const struct rows *rows,
			    const struct column *column, const struct pick *pick, double *cv)
{
	struct rows_filter filter = pick_filter(pick);
	struct report_cell cell;
	int err = cell_read(&cell, rows, &filter, column);

	*cv = !err && cell.kind == CELL_NUMBER ? cell.cv : NAN;
	if (!isfinite(*cv))
		return err;
	r->least = r->combinations && r->least < cell.trials ? r->least : cell.trials;
	r->most = r->most > cell.trials ? r->most : cell.trials;
	r->below += *cv < REPEATABILITY_CV;
	r->combinations++;
	return 0;
}

static int repeatability_collect(struct repeatability *r, const struct rows *rows,
				 const struct column *column, const struct grid *grid, double *cvs)
{
	int err = 0;

	for (size_t i = 0; !err && i < grid->n_panels + grid->left_out; i++) {
		struct pick pick;
		char title[300];

		grid_panel(grid, i, &pick, title, sizeof(title));
		err = repeatability_cv(r, rows, column, &pick, &cvs[r->combinations]);
	}
	return err;
}

int repeatability_read(struct repeatability *out, const struct test *test, const struct rows *rows,
		       const struct column *column)
{
	struct grid *grid;
	double *cvs;
	int err = grid_create(&grid, test, rows, column->kpi->name, NULL, NULL, NULL, NULL);

	*out = (struct repeatability){.middle = NAN, .highest = NAN};
	if (err)
		return err;
	/* + 1: to have none is no failure */
	cvs = calloc(grid->n_panels + grid->left_out + 1, sizeof(*cvs));
	err = cvs ? repeatability_collect(out, rows, column, grid, cvs) : -ENOMEM;
	if (!err && out->combinations) {
		qsort(cvs, out->combinations, sizeof(*cvs), stats_ascending);
		out->middle = stats_quantile(cvs, out->combinations, 0.5);
		out->highest = cvs[out->combinations - 1];
	}
	free(cvs);
	free(grid);
	return err;
}

static void repeatability_percent(double cv, char *out, size_t size)
{
	snprintf(out, size, cv >= 0.0995 ? "%.0f%%" : "%.2g%%", 100 * cv);
}

static int repeatability_row(struct table *table, const struct test *test, const struct rows *rows)
{
	char text[REPEATABILITY_COLUMNS][200];
	const char *cell[REPEATABILITY_COLUMNS];
	struct repeatability r;
	struct column column;
	int err;

	if (!lead_headline(test, &column))
		return 0;
	err = repeatability_read(&r, test, rows, &column);
	if (err || !r.combinations)
		return err;
	snprintf(text[0], sizeof(text[0]), "%s", test->id);
	snprintf(text[1], sizeof(text[1]), "%s", column.label);
	snprintf(text[2], sizeof(text[2]), "%zu", r.combinations);
	snprintf(text[3], sizeof(text[3]), r.least == r.most ? "%u" : "%u to %u", r.least, r.most);
	repeatability_percent(r.middle, text[4], sizeof(text[4]));
	repeatability_percent(r.highest, text[5], sizeof(text[5]));
	snprintf(text[6], sizeof(text[6]), "%zu of %zu", r.below, r.combinations);
	for (int i = 0; i < REPEATABILITY_COLUMNS; i++)
		cell[i] = text[i];
	return table_row(table, cell);
}

void repeatability_show(struct doc *doc, const struct results *results,
			const struct results_tests *tests)
{
	static const char *const headers[REPEATABILITY_COLUMNS] = {
		"Test", "Primary metric", "Combinations", "Trials of each",
		"CV",	"Highest CV",	  "Below 5%"};
	struct table *table = doc_table_of(doc, REPEATABILITY_COLUMNS, headers);

	if (!table)
		return;
	for (size_t i = 0; i < tests->n; i++) {
		struct rows *rows;
		int err = results_test(results, tests->test[i], &rows);

		if (!err) {
			err = repeatability_row(table, tests->test[i], rows);
			rows_close(rows);
		}
		doc_fail(doc, err);
	}
	doc_heading(doc, 2, "repeatability", "Repeatability");
	doc_text(doc,
		 "Of each test's primary metric: the coefficient of variation (CV: standard "
		 "deviation over mean) of the trials of a combination of parameters and strategy, "
		 "the middle one and the highest of those that have two trials or more. Section "
		 "13 of the training draft recommends less than 5%% for a test to be valid.");
	if (table_rows(table) > 1) {
		doc_table(doc, table);
		return;
	}
	doc_text(doc,
		 "No combination has two trials: nothing says how repeatable the figures are.");
	table_destroy(table);
}
