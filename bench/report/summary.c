/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/summary.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/stats.h"
#include "report/anomalies.h"
#include "report/cell.h"
#include "report/grid.h"

#define SUMMARY_MAX_STRATEGIES 16
#define SUMMARY_MAX_UNLIKE     2 /* parameters whose levels are never put together */
#define SUMMARY_MAX_LIBRARIES  8
#define SUMMARY_MAX_REQUESTS   32 /* in how many words a test may have them */

/* The libraries that jobs of MPI said they are, each once. */
static void summary_libraries(struct doc *doc, const struct results *results)
{
	const struct rows_filter filter = {.kpi = SUITE_LIBRARY, .trial = -1};
	const char *said[SUMMARY_MAX_LIBRARIES];
	size_t n = 0;

	ROWS_EACH (i, results->rows, &filter) {
		const char *text = rows_at(results->rows, i)->text;
		bool known = !text || n == SUMMARY_MAX_LIBRARIES;

		for (size_t k = 0; !known && k < n; k++)
			known = strcmp(said[k], text) == 0;
		if (known)
			continue;
		said[n++] = text;
		doc_text(doc, "Collective library: %s.", text);
	}
}

/* The requests of a test in one form of words, and the rates at which they came. */
struct summary_requests {
	const char *text;
	double least[2], most[2]; /* Offered_rate, Concurrent_requests */
};

static void summary_requests_rate(struct summary_requests *r, const struct rows *rows,
				  const struct row *row)
{
	static const char *const kpis[2] = {"Offered_rate", "Concurrent_requests"};
	struct rows_filter filter = rows_like(row);

	filter.trial = (int)row->trial;
	for (int k = 0; k < 2; k++) {
		filter.kpi = kpis[k];
		for (size_t i = rows_next(rows, &filter, 0); i < rows_count(rows);
		     i = rows_next(rows, &filter, i + 1)) {
			r->least[k] = fmin(r->least[k], rows_at(rows, i)->value);
			r->most[k] = fmax(r->most[k], rows_at(rows, i)->value);
		}
	}
}

static void summary_range(double least, double most, char *out, size_t size)
{
	char low[32], high[32];

	cell_number(least, low, sizeof(low));
	cell_number(most, high, sizeof(high));
	if (!isfinite(least))
		snprintf(out, size, "-");
	else
		snprintf(out, size, strcmp(low, high) == 0 ? "%s" : "%s to %s", low, high);
}

static int summary_requests_of(struct table *table, const struct test *test,
			       const struct rows *rows)
{
	const struct rows_filter filter = {.kpi = SUITE_REQUESTS, .trial = -1};
	struct summary_requests r[SUMMARY_MAX_REQUESTS];
	char range[2][72];
	size_t n = 0, at;
	int err = 0;

	for (size_t i = rows_next(rows, &filter, 0); i < rows_count(rows);
	     i = rows_next(rows, &filter, i + 1)) {
		const struct row *row = rows_at(rows, i);

		for (at = 0; at < n && row->text && strcmp(r[at].text, row->text) != 0;)
			at++;
		if (!row->text || at == SUMMARY_MAX_REQUESTS)
			continue;
		if (at == n)
			r[n++] = (struct summary_requests){
				row->text, {INFINITY, INFINITY}, {-INFINITY, -INFINITY}};
		summary_requests_rate(&r[at], rows, row);
	}
	for (size_t i = 0; !err && i < n; i++) {
		for (int k = 0; k < 2; k++)
			summary_range(r[i].least[k], r[i].most[k], range[k], sizeof(range[k]));
		err = table_row(table, (const char *[]){test->id, r[i].text, range[0], range[1]});
	}
	return err;
}

/* Fills the table from the rows of each test. NULL: there is none, for want of memory. */
static void summary_each(struct doc *doc, const struct results *results,
			 const struct results_tests *tests, struct table *table,
			 int (*add)(struct table *table, const struct test *test,
				    const struct rows *rows))
{
	for (size_t i = 0; table && i < tests->n; i++) {
		struct rows *rows;
		int err = results_test(results, tests->test[i], &rows);

		doc_fail(doc, err);
		if (err)
			continue;
		doc_fail(doc, add(table, tests->test[i], rows));
		rows_close(rows);
	}
}

