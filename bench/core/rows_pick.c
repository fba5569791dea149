/* SPDX-License-Identifier: BSD-2-Clause */
/* rows_pick.c - rows chosen by test, KPI, strategy and parameters (rows.h). */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/rows.h"

const struct row_param *row_param(const struct row *row, const char *name)
{
	for (unsigned i = 0; i < row->n_params; i++)
		if (strcmp(row->param[i].name, name) == 0)
			return &row->param[i];
	return NULL;
}

static bool row_has(const char *wanted, const char *is)
{
	return !wanted || !*wanted || strcmp(wanted, is) == 0;
}

bool row_matches(const struct row *row, const struct rows_filter *filter)
{
	if (!row_has(filter->test, row->test) || !row_has(filter->kpi, row->kpi) ||
	    !row_has(filter->strategy, row->strategy) ||
	    (filter->trial >= 0 && row->trial != (unsigned)filter->trial))
		return false;
	for (unsigned i = 0; i < filter->n_params; i++) {
		const struct row_param *param = row_param(row, filter->param[i].name);

		if (!param || strcmp(param->text, filter->param[i].text) != 0)
			return false;
	}
	return true;
}

size_t rows_next(const struct rows *rows, const struct rows_filter *filter, size_t from)
{
	while (from < rows_count(rows) && !row_matches(rows_at(rows, from), filter))
		from++;
	return from;
}

int rows_values(const struct rows *rows, const struct rows_filter *filter, double **out)
{
	double *values = NULL;
	size_t n = 0, room = 0;

	for (size_t i = rows_next(rows, filter, 0); i < rows_count(rows);
	     i = rows_next(rows, filter, i + 1)) {
		if (!isfinite(rows_at(rows, i)->value))
			continue;
		if (n == room) {
			double *grown;

			room = room ? 2 * room : 32;
			grown = realloc(values, room * sizeof(*values));
			if (!grown) {
				free(values);
				return -ENOMEM;
			}
			values = grown;
		}
		values[n++] = rows_at(rows, i)->value;
	}
	*out = values;
	return (int)n;
}

size_t rows_hist(const struct rows *rows, const struct rows_filter *filter, struct hist *sum)
{
	size_t n = 0;

	for (size_t i = rows_next(rows, filter, 0); i < rows_count(rows);
	     i = rows_next(rows, filter, i + 1))
		if (rows_at(rows, i)->hist) {
			hist_merge(sum, rows_at(rows, i)->hist);
			n++;
		}
	return n;
}

/* The level of row; false: it has none. */
static bool row_level(const struct row *row, const char *param, struct row_param *level)
{
	const struct row_param *own;
	char text[16];

	if (strcmp(param, "strategy") == 0)
		return *row->strategy && row_param_set(level, param, row->strategy) == 0;
	if (strcmp(param, "trial") == 0) {
		snprintf(text, sizeof(text), "%u", row->trial);
		return row_param_set(level, param, text) == 0;
	}
	own = row_param(row, param);
	if (own)
		*level = *own;
	return own != NULL;
}

/* Does a come behind b? Names come last, as they were seen. */
static bool row_level_after(const struct row_param *a, const struct row_param *b)
{
	if (isnan(a->number) || isnan(b->number))
		return isnan(a->number);
	return a->number >= b->number;
}

/* Puts level into its place, if it is new and there is room. */
static size_t row_level_add(struct row_param *out, size_t n, size_t max,
			    const struct row_param *level)
{
	size_t at = n;

	for (size_t i = 0; i < n; i++)
		if (strcmp(out[i].text, level->text) == 0)
			return n;
	if (n == max)
		return n;
	while (at > 0 && !row_level_after(level, &out[at - 1])) {
		out[at] = out[at - 1];
		at--;
	}
	out[at] = *level;
	return n + 1;
}

size_t rows_levels(const struct rows *rows, const struct rows_filter *filter, const char *param,
		   struct row_param *out, size_t max)
{
	struct row_param level;
	size_t n = 0;

	for (size_t i = rows_next(rows, filter, 0); i < rows_count(rows);
	     i = rows_next(rows, filter, i + 1))
		if (row_level(rows_at(rows, i), param, &level))
			n = row_level_add(out, n, max, &level);
	return n;
}
