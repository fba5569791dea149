/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/cell.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/stats.h"
#include "suite/derive.h"
#include "suite/derive_interval.h"

#define CELL_MAX_TEXTS 4
#define CELL_SAME      1e-9 /* what rounding leaves between equal numbers, of their size */

int column_parse(struct column *column, const struct test *test, const char *text)
{
	const char *at = strchr(text, '@');
	size_t length = at ? (size_t)(at - text) : strlen(text);
	char name[ROW_NAME_MAX];
	double percent;
	char *end;

	if (length >= sizeof(name))
		return -ENOENT;
	snprintf(name, sizeof(name), "%.*s", (int)length, text);
	*column = (struct column){.kpi = test_kpi(test, name), .quantile = 0.5, .named = at};
	column->correlated = test_correlated(test, name);
	if (!column->kpi)
		return -ENOENT;
	snprintf(column->name, sizeof(column->name), "%s", name);
	if (at && strcmp(at, "@max") == 0) {
		column->quantile = 1;
		snprintf(column->name, sizeof(column->name), "%s max", name);
	} else if (at && strcmp(at, "@mean") == 0) {
		column->is_mean = true;
		snprintf(column->name, sizeof(column->name), "%s mean", name);
	} else if (at) {
		percent = at[1] == 'p' ? strtod(at + 2, &end) : NAN;
		if (!(percent > 0 && percent < 100) || *end)
			return -EINVAL;
		column->quantile = percent / 100;
		snprintf(column->name, sizeof(column->name), "%s P%.12g", name, percent);
	}
	snprintf(column->label, sizeof(column->label), *column->kpi->unit ? "%s (%s)" : "%s",
		 column->name, column->kpi->unit);
	return 0;
}

static double cell_scale(const struct column *column)
{
	return column->kpi->scale > 0 ? column->kpi->scale : 1;
}

/* Widens the interval to that of the quantiles of single trials, where trials carry them. Where
 * measurements of a trial are correlated that is all there is: few trials have no interval. */
static int cell_widen(struct report_cell *cell, const struct rows *rows,
		      const struct rows_filter *filter, const struct column *column)
{
	double *value = calloc(cell->trials, sizeof(*value));
	struct stats_summary summary;
	size_t n = 0;
	int err = value ? 0 : -ENOMEM;

	ROWS_EACH_WHILE (!err, i, rows, filter) {
		const struct hist *hist = rows_at(rows, i)->hist;

		if (hist && hist_carries(hist, column->quantile))
			value[n++] = hist_quantile(hist, column->quantile) * cell_scale(column);
	}
	if (!err && n > 1)
		err = stats_summarise(value, n, &summary);
	if (!err && n > 1) {
		cell->low = fmin(cell->low, summary.ci_low);
		cell->high = fmax(cell->high, summary.ci_high);
		cell->cv = stats_cv(value, n);
	}
	if (!err && column->correlated) {
		cell->coverage = n > 1 ? summary.ci_coverage : 0;
		cell->is_range = cell->coverage < STATS_CONFIDENCE;
	}
	free(value);
	return err;
}

static int cell_read_hist(struct report_cell *cell, const struct rows *rows,
			  const struct rows_filter *filter, const struct column *column,
			  const struct hist *sum)
{
	double q = column->quantile, scale = cell_scale(column);

	cell->kind = CELL_NUMBER;
	cell->is_pooled = true;
	cell->n = sum->n;
	cell->value = column->is_mean ? hist_mean(sum) * scale : (double)sum->max * scale;
	cell->low = cell->high = cell->value;
	if (q >= 1 || column->is_mean)
		return 0;
	if (!hist_quantile_interval(sum, q, &cell->low, &cell->high)) {
		cell->is_max = true;
		return 0;
	}
	cell->coverage = STATS_CONFIDENCE;
	cell->value = hist_quantile(sum, q) * scale;
	cell->low = column->correlated ? cell->value : cell->low * scale;
	cell->high = column->correlated ? cell->value : cell->high * scale;
	return cell_widen(cell, rows, filter, column);
}

static int cell_read_values(struct report_cell *cell, const double *values, size_t n,
			    const struct column *column)
{
	struct stats_summary summary;
	int err = stats_summarise(values, n, &summary);

	if (err)
		return err;
	cell->kind = CELL_NUMBER;
	cell->n = n;
	cell->trials = (unsigned)n;
	cell->value = summary.median;
	cell->low = summary.ci_low;
	cell->high = summary.ci_high;
	cell->coverage = summary.ci_coverage;
	cell->is_range = summary.ci_coverage < STATS_CONFIDENCE;
	cell->cv = stats_cv(values, n);
	if (column->is_mean) /* the interval is the median's: n and CV say how sure it is */
		cell->value = cell->low = cell->high = summary.mean;
	return 0;
}

static bool cell_is_one_number(const struct report_cell *cell)
{
	return fabs(cell->high - cell->low) <= CELL_SAME * fabs(cell->value);
}

/* What follows from parameters alone: what is expected, or a number that no trial changed and of
 * which none is better. */
static bool cell_is_computed(const struct report_cell *cell, const struct column *column)
{
	return cell->kind == CELL_NUMBER && !cell->is_pooled && cell_is_one_number(cell) &&
	       (kpi_is_computed(column->kpi) ||
		(cell->n > 1 && column->kpi->better == BETTER_NONE));
}

