/* SPDX-License-Identifier: BSD-2-Clause */
/* lead_page.c - the sentences of the first page (lead.h). */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/strategy.h"
#include "fabric/fabric.h"
#include "report/account.h"
#include "report/lead_internal.h"
#include "suite/edition.h"

#define LEAD_DIFFER 1.001 /* ratios that are not the same */

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

/* ---- what was not measured ---- */

struct lead_missing {
	const struct test *test;
	char reason[300];
	const char *remedy; /* NULL: none is known */
};

/* The reason of a test's first row without a value. */
static int lead_missing_read(const struct lead *lead, const struct test *test, bool *measured,
			     struct lead_missing *out)
{
	struct rows *rows;
	int err = results_test(lead->results, test, &rows);

	if (err)
		return err;
	*measured = rows_are_measured(rows);
	*out = (struct lead_missing){.test = test};
	snprintf(out->reason, sizeof(out->reason), "not part of this run");
	for (size_t i = 0; i < rows_count(rows); i++)
		if (rows_at(rows, i)->missing) {
			snprintf(out->reason, sizeof(out->reason), "%s", rows_at(rows, i)->missing);
			break;
		}
	/* what else a test would take is said in its own chapter */
	if (strstr(out->reason, "; "))
		*strstr(out->reason, "; ") = '\0';
	out->remedy = fabric_remedy(out->reason);
	rows_close(rows);
	return 0;
}

/* One sentence for all tests with that reason. */
static void lead_missing_sentence(FILE *out, struct lead_missing *missing, size_t n, size_t first)
{
	const struct lead_missing like = missing[first];

	fprintf(out, "Not measured: ");
	for (size_t i = first; i < n; i++) {
		if (!missing[i].test || strcmp(missing[i].reason, like.reason) != 0)
			continue;
		fprintf(out, "%s%s", i == first ? "" : ", ", missing[i].test->id);
		missing[i].test = NULL;
	}
	fprintf(out, ": %s%s%s. ", like.reason, like.remedy ? "; " : "",
		like.remedy ? like.remedy : "");
}

static bool lead_is_missing(const struct lead_missing *missing, size_t n, const char *id)
{
	for (size_t i = 0; i < n; i++)
		if (missing[i].remedy && strcmp(missing[i].test->id, id) == 0)
			return true;
	return false;
}

/* Tests without a figure by their reasons, and what to do; *measured: how many have one. */
static char *lead_missing_text(struct doc *doc, const struct lead *lead, size_t *measured)
{
	struct lead_missing *missing = calloc(lead->tests->n + 1, sizeof(*missing));
	char *text = NULL;
	size_t size, n = 0;
	FILE *out = missing ? open_memstream(&text, &size) : NULL;
	bool no_control;

	*measured = 0;
	for (size_t i = 0; out && i < lead->tests->n; i++) {
		bool is = false;

		doc_fail(doc, lead_missing_read(lead, lead->tests->test[i], &is, &missing[n]));
		*measured += is;
		n += !is;
	}
	no_control = lead_is_missing(missing, n, "8.1") && lead_is_missing(missing, n, "8.2");
	for (size_t i = 0; out && i < n; i++)
		if (missing[i].test)
			lead_missing_sentence(out, missing, n, i);
	if (out && no_control)
		fputs("Without 8.1 and 8.2 chapter 8 has no result of congestion control by marks "
		      "(ECN) or pauses (PFC).",
		      out);
	if (!out || fclose(out))
		doc_fail(doc, -ENOMEM);
	free(missing);
	return text;
}

static void lead_what(struct doc *doc, const struct lead *lead)
{
	const char *topology = results_value(lead->results, "Fabric", "Topology"),
		   *speed = results_value(lead->results, "Fabric", "Link speed"),
		   *profile = results_value(lead->results, "Run", "Profile"),
		   *time = results_value(lead->results, "Run", "Measured for");
	char drafts[300], trials[400], *missing;
	size_t n;

	missing = lead_missing_text(doc, lead, &n);
	doc_fail(doc, account_sentence(lead->results, lead->tests, trials, sizeof(trials)));
	lead_drafts(lead, drafts, sizeof(drafts));
	doc_text(doc, "What was tested: %zu test%s%s%s%s%s%s%s%s%s%s%s%s%s.", n, n == 1 ? "" : "s",
		 *drafts ? " after " : "", drafts, topology ? "; " : "", topology ? topology : "",
		 speed ? "; links of " : "", speed ? speed : "", profile ? "; profile " : "",
		 profile ? profile : "",
		 *trials ? ", each combination of parameters and strategy " : "", trials,
		 time ? "; measured for " : "", time ? time : "");
	if (missing && *missing)
		doc_text(doc, "%s", missing);
	free(missing);
}

