/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/lead.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/strategy.h"
#include "report/lead_internal.h"
#include "suite/edition.h"

#define LEAD_DIFFER	 1.001 /* ratios that are not the same */
#define LEAD_MIN_PERCENT 2.0   /* as `farebench compare` has it */

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

/* How many times better than the baseline; NaN: no ratio. */
static double lead_ratio(const struct compare_item *item)
{
	double a = item->a.value, b = item->b.value;

	if (item->a.kind != CELL_NUMBER || item->b.kind != CELL_NUMBER || !(a > 0) || !(b > 0))
		return NAN;
	return item->column.kpi->better == BETTER_HIGHER ? b / a : a / b;
}

static bool lead_is_figure(const struct compare_item *item, const struct test *test,
			   const struct kpi *kpi)
{
	return item->test == test && item->column.kpi == kpi &&
	       (!item->column.named || item->column.quantile == 0.5) && isfinite(lead_ratio(item));
}

static bool lead_read_spread(const struct compare *compare, const struct test *test,
			     const struct kpi *kpi, struct lead_spread *out)
{
	double ratio[LEAD_MAX_PLACES];
	struct stats_summary summary;

	*out = (struct lead_spread){0};
	for (size_t i = 0; i < compare->n && out->n < LEAD_MAX_PLACES; i++) {
		const struct compare_item *item = &compare->item[i];

		if (!lead_is_figure(item, test, kpi))
			continue;
		ratio[out->n] = lead_ratio(item);
		if (!out->least || ratio[out->n] < lead_ratio(out->least))
			out->least = item;
		if (!out->most || ratio[out->n] > lead_ratio(out->most))
			out->most = item;
		out->n++;
	}
	if (out->n == 0 || stats_summarise(ratio, out->n, &summary))
		return false;
	out->low = summary.min;
	out->middle = summary.median;
	out->high = summary.max;
	return true;
}

bool lead_figure(const struct lead *lead, const struct test *test, struct lead_figure *out)
{
	for (const struct kpi *kpi = test->kpis; kpi->name; kpi++) {
		bool any = false;

		if (kpi->better == BETTER_NONE)
			continue;
		for (size_t i = 0; i < lead->n; i++)
			any |= lead_read_spread(&lead->contrast[i].compare, test, kpi, &out->of[i]);
		out->test = test;
		out->kpi = kpi;
		if (any)
			return true;
	}
	return false;
}

/* ---- sentences ---- */

/* "draft-..., draft-...": those that the clauses of tests name. */
static void lead_drafts(const struct lead *lead, char *out, size_t size)
{
	struct editions editions = editions_of(lead->results->run);
	size_t used = 0;

	*out = '\0';
	for (size_t i = 0; i < lead->tests->n && used < size; i++) {
		char name[120];

		edition_clause(editions, lead->tests->test[i]->clause, name, sizeof(name));
		name[strcspn(name, ",")] = '\0';
		if (strncmp(name, "draft-", 6) != 0 || strstr(out, name))
			continue;
		used += (size_t)snprintf(out + used, size - used, "%s%s", used ? " and " : "",
					 name);
	}
	if (used && used < size &&
	    (editions.newer[EDITION_INFERENCE] || editions.newer[EDITION_TRAINING]))
		snprintf(out + used, size - used,
			 " (terms: draft-calabria-bmwg-ai-fabric-terminology-04)");
}

/* Counts those that gave a figure, and names the others. */
static int lead_measured(const struct lead *lead, size_t *n, char *others, size_t size)
{
	size_t used = 0;

	*n = 0;
	*others = '\0';
	for (size_t i = 0; i < lead->tests->n; i++) {
		struct rows *rows;
		int err = results_test(lead->results, lead->tests->test[i], &rows);

		if (err)
			return err;
		if (rows_are_measured(rows))
			(*n)++;
		else if (used < size)
			used += (size_t)snprintf(others + used, size - used, "%s%s",
						 used ? ", " : "", lead->tests->test[i]->id);
		rows_close(rows);
	}
	return 0;
}

static void lead_what(struct doc *doc, const struct lead *lead)
{
	const char *topology = results_value(lead->results, "Fabric", "Topology"),
		   *speed = results_value(lead->results, "Fabric", "Link speed"),
		   *profile = results_value(lead->results, "Run", "Profile"),
		   *time = results_value(lead->results, "Run", "Measured for");
	char drafts[300], others[300];
	size_t n;

	doc_fail(doc, lead_measured(lead, &n, others, sizeof(others)));
	lead_drafts(lead, drafts, sizeof(drafts));
	doc_text(doc, "What was tested: %zu test%s%s%s%s%s%s%s%s%s%s%s.%s%s%s", n,
		 n == 1 ? "" : "s", *drafts ? " after " : "", drafts, topology ? "; " : "",
		 topology ? topology : "", speed ? "; links of " : "", speed ? speed : "",
		 profile ? "; profile " : "", profile ? profile : "", time ? "; measured for " : "",
		 time ? time : "", *others ? " Not run, or not possible here: " : "", others,
		 *others ? "." : "");
}

/* Do all results of that KPI have this parameter, "size=1M"? */
static bool lead_is_everywhere(const struct compare *compare, const struct compare_item *of,
			       const char *param, size_t length)
{
	for (size_t i = 0; i < compare->n; i++) {
		const struct compare_item *item = &compare->item[i];
		const char *at = strstr(item->params, param);

		if (item->test != of->test || item->column.kpi != of->column.kpi)
			continue;
		while (at &&
		       ((at > item->params && at[-1] != ' ') || (at[length] && at[length] != ' ')))
			at = strstr(at + 1, param);
		if (!at)
			return false;
	}
	return true;
}