/* A value that follows from others is one row: its interval stands beside it. */
static void cell_read_derived(struct report_cell *cell, const struct rows *rows,
			      const struct rows_filter *filter)
{
	const struct row *row = rows_at(rows, rows_next(rows, filter, 0));

	if (row->trial != DERIVED_TRIAL ||
	    !derive_interval(rows, row, &cell->low, &cell->high, &cell->n))
		return;
	cell->trials = (unsigned)cell->n;
	cell->coverage = STATS_CONFIDENCE;
	cell->is_range = false;
}

/* "yes (3 of 5), no (2 of 5)" */
static void cell_read_texts(struct report_cell *cell, const struct rows *rows,
			    const struct rows_filter *filter)
{
	const char *texts[CELL_MAX_TEXTS];
	unsigned count[CELL_MAX_TEXTS] = {0};
	size_t n_texts = 0, used = 0;

	ROWS_EACH (i, rows, filter) {
		const char *text = rows_at(rows, i)->text;
		size_t at = 0;

		if (!text)
			continue;
		while (at < n_texts && strcmp(texts[at], text) != 0)
			at++;
		if (at == n_texts && n_texts < CELL_MAX_TEXTS)
			texts[n_texts++] = text;
		if (at < n_texts)
			count[at]++;
		cell->n++;
	}
	if (n_texts)
		cell->kind = CELL_TEXTS;
	for (size_t i = 0; i < n_texts && used < sizeof(cell->text); i++)
		used += (size_t)snprintf(cell->text + used, sizeof(cell->text) - used,
					 "%s%s (%u of %u)", i ? ", " : "", texts[i], count[i],
					 (unsigned)cell->n);
}

static void cell_read_missing(struct report_cell *cell, const struct rows *rows,
			      const struct rows_filter *filter)
{
	ROWS_EACH (i, rows, filter)
		if (rows_at(rows, i)->missing) {
			cell->kind = CELL_MISSING;
			snprintf(cell->text, sizeof(cell->text), "%s", rows_at(rows, i)->missing);
			return;
		}
}

int cell_read(struct report_cell *cell, const struct rows *rows, const struct rows_filter *filter,
	      const struct column *column)
{
	struct rows_filter own = *filter;
	struct hist *sum = calloc(1, sizeof(*sum));
	double *values;
	int n, err = 0;

	if (!sum)
		return -ENOMEM;
	*cell = (struct report_cell){.value = NAN, .low = NAN, .high = NAN, .cv = NAN};
	own.kpi = column->kpi->name;
	cell->trials = (unsigned)rows_hist(rows, &own, sum);
	if (sum->n) {
		err = cell_read_hist(cell, rows, &own, column, sum);
	} else {
		n = rows_values(rows, &own, &values);
		err = n < 0 ? n : 0;
		if (n > 0)
			err = cell_read_values(cell, values, (size_t)n, column);
		if (n >= 0)
			free(values);
		if (!err && n == 1)
			cell_read_derived(cell, rows, &own);
		if (!err && cell->kind == CELL_NONE)
			cell_read_texts(cell, rows, &own);
		if (!err && cell->kind == CELL_NONE)
			cell_read_missing(cell, rows, &own);
	}
	cell->is_computed = !err && cell_is_computed(cell, column);
	free(sum);
	return err;
}

/* Is this the text of 1 though the number is not? */
static bool cell_is_whole(double value, const char *text)
{
	return fabs(value) != 1 && (strcmp(text, "1") == 0 || strcmp(text, "-1") == 0);
}

void cell_number(double value, char *out, size_t size)
{
	double magnitude = fabs(value);
	int digits = 4;

	if (magnitude >= 1000 && magnitude < 1e15)
		snprintf(out, size, "%.0f", value);
	else if (magnitude >= 100 && magnitude < 1000)
		snprintf(out, size, "%.1f", value);
	else
		do
			snprintf(out, size, "%.*g", digits, value);
		while (cell_is_whole(value, out) && ++digits < 10);
}

/* "n=20, CV 3%"; "n=4100 in 20 trials" of a distribution */
static void cell_sure(const struct report_cell *cell, char *out, size_t size)
{
	char cv[32] = "", trials[32] = "";

	if (cell->cv > CELL_SAME)
		snprintf(cv, sizeof(cv), cell->cv >= 0.995 ? ", CV %.0f%%" : ", CV %.2g%%",
			 cell->cv * 100);
	if (cell->is_pooled && cell->trials > 1)
		snprintf(trials, sizeof(trials), " in %u trials", cell->trials);
	snprintf(out, size, "n=%llu%s%s", (unsigned long long)cell->n, trials, cv);
}

static void cell_number_text(const struct report_cell *cell, char *out, size_t size)
{
	char value[32], low[32], high[32], sure[96];

	cell_number(cell->value, value, sizeof(value));
	cell_number(cell->low, low, sizeof(low));
	cell_number(cell->high, high, sizeof(high));
	cell_sure(cell, sure, sizeof(sure));
	if (cell->is_computed)
		snprintf(out, size, "%s", value);
	else if (cell->is_max)
		snprintf(out, size, "%s\nmax of %llu", value, (unsigned long long)cell->n);
	else if (cell_is_one_number(cell))
		snprintf(out, size, "%s\n%s", value, sure);
	else
		snprintf(out, size, cell->is_range ? "%s\n(%s to %s)\n%s" : "%s\n[%s, %s]\n%s",
			 value, low, high, sure);
}

void cell_text(const struct report_cell *cell, char *out, size_t size)
{
	if (size)
		*out = '\0';
	if (cell->kind == CELL_TEXTS)
		snprintf(out, size, "%s", cell->text);
	if (cell->kind == CELL_MISSING)
		snprintf(out, size, "n/a");
	if (cell->kind == CELL_NUMBER)
		cell_number_text(cell, out, size);
}
