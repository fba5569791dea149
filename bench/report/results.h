/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * results.h - the directory that a run leaves: rows.jsonl and run.json.
 *
 * Owns: both, as they were read. In: the directory (hostile); out: rows, and the tables that
 * describe the run. Thread: one.
 *
 * run.json is an object with "tables": [{"title": text, "rows": [[name, value], ...]}, ...] and
 * "even_busy"; its other members are not looked at. A directory without it has no such tables.
 */
#ifndef RESULTS_H
#define RESULTS_H

#include <jansson.h>

#include "core/rows.h"
#include "suite/test.h"

struct results {
	struct rows *rows;
	json_t *run; /* NULL: there is none */
};

/* -errno, after saying why. */
int results_open(struct results *results, const char *dir);
void results_close(struct results *results);

/* Table i of the run: its title and rows (an array of pairs of strings); NULL: there are no more.
 */
const char *results_table(const struct results *results, size_t i, const json_t **rows);
/* The value of a name in the table with that title; NULL: there is none. */
const char *results_value(const struct results *results, const char *title, const char *name);

/* Do trials without idle time count, so that figures may be those of the machine (--even-busy)? */
bool results_even_busy(const struct results *results);

/* Only the rows of a test, borrowed. -ENOMEM. */
int results_test(const struct results *results, const struct test *test, struct rows **out);

/* For rows_csv(): context is a struct results_tests. */
struct results_tests {
	const struct test *const *test;
	size_t n;
};
double results_unit(const void *context, const char *test, const char *kpi, const char **unit,
		    const char **point);

#endif
