/* SPDX-License-Identifier: BSD-2-Clause */
/* lead_show.c - the picture of the first page, the chapter behind it, and both as JSON (lead.h). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/compare_show.h"
#include "report/forest.h"
#include "report/lead_internal.h"
#include "report/report_plot.h"

#define LEAD_MARKS    4 /* baselines in the picture */
#define LEAD_KEYS     3 /* of them beside each other, in the names at its head */
#define LEAD_KEY_LINE 20
#define LEAD_EXTENT   4 /* times to each side at most: others are at its end, with their number */

struct lead_drawing {
	const struct lead *lead;
	const struct lead_figure *figure;
	struct forest forest;
	double extent; /* the axis goes from 1/extent to extent */
};

static double lead_share(const struct lead_drawing *d, double ratio)
{
	return log(ratio) / log(d->extent);
}

static size_t lead_baselines(const struct lead *lead)
{
	return lead->n < LEAD_MARKS ? lead->n : LEAD_MARKS;
}

/* A baseline has the mark that it has in every picture; open: nothing of it is beyond chance. */
static void lead_mark(FILE *file, const struct lead_drawing *d, size_t i, bool open, double x,
		      double y)
{
	unsigned style =
		test_strategy_style(d->figure[0].test, d->lead->contrast[i].baseline, (unsigned)i);

	forest_mark(file, style, report_plot_colour_of(style), open, x, y);
}

static void lead_key(FILE *file, const struct lead_drawing *d)
{
	for (size_t i = 0; i < lead_baselines(d->lead); i++) {
		const struct lead_contrast *c = &d->lead->contrast[i];
		double x = 6 + (double)(i % LEAD_KEYS) * FOREST_WIDTH / LEAD_KEYS,
		       y = 10 + (double)(i / LEAD_KEYS) * LEAD_KEY_LINE;
		char text[2 * ROW_NAME_MAX + 16];

		snprintf(text, sizeof(text), "%s against %s", c->subject, c->baseline);
		lead_mark(file, d, i, false, x + 6, y);
		report_svg_text(file, x + 18, y + 4, "start", text);
	}
}

static void lead_axis(FILE *file, const struct lead_drawing *d)
{
	const char *tick[FOREST_TICKS];
	char text[FOREST_TICKS][32];

	for (int i = 0; i < FOREST_TICKS; i++) {
		snprintf(text[i], sizeof(text[i]), "%.3g times", pow(d->extent, (i - 2) / 2.0));
		tick[i] = i == 2 ? "equal" : text[i];
	}
	forest_begin(file, &d->forest, tick);
	report_svg_text(file, d->forest.left, d->forest.top - 28, "start", "\u2190 worse");
	report_svg_text(file, FOREST_RIGHT, d->forest.top - 28, "end", "better \u2192");
}

/* Numbers of marks outside the axis, at its end, and an arrow. */
static void lead_outside(FILE *file, const struct lead_drawing *d, size_t i, bool high)
{
	char text[LEAD_MARKS * 24] = "";
	size_t used = 0;

	for (size_t k = 0; k < lead_baselines(d->lead); k++) {
		const struct lead_spread *s = &d->figure[i].of[k];

		if (s->n && (high ? s->middle > d->extent : s->middle < 1 / d->extent))
			used += (size_t)snprintf(text + used, sizeof(text) - used,
						 high ? "%s%.3g\u00d7" : "%s%.2g\u00d7",
						 used ? ", " : "", s->middle);
	}
	if (!used)
		return;
	snprintf(text + used, sizeof(text) - used, "%s", high ? " \u25b6" : "");
	/* readable where lines of intervals lie beneath */
	fputs("<g style=\"paint-order:stroke;stroke:var(--back);stroke-width:5px\">\n", file);
	report_svg_text(file, high ? FOREST_RIGHT - 10 : d->forest.left + 10,
			forest_y(&d->forest, i) + 4, high ? "end" : "start", text);
	fputs("</g>\n", file);
}

