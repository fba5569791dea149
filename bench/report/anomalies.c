/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/anomalies.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/cell.h"
#include "report/grid.h"
#include "suite/trial.h"

static bool anomaly_begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static bool anomaly_ends(const char *text, const char *with)
{
	size_t length = strlen(text), end = strlen(with);

	return length >= end && strcmp(text + length - end, with) == 0;
}

/* ---- rules of single rows ---- */

/* KPIs that are a share of something, in percent. */
static bool anomaly_is_share(const char *kpi)
{
	static const char *const shares[] = {
		"Link_utilization",	 "of_line",	     "line_used",
		"Buffer_utilization",	 "ECN_marking_rate", "Paused",
		"Prefix_cache_hit_rate", "hit_rate_unaware", "unfinished"};

	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
		if (anomaly_begins(kpi, shares[i]))
			return true;
	return false;
}

static bool anomaly_impossible(const struct test *test, const struct row *row)
{
	const struct kpi *kpi = test_kpi(test, row->kpi);

	if (anomaly_begins(row->kpi, "JFI") && !anomaly_ends(row->kpi, "_delta"))
		return row->value < 0 || row->value > 1.001;
	return kpi && strcmp(kpi->unit, "%") == 0 && anomaly_is_share(row->kpi) &&
	       (row->value < 0 || row->value > ANOMALY_IS_POSSIBLE_PERCENT);
}

static bool anomaly_wrong_direction(const struct test *test, const struct row *row)
{
	(void)test;
	return row->value < 0 &&
	       (anomaly_ends(row->kpi, "_reduction") || anomaly_ends(row->kpi, "_saved") ||
		anomaly_ends(row->kpi, "_improvement"));
}

/* Tests that overload queues on purpose: section 8 of one draft, 7 of the other. */
static bool anomaly_is_congested(const struct test *test)
{
	return anomaly_begins(test->id, "8.") || anomaly_begins(test->id, "T7.") ||
	       anomaly_begins(test->id, "T5.3");
}

static bool anomaly_drops(const struct test *test, const struct row *row)
{
	return strcmp(row->kpi, "Packet_drop_rate") == 0 && row->value > 0 &&
	       !(test->needs & NEED_FAULTS) && !anomaly_is_congested(test);
}

static bool anomaly_deaths(const struct test *test, const struct row *row)
{
	return !(test->needs & NEED_FAULTS) && row->value > 0 &&
	       (strcmp(row->kpi, SUITE_DEATHS) == 0 || strcmp(row->kpi, "QP_errors") == 0);
}

static bool anomaly_flaps(const struct test *test, const struct row *row)
{
	return strcmp(row->kpi, "flaps") == 0 && row->value > 0 && !(test->needs & NEED_FAULTS);
}

static bool anomaly_unfinished(const struct test *test, const struct row *row)
{
	const struct row_param *over = row_param(row, "over");

	(void)test;
	return strcmp(row->kpi, "unfinished") == 0 && row->value > ANOMALY_UNFINISHED_PERCENT &&
	       !(over && over->number > 1);
}

static bool anomaly_kept(const struct test *test, const struct row *row)
{
	(void)test;
	return strcmp(row->kpi, SUITE_KEPT) == 0;
}

static bool anomaly_spoilt(const struct test *test, const struct row *row)
{
	(void)test;
	return row->missing && anomaly_begins(row->missing, TRIAL_SPOILT);
}

/* Iterations of a collective are alike: one that takes so much longer waited for something. */
static bool anomaly_stalled(const struct test *test, const struct row *row)
{
	return strcmp(row->kpi, "JCT") == 0 && row->hist && !(test->needs & NEED_FAULTS) &&
	       (double)row->hist->max > ANOMALY_STALL * (double)row->hist->min;
}

#define ANOMALY_LESS_LATENCY "more load, less latency"

static const struct anomaly_rule {
	const char *name, *what;
	/* NULL: no rule of a single row */
	bool (*is_broken)(const struct test *test, const struct row *row);
} anomaly_rules[] = {
	{"a value that cannot be",
	 "a share below 0 or above 102%, a fairness index above 1: what counts the two sides does "
	 "not agree",
	 anomaly_impossible},
	{"a change in the wrong direction", "a reduction, saving or improvement below 0",
	 anomaly_wrong_direction},
	{"drops without overload",
	 "packets were dropped in a test that orders no fault and fills no queue on purpose",
	 anomaly_drops},
	{"paths of QP groups died", "in a test that orders no fault: the transport gave a path up",
	 anomaly_deaths},
	{"BGP sessions ended", "in a test that orders no fault", anomaly_flaps},
	{"unfinished requests",
	 "more than 20% of the requests had no token when the trial ended, though no more came "
	 "than "
	 "can be served",
	 anomaly_unfinished},
	{"an iteration stalled",
	 "it took more than three times as long as the fastest of its trial", anomaly_stalled},
	{"kept although busy", "no attempt was better: the figures may be the machine's",
	 anomaly_kept},
	{"spoilt trial", "something was made or lost, so that sums do not agree", anomaly_spoilt},
	{ANOMALY_LESS_LATENCY,
	 "the median at the next level of load is below 90% of that at the level before, and their "
	 "95% intervals do not meet",
	 NULL},
};

