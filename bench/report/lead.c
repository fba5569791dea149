/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/lead.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/lead_internal.h"

#define LEAD_MIN_PERCENT 2.0 /* as `farebench compare` has it */

/* ---- which strategies are compared ---- */

static bool lead_is_fare(const char *strategy)
{
	return strstr(strategy, "fare") != NULL;
}

/* Fare's strategies by preference: one for traffic of this program's, one for MPI's. */
static int lead_rank(const char *strategy)
{
	if (strcmp(strategy, "fare-spray") == 0 || strcmp(strategy, "mpi-fare") == 0)
		return 0;
	return lead_is_fare(strategy) ? 1 : -1;
}

/* FARE's strategy among those of a test, and what it is compared with, in their order. */
static const char *lead_subject(const struct axis *axis)
{
	const char *subject = NULL;

	for (size_t i = 0; i < axis->n; i++)
		if (lead_rank(axis->level[i].text) == 0 ||
		    (!subject && lead_rank(axis->level[i].text) == 1))
			subject = axis->level[i].text;
	return subject;
}

static bool lead_has(const struct lead *lead, const char *subject, const char *baseline)
{
	for (size_t i = 0; i < lead->n; i++)
		if (strcmp(lead->contrast[i].subject, subject) == 0 &&
		    strcmp(lead->contrast[i].baseline, baseline) == 0)
			return true;
	return false;
}

static int lead_axis(const struct lead *lead, size_t i, struct axis *axis)
{
	const struct test *test = lead->tests->test[i];
	struct rows *rows;
	int err = results_test(lead->results, test, &rows);

	if (err)
		return err;
	axis_read(axis, test, rows, NULL, "strategy");
	rows_close(rows);
	return 0;
}

static void lead_add_pairs(struct lead *lead, const struct axis *axis)
{
	const char *subject = lead_subject(axis);

	for (size_t i = 0; subject && i < axis->n && lead->n < LEAD_MAX; i++) {
		const char *baseline = axis->level[i].text;
		struct lead_contrast *contrast = &lead->contrast[lead->n];

		if (lead_is_fare(baseline) || lead_has(lead, subject, baseline))
			continue;
		snprintf(contrast->subject, sizeof(contrast->subject), "%s", subject);
		snprintf(contrast->baseline, sizeof(contrast->baseline), "%s", baseline);
		lead->n++;
	}
}

static bool lead_axis_has(const struct axis *axis, const char *strategy)
{
	for (size_t i = 0; i < axis->n; i++)
		if (strcmp(axis->level[i].text, strategy) == 0)
			return true;
	return false;
}

/* In the tests that have both. */
static int lead_compare(struct lead *lead, struct lead_contrast *contrast, struct axis *axis)
{
	const struct test **both = calloc(lead->tests->n + 1, sizeof(*both));
	struct results_tests list = {both, 0};
	int err = both ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < lead->tests->n; i++) {
		err = lead_axis(lead, i, axis);
		if (!err && lead_axis_has(axis, contrast->subject) &&
		    lead_axis_has(axis, contrast->baseline))
			both[list.n++] = lead->tests->test[i];
	}
	if (!err)
		err = compare_strategies(lead->results, &list, contrast->baseline,
					 contrast->subject, LEAD_MIN_PERCENT, &contrast->compare);
	free(both);
	return err;
}

int lead_init(struct lead *lead, const struct results *results, const struct results_tests *tests)
{
	struct axis *axis = calloc(1, sizeof(*axis));
	int err = axis ? 0 : -ENOMEM;

	*lead = (struct lead){.results = results, .tests = tests};
	for (size_t i = 0; !err && i < tests->n; i++) {
		err = lead_axis(lead, i, axis);
		if (!err)
			lead_add_pairs(lead, axis);
	}
	for (size_t i = 0; !err && i < lead->n; i++)
		err = lead_compare(lead, &lead->contrast[i], axis);
	free(axis);
	if (err)
		lead_fini(lead);
	return err;
}

