/* SPDX-License-Identifier: BSD-2-Clause */
/* lead_show.c - the picture of the first page, the chapter behind it, and both as JSON (lead.h). */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/compare_show.h"
#include "report/lead_internal.h"

#define LEAD_WIDTH 860
#define LEAD_LEFT  300
#define LEAD_RIGHT 790
#define LEAD_LINE  24
#define LEAD_TOP   64
#define LEAD_MARKS 4 /* kinds of marks: baselines in the picture */

struct lead_drawing {
	const struct lead *lead;
	const struct lead_figure *figure;
	size_t n;
	double extent; /* the axis goes from 1/extent to extent */
};

static double lead_x(const struct lead_drawing *d, double ratio)
{
	double share = fmin(fmax(log(ratio) / log(d->extent), -1), 1);

	return (LEAD_LEFT + LEAD_RIGHT) / 2.0 + share * (LEAD_RIGHT - LEAD_LEFT) / 2.0;
}

/* Each baseline has its own shape and colour. */
static void lead_mark(FILE *file, size_t i, double x, double y)
{
	static const char *const colours[LEAD_MARKS] = {"#3b82c4", "#e69f00", "#1a9e77", "#cc6fa3"};

	fputs("<path d=\"", file);
	switch (i) {
	case 0:
		fprintf(file, "M%.1f %.1f m-5 0 a5 5 0 1 0 10 0 a5 5 0 1 0 -10 0 z", x, y);
		break;
	case 1:
		fprintf(file, "M%.1f %.1f m-4.5 -4.5 h9 v9 h-9 z", x, y);
		break;
	case 2:
		fprintf(file, "M%.1f %.1f m0 -6 l6 11 h-12 z", x, y);
		break;
	default:
		fprintf(file, "M%.1f %.1f m0 -6 l6 6 l-6 6 l-6 -6 z", x, y);
	}
	fprintf(file, "\" fill=\"%s\"/>\n", colours[i]);
}

static size_t lead_baselines(const struct lead *lead)
{
	return lead->n < LEAD_MARKS ? lead->n : LEAD_MARKS;
}

static void lead_key(FILE *file, const struct lead_drawing *d)
{
	double x = 6;

	for (size_t i = 0; i < lead_baselines(d->lead); i++) {
		const struct lead_contrast *c = &d->lead->contrast[i];
		char text[2 * ROW_NAME_MAX + 16];

		snprintf(text, sizeof(text), "%s against %s", c->subject, c->baseline);
		lead_mark(file, i, x + 6, 10);
		report_svg_text(file, x + 18, 14, "start", text);
		x += 36 + 7 * (double)strlen(text);
	}
}

static void lead_axis_marks(FILE *file, const struct lead_drawing *d)
{
	double bottom = LEAD_TOP + LEAD_LINE * (double)d->n;

	for (int i = -2; i <= 2; i++) {
		double ratio = pow(d->extent, i / 2.0), x = lead_x(d, ratio);
		char text[32];

		fprintf(file,
			"<path d=\"M%.1f %d V%.1f\" stroke=\"currentColor\" stroke-width=\"%s\" "
			"stroke-dasharray=\"%s\" fill=\"none\"/>\n",
			x, LEAD_TOP - 6, bottom, i == 0 ? "1.4" : "0.4", i == 0 ? "none" : "2 3");
		snprintf(text, sizeof(text), "%.3g times", ratio);
		report_svg_text(file, x, LEAD_TOP - 12, "middle", i == 0 ? "equal" : text);
	}
	report_svg_text(file, LEAD_LEFT, LEAD_TOP - 28, "start", "\u2190 worse");
	report_svg_text(file, LEAD_RIGHT, LEAD_TOP - 28, "end", "better \u2192");
}

