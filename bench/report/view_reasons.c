/* SPDX-License-Identifier: BSD-2-Clause */
/* view_reasons.c - why cells of a table are n/a, and which trials of others are missing. */
#include <stdio.h>
#include <string.h>

#include "report/view_internal.h"

#define REASONS_MAX	   96
#define REASONS_MAX_PLACES 6

/* Rows of one KPI that give one reason. */
struct reason {
	const char *kpi, *why;
	bool is_partial;			     /* other trials of the cell have a value */
	const struct row *place[REASONS_MAX_PLACES]; /* one of each cell */
	size_t n_places, more;
};

struct reasons {
	struct reason reason[REASONS_MAX];
	size_t n;
	unsigned left_out; /* rows */
};

static bool reasons_is_column(const struct view_show *show, const struct row *row)
{
	for (size_t y = 0; y < show->n_y; y++)
		if (strcmp(show->y[y].kpi->name, row->kpi) == 0)
			return true;
	return false;
}

/* Does another trial of the same place have a value? */
static bool reasons_is_partial(const struct rows *rows, const struct row *row)
{
	const struct rows_filter same = rows_like(row);

	for (size_t i = rows_next(rows, &same, 0); i < rows_count(rows);
	     i = rows_next(rows, &same, i + 1))
		if (!rows_at(rows, i)->missing)
			return true;
	return false;
}

static void reasons_place(struct reason *reason, const struct row *row)
{
	for (size_t i = 0; i < reason->n_places; i++) {
		const struct rows_filter same = rows_like(reason->place[i]);

		if (row_matches(row, &same))
			return;
	}
	if (reason->n_places < REASONS_MAX_PLACES)
		reason->place[reason->n_places++] = row;
	else
		reason->more++;
}

static void reasons_take(struct reasons *r, const struct row *row, bool is_partial)
{
	struct reason *reason = r->reason;

	while (reason < r->reason + r->n &&
	       (strcmp(reason->kpi, row->kpi) != 0 || strcmp(reason->why, row->missing) != 0 ||
		reason->is_partial != is_partial))
		reason++;
	if (reason == r->reason + REASONS_MAX) {
		r->left_out++;
		return;
	}
	if (reason == r->reason + r->n) {
		*reason = (struct reason){
			.kpi = row->kpi, .why = row->missing, .is_partial = is_partial};
		r->n++;
	}
	reasons_place(reason, row);
}

/* "size 1M, "; nothing where the table has one level of it, or none. */
static size_t reasons_axis(const struct axis *axis, const struct row *row, char *out, size_t size)
{
	const struct row_param *param = axis->name ? row_param(row, axis->name) : NULL;
	int used = 0;

	if (axis->n > 1 && strcmp(axis->name, "strategy") == 0)
		used = snprintf(out, size, "%s, ", row->strategy);
	else if (axis->n > 1 && param)
		used = snprintf(out, size, "%s %s, ", param->name, param->text);
	return (size_t)used < size ? (size_t)used : size - 1;
}

/* "size 1M, load 90, ecmp-flow": as far as the table has columns of them. */
static size_t reasons_cell(const struct grid *grid, const struct row *row, char *out, size_t size)
{
	size_t used = 0;

	*out = '\0';
	for (size_t i = 0; i < grid->n_dims; i++)
		used += reasons_axis(&grid->dim[i], row, out + used, size - used);
	used += reasons_axis(&grid->x, row, out + used, size - used);
	used += reasons_axis(&grid->series, row, out + used, size - used);
	if (used >= 2)
		out[used -= 2] = '\0';
	return used;
}

/* Is there another reason why that KPI is n/a? Then it has to be said where which holds. */
static bool reasons_are_several(const struct reasons *r, const struct reason *of)
{
	for (size_t i = 0; i < r->n; i++)
		if (&r->reason[i] != of && strcmp(r->reason[i].kpi, of->kpi) == 0)
			return true;
	return false;
}

/* Do both hold at the same cells, of two KPIs? */
static bool reasons_are_alike(const struct reason *a, const struct reason *b)
{
	if (strcmp(a->why, b->why) != 0 || a->is_partial != b->is_partial ||
	    a->n_places != b->n_places || a->more != b->more)
		return false;
	for (size_t i = 0; i < a->n_places; i++) {
		struct rows_filter same = rows_like(a->place[i]);

		same.kpi = NULL;
		if (!row_matches(b->place[i], &same) ||
		    a->place[i]->n_params != b->place[i]->n_params)
			return false;
	}
	return true;
}

/* A reason is said once, of all KPIs that have it at the same cells; kpis: "JCT, BusBW". False: it
 * was said with one before. */
static bool reasons_kpis(const struct reasons *r, size_t at, char *kpis, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < r->n && used < size; i++) {
		if (!reasons_are_alike(&r->reason[at], &r->reason[i]))
			continue;
		if (i < at)
			return false;
		used += (size_t)snprintf(kpis + used, size - used, "%s%s", used ? ", " : "",
					 r->reason[i].kpi);
	}
	return true;
}

static void reasons_show(const struct view_show *show, const struct reasons *r, size_t at)
{
	const struct reason *reason = &r->reason[at];
	char places[1024] = "", more[48] = "", kpis[640];
	size_t used = 0;

	if (!reasons_kpis(r, at, kpis, sizeof(kpis)))
		return;
	for (size_t i = 0; i < reason->n_places && used + 2 < sizeof(places); i++) {
		if (i)
			used += (size_t)snprintf(places + used, sizeof(places) - used, "; ");
		used += reasons_cell(show->grid, reason->place[i], places + used,
				     sizeof(places) - used);
	}
	if (reason->more)
		snprintf(more, sizeof(more), "; and more");
	if (reason->is_partial)
		doc_text(show->doc, "%s%s%s: a trial has no %s (%s); the cell is of the others.",
			 *places ? "At " : "", *places ? places : "Of a cell", more, kpis,
			 reason->why);
	else if (*places && reasons_are_several(r, reason))
		doc_text(show->doc, "n/a (%s: %s%s): %s.", kpis, places, more, reason->why);
	else
		doc_text(show->doc, "n/a (%s): %s.", kpis, reason->why);
}

void view_reasons(const struct view_show *show)
{
	struct reasons r = {.n = 0};

	for (size_t i = 0; i < rows_count(show->rows); i++) {
		const struct row *row = rows_at(show->rows, i);

		if (row->missing && reasons_is_column(show, row))
			reasons_take(&r, row, reasons_is_partial(show->rows, row));
	}
	for (size_t i = 0; i < r.n; i++)
		reasons_show(show, &r, i);
	if (r.left_out)
		doc_text(show->doc, "%u more rows without a value: see Not measured.", r.left_out);
}