/* " (size=1M)": the parameters that vary. */
static void lead_place(const struct compare *compare, const struct compare_item *item, char *out,
		       size_t size)
{
	size_t used = 0;

	*out = '\0';
	for (const char *at = item->params; *at && used < size;) {
		size_t length = strcspn(at, " ");
		char param[2 * ROW_NAME_MAX];

		snprintf(param, sizeof(param), "%.*s", (int)length, at);
		if (!lead_is_everywhere(compare, item, param, strlen(param)))
			used += (size_t)snprintf(out + used, size - used, "%s%s",
						 used ? ", " : " (", param);
		at += length + (at[length] == ' ');
	}
	if (used && used < size)
		snprintf(out + used, size - used, ")");
}

/* A part of something ("of_optimum") in percent. */
static void lead_number(const struct kpi *kpi, double value, char *out, size_t size)
{
	if (strncmp(kpi->name, "of_", 3) == 0)
		snprintf(out, size, "%.0f%%", value * 100);
	else
		cell_number(value, out, size);
}

/* "94% against 38% (size=1M)" */
static void lead_item_text(const struct compare *compare, const struct compare_item *item,
			   char *out, size_t size)
{
	char a[32], b[32], place[400];

	lead_place(compare, item, place, sizeof(place));
	lead_number(item->column.kpi, item->a.value, a, sizeof(a));
	lead_number(item->column.kpi, item->b.value, b, sizeof(b));
	snprintf(out, size, "%s against %s%s%s%s", b, a, *item->column.kpi->unit ? " " : "",
		 item->column.kpi->unit, place);
}

/* Of one test: where the two differ most and least, as the sentence that all begins with. */
static void lead_one_figure(struct doc *doc, const struct lead *lead,
			    const struct lead_figure *figure)
{
	const struct lead_contrast *c = &lead->contrast[0];
	const struct lead_spread *spread = &figure->of[0];
	const char *what = *figure->kpi->what ? figure->kpi->what : figure->kpi->name;
	bool ends = spread->high > spread->low * LEAD_DIFFER;
	char most[500], least[500], text[2000];

	if (spread->n == 0)
		return;
	lead_item_text(&c->compare, spread->most, most, sizeof(most));
	lead_item_text(&c->compare, spread->least, least, sizeof(least));
	snprintf(text, sizeof(text), "%s%s%s%s: %s, %s against %s (%s is better).", most,
		 ends ? " where it gains most, " : "", ends ? least : "",
		 ends ? " where it gains least" : "", what, c->subject, c->baseline,
		 figure->kpi->better == BETTER_HIGHER ? "more" : "less");
	doc_strong(doc, text);
}

/* What the names of strategies mean. */
static void lead_strategies(struct doc *doc, const struct lead *lead)
{
	char text[2000] = "";
	size_t used = 0, i;
	json_t *name;

	json_array_foreach (json_object_get(lead->results->run, "strategies"), i, name) {
		int strategy = strategy_parse(json_string_value(name));

		if (strategy >= 0 && used < sizeof(text))
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s: %s.",
						 used ? " " : "", json_string_value(name),
						 strategy_what((enum strategy)strategy));
	}
	if (used)
		doc_text(doc, "%s", text);
}

/* Of many tests: the middle, the ends. */
static void lead_all_figures(struct doc *doc, const struct lead *lead,
			     const struct lead_figure *figure, size_t n)
{
	const struct lead_figure *least = NULL, *most = NULL;
	double middle[LEAD_MAX_PLACES];
	struct stats_summary summary;
	size_t used = 0;

	for (size_t i = 0; i < n && used < LEAD_MAX_PLACES; i++) {
		if (figure[i].of[0].n == 0)
			continue;
		middle[used++] = figure[i].of[0].middle;
		if (!least || figure[i].of[0].middle < least->of[0].middle)
			least = &figure[i];
		if (!most || figure[i].of[0].middle > most->of[0].middle)
			most = &figure[i];
	}
	if (used == 0 || stats_summarise(middle, used, &summary))
		return;
	doc_text(doc,
		 "In the first figure of each test %s is %.2f times as good as %s in the middle of "
		 "%zu tests: most in %s (%.2f times, %s), least in %s (%.2f times, %s).",
		 lead->contrast[0].subject, summary.median, lead->contrast[0].baseline, used,
		 most->test->id, most->of[0].middle, most->kpi->name, least->test->id,
		 least->of[0].middle, least->kpi->name);
}

void lead_page(struct doc *doc, const struct lead *lead)
{
	struct lead_figure *figure = calloc(lead->tests->n + 1, sizeof(*figure));
	size_t n = 0;

	if (!figure) {
		doc_fail(doc, -ENOMEM);
		return;
	}
	for (size_t i = 0; i < lead->tests->n; i++)
		n += lead_figure(lead, lead->tests->test[i], &figure[n]);
	if (results_even_busy(lead->results))
		doc_strong(doc, "Measured with --even-busy: trials count although a core had no "
				"idle time. These figures may be those of the machine.");
	/* of few tests the figure comes first: what was tested is in their names */
	if (n > 0 && n < LEAD_MANY)
		lead_one_figure(doc, lead, &figure[0]);
	if (lead->n)
		lead_strategies(doc, lead);
	lead_what(doc, lead);
	if (n >= LEAD_MANY)
		lead_all_figures(doc, lead, figure, n);
	if (n >= LEAD_MANY)
		lead_picture(doc, lead, figure, n);
	free(figure);
}
