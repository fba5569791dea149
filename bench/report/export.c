/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/export.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/hist.h"
#include "core/stats.h"

enum export_what {
	EXPORT_NOTHING, /* a column that is not measured here */
	EXPORT_ONE,
	EXPORT_PARAM,
	EXPORT_MEDIAN, /* of trials */
	EXPORT_MEAN,   /* of all measurements of all trials, as the next */
	EXPORT_QUANTILE
};

struct export_column {
	const char *header;
	enum export_what what;
	const char *name; /* of the parameter, or of the KPI */
	double scale;	  /* from the rows' unit (histograms: ns) to the column's */
	double quantile;
};

struct export_file {
	const char *name;
	const char *kpi[2]; /* a combination with a row of one of these has a line */
	const char *param;  /* that it must have, too; NULL: none */
	const struct export_column *column;
	size_t n_columns;
};

#define EXPORT_S(prefix, kpi)                                                                      \
	{"mean_" prefix, EXPORT_MEAN, kpi, 1e-9, 0},                                               \
		{"median_" prefix, EXPORT_QUANTILE, kpi, 1e-9, 0.5},                               \
		{"p90_" prefix, EXPORT_QUANTILE, kpi, 1e-9, 0.9},                                  \
		{"p95_" prefix, EXPORT_QUANTILE, kpi, 1e-9, 0.95},                                 \
		{"p99_" prefix, EXPORT_QUANTILE, kpi, 1e-9, 0.99},                                 \
	{                                                                                          \
		"p99.9_" prefix, EXPORT_QUANTILE, kpi, 1e-9, 0.999                                 \
	}

/* nixlbench: a message is a block, and blocks leave one by one. What preparing and posting take is
 * no figure of its own here: both are in the latency. */
static const struct export_column export_transfers[] = {
	{"Block Size (B)", EXPORT_PARAM, "size", 1, 0},
	{"Batch Size", EXPORT_ONE, "", 1, 0},
	{"B/W (GB/Sec)", EXPORT_MEDIAN, "KV_xfer_bandwidth", 1e-3, 0},
	{"Avg Lat. (us)", EXPORT_MEAN, "KV_xfer_latency", 1e-3, 0},
	{"Avg Prep (us)", EXPORT_NOTHING, "", 1, 0},
	{"P99 Prep (us)", EXPORT_NOTHING, "", 1, 0},
	{"Avg Post (us)", EXPORT_NOTHING, "", 1, 0},
	{"P99 Post (us)", EXPORT_NOTHING, "", 1, 0},
	{"Avg Tx (us)", EXPORT_MEAN, "KV_xfer_latency", 1e-3, 0},
	{"P99 Tx (us)", EXPORT_QUANTILE, "KV_xfer_latency", 1e-3, 0.99},
};

static const struct export_column export_serving[] = {
	{"output_tput_tps", EXPORT_MEDIAN, "TPS_output", 1, 0},
	{"input_tput_tps", EXPORT_MEDIAN, "TPS_input", 1, 0},
	{"output_tput_per_gpu", EXPORT_MEDIAN, "TPS_per_GPU", 1, 0},
	EXPORT_S("ttft", "TTFT"),
	EXPORT_S("itl", "ITL"),
	EXPORT_S("e2el", "E2E_latency"),
};

static const struct export_file export_files[] = {
	{"transfers.csv",
	 {"KV_xfer_bandwidth", "KV_xfer_latency"},
	 "size",
	 export_transfers,
	 sizeof(export_transfers) / sizeof(export_transfers[0])},
	{"serving.csv",
	 {"TTFT", "TPS_output"},
	 NULL,
	 export_serving,
	 sizeof(export_serving) / sizeof(export_serving[0])},
};

