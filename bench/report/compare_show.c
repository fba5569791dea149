/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/compare_show.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/forest.h"

#define CHANGES_MAX 40 /* lines */

/* ---- the picture ---- */

struct changes {
	struct forest forest;
	const struct compare_item *item[CHANGES_MAX];
	double extent; /* percent to each side */
};

static bool changes_is_drawn(const struct compare_item *item)
{
	return item->verdict >= COMPARE_BETTER && item->verdict < COMPARE_GONE &&
	       isfinite(item->percent);
}

static int changes_by_size(const void *a, const void *b)
{
	const struct compare_item *x = *(const struct compare_item *const *)a,
				  *y = *(const struct compare_item *const *)b;
	bool sure_x = x->verdict < COMPARE_MAYBE_BETTER, sure_y = y->verdict < COMPARE_MAYBE_BETTER;

	if (sure_x != sure_y)
		return sure_x ? -1 : 1;
	return (fabs(x->percent) < fabs(y->percent)) - (fabs(x->percent) > fabs(y->percent));
}

/* The largest changes, those beyond the noise first. */
static int changes_choose(const struct compare *compare, struct changes *changes)
{
	static const double extents[] = {10, 20, 40, 100, 200, 400}; /* percent */
	const struct compare_item **all = calloc(compare->n + 1, sizeof(*all));
	size_t n = 0;

	*changes = (struct changes){.forest = {.left = 430, .top = 30, .line = 22}, .extent = 10};
	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < compare->n; i++)
		if (changes_is_drawn(&compare->item[i]))
			all[n++] = &compare->item[i];
	qsort(all, n, sizeof(*all), changes_by_size);
	changes->forest.n = n < CHANGES_MAX ? n : CHANGES_MAX;
	for (size_t i = 0; i < changes->forest.n; i++) {
		changes->item[i] = all[i];
		changes->extent = fmax(changes->extent, fabs(all[i]->percent) * 1.15);
	}
	for (size_t i = 0; i < sizeof(extents) / sizeof(extents[0]); i++)
		if (extents[i] >= changes->extent ||
		    i + 1 == sizeof(extents) / sizeof(extents[0])) {
			changes->extent = extents[i];
			break;
		}
	free(all);
	return 0;
}

/* A square that is filled if it is beyond the noise; a triangle for the worse: not colour alone. */
static void changes_mark(FILE *file, const struct compare_item *item, double x, double y)
{
	bool sure = item->verdict < COMPARE_MAYBE_BETTER;
	bool worse = item->verdict == COMPARE_WORSE || item->verdict == COMPARE_MAYBE_WORSE;
	bool better = item->verdict == COMPARE_BETTER || item->verdict == COMPARE_MAYBE_BETTER;
	const char *colour = worse ? "#d9541e" : better ? "#1a9e77" : "#7a7f87";

	if (worse)
		fprintf(file, "<path d=\"M%.1f %.1f l6 11 h-12 z\"", x, y - 6);
	else
		fprintf(file, "<path d=\"M%.1f %.1f h9 v9 h-9 z\"", x - 4.5, y - 4.5);
	fprintf(file, " fill=\"%s\" stroke=\"%s\" stroke-width=\"1.6\"/>\n", sure ? colour : "none",
		colour);
}

static void changes_line(FILE *file, const struct changes *changes, size_t i)
{
	const struct compare_item *item = changes->item[i];
	double y = forest_y(&changes->forest, i);
	char text[ROWS_MAX_PARAMS * 40 + 300], percent[32];

	snprintf(text, sizeof(text), "%s %s %s %s", item->test->id, item->column.name,
		 item->strategy, item->params);
	if (strlen(text) > 62) {
		size_t cut = 60;

		while (cut > 0 && ((unsigned char)text[cut] & 0xc0) == 0x80)
			cut--;
		strcpy(text + cut, "\u2026");
	}
	snprintf(percent, sizeof(percent), "%+.1f%%", item->percent);
	forest_name(file, &changes->forest, i, text, percent);
	if (isfinite(item->low) && isfinite(item->high))
		forest_interval(file, &changes->forest, item->low / changes->extent,
				item->high / changes->extent, y);
	changes_mark(file, item, forest_x(&changes->forest, item->percent / changes->extent), y);
}

static void changes_draw(FILE *file, const void *context)
{
	const struct changes *changes = context;
	const char *tick[FOREST_TICKS];
	char text[FOREST_TICKS][32];

	for (int i = 0; i < FOREST_TICKS; i++) {
		snprintf(text[i], sizeof(text[i]), "%+.3g%%", changes->extent * (i - 2) / 2);
		tick[i] = i == 2 ? "0" : text[i];
	}
	forest_begin(file, &changes->forest, tick);
	for (size_t i = 0; i < changes->forest.n; i++)
		changes_line(file, changes, i);
	fputs("</svg>\n", file);
}