/* ---- the list ---- */

static void anomaly_place(const struct rows *rows, const struct row *row, char *out, size_t size)
{
	const struct rows_filter all = {.trial = -1};
	size_t used = 0;

	*out = '\0';
	for (unsigned i = 0; i < row->n_params && used < size; i++) {
		struct row_param level[2];

		if (rows_levels(rows, &all, row->param[i].name, level, 2) > 1)
			used += (size_t)snprintf(out + used, size - used, "%s%s=%s",
						 used ? " " : "", row->param[i].name,
						 row->param[i].text);
	}
}

/* The entry of that rule, KPI and strategy; *is_new: it is one. NULL: there is no room. */
static struct anomaly *anomaly_entry(struct anomalies *found, size_t from, const char *rule,
				     const char *kpi, const char *strategy, bool *is_new)
{
	*is_new = false;
	for (size_t i = from; i < found->n; i++) {
		struct anomaly *a = &found->list[i];

		if (a->rule == rule && strcmp(a->kpi, kpi) == 0 &&
		    strcmp(a->strategy, strategy) == 0)
			return a;
	}
	if (found->n == ANOMALIES_MAX) {
		found->left_out++;
		return NULL;
	}
	*is_new = true;
	found->list[found->n] = (struct anomaly){.rule = rule, .kpi = kpi, .worst = NAN};
	snprintf(found->list[found->n].strategy, sizeof(found->list[0].strategy), "%s", strategy);
	return &found->list[found->n++];
}

/* Of a distribution the most. */
static double anomaly_value(const struct test *test, const struct row *row)
{
	const struct kpi *kpi = test_kpi(test, row->kpi);

	if (!row->hist)
		return row->value;
	return (double)row->hist->max * (kpi && kpi->scale > 0 ? kpi->scale : 1);
}

static void anomaly_row(struct anomalies *found, size_t from, const struct anomaly_rule *rule,
			const struct test *test, const struct rows *rows, const struct row *row)
{
	double value = anomaly_value(test, row);

	const char *kpi = row->kpi[0] == '_' || rule->is_broken == anomaly_spoilt ? "" : row->kpi;
	bool is_new;
	struct anomaly *a = anomaly_entry(found, from, rule->name, kpi, row->strategy, &is_new);

	if (!a)
		return;
	/* a spoilt trial has a row of each KPI */
	if (rule->is_broken != anomaly_spoilt || is_new)
		a->n++;
	if (!is_new && !(fabs(value) > fabs(a->worst)))
		return;
	a->worst = value;
	anomaly_place(rows, row, a->place, sizeof(a->place));
}

/* ---- more load, less latency ---- */

/* Parameters whose levels are more load from one to the next. */
static bool anomaly_is_load(const struct param *param)
{
	static const char *const loads[] = {"load", "background", "over", "rate", "senders"};

	if (param->kind == PARAM_NAME || param->kind == PARAM_SLOW_NAME)
		return false;
	for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++)
		if (strcmp(param->name, loads[i]) == 0)
			return true;
	return false;
}

static bool anomaly_is_less(const struct report_cell *before, const struct report_cell *after)
{
	return before->is_pooled && after->is_pooled && !before->is_max && !after->is_max &&
	       after->high < before->low && after->value < ANOMALY_BETTER * before->value;
}

/* The levels of load at one place, one after the other. */
static int anomaly_curve(struct anomalies *found, size_t from, const struct grid *grid,
			 const struct rows *rows, const struct column *column, size_t panel,
			 size_t series)
{
	struct report_cell before = {.kind = CELL_NONE}, here;
	char title[300];
	int err = 0;

	for (size_t i = 0; !err && i < grid->x.n; i++) {
		struct rows_filter filter;
		struct anomaly *a;
		struct pick pick;
		bool is_new;

		grid_panel(grid, panel, &pick, title, sizeof(title));
		pick_add(&pick, &grid->x, i);
		pick_add(&pick, &grid->series, series);
		filter = pick_filter(&pick);
		err = cell_read(&here, rows, &filter, column);
		if (!err && i && anomaly_is_less(&before, &here)) {
			a = anomaly_entry(found, from, ANOMALY_LESS_LATENCY, column->kpi->name,
					  grid->series.n ? grid->series.level[series].text : "",
					  &is_new);
			if (a && !a->n++) {
				a->worst = here.value;
				snprintf(a->place, sizeof(a->place), "%s%s%s=%s to %s", title,
					 *title ? ", " : "", grid->x.name,
					 grid->x.level[i - 1].text, grid->x.level[i].text);
			}
		}
		before = here;
	}
	return err;
}