static void lead_line(FILE *file, const struct lead_drawing *d, size_t i)
{
	const struct lead_figure *figure = &d->figure[i];
	size_t n = lead_baselines(d->lead), first = 0;
	char text[200], number[32];

	snprintf(text, sizeof(text), "%s %s", figure->test->id, figure->name);
	while (first < n && figure->of[first].n == 0)
		first++;
	snprintf(number, sizeof(number), "%.2f\u00d7", first < n ? figure->of[first].middle : 0);
	forest_name(file, &d->forest, i, text, first < n ? number : NULL);
	for (size_t k = 0; k < n; k++) {
		const struct lead_spread *s = &figure->of[k];
		/* of several baselines each has its own height */
		double at = forest_y(&d->forest, i) + ((double)k - ((double)n - 1) / 2) * 6;

		if (s->n == 0)
			continue;
		forest_interval(file, &d->forest, lead_share(d, s->low), lead_share(d, s->high),
				at);
		lead_mark(file, d, k, s->better + s->worse == 0,
			  forest_x(&d->forest, lead_share(d, s->middle)), at);
	}
	lead_outside(file, d, i, false);
	lead_outside(file, d, i, true);
}

static void lead_draw(FILE *file, const void *context)
{
	const struct lead_drawing *d = context;

	lead_axis(file, d);
	lead_key(file, d);
	for (size_t i = 0; i < d->forest.n; i++)
		lead_line(file, d, i);
	fputs("</svg>\n", file);
}

void lead_picture(struct doc *doc, const struct lead *lead, const struct lead_figure *figure,
		  size_t n)
{
	static const double extents[] = {1.25, 1.5, 2, LEAD_EXTENT};
	struct lead_drawing d = {
		lead, figure, {.left = 300, .top = 64, .line = 24, .n = n}, extents[0]};
	size_t key_lines = (lead_baselines(lead) + LEAD_KEYS - 1) / LEAD_KEYS;
	double widest = 1;

	if (key_lines > 1)
		d.forest.top += (unsigned)(key_lines - 1) * LEAD_KEY_LINE;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < lead_baselines(lead); k++)
			if (figure[i].of[k].n)
				widest = fmax(widest, fmax(figure[i].of[k].middle,
							   1 / figure[i].of[k].middle));
	for (size_t i = 0; i < sizeof(extents) / sizeof(extents[0]) && d.extent < widest; i++)
		d.extent = extents[i];
	doc_drawing(doc, "How many times better, by the headline figure of each test", lead_draw,
		    &d);
	doc_text(doc,
		 "A mark is the geometric mean over a test's combinations of parameters, the line "
		 "from the lowest to the highest of them, as far as the axis goes. A mark that "
		 "lies outside (below %.3g or above %g times) stands at the end, with its number. "
		 "To the right is better, whether more or less of the figure is. Open: no "
		 "combination of it differs beyond chance. The number at the right is that of the "
		 "first of a line's marks, in the order of their names above.",
		 1 / d.extent, d.extent);
}

/* ---- the chapter ---- */

static int lead_count_row(struct table *table, const struct lead_contrast *c)
{
	static const enum compare_verdict columns[] = {
		COMPARE_BETTER,	     COMPARE_WORSE, COMPARE_SAME, COMPARE_MAYBE_BETTER,
		COMPARE_MAYBE_WORSE, COMPARE_FEW,   COMPARE_NEW,  COMPARE_GONE};
	char text[sizeof(columns) / sizeof(columns[0])][24], name[2 * ROW_NAME_MAX + 16];
	const char *cells[1 + sizeof(columns) / sizeof(columns[0])] = {name};

	snprintf(name, sizeof(name), "%s against %s", c->subject, c->baseline);
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		snprintf(text[i], sizeof(text[i]), "%zu", c->compare.count[columns[i]]);
		cells[1 + i] = text[i];
	}
	return table_row(table, cells);
}

static void lead_counts(struct doc *doc, const struct lead *lead)
{
	static const char *const headers[] = {"Compared",
					      "Better",
					      "Worse",
					      "Equal within the noise",
					      "Maybe better",
					      "Maybe worse",
					      "Too few trials",
					      "Only the first has it",
					      "Only the second has it"};
	struct table *table = NULL;
	int err = table_create(&table, sizeof(headers) / sizeof(headers[0]), headers);

	for (size_t i = 0; !err && i < lead->n; i++)
		err = lead_count_row(table, &lead->contrast[i]);
	doc_fail(doc, err);
	doc_table(doc, table);
}