static void lead_line(FILE *file, const struct lead_drawing *d, size_t i)
{
	const struct lead_figure *figure = &d->figure[i];
	double y = LEAD_TOP + LEAD_LINE * ((double)i + 0.5);
	size_t n = lead_baselines(d->lead);
	char text[160];

	snprintf(text, sizeof(text), "%s %s", figure->test->id, figure->kpi->name);
	report_svg_text(file, LEAD_LEFT - 10, y + 4, "end", text);
	for (size_t k = 0; k < n; k++) {
		const struct lead_spread *s = &figure->of[k];
		/* of several baselines each has its own height */
		double at = y + ((double)k - ((double)n - 1) / 2) * 6;

		if (s->n == 0)
			continue;
		fprintf(file,
			"<path d=\"M%.1f %.1f H%.1f\" stroke=\"currentColor\" "
			"stroke-width=\"1\"/>\n",
			lead_x(d, s->low), at, lead_x(d, s->high));
		lead_mark(file, k, lead_x(d, s->middle), at);
	}
	if (figure->of[0].n == 0)
		return;
	snprintf(text, sizeof(text), "%.2f\u00d7", figure->of[0].middle);
	report_svg_text(file, LEAD_WIDTH - 4, y + 4, "end", text);
}

static void lead_draw(FILE *file, const void *context)
{
	const struct lead_drawing *d = context;

	fprintf(file, "<svg viewBox=\"0 0 %d %zu\" role=\"img\">\n", LEAD_WIDTH,
		LEAD_TOP + LEAD_LINE * d->n + 10);
	lead_key(file, d);
	lead_axis_marks(file, d);
	for (size_t i = 0; i < d->n; i++)
		lead_line(file, d, i);
	fputs("</svg>\n", file);
}

void lead_picture(struct doc *doc, const struct lead *lead, const struct lead_figure *figure,
		  size_t n)
{
	static const double extents[] = {1.25, 1.5, 2, 4, 10, 100, 1000};
	struct lead_drawing d = {lead, figure, n, extents[0]};
	double widest = 1;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < lead_baselines(lead); k++)
			if (figure[i].of[k].n)
				widest = fmax(widest,
					      fmax(figure[i].of[k].high, 1 / figure[i].of[k].low));
	for (size_t i = 0; i < sizeof(extents) / sizeof(extents[0]) && d.extent < widest; i++)
		d.extent = extents[i];
	doc_drawing(doc, "How many times better, in the first figure of each test", lead_draw, &d);
	doc_text(doc,
		 "A mark is the middle over a test's combinations of parameters, the line "
		 "from the lowest to the highest. To the right is better, whether more or less "
		 "of the figure is. The number is that of the first mark.");
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
	if (err)
		table_destroy(table);
	else
		doc_table(doc, table);
}

/* Where FARE loses, beyond chance or by what there is. */
static void lead_losses(struct doc *doc, const struct lead_contrast *c)
{
	char title[2 * ROW_NAME_MAX + 32];

	if (!c->compare.count[COMPARE_WORSE] && !c->compare.count[COMPARE_MAYBE_WORSE])
		return;
	snprintf(title, sizeof(title), "Where %s is worse than %s", c->subject, c->baseline);
	doc_heading(doc, 3, "", title);
	compare_table_of(doc, &c->compare, COMPARE_WORSE, COMPARE_MAYBE_WORSE, c->baseline,
			 c->subject);
}

void lead_chapter(struct doc *doc, const struct lead *lead)
{
	if (!lead->n)
		return;
	doc_heading(doc, 2, "strategies", "Strategies compared");
	doc_text(doc,
		 "Every KPI of which more or less is better, at every combination of parameters; a "
		 "distribution by its P50 and "
		 "its P99. Better or worse: the rank test of the trials (Mann-Whitney, two-sided) "
		 "has p < %g after adjustment for the number of comparisons (Benjamini and "
		 "Hochberg), and the medians differ by 2%% at least. Maybe: too few trials for the "
		 "test to say so, but all values of one are above all of the other.",
		 COMPARE_P);
	lead_counts(doc, lead);
	for (size_t i = 0; i < lead->n; i++)
		lead_losses(doc, &lead->contrast[i]);
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