static int anomaly_curves(struct anomalies *found, size_t from, const struct test *test,
			  const struct rows *rows, const struct param *load, const struct kpi *kpi)
{
	char name[ROW_NAME_MAX + 8];
	struct column column;
	struct grid *grid;
	int err;

	snprintf(name, sizeof(name), "%s@p50", kpi->name);
	err = column_parse(&column, test, name);
	if (!err)
		err = grid_create(&grid, test, rows, kpi->name, load->name, "strategy", NULL, NULL);
	if (err)
		return err;
	for (size_t p = 0; !err && p < grid->n_panels + grid->left_out; p++)
		for (size_t s = 0; !err && s < axis_places(&grid->series); s++)
			err = anomaly_curve(found, from, grid, rows, &column, p, s);
	free(grid);
	return err;
}

/* Latencies are the distributions of which less is better. */
static bool anomaly_is_latency(const struct rows *rows, const struct kpi *kpi)
{
	const struct rows_filter filter = {.kpi = kpi->name, .trial = -1};

	if (kpi->better != BETTER_LOWER)
		return false;
	ROWS_EACH (i, rows, &filter)
		if (rows_at(rows, i)->hist)
			return true;
	return false;
}

int anomalies_read(struct anomalies *found, const struct test *test, const struct rows *rows)
{
	size_t from = found->n;
	int err = 0;

	for (size_t k = 0; k < sizeof(anomaly_rules) / sizeof(anomaly_rules[0]); k++)
		for (size_t i = 0; anomaly_rules[k].is_broken && i < rows_count(rows); i++)
			if (anomaly_rules[k].is_broken(test, rows_at(rows, i)))
				anomaly_row(found, from, &anomaly_rules[k], test, rows,
					    rows_at(rows, i));
	for (const struct param *p = test->params; p && p->name; p++)
		for (const struct kpi *k = test->kpis; !err && anomaly_is_load(p) && k->name; k++)
			if (anomaly_is_latency(rows, k))
				err = anomaly_curves(found, from, test, rows, p, k);
	return err;
}

/* ---- the chapter ---- */

static int anomaly_line(struct table *table, const struct test *test, const struct anomaly *a)
{
	const struct kpi *kpi = test_kpi(test, a->kpi);
	char n[16], worst[32] = "", value[64];

	snprintf(n, sizeof(n), "%u", a->n);
	if (isfinite(a->worst))
		cell_number(a->worst, worst, sizeof(worst));
	snprintf(value, sizeof(value), "%s%s%s", worst, *worst && kpi && *kpi->unit ? " " : "",
		 *worst && kpi ? kpi->unit : "");
	return table_row(table, (const char *[]){test->id, a->rule, a->kpi, a->strategy, n, value,
						 a->place});
}

static int anomaly_test(struct table *table, const struct results *results, const struct test *test)
{
	struct anomalies *found = calloc(1, sizeof(*found));
	struct rows *rows;
	int err = found ? results_test(results, test, &rows) : -ENOMEM;

	if (!err) {
		err = anomalies_read(found, test, rows);
		for (size_t i = 0; !err && i < found->n; i++)
			err = anomaly_line(table, test, &found->list[i]);
		rows_close(rows);
	}
	free(found);
	return err;
}

static void anomaly_rules_show(struct doc *doc)
{
	static const char *const headers[] = {"Looked for", "What it is"};
	struct table *table = NULL;
	int err = table_create(&table, 2, headers);

	for (size_t i = 0; !err && i < sizeof(anomaly_rules) / sizeof(anomaly_rules[0]); i++)
		err = table_row(table,
				(const char *[]){anomaly_rules[i].name, anomaly_rules[i].what});
	doc_fail(doc, err);
	doc_pairs(doc, table);
}

void anomalies_show(struct doc *doc, const struct results *results,
		    const struct results_tests *tests)
{
	static const char *const headers[] = {"Test",  "Anomaly", "KPI",  "Strategy",
					      "Times", "Worst",	  "Where"};
	struct table *table = NULL;
	int err = table_create(&table, sizeof(headers) / sizeof(headers[0]), headers);

	for (size_t i = 0; !err && i < tests->n; i++)
		err = anomaly_test(table, results, tests->test[i]);
	doc_fail(doc, err);
	if (!err && table_rows(table) > 1) {
		doc_table(doc, table);
	} else {
		doc_text(doc, "None of what is looked for was found.");
		table_destroy(table);
	}
	anomaly_rules_show(doc);
}
