/* SPDX-License-Identifier: BSD-2-Clause */
#include "suite/derive.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/stats.h"

#define DERIVE_MAX_STRATEGIES 32

/* Of the rows that match; false: there are none. */
static bool kpi_read(const struct rows *rows, const struct rows_filter *filter, double quantile,
		     struct curve_point *out)
{
	struct stats_summary summary;
	struct hist sum;
	double *values;
	bool found;
	int n;

	hist_init(&sum);
	if (rows_hist(rows, filter, &sum)) {
		out->median = hist_quantile(&sum, quantile);
		if (!hist_quantile_interval(&sum, quantile, &out->low, &out->high)) {
			out->low = -INFINITY;
			out->high = INFINITY;
		}
		return true;
	}
	n = rows_values(rows, filter, &values);
	if (n < 0)
		return false;
	found = n > 0 && !stats_summarise(values, (size_t)n, &summary);
	free(values);
	if (found) {
		out->median = summary.median;
		out->low = summary.ci_low;
		out->high = summary.ci_high;
	}
	return found;
}

double derive_median(const struct rows *rows, const char *test, const char *strategy,
		     const char *kpi, unsigned n_params, const struct row_param *param,
		     double quantile)
{
	struct rows_filter filter = {.test = test,
				     .kpi = kpi,
				     .strategy = strategy,
				     .n_params = n_params,
				     .param = param,
				     .trial = -1};
	struct curve_point point;

	return kpi_read(rows, &filter, quantile, &point) && isfinite(point.low) ? point.median
										: NAN;
}

bool derive_point(const struct rows *rows, const char *test, const char *strategy, const char *kpi,
		  const struct row_param *param, double quantile, struct curve_point *out)
{
	struct rows_filter filter = {.test = test,
				     .kpi = kpi,
				     .strategy = strategy,
				     .n_params = 1,
				     .param = param,
				     .trial = -1};

	out->x = param->number;
	return kpi_read(rows, &filter, quantile, out);
}

int derive_value_or(struct rows *rows, const struct row *like, const char *kpi, double value,
		    const char *why)
{
	struct row row = *like;
	char missing[160];

	snprintf(row.kpi, sizeof(row.kpi), "%s", kpi);
	snprintf(missing, sizeof(missing), "%s", why);
	row.hist = NULL;
	row.text = NULL;
	row.missing = isfinite(value) ? NULL : missing;
	row.trial = DERIVED_TRIAL;
	row.value = value;
	row.n = isfinite(value);
	return rows_add(rows, &row);
}

int derive_value(struct rows *rows, const struct row *like, const char *kpi, double value)
{
	return isfinite(value) ? derive_value_or(rows, like, kpi, value, "") : 0;
}

/* ---- KPIs without any value ---- */

/* A KPI of a strategy: has it a value; a reason; do other strategies have one? */
struct derive_gap {
	bool has_value, have_others;
	const char *why; /* NULL: no row says */
};

static void derive_gap_read(struct derive_gap *gap, const struct rows *rows,
			    const struct test *test, const char *kpi, const char *strategy)
{
	const struct rows_filter all = {.test = test->id, .kpi = kpi, .trial = -1};

	*gap = (struct derive_gap){.why = NULL};
	for (size_t i = rows_next(rows, &all, 0); i < rows_count(rows) && !gap->has_value;
	     i = rows_next(rows, &all, i + 1)) {
		const struct row *row = rows_at(rows, i);
		bool own = strcmp(row->strategy, strategy) == 0;

		gap->has_value = own && !row->missing;
		gap->have_others |= !own && !row->missing;
		if (own && row->missing && !gap->why)
			gap->why = row->missing;
	}
}

static unsigned derive_trials(const struct rows *rows, const struct row *done)
{
	const struct rows_filter same = rows_like(done);
	unsigned n = 0;

	for (size_t i = rows_next(rows, &same, 0); i < rows_count(rows);
	     i = rows_next(rows, &same, i + 1))
		n++;
	return n;
}

/* At that combination, if no row says anything there. */
static int derive_gap_fill(struct rows *rows, const struct row *done, const char *kpi,
			   const struct derive_gap *gap)
{
	struct rows_filter here = rows_like(done);
	unsigned n = derive_trials(rows, done);
	struct row like = *done;
	char why[160];

	here.kpi = kpi;
	if (rows_next(rows, &here, 0) < rows_count(rows))
		return 0;
	if (gap->why)
		snprintf(why, sizeof(why), "%s", gap->why);
	else
		snprintf(why, sizeof(why),
			 "nothing gave a value: %u trial%s or their measurements are too few, or "
			 "what it follows from has none%s",
			 n, n == 1 ? "" : "s",
			 gap->have_others ? ", or it compares other strategies with this" : "");
	return derive_value_or(rows, &like, kpi, NAN, why);
}

/* Of every combination of that strategy, at its first trial. */
static int derive_gap_rows(struct rows *rows, const struct test *test, const char *kpi,
			   const char *strategy, const struct derive_gap *gap)
{
	int err = 0;

	for (size_t i = 0; !err && i < rows_count(rows); i++) {
		const struct row *row = rows_at(rows, i);
		struct row done;
		struct rows_filter same;

		if (strcmp(row->kpi, SUITE_DONE) != 0 || strcmp(row->test, test->id) != 0 ||
		    strcmp(row->strategy, strategy) != 0)
			continue;
		same = rows_like(row);
		if (rows_next(rows, &same, 0) != i)
			continue;
		done = *row; /* rows move when one is added */
		err = derive_gap_fill(rows, &done, kpi, gap);
	}
	return err;
}

int derive_missing(const struct test *test, struct rows *rows)
{
	const struct rows_filter own = {.test = test->id, .kpi = SUITE_DONE, .trial = -1};
	struct row_param strategy[DERIVE_MAX_STRATEGIES];
	size_t n = rows_levels(rows, &own, "strategy", strategy, DERIVE_MAX_STRATEGIES);
	int err = 0;

	if (!test_is_draft(test) && !test_is_training(test))
		return 0;
	for (const struct kpi *k = test->kpis; !err && k->name; k++)
		for (size_t i = 0; !err && i < (n ? n : 1); i++) {
			const char *name = n ? strategy[i].text : "";
			struct derive_gap gap;

			if (kpi_is_simulated(k->name))
				continue;
			derive_gap_read(&gap, rows, test, k->name, name);
			if (!gap.has_value)
				err = derive_gap_rows(rows, test, k->name, name, &gap);
		}
	return err;
}
