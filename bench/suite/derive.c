/* SPDX-License-Identifier: BSD-2-Clause */
#include "suite/derive.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "stats.h"

double kpi_median(const struct rows *rows, const char *test, const char *strategy, const char *kpi,
		  unsigned n_params, const struct row_param *param, double quantile)
{
	struct rows_filter filter = {.test = test,
				     .kpi = kpi,
				     .strategy = strategy,
				     .n_params = n_params,
				     .param = param,
				     .trial = -1};
	struct stats_summary summary;
	struct hist sum;
	double *values, at = NAN;
	int n;

	hist_init(&sum);
	if (rows_hist(rows, &filter, &sum))
		return hist_quantile(&sum, quantile);
	n = rows_values(rows, &filter, &values);
	if (n > 0 && !stats_summarise(values, (size_t)n, &summary))
		at = summary.median;
	if (n >= 0)
		free(values);
	return at;
}

int derive_value(struct rows *rows, const struct row *like, const char *kpi, double value)
{
	struct row row = *like;

	if (!isfinite(value))
		return 0;
	snprintf(row.kpi, sizeof(row.kpi), "%s", kpi);
	row.hist = NULL;
	row.text = row.missing = NULL;
	row.trial = DERIVED_TRIAL;
	row.value = value;
	row.n = 1;
	return rows_add(rows, &row);
}