/* Of the place that like is at; NaN: nothing was measured, or too little. */
static double export_value(const struct rows *rows, const struct row *like,
			   const struct export_column *column)
{
	struct rows_filter filter = rows_like(like);
	const struct row_param *param = row_param(like, column->name);
	double *values, low, high, out = NAN;
	struct hist *sum;
	int n;

	filter.kpi = column->name;
	if (column->what == EXPORT_NOTHING || column->what == EXPORT_ONE)
		return column->what == EXPORT_ONE ? 1 : NAN;
	if (column->what == EXPORT_PARAM)
		return param ? param->number : NAN;
	if (column->what == EXPORT_MEDIAN) {
		struct stats_summary summary;

		n = rows_values(rows, &filter, &values);
		if (n > 0 && !stats_summarise(values, (size_t)n, &summary))
			out = summary.median;
		if (n >= 0)
			free(values);
		return out * column->scale;
	}
	sum = malloc(sizeof(*sum));
	if (!sum)
		return NAN;
	hist_init(sum);
	if (!rows_hist(rows, &filter, sum))
		out = NAN;
	else if (column->what == EXPORT_MEAN)
		out = hist_mean(sum);
	else if (hist_quantile_interval(sum, column->quantile, &low, &high))
		out = hist_quantile(sum, column->quantile);
	free(sum);
	return out * column->scale;
}

/* What a block lay in, as test 5.4 says it; NULL: no row does. */
static const char *export_medium(const struct rows *rows, const struct row *like)
{
	struct rows_filter filter = rows_like(like);

	filter.kpi = "medium";
	ROWS_EACH (i, rows, &filter)
		if (rows_at(rows, i)->text)
			return rows_at(rows, i)->text;
	return NULL;
}

static void export_line(FILE *out, const struct rows *rows, const struct row *like,
			const char *emulated, const struct export_file *file)
{
	const char *medium = export_medium(rows, like);

	for (size_t i = 0; i < file->n_columns; i++) {
		double value = export_value(rows, like, &file->column[i]);

		if (isfinite(value))
			fprintf(out, "%.9g", value);
		fputc(',', out);
	}
	rows_csv_text(out, like->test);
	fputc(',', out);
	rows_csv_text(out, like->strategy);
	fputc(',', out);
	rows_csv_params(out, like);
	fputc(',', out);
	rows_csv_text(out, medium ? medium : "");
	fputc(',', out);
	rows_csv_text(out, emulated ? emulated : "");
	fputs("\r\n", out);
}

static bool export_is_measured(const struct row *row)
{
	return row->hist || (!row->text && !row->missing);
}

/* The first row that says something of its combination and is of this file? */
static bool export_leads(const struct rows *rows, size_t at, const struct export_file *file)
{
	const struct row *row = rows_at(rows, at);
	size_t k = 0;

	while (k < 2 && strcmp(row->kpi, file->kpi[k]) != 0)
		k++;
	if (k == 2 || !export_is_measured(row) || (file->param && !row_param(row, file->param)))
		return false;
	for (size_t kpi = 0; kpi < 2; kpi++) {
		struct rows_filter same = rows_like(row);
		size_t i;

		same.kpi = file->kpi[kpi];
		for (i = rows_next(rows, &same, 0); i < at; i = rows_next(rows, &same, i + 1))
			if (export_is_measured(rows_at(rows, i)))
				return false;
	}
	return true;
}

static int export_one(const struct rows *rows, const char *emulated, const struct export_file *file,
		      const char *dir)
{
	char path[4096];
	FILE *out = NULL;
	bool is_bad;
	int err = 0;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, file->name) >= sizeof(path))
		return -ENAMETOOLONG;
	for (size_t i = 0; !err && i < rows_count(rows); i++) {
		if (!export_leads(rows, i, file))
			continue;
		if (!out && !(out = fopen(path, "we")))
			err = -errno;
		if (out && ftell(out) == 0) {
			for (size_t k = 0; k < file->n_columns; k++)
				fprintf(out, "%s,", file->column[k].header);
			fputs("test,strategy,params,medium,emulated\r\n", out);
		}
		if (out)
			export_line(out, rows, rows_at(rows, i), emulated, file);
	}
	is_bad = out && ferror(out);
	if (out && (fclose(out) || is_bad))
		err = errno ? -errno : -EIO;
	if (err)
		fprintf(stderr, "farebench: %s: %s\n", path, strerror(-err));
	return err;
}

int export_write(const struct rows *rows, const char *emulated, const char *dir)
{
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(export_files) / sizeof(export_files[0]); i++)
		err = export_one(rows, emulated, &export_files[i], dir);
	return err;
}