/* Section 14, workload characterization: as each test had it. */
static void summary_requests(struct doc *doc, const struct results *results,
			     const struct results_tests *tests)
{
	static const char *const headers[] = {"Test", "Requests", "Came, req/s",
					      "In the service at once, mean"};
	struct table *table = doc_table_of(doc, 4, headers);

	summary_each(doc, results, tests, table, summary_requests_of);
	if (!table || table_rows(table) <= 1) {
		table_destroy(table);
		return;
	}
	doc_heading(doc, 3, "", "Requests of each test");
	doc_table(doc, table);
}

void summary_run(struct doc *doc, const struct results *results, const struct results_tests *tests)
{
	static const char *const headers[] = {"Item", "Value"};
	const json_t *rows, *row;
	const char *title;
	size_t k;

	doc_heading(doc, 2, "run", "System, workload and run");
	for (size_t i = 0; (title = results_table(results, i, &rows)); i++) {
		struct table *table = doc_table_of(doc, 2, headers);

		if (strcmp(title, SUMMARY_HEALTH) == 0 || !table) {
			table_destroy(table);
			continue;
		}
		json_array_foreach (rows, k, row) {
			const char *cells[] = {json_string_value(json_array_get(row, 0)),
					       json_string_value(json_array_get(row, 1))};

			doc_fail(doc, table_row(table, cells));
		}
		doc_heading(doc, 3, "", title);
		doc_pairs(doc, table);
	}
	summary_requests(doc, results, tests);
	summary_libraries(doc, results);
	if (!results_table(results, 0, &rows))
		doc_text(doc, "The directory has no description of the run (run.json).");
}

/* ---- KPI summary ---- */

struct summary_line {
	char text[3 + SUMMARY_MAX_STRATEGIES][CELL_TEXT_MAX];
	const char *cell[3 + SUMMARY_MAX_STRATEGIES];
};

/* Every combination of parameters of a test gives a cell; over these: lowest, middle, highest. */
struct summary_spread {
	double *value;
	size_t n, room;
	uint64_t measurements;
	struct report_cell last;
	unsigned missing, maxima;
};

