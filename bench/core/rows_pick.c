/* SPDX-License-Identifier: BSD-2-Clause */
/* rows_pick.c - rows chosen by test, KPI, strategy and parameters (rows.h). */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/rows.h"

struct rows_filter rows_like(const struct row *row)
{
	return (struct rows_filter){.test = row->test,
				    .kpi = row->kpi,
				    .strategy = row->strategy,
				    .n_params = row->n_params,
				    .param = row->param,
				    .trial = -1};
}

bool rows_are_measured(const struct rows *rows)
{
	for (size_t i = 0; i < rows_count(rows); i++)
		if (!rows_at(rows, i)->missing && rows_at(rows, i)->kpi[0] != '_')
			return true;
	return false;
}

int rows_values(const struct rows *rows, const struct rows_filter *filter, double **out)
{
	double *values = NULL;
	size_t n = 0, room = 0;

	ROWS_EACH (i, rows, filter) {
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

	ROWS_EACH (i, rows, filter)
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

	ROWS_EACH (i, rows, filter)
		if (row_level(rows_at(rows, i), param, &level))
			n = row_level_add(out, n, max, &level);
	return n;
}