/* ---- the text ---- */

/* across: of two strategies, and not of one. */
static void compare_row(struct doc *doc, struct table *table, const struct compare_item *item,
			bool across)
{
	char a[CELL_TEXT_MAX], b[CELL_TEXT_MAX], percent[32] = "", p[32] = "";

	cell_text(&item->a, a, sizeof(a));
	cell_text(&item->b, b, sizeof(b));
	if (!isnan(item->percent))
		snprintf(percent, sizeof(percent), "%+.1f%%", item->percent);
	if (isfinite(item->p))
		snprintf(p, sizeof(p), "%.2g", item->p);
	else if (item->n_a || item->n_b)
		snprintf(p, sizeof(p), "few: %u, %u", item->n_a, item->n_b);
	if (across)
		doc_fail(doc,
			 table_row(table, (const char *[]){item->test->id, item->column.label,
							   item->params, a, b, percent, p,
							   compare_verdict_name(item->verdict)}));
	else
		doc_fail(doc, table_row(table, (const char *[]){
						       item->test->id, item->column.label,
						       item->strategy, item->params, a, b, percent,
						       p, compare_verdict_name(item->verdict)}));
}

/* The rows with the verdicts that are wanted. */
static void compare_some(struct doc *doc, const struct compare *compare, const bool *wanted,
			 const char *a, const char *b, bool across)
{
	const char *const of_runs[] = {"Test", "KPI",	"Strategy", "Parameters", a,
				       b,      "B - A", "p",	    "Verdict"};
	const char *const of_strategies[] = {"Test", "KPI",    "Parameters", a,
					     b,	     "Change", "p",	     "Verdict"};
	struct table *table;
	int err = across ? table_create(&table, sizeof(of_strategies) / sizeof(of_strategies[0]),
					of_strategies)
			 : table_create(&table, sizeof(of_runs) / sizeof(of_runs[0]), of_runs);

	if (err) {
		doc_fail(doc, err);
		return;
	}
	for (size_t i = 0; i < compare->n; i++)
		if (wanted[compare->item[i].verdict])
			compare_row(doc, table, &compare->item[i], across);
	if (table_rows(table) > 1) {
		doc_table(doc, table);
	} else {
		doc_text(doc, "None.");
		table_destroy(table);
	}
}
/* Those that changed, or the others. */
static void compare_table(struct doc *doc, const struct compare *compare, bool changed)
{
	bool wanted[COMPARE_VERDICTS];

	for (int i = 0; i < COMPARE_VERDICTS; i++)
		wanted[i] = (i != COMPARE_SAME && i < COMPARE_FEW) == changed;
	compare_some(doc, compare, wanted, "A", "B", false);
}

void compare_table_of(struct doc *doc, const struct compare *compare, enum compare_verdict one,
		      enum compare_verdict other, const char *a, const char *b)
{
	bool wanted[COMPARE_VERDICTS] = {false};

	wanted[one] = wanted[other] = true;
	compare_some(doc, compare, wanted, a, b, true);
}

static void compare_counts(struct doc *doc, const struct compare *compare)
{
	char text[400] = "";
	size_t used = 0;

	for (int i = 0; i < COMPARE_VERDICTS && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%zu %s",
					 i ? ", " : "", compare->count[i],
					 compare_verdict_name((enum compare_verdict)i));
	doc_text(doc, "%zu rows were compared: %s.", compare->n, text);
}

/* What more trials would tell. */
static void compare_missing(struct doc *doc, const struct compare *compare)
{
	unsigned wanted = compare_trials_wanted(compare->n_numbers);
	unsigned more_a = wanted > compare->least_a ? wanted - compare->least_a : 0,
		 more_b = wanted > compare->least_b ? wanted - compare->least_b : 0;

	if (!compare->n_numbers || (!more_a && !more_b))
		return;
	doc_text(doc,
		 "A has %u trials of each row at least, B %u. To tell a change of a single one of "
		 "%zu rows from chance takes %u of both: A misses %u, B %u. farebench compare "
		 "--more makes them.",
		 compare->least_a, compare->least_b, compare->n_numbers, wanted, more_a, more_b);
}

static void compare_busy(struct doc *doc, const char *name, bool busy)
{
	char text[120];

	snprintf(text, sizeof(text),
		 "%s was measured with --even-busy: its figures may be those of the machine.",
		 name);
	if (busy)
		doc_strong(doc, text);
}