void lead_fini(struct lead *lead)
{
	for (size_t i = 0; i < lead->n; i++)
		compare_fini(&lead->contrast[i].compare);
	lead->n = 0;
}

/* ---- a test's figure for the first page ---- */

static bool lead_can_compare(const struct column *column)
{
	return column->kpi->better != BETTER_NONE && !column->is_mean &&
	       !kpi_is_simulated(column->kpi->name) &&
	       (column->quantile == 0.5 || column->quantile == 0.99);
}

bool lead_headline(const struct test *test, struct column *out)
{
	if (test->headline)
		return !column_parse(out, test, test->headline) && lead_can_compare(out);
	for (const struct view *view = test->views; view && view->title; view++)
		for (size_t i = 0; i < TEST_MAX_COLUMNS && view->y[i]; i++)
			if (view->kind == VIEW_TABLE && !column_parse(out, test, view->y[i]) &&
			    lead_can_compare(out))
				return true;
	return false;
}

double lead_ratio(const struct compare_item *item)
{
	double a = item->a.value, b = item->b.value;

	if (item->a.kind != CELL_NUMBER || item->b.kind != CELL_NUMBER || !(a > 0) || !(b > 0))
		return NAN;
	return item->column.kpi->better == BETTER_HIGHER ? b / a : a / b;
}

bool lead_has_param(const char *params, const char *param, size_t length)
{
	const char *at = strstr(params, param);

	while (at && ((at > params && at[-1] != ' ') || (at[length] && at[length] != ' ')))
		at = strstr(at + 1, param);
	return at;
}

/* The largest of few measurements is no percentile. */
static bool lead_is_figure(const struct compare_item *item, const struct test *test,
			   const struct column *column)
{
	return item->test == test && item->column.kpi == column->kpi &&
	       item->column.quantile == column->quantile && !item->a.is_max && !item->b.is_max &&
	       isfinite(lead_ratio(item)) &&
	       (!test->headline_where ||
		lead_has_param(item->params, test->headline_where, strlen(test->headline_where)));
}

/* The middle is the geometric mean: of a half and of twice as good that is equal. */
static void lead_read_spread(const struct compare *compare, const struct test *test,
			     const struct column *column, struct lead_spread *out)
{
	double sum = 0;

	*out = (struct lead_spread){0};
	for (size_t i = 0; i < compare->n; i++) {
		const struct compare_item *item = &compare->item[i];
		unsigned trials = item->a.trials < item->b.trials ? item->a.trials : item->b.trials;

		if (!lead_is_figure(item, test, column))
			continue;
		sum += log(lead_ratio(item));
		if (!out->least || lead_ratio(item) < lead_ratio(out->least))
			out->least = item;
		if (!out->most || lead_ratio(item) > lead_ratio(out->most))
			out->most = item;
		if (!out->n || trials < out->trials)
			out->trials = trials;
		out->better += item->verdict == COMPARE_BETTER;
		out->worse += item->verdict == COMPARE_WORSE;
		out->tested += isfinite(item->p);
		out->n++;
	}
	if (!out->n)
		return;
	out->low = lead_ratio(out->least);
	out->middle = exp(sum / (double)out->n);
	out->high = lead_ratio(out->most);
}

bool lead_figure(const struct lead *lead, const struct test *test, struct lead_figure *out)
{
	bool any = false;

	if (!lead_headline(test, &out->column))
		return false;
	out->test = test;
	snprintf(out->name, sizeof(out->name), "%s%s%s", out->column.name,
		 test->headline_where ? ", " : "",
		 test->headline_where ? test->headline_where : "");
	for (size_t i = 0; i < lead->n; i++) {
		lead_read_spread(&lead->contrast[i].compare, test, &out->column, &out->of[i]);
		any |= out->of[i].n > 0;
	}
	return any;
}
