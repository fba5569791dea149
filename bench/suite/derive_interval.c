/* SPDX-License-Identifier: BSD-2-Clause */
#include "suite/derive_interval.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/rng.h"
#include "core/stats.h"
#include "suite/derive.h"

#define INTERVAL_SEED	UINT64_C(1) /* the same rows give the same intervals */
#define INTERVAL_ENOUGH 0.9	    /* of the resamples have to have the value */

struct interval {
	size_t row; /* the derived value's */
	size_t n;
	double value[DERIVED_RESAMPLES];
};

static unsigned interval_trials(const struct test *test, const struct rows *rows)
{
	const struct rows_filter done = {.test = test->id, .kpi = SUITE_DONE, .trial = -1};
	unsigned n = 0;

	ROWS_EACH (i, rows, &done)
		if (rows_at(rows, i)->trial >= n)
			n = rows_at(rows, i)->trial + 1;
	return n;
}

/* The test's derived numbers; *out is the caller's to free. */
static int interval_list(const struct test *test, const struct rows *rows, struct interval **out,
			 size_t *n)
{
	const struct rows_filter derived = {.test = test->id, .trial = DERIVED_TRIAL};

	*n = 0;
	ROWS_EACH (i, rows, &derived)
		*n += isfinite(rows_at(rows, i)->value);
	*out = calloc(*n + 1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	*n = 0;
	ROWS_EACH (i, rows, &derived)
		if (isfinite(rows_at(rows, i)->value))
			(*out)[(*n)++].row = i;
	return 0;
}

/* What the test derives of trials that are drawn from those there were. */
static int interval_resample(const struct test *test, const struct rows *rows, unsigned n_trials,
			     uint64_t *random, struct interval *list, size_t n)
{
	unsigned *draw = calloc(n_trials, sizeof(*draw));
	struct rows *drawn;
	int err = draw ? 0 : -ENOMEM;

	for (unsigned i = 0; !err && i < n_trials; i++)
		draw[i] = rng_below(random, n_trials);
	if (!err)
		err = rows_resample(&drawn, rows, test->id, draw, n_trials);
	free(draw);
	if (err)
		return err;
	err = test->derive(test, drawn);
	for (size_t i = 0; !err && i < n; i++) {
		struct rows_filter same = rows_like(rows_at(rows, list[i].row));
		size_t at;

		same.trial = DERIVED_TRIAL;
		at = rows_next(drawn, &same, 0);
		if (at < rows_count(drawn) && isfinite(rows_at(drawn, at)->value))
			list[i].value[list[i].n++] = rows_at(drawn, at)->value;
	}
	rows_close(drawn);
	return err;
}

static int interval_add(struct rows *rows, const struct interval *of, const char *prefix,
			double quantile, unsigned n_trials)
{
	struct row row = *rows_at(rows, of->row);
	int length =
		snprintf(row.kpi, sizeof(row.kpi), "%s%s", prefix, rows_at(rows, of->row)->kpi);

	if ((size_t)length >= sizeof(row.kpi))
		return 0;
	row.value = stats_quantile(of->value, of->n, quantile);
	row.n = n_trials;
	return rows_add(rows, &row);
}

int derive_with_intervals(const struct test *test, struct rows *rows)
{
	unsigned n_trials = interval_trials(test, rows);
	uint64_t random = INTERVAL_SEED;
	struct interval *list = NULL;
	size_t n = 0;
	int err = test->derive(test, rows);

	if (!err && n_trials >= DERIVED_TRIALS)
		err = interval_list(test, rows, &list, &n);
	for (unsigned i = 0; !err && n && i < DERIVED_RESAMPLES; i++)
		err = interval_resample(test, rows, n_trials, &random, list, n);
	for (size_t i = 0; !err && i < n; i++) {
		if (list[i].n < INTERVAL_ENOUGH * DERIVED_RESAMPLES)
			continue;
		qsort(list[i].value, list[i].n, sizeof(list[i].value[0]), stats_ascending);
		err = interval_add(rows, &list[i], DERIVED_LOW, (1 - STATS_CONFIDENCE) / 2,
				   n_trials);
		if (!err)
			err = interval_add(rows, &list[i], DERIVED_HIGH, (1 + STATS_CONFIDENCE) / 2,
					   n_trials);
	}
	free(list);
	return err;
}

static const struct row *interval_bound(const struct rows *rows, const struct row *derived,
					const char *prefix)
{
	struct rows_filter filter = rows_like(derived);
	char kpi[2 * ROW_NAME_MAX];
	size_t at;

	snprintf(kpi, sizeof(kpi), "%s%s", prefix, derived->kpi);
	filter.kpi = kpi;
	filter.trial = DERIVED_TRIAL;
	at = rows_next(rows, &filter, 0);
	return at < rows_count(rows) ? rows_at(rows, at) : NULL;
}

bool derive_interval(const struct rows *rows, const struct row *derived, double *low, double *high,
		     uint64_t *trials)
{
	const struct row *first = interval_bound(rows, derived, DERIVED_LOW),
			 *last = interval_bound(rows, derived, DERIVED_HIGH);

	if (!first || !last)
		return false;
	*low = first->value;
	*high = last->value;
	*trials = first->n;
	return true;
}