/* Runs by different revisions measure by different rules. */
static void compare_editions(struct doc *doc, const struct compare_run *a,
			     const struct compare_run *b)
{
	char text[300];

	for (enum edition_draft i = 0; i < EDITION_DRAFTS; i++) {
		if (a->editions.newer[i] == b->editions.newer[i])
			continue;
		snprintf(text, sizeof(text), "Of the %s draft A follows -%s, B -%s.",
			 edition_name(i), edition_revision(a->editions, i),
			 edition_revision(b->editions, i));
		doc_strong(doc, text);
	}
}

void compare_doc(struct doc *doc, const struct compare *compare, const struct compare_run *a,
		 const struct compare_run *b, double min_percent, bool all)
{
	struct changes changes;
	int err = changes_choose(compare, &changes);

	doc_text(doc, "A: %s. B: %s.", a->dir, b->dir);
	compare_busy(doc, "A", a->even_busy);
	compare_busy(doc, "B", b->even_busy);
	compare_editions(doc, a, b);
	doc_text(doc,
		 "Better, worse or changed: the rank test of the trials (Mann-Whitney, two-sided) "
		 "has p < %g after adjustment for the number of comparisons (Benjamini and "
		 "Hochberg), and the medians differ by %g%% at least. Maybe: too few trials for "
		 "the test to say so (it takes %d at least), but all values of one are above all "
		 "of the other.",
		 COMPARE_P, min_percent, COMPARE_MIN_TRIALS);
	doc_heading(doc, 2, "sum", "Sum");
	compare_counts(doc, compare);
	compare_missing(doc, compare);
	doc_fail(doc, err);
	if (!err && changes.forest.n) {
		doc_drawing(doc, "Change from A to B, with the ends that both intervals leave",
			    changes_draw, &changes);
		doc_text(doc, "Triangles: worse; squares: better, or neither. Open: maybe.");
	}
	doc_heading(doc, 2, "changed", "Changed");
	compare_table(doc, compare, true);
	if (!all)
		return;
	doc_heading(doc, 2, "others", "Not changed, or not known");
	compare_table(doc, compare, false);
}

/* ---- JSON ---- */

static json_t *compare_item_json(const struct compare_item *item)
{
	json_t *json = json_pack("{ss ss ss ss ss sI sI ss}", "test", item->test->id, "kpi",
				 item->column.name, "unit", item->column.kpi->unit, "strategy",
				 item->strategy, "params", item->params, "n_a",
				 (json_int_t)item->n_a, "n_b", (json_int_t)item->n_b, "verdict",
				 compare_verdict_name(item->verdict));
	const struct {
		const char *name;
		double value;
	} numbers[] = {{"a", item->a.value},	   {"a_low", item->a.low}, {"a_high", item->a.high},
		       {"b", item->b.value},	   {"b_low", item->b.low}, {"b_high", item->b.high},
		       {"percent", item->percent}, {"p", item->p}};

	/* what is no number is not there */
	for (size_t i = 0; json && i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (isfinite(numbers[i].value) &&
		    json_object_set_new(json, numbers[i].name, json_real(numbers[i].value))) {
			json_decref(json);
			return NULL;
		}
	return json;
}

json_t *compare_counts_json(const struct compare *compare)
{
	json_t *counts = json_object();

	for (int i = 0; counts && i < COMPARE_VERDICTS; i++)
		if (json_object_set_new(counts, compare_verdict_name((enum compare_verdict)i),
					json_integer((json_int_t)compare->count[i]))) {
			json_decref(counts);
			return NULL;
		}
	return counts;
}

json_t *compare_items_json(const struct compare *compare)
{
	json_t *items = json_array();

	for (size_t i = 0; items && i < compare->n; i++)
		if (json_array_append_new(items, compare_item_json(&compare->item[i]))) {
			json_decref(items);
			return NULL;
		}
	return items;
}

json_t *compare_json(const struct compare *compare, const struct compare_run *a,
		     const struct compare_run *b)
{
	return json_pack("{ss ss ss sb sb si si si ss so so}", "schema", "farebench-compare-1", "a",
			 a->dir, "b", b->dir, "a_even_busy", (int)a->even_busy, "b_even_busy",
			 (int)b->even_busy, "a_least_trials", (int)compare->least_a,
			 "b_least_trials", (int)compare->least_b, "trials_wanted",
			 (int)compare_trials_wanted(compare->n_numbers), "p_of",
			 "Mann-Whitney, two-sided, adjusted as Benjamini and Hochberg do", "counts",
			 compare_counts_json(compare), "items", compare_items_json(compare));
}