/* Each result with one of two verdicts; nothing if there is none. */
static void lead_list(struct doc *doc, const struct lead_contrast *c, const char *title,
		      enum compare_verdict one, enum compare_verdict other)
{
	if (!c->compare.count[one] && !c->compare.count[other])
		return;
	doc_heading(doc, 3, "", title);
	compare_table_of(doc, &c->compare, one, other, c->baseline, c->subject);
}

/* Beyond chance or by what there is. */
static void lead_lists(struct doc *doc, const struct lead_contrast *c)
{
	char title[2 * ROW_NAME_MAX + 64];

	snprintf(title, sizeof(title), "Where %s is worse than %s", c->subject, c->baseline);
	lead_list(doc, c, title, COMPARE_WORSE, COMPARE_MAYBE_WORSE);
	snprintf(title, sizeof(title), "Where %s is better than %s", c->subject, c->baseline);
	lead_list(doc, c, title, COMPARE_BETTER, COMPARE_MAYBE_BETTER);
	snprintf(title, sizeof(title), "Where %s and %s are equal within the noise", c->subject,
		 c->baseline);
	lead_list(doc, c, title, COMPARE_SAME, COMPARE_SAME);
}

void lead_verdicts(struct doc *doc, const struct lead_contrast *c)
{
	const size_t *count = c->compare.count;
	size_t few = count[COMPARE_FEW] + count[COMPARE_MAYBE_BETTER] + count[COMPARE_MAYBE_WORSE] +
		     count[COMPARE_MAYBE_CHANGED];

	doc_text(doc,
		 "Of %zu results, %s is better than %s in %zu and worse in %zu beyond chance "
		 "(Mann-Whitney test, p < %g after adjustment for their number); %zu are the same "
		 "within the noise%s; %zu have too few trials to say (of these %zu look better, "
		 "%zu worse).",
		 few + count[COMPARE_BETTER] + count[COMPARE_WORSE] + count[COMPARE_SAME] +
			 count[COMPARE_CHANGED],
		 c->subject, c->baseline, count[COMPARE_BETTER], count[COMPARE_WORSE], COMPARE_P,
		 count[COMPARE_SAME],
		 count[COMPARE_CHANGED] ? ", others differ and neither more nor less is better"
					: "",
		 few, count[COMPARE_MAYBE_BETTER], count[COMPARE_MAYBE_WORSE]);
}

void lead_chapter(struct doc *doc, const struct lead *lead)
{
	if (!lead->n)
		return;
	doc_heading(doc, 2, "strategies", "Strategies compared");
	doc_text(doc,
		 "Every KPI of which more or less is better, at every combination of parameters; a "
		 "distribution by its P50 and its P99. Better or worse: the rank test of the "
		 "trials (Mann-Whitney, two-sided) has p < %g after adjustment for the number of "
		 "comparisons (Benjamini and Hochberg), and the medians differ by 2%% at least. "
		 "Maybe: too few trials for the test to say so, but all values of one are above "
		 "all of the other. Equal within the noise takes %d trials of both at least (or as "
		 "many samples of a soak), of which the test says nothing, or a difference below "
		 "2%%; that is no proof that they are equal. One to three trials are never called "
		 "equal: they are too few to say.",
		 COMPARE_P, COMPARE_MIN_TRIALS);
	lead_counts(doc, lead);
	for (size_t i = 0; i < lead->n; i++)
		lead_lists(doc, &lead->contrast[i]);
}

json_t *lead_json(const struct lead *lead)
{
	json_t *list = json_array();
	int err = list ? 0 : -1;

	for (size_t i = 0; !err && i < lead->n; i++) {
		const struct lead_contrast *c = &lead->contrast[i];

		err = json_array_append_new(
			list, json_pack("{ss ss so so}", "subject", c->subject, "baseline",
					c->baseline, "counts", compare_counts_json(&c->compare),
					"items", compare_items_json(&c->compare)));
	}
	if (!err)
		return list;
	json_decref(list);
	return NULL;
}
