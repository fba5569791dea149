/* SPDX-License-Identifier: BSD-2-Clause */
#include "suite/derive.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/stats.h"

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
