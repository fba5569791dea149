/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cell.h - what rows say about one KPI at one place: a number with its interval, words, or why
 * there is none.
 *
 * Owns: nothing; pure. In: rows and a filter; out: a cell, and its text. Thread: any.
 *
 * Trials that give a number each: the median of trials, and its interval (stats.h). Trials that
 * give a distribution each: the percentile of all measurements of all trials together. Its
 * interval is that of order statistics, widened to that of the trials' own percentiles, because
 * measurements within a trial are not independent of each other. Of a KPI that is declared
 * correlated it is that of the trials' own percentiles alone (a range, of fewer than six), and a
 * single trial has none. A percentile that n does not
 * carry (hist.h) is the maximum, and is called so.
 */
#ifndef CELL_H
#define CELL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/rows.h"
#include "suite/test.h"

#define CELL_TEXT_MAX 160

/* A KPI as views name it: "TTFT@p99", "TTFT@max", "KV_xfer_bandwidth@mean". */
struct column {
	const struct kpi *kpi;
	double quantile; /* of a distribution; 0.5 if none was named */
	bool is_mean;	 /* of trials, or of all measurements, and no quantile */
	bool named;	 /* it was */
	bool correlated; /* the test says so (test.h) */
	char name[80];	 /* "TTFT P99" */
	char label[100]; /* "TTFT P99 (ms)" */
};

/* -ENOENT: the test has no such KPI; -EINVAL: what follows the @ is no percentile. */
int column_parse(struct column *column, const struct test *test, const char *text);

enum cell_kind { CELL_NONE, CELL_NUMBER, CELL_TEXTS, CELL_MISSING };

struct report_cell {
	enum cell_kind kind;
	double value, low, high; /* in the KPI's unit */
	uint64_t n;		 /* trials, or measurements of a distribution */
	unsigned trials;
	double coverage;  /* of low..high, 0..1: 0.95 at least, or what few trials leave of it */
	double cv;	  /* of the trials' values (stats.h); NaN: fewer than two */
	bool is_pooled;	  /* a distribution: n measurements of all trials together */
	bool is_range;	  /* low..high is no 95% interval, but all there was */
	bool is_max;	  /* n does not carry the percentile: value is the largest */
	bool is_computed; /* a constant that follows from parameters: no n says how sure it is */
	char text[CELL_TEXT_MAX]; /* words with their counts; why it is missing */
};

/* filter's kpi is not looked at. -ENOMEM. */
int cell_read(struct report_cell *cell, const struct rows *rows, const struct rows_filter *filter,
	      const struct column *column);

/* "12.3\n[11.9, 12.8]\nn=20, CV 3%"; "12.3\nmax of 41"; "12.3" of a computed constant; "yes (3 of
 * 3)"; "n/a"; "". What follows a line break says how sure the number is (table.h). */
void cell_text(const struct report_cell *cell, char *out, size_t size);
/* Four digits that count: 1234567, 123.4, 0.001234; more where a number is not quite 1: 0.99996. */
void cell_number(double value, char *out, size_t size);

#endif
