/* SPDX-License-Identifier: BSD-2-Clause */
/* rows_csv.c - rows for a spreadsheet (rows.h). */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/rows.h"

/* RFC 4180: quoted where it must be. Text that a spreadsheet would take for a formula is made text
 * by an apostrophe. */
void rows_csv_text(FILE *file, const char *text)
{
	bool number = (*text == '+' || *text == '-') && isdigit((unsigned char)text[1]);
	bool formula = *text && strchr("=+-@\t\r", *text) && !number;

	if (!formula && !text[strcspn(text, ",\"\r\n")]) {
		fputs(text, file);
		return;
	}
	fputs(formula ? "\"'" : "\"", file);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', file);
		fputc(*text, file);
	}
	fputc('"', file);
}

void rows_csv_params(FILE *file, const struct row *row)
{
	char text[ROWS_MAX_PARAMS * (2 * ROW_NAME_MAX + 2)] = "";
	size_t at = 0;

	for (unsigned i = 0; i < row->n_params; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s=%s", i ? " " : "",
				       row->param[i].name, row->param[i].text);
	rows_csv_text(file, text);
}

/* ",p50,p95,p99,p99.9,max" */
static void csv_hist(FILE *file, const struct hist *hist, double scale)
{
	static const double quantiles[] = {0.5, 0.95, 0.99, 0.999};
	double low, high;

	for (size_t i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++) {
		fputc(',', file);
		if (hist && hist_quantile_interval(hist, quantiles[i], &low, &high))
			fprintf(file, "%.9g", scale * hist_quantile(hist, quantiles[i]));
	}
	fputc(',', file);
	if (hist && hist->n)
		fprintf(file, "%.9g", scale * (double)hist->max);
}

static void csv_row(FILE *file, const struct row *row, const char *unit, const char *point,
		    double scale)
{
	const char *texts[] = {row->test, row->strategy, row->kpi, unit, point};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		rows_csv_text(file, texts[i]);
		fputc(',', file);
	}
	fprintf(file, "%u,", row->trial);
	rows_csv_params(file, row);
	fputc(',', file);
	if (isfinite(row->value))
		fprintf(file, "%.9g", row->value);
	fprintf(file, ",%" PRIu64, row->hist ? row->hist->n : row->n);
	csv_hist(file, row->hist, scale);
	fputc(',', file);
	rows_csv_text(file, row->text ? row->text : "");
	fputc(',', file);
	rows_csv_text(file, row->missing ? row->missing : "");
	fputs("\r\n", file);
}

int rows_csv(const struct rows *rows, const char *path,
	     double (*unit)(const void *context, const char *test, const char *kpi,
			    const char **unit, const char **point),
	     const void *context)
{
	FILE *file = fopen(path, "we");
	int err;

	if (!file)
		return -errno;
	fputs("test,strategy,kpi,unit,point,trial,params,value,n,p50,p95,p99,p99.9,max,text,missing"
	      "\r\n",
	      file);
	for (size_t i = 0; i < rows_count(rows); i++) {
		const struct row *row = rows_at(rows, i);
		const char *name = "", *point = "";
		double scale = unit(context, row->test, row->kpi, &name, &point);

		csv_row(file, row, name, point, scale);
	}
	err = ferror(file) ? -EIO : 0;
	if (fclose(file) && !err)
		err = -errno;
	return err;
}