/* Do all results of that KPI have this parameter, "size=1M"? */
static bool lead_is_everywhere(const struct compare *compare, const struct compare_item *of,
			       const char *param, size_t length)
{
	for (size_t i = 0; i < compare->n; i++) {
		const struct compare_item *item = &compare->item[i];

		if (item->test == of->test && item->column.kpi == of->column.kpi &&
		    !lead_has_param(item->params, param, length))
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

/* "2 are better and none worse beyond chance, 1 has too few trials to say" */
static void lead_chance_text(const struct lead_spread *s, char *out, size_t size)
{
	size_t few = s->n - s->tested;

	snprintf(out, size, "%zu %s better and %zu worse beyond chance", s->better,
		 s->better == 1 ? "is" : "are", s->worse);
	if (few)
		snprintf(out + strlen(out), size - strlen(out), ", %zu %s too few trials to say",
			 few, few == 1 ? "has" : "have");
}

/* Of one test: where the two differ most and least, as the sentence that all begins with. */
static void lead_one_figure(struct doc *doc, const struct lead *lead,
			    const struct lead_figure *figure)
{
	const struct lead_contrast *c = &lead->contrast[0];
	const struct lead_spread *spread = &figure->of[0];
	const struct kpi *kpi = figure->column.kpi;
	const char *what = *kpi->what ? kpi->what : figure->column.name;
	bool ends = spread->high > spread->low * LEAD_DIFFER;
	char most[500], least[500], text[2000];

	if (spread->n == 0)
		return;
	lead_item_text(&c->compare, spread->most, most, sizeof(most));
	lead_item_text(&c->compare, spread->least, least, sizeof(least));
	snprintf(text, sizeof(text), "%s%s%s%s: %s, %s against %s (%s is better).", most,
		 ends ? " where it gains most, " : "", ends ? least : "",
		 ends ? " where it gains least" : "", what, c->subject, c->baseline,
		 kpi->better == BETTER_HIGHER ? "more" : "less");
	doc_strong(doc, text);
	lead_chance_text(spread, text, sizeof(text));
	doc_text(doc, "Of %zu combination%s %s.", spread->n, spread->n == 1 ? "" : "s", text);
}

/* Those of MPI's jobs among them. */
static size_t lead_transports(const struct lead *lead, char *out, size_t size)
{
	static const char *const transports[][2] = {
		{"mpi-ofi-tcp",
		 "an unmodified Open MPI over libfabric's tcp, by the kernel's ECMP"},
		{"mpi-ucx-tcp", "the same over UCX's tcp"},
		{"mpi-fare", "the same over FARE's libfabric provider"},
	};
	size_t used = 0;

	for (size_t k = 0; k < sizeof(transports) / sizeof(transports[0]); k++)
		for (size_t i = 0; i < lead->n && used < size; i++)
			if (strcmp(lead->contrast[i].subject, transports[k][0]) == 0 ||
			    strcmp(lead->contrast[i].baseline, transports[k][0]) == 0) {
				used += (size_t)snprintf(out + used, size - used, " %s: %s.",
							 transports[k][0], transports[k][1]);
				break;
			}
	return used < size ? used : size;
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
	used += lead_transports(lead, text + used, sizeof(text) - used);
	if (used)
		doc_text(doc, "%s", text);
}

/* "7.4 (12.3 times: KV_xfer_latency P99, 6 combinations of 4 trials, of which 5 are better and 0
 * worse beyond chance)" */
static void lead_figure_text(const struct lead_figure *figure, const struct lead_spread *s,
			     char *out, size_t size)
{
	char chance[120];

	lead_chance_text(s, chance, sizeof(chance));
	snprintf(out, size, "%s (%.2f times: %s, %zu combination%s of %s%u trial%s, of which %s)",
		 figure->test->id, s->middle, figure->name, s->n, s->n == 1 ? "" : "s",
		 s->trials == 1 ? "only " : "", s->trials, s->trials == 1 ? "" : "s", chance);
}

/* Of many tests: the middle and the ends, if a difference is beyond chance. */
static void lead_all_figures(struct doc *doc, const struct lead *lead,
			     const struct lead_figure *figure, size_t n, size_t contrast)
{
	const struct lead_contrast *c = &lead->contrast[contrast];
	const struct lead_figure *least = NULL, *most = NULL;
	struct lead_spread sum = {.n = 0};
	double *middle = calloc(n + 1, sizeof(*middle));
	struct stats_summary summary;
	char high[400], low[400], chance[120];
	size_t used = 0;

	for (size_t i = 0; middle && i < n; i++) {
		const struct lead_spread *s = &figure[i].of[contrast];

		if (s->n == 0)
			continue;
		sum.n += s->n;
		sum.tested += s->tested;
		sum.better += s->better;
		sum.worse += s->worse;
		middle[used++] = log(s->middle);
		if (!least || s->middle < least->of[contrast].middle)
			least = &figure[i];
		if (!most || s->middle > most->of[contrast].middle)
			most = &figure[i];
	}
	doc_fail(doc, middle ? 0 : -ENOMEM);
	lead_chance_text(&sum, chance, sizeof(chance));
	if (used && sum.better + sum.worse == 0) {
		doc_text(doc,
			 "By each test's headline figure no difference between %s and %s is beyond "
			 "chance, so no number of times is given: of %zu combinations in %zu tests "
			 "%zu have too few trials to say (%d of both are needed at least), and %zu "
			 "no difference beyond the noise.",
			 c->subject, c->baseline, sum.n, used, sum.n - sum.tested,
			 COMPARE_MIN_TRIALS, sum.tested);
	} else if (used && !stats_summarise(middle, used, &summary)) {
		lead_figure_text(most, &most->of[contrast], high, sizeof(high));
		lead_figure_text(least, &least->of[contrast], low, sizeof(low));
		doc_text(doc,
			 "By each test's headline figure %s is %.2f times as good as %s in the "
			 "middle of %zu tests, of whose %zu combinations %s; most in %s, least in "
			 "%s.",
			 c->subject, exp(summary.median), c->baseline, used, sum.n, chance, high,
			 low);
	}
	free(middle);
}

/* Were results of both strategies compared? */
static bool lead_has_both(const struct lead *lead, const struct test *test)
{
	for (size_t i = 0; i < lead->n; i++)
		for (size_t k = 0; k < lead->contrast[i].compare.n; k++) {
			const struct compare_item *item = &lead->contrast[i].compare.item[k];

			if (item->test == test && item->a.kind == CELL_NUMBER &&
			    item->b.kind == CELL_NUMBER)
				return true;
		}
	return false;
}

static bool lead_is_drawn(const struct lead_figure *figure, size_t n, const struct test *test)
{
	for (size_t i = 0; i < n; i++)
		if (figure[i].test == test)
			return true;
	return false;
}

/* What a comparison is built on, and which tests have none. */
static void lead_rule(struct doc *doc, const struct lead *lead, const struct lead_figure *figure,
		      size_t n)
{
	char none[400] = "", few[400] = "";
	size_t used_none = 0, used_few = 0;

	for (size_t i = 0; i < lead->tests->n; i++) {
		const struct test *test = lead->tests->test[i];
		struct column column;

		if (lead_is_drawn(figure, n, test) || !lead_has_both(lead, test))
			continue;
		if (!lead_headline(test, &column) && used_none < sizeof(none))
			used_none += (size_t)snprintf(none + used_none, sizeof(none) - used_none,
						      "%s%s", used_none ? ", " : "", test->id);
		else if (used_few < sizeof(few))
			used_few += (size_t)snprintf(few + used_few, sizeof(few) - used_few,
						     "%s%s (%s)", used_few ? ", " : "", test->id,
						     column.name);
	}
	doc_text(doc,
		 "A test's headline figure is the one that it declares, else the first column of "
		 "its own tables of which more or less is better; a distribution by the "
		 "percentile of that column.%s%s%s%s%s%s",
		 *none ? " Without one, as they say nothing of the fabric: " : "", none,
		 *none ? "." : "",
		 *few ? " Left out, as no combination has it of both strategies with enough "
			"measurements: "
		      : "",
		 few, *few ? "." : "");
}

static void lead_busy(struct doc *doc, const struct lead *lead)
{
	const char *kept = results_value(lead->results, "Run", "Trials kept although busy"),
		   *idle = results_value(lead->results, "Run", "Idle time");
	char text[600];

	if (!results_even_busy(lead->results))
		return;
	snprintf(text, sizeof(text),
		 "Measured with --even-busy: trials count although a core had no idle time. These "
		 "figures may be those of the machine.%s%s%s%s%s%s",
		 kept ? " Such trials: " : "", kept ? kept : "", kept ? "." : "",
		 idle ? " Idle: " : "", idle ? idle : "", idle ? "." : "");
	doc_strong(doc, text);
}

/* The words are of each subject against its first baseline; the picture has all. */
static bool lead_is_first(const struct lead *lead, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (strcmp(lead->contrast[k].subject, lead->contrast[i].subject) == 0)
			return false;
	return true;
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
	lead_busy(doc, lead);
	/* of few tests the figure comes first: what was tested is in their names */
	if (n > 0 && n < LEAD_MANY)
		lead_one_figure(doc, lead, &figure[0]);
	if (lead->n && n < LEAD_MANY)
		lead_verdicts(doc, &lead->contrast[0]);
	if (lead->n)
		lead_strategies(doc, lead);
	lead_what(doc, lead);
	if (n >= LEAD_MANY) {
		for (size_t i = 0; i < lead->n; i++)
			if (lead_is_first(lead, i)) {
				lead_all_figures(doc, lead, figure, n, i);
				lead_verdicts(doc, &lead->contrast[i]);
			}
		lead_picture(doc, lead, figure, n);
		lead_rule(doc, lead, figure, n);
	}
	free(figure);
}