static int summary_take(struct summary_spread *spread, const struct report_cell *cell)
{
	if (cell->kind == CELL_MISSING)
		spread->missing++;
	if (cell->kind == CELL_NUMBER || cell->kind == CELL_TEXTS)
		spread->last = *cell;
	if (cell->kind != CELL_NUMBER)
		return 0;
	if (spread->n == spread->room) {
		size_t room = spread->room ? 2 * spread->room : 16;
		double *grown = realloc(spread->value, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		spread->value = grown;
		spread->room = room;
	}
	spread->value[spread->n++] = cell->value;
	spread->measurements += cell->n;
	spread->maxima += cell->is_max;
	return 0;
}

static void summary_describe(struct summary_spread *spread, char *out, size_t size)
{
	char low[32], middle[32], high[32];

	if (spread->n == 0 && spread->last.kind != CELL_TEXTS)
		snprintf(out, size, "%s", spread->missing ? "n/a" : "");
	else if (spread->n <= 1)
		cell_text(&spread->last, out, size);
	else {
		qsort(spread->value, spread->n, sizeof(*spread->value), stats_ascending);
		cell_number(spread->value[0], low, sizeof(low));
		cell_number(stats_quantile(spread->value, spread->n, 0.5), middle, sizeof(middle));
		cell_number(spread->value[spread->n - 1], high, sizeof(high));
		snprintf(out, size, "%s\nlowest %s, highest %s of %zu%s, n=%llu", middle, low, high,
			 spread->n, spread->maxima ? ", with maxima" : "",
			 (unsigned long long)spread->measurements);
	}
}

/* Parameters that trials add (trial_with()); NULL: the test has none, or one. */
static const char *summary_added(const struct test *test, size_t i)
{
	const struct param *p = test->added;

	for (size_t k = 0; k < i && p && p->name; k++)
		p++;
	return p ? p->name : NULL;
}

/* Is the place at these levels, of the parameters that it has? */
static bool summary_is_at(const struct pick *pick, const struct row_param *levels, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (unsigned k = 0; k < pick->n_params; k++)
			if (strcmp(pick->param[k].name, levels[i].name) == 0 &&
			    strcmp(pick->param[k].text, levels[i].text) != 0)
				return false;
	return true;
}

/* Levels of unlike conditions (test.h) that a line is of. */
struct summary_levels {
	struct row_param level[SUMMARY_MAX_UNLIKE];
	size_t n;
};

/* One KPI of one strategy (NULL: whatever) over all combinations of parameters at these levels. */
static int summary_cell(const struct test *test, const struct rows *rows,
			const struct column *column, const struct summary_levels *at,
			const char *strategy, char *out, size_t size)
{
	struct summary_spread spread = {0};
	struct grid *grid;
	char title[300];
	int err = grid_create(&grid, test, rows, column->kpi->name, "strategy", NULL,
			      summary_added(test, 0), summary_added(test, 1));

	if (err)
		return err;
	for (size_t i = 0; !err && i < grid->n_panels + grid->left_out; i++) {
		struct rows_filter filter;
		struct pick pick;
		struct report_cell cell;

		grid_panel(grid, i, &pick, title, sizeof(title));
		if (!summary_is_at(&pick, at->level, at->n))
			continue;
		pick.strategy = strategy;
		filter = pick_filter(&pick);
		err = cell_read(&cell, rows, &filter, column);
		if (!err)
			err = summary_take(&spread, &cell);
	}
	summary_describe(&spread, out, size);
	free(spread.value);
	free(grid);
	return err;
}

static bool summary_is_hist(const struct rows *rows, const char *kpi)
{
	const struct rows_filter filter = {.kpi = kpi, .trial = -1};

	ROWS_EACH (i, rows, &filter)
		if (rows_at(rows, i)->hist)
			return true;
	return false;
}

static int summary_line(struct table *table, const struct test *test, const struct rows *rows,
			const struct column *of, const struct summary_levels *at,
			const struct axis *strategies)
{
	const struct column column = *of;
	struct summary_line line;
	size_t used = (size_t)snprintf(line.text[0], sizeof(line.text[0]), "%s", column.label);
	int err = 0;

	for (size_t i = 0; i < at->n && used < sizeof(line.text[0]); i++)
		used += (size_t)snprintf(line.text[0] + used, sizeof(line.text[0]) - used,
					 ", %s %s", at->level[i].name, at->level[i].text);
	snprintf(line.text[1], sizeof(line.text[1]), "%s", column.kpi->point);
	snprintf(line.text[2], sizeof(line.text[2]), "%s",
		 column.kpi->better == BETTER_HIGHER  ? "more"
		 : column.kpi->better == BETTER_LOWER ? "less"
						      : "");
	for (size_t i = 0; !err && i < axis_places(strategies); i++)
		err = summary_cell(test, rows, &column, at,
				   strategies->n ? strategies->level[i].text : NULL,
				   line.text[3 + i], sizeof(line.text[0]));
	for (size_t i = 0; i < 3 + axis_places(strategies); i++)
		line.cell[i] = line.text[i];
	return err ? err : table_row(table, line.cell);
}

/* Has the KPI a value at that level? */
static bool summary_has_value(const struct rows *rows, const char *kpi,
			      const struct row_param *level)
{
	const struct rows_filter filter = {.kpi = kpi, .n_params = 1, .param = level, .trial = -1};

	ROWS_EACH (i, rows, &filter)
		if (!rows_at(rows, i)->missing)
			return true;
	return false;
}

/* A line for each combination of levels of unlike conditions that have a value, from that of these
 * on; one line if none has. */
static int summary_lines(struct table *table, const struct test *test, const struct rows *rows,
			 const struct column *column, struct summary_levels at,
			 const struct axis *strategies)
{
	const char *name = at.n < SUMMARY_MAX_UNLIKE && test->unlike ? test->unlike[at.n] : NULL;
	struct axis levels;
	size_t found = 0;
	int err = 0;

	axis_read(&levels, test, rows, column->kpi->name, name);
	for (size_t i = 0; !err && i < levels.n; i++) {
		if (!summary_has_value(rows, column->kpi->name, &levels.level[i]))
			continue;
		found++;
		at.level[at.n] = levels.level[i];
		at.n++;
		err = summary_lines(table, test, rows, column, at, strategies);
		at.n--;
	}
	return found ? err : summary_line(table, test, rows, column, &at, strategies);
}

static int summary_row(struct table *table, const struct test *test, const struct rows *rows,
		       const char *kpi, const struct axis *strategies)
{
	struct column column;
	int err = column_parse(&column, test, kpi);

	return err ? err
		   : summary_lines(table, test, rows, &column, (struct summary_levels){.n = 0},
				   strategies);
}

static int summary_kpi_rows(struct table *table, const struct test *test, const struct rows *rows,
			    const struct axis *strategies)
{
	char name[ROW_NAME_MAX + 8];
	int err = 0;

	for (const struct kpi *kpi = test->kpis; !err && kpi->name; kpi++) {
		if (!summary_is_hist(rows, kpi->name)) {
			err = summary_row(table, test, rows, kpi->name, strategies);
			continue;
		}
		snprintf(name, sizeof(name), "%s@p50", kpi->name);
		err = summary_row(table, test, rows, name, strategies);
		snprintf(name, sizeof(name), "%s@p99", kpi->name);
		if (!err)
			err = summary_row(table, test, rows, name, strategies);
	}
	return err;
}

static void summary_test(struct doc *doc, const struct test *test, const struct rows *rows)
{
	struct axis *strategies = calloc(1, sizeof(*strategies));
	const char *headers[3 + SUMMARY_MAX_STRATEGIES] = {"KPI", "Point", "Better"};
	struct table *table;
	char title[200];

	if (!strategies) {
		doc_fail(doc, -ENOMEM);
		return;
	}
	axis_read(strategies, test, rows, NULL, "strategy");
	if (strategies->n > SUMMARY_MAX_STRATEGIES)
		strategies->n = SUMMARY_MAX_STRATEGIES;
	for (size_t i = 0; i < axis_places(strategies); i++)
		headers[3 + i] = strategies->n ? strategies->level[i].text : "All";
	table = doc_table_of(doc, 3 + axis_places(strategies), headers);
	if (table) {
		doc_fail(doc, summary_kpi_rows(table, test, rows, strategies));
		snprintf(title, sizeof(title), "%s %s", test->id, test->name);
		doc_heading(doc, 3, "", title);
		doc_table(doc, table);
	}
	free(strategies);
}

void summary_kpis(struct doc *doc, const struct results *results, const struct results_tests *tests)
{
	doc_heading(doc, 2, "kpis", "KPI summary");
	doc_text(doc,
		 "Where a test has several combinations of parameters, each gives a number "
		 "(conditions that are not alike, as without load and with it, have lines of "
		 "their own); "
		 "shown are the middle one, the lowest and the highest, how many there are, "
		 "and the trials or measurements of all together (n). \"with maxima\": at some "
		 "of them too few measurements carry the percentile, and the largest counts. "
		 "Else marks are those of \"How to read the tables\".");
	for (size_t i = 0; i < tests->n; i++) {
		struct rows *rows;
		int err = results_test(results, tests->test[i], &rows);

		doc_fail(doc, err);
		if (err)
			continue;
		if (rows_are_measured(rows))
			summary_test(doc, tests->test[i], rows);
		rows_close(rows);
	}
}

/* ---- what was not measured ---- */

/* One line per test and reason: how many rows. */
static int summary_missing(struct table *table, const struct test *test, const struct rows *rows)
{
	bool *done = calloc(rows_count(rows) + 1, sizeof(*done));
	int err = done ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < rows_count(rows); i++) {
		const char *reason = rows_at(rows, i)->missing;
		unsigned count = 0;
		char text[32];

		if (!reason || done[i])
			continue;
		for (size_t k = i; k < rows_count(rows); k++)
			if (rows_at(rows, k)->missing &&
			    strcmp(rows_at(rows, k)->missing, reason) == 0) {
				done[k] = true;
				count++;
			}
		snprintf(text, sizeof(text), "%u", count);
		err = table_row(table, (const char *[]){test->id, text, reason});
	}
	free(done);
	return err;
}

void summary_not_measured(struct doc *doc, const struct results *results,
			  const struct results_tests *tests)
{
	static const char *const headers[] = {"Test", "Rows", "Not measured, because"};
	struct table *table = doc_table_of(doc, 3, headers);

	doc_heading(doc, 2, "missing", "Not measured");
	summary_each(doc, results, tests, table, summary_missing);
	if (table && table_rows(table) > 1) {
		doc_table(doc, table);
	} else {
		doc_text(doc, "Every KPI of every test was measured.");
		table_destroy(table);
	}
}

void summary_anomalies(struct doc *doc, const struct results *results,
		       const struct results_tests *tests)
{
	static const char *const run[] = {"Idle time", "Attempts that do not count",
					  "Trials kept although busy"};

	doc_heading(doc, 2, "anomalies", "Anomalies");
	for (size_t i = 0; i < sizeof(run) / sizeof(run[0]); i++) {
		const char *value = results_value(results, "Run", run[i]);

		if (value)
			doc_text(doc, "%s: %s.", run[i], value);
	}
	anomalies_show(doc, results, tests);
}
