/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rows.h - samples: what a test measured, one KPI of one trial in a row.
 *
 * Owns: the rows in memory, and the file that they are appended to. In: rows as they are measured,
 * or a file of earlier ones; out: rows picked by test, KPI, strategy and parameters. Every table,
 * plot, figure and comparison is made of rows. Thread: one.
 *
 * On disk (rows.jsonl) a row is one line of JSON:
 *	{"test":"5.1", "strategy":"fare-spray", "params":{"size":"1M","qps":8}, "trial":3,
 *	 "kpi":"KV_xfer_bandwidth", "value":812.5e6, "n":41}
 * with "hist" (hist.h) instead of "value" where the row is a distribution, "text" where it is a
 * word ("yes"), and "missing" where there is none: the reason. A last line that was cut off (the
 * machine stopped) is dropped when the file is read; another that is wrong is an error that names
 * it.
 */
#ifndef ROWS_H
#define ROWS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/hist.h"

#define ROWS_MAX_PARAMS 10
#define ROW_NAME_MAX	48

struct row_param {
	char name[ROW_NAME_MAX];
	char text[ROW_NAME_MAX]; /* as it was given: "1M", "0.5", "top-k" */
	double number;		 /* what text stands for; NaN: a name */
};

struct row {
	char test[ROW_NAME_MAX];     /* "5.1" */
	char strategy[ROW_NAME_MAX]; /* "": the test has none */
	char kpi[ROW_NAME_MAX];
	unsigned n_params;
	struct row_param param[ROWS_MAX_PARAMS];
	unsigned trial;
	double value;	   /* in the KPI's unit; NaN where hist, text or missing is set */
	uint64_t n;	   /* measurements behind value */
	struct hist *hist; /* NULL: none; the rows' */
	char *text, *missing;
};

struct rows;

/*
 * path: a file that is created, or read and appended to; NULL: memory alone. -errno, after saying
 * on stderr which line is wrong. -EBUSY: another process appends to it.
 */
int rows_open(struct rows **out, const char *path);
/* The same for a file that others may append to meanwhile: it is only read; rows_add() adds in
 * memory alone. -ENOENT: there is no such file. */
int rows_read(struct rows **out, const char *path);
void rows_close(struct rows *rows); /* NULL is fine */

/* Sets name, text, and the number that text stands for. -EINVAL: empty, or too long. */
int row_param_set(struct row_param *param, const char *name, const char *text);
/*
 * Copies row, its histogram and its texts, and writes the line out at once. Numbers of parameters
 * are those that their texts stand for; value does not count where hist, text or missing is set.
 * -EINVAL: no test or KPI, a value that is not finite, more than one of hist, text and missing, a
 * name twice, or text that is not UTF-8. -ENOSPC, ...: neither in memory nor in the file.
 */
int rows_add(struct rows *rows, const struct row *row);

size_t rows_count(const struct rows *rows);
const struct row *rows_at(const struct rows *rows, size_t i); /* the rows' */

/* Which rows are meant: empty or NULL members match everything. */
struct rows_filter {
	const char *test, *kpi, *strategy;
	unsigned n_params;
	const struct row_param *param; /* by name and text */
	int trial;		       /* below 0: all; note that {0} means the first */
};

bool row_matches(const struct row *row, const struct rows_filter *filter);
/* The rows of any trial that say the same thing of the same place. Borrows from row. */
struct rows_filter rows_like(const struct row *row);
/* Is there a row that says something: a number, a distribution, words? */
bool rows_are_measured(const struct rows *rows);
/* Index of the first match at or behind from; rows_count() if there is none. */
size_t rows_next(const struct rows *rows, const struct rows_filter *filter, size_t from);
/* The index of each match, also of those that are added meanwhile; the second: while that holds. */
#define ROWS_EACH(i, rows, filter) ROWS_EACH_WHILE (true, i, rows, filter)
#define ROWS_EACH_WHILE(holds, i, rows, filter)                                                    \
	for (size_t i = rows_next(rows, filter, 0); (holds) && i < rows_count(rows);               \
	     i = rows_next(rows, filter, i + 1))
/* Those rows alone, in memory, borrowed from `from`, which must outlive them. -ENOMEM. */
int rows_part(struct rows **out, const struct rows *from, const struct rows_filter *filter);
/* That test's rows of trials draw[0] to draw[n - 1], as trials 0 to n - 1, in memory; histograms
 * and texts are borrowed from `from`. Rows can be added. -ENOMEM. */
int rows_resample(struct rows **out, const struct rows *from, const char *test,
		  const unsigned *draw, unsigned n);
/* Their values (finite ones), *out is the caller's to free. Returns how many, or -ENOMEM. */
int rows_values(const struct rows *rows, const struct rows_filter *filter, double **out);
/* Adds up their histograms; returns how many there were. */
size_t rows_hist(const struct rows *rows, const struct rows_filter *filter, struct hist *sum);
/* Distinct texts of a parameter ("strategy" and "trial" too) among matching rows, in the order of
 * their numbers, names in the order seen. Returns how many (at most max). */
size_t rows_levels(const struct rows *rows, const struct rows_filter *filter, const char *param,
		   struct row_param *out, size_t max);
const struct row_param *row_param(const struct row *row, const char *name); /* NULL: it has none */

/*
 * All rows as CSV (RFC 4180): test, strategy, kpi, unit and observation point, trial, params,
 * value, n; a histogram as its p50, p95, p99, p99.9 and max (a percentile that n does not support
 * is empty); text; missing. unit() names a KPI's unit and point, and returns what a histogram's
 * values are multiplied by to be in that unit. -errno.
 */
int rows_csv(const struct rows *rows, const char *path,
	     double (*unit)(const void *context, const char *test, const char *kpi,
			    const char **unit, const char **point),
	     const void *context);

/* A field of it; "NAME=LEVEL NAME=LEVEL" of the row's parameters as one. */
void rows_csv_text(FILE *file, const char *text);
void rows_csv_params(FILE *file, const struct row *row);

#endif
