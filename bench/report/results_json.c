/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/results_json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/account.h"
#include "report/cell.h"
#include "report/lead.h"
#include "suite/derive.h"

#define JSON_MAX_WHOLE 9e15

/* The place of a row: all rows with this text are of one trial, or of one cell. */
static void json_place(const struct row *row, bool trial, char *out, size_t size)
{
	int used = snprintf(out, size, "%s", row->strategy);

	for (unsigned i = 0; i < row->n_params && used < (int)size; i++)
		used += snprintf(out + used, size - (size_t)used, "\n%s=%s", row->param[i].name,
				 row->param[i].text);
	if (trial && used < (int)size)
		snprintf(out + used, size - (size_t)used, "\n%u", row->trial);
}

static json_t *json_text(const char *text)
{
	json_t *json = json_string(text);

	return json ? json : json_null();
}

static json_t *json_name(const struct row *row)
{
	json_t *object = json_object();

	if (*row->strategy)
		json_object_set_new(object, "strategy", json_text(row->strategy));
	for (unsigned i = 0; i < row->n_params; i++)
		json_object_set_new(object, row->param[i].name, json_text(row->param[i].text));
	return object;
}

static void json_number(json_t *object, const char *kpi, const char *suffix, double value)
{
	char key[ROW_NAME_MAX + 8];

	snprintf(key, sizeof(key), "%s%s", kpi, suffix);
	if (!isfinite(value))
		json_object_set_new(object, key, json_null());
	else if (value == rint(value) && fabs(value) < JSON_MAX_WHOLE)
		json_object_set_new(object, key, json_integer((json_int_t)value));
	else
		json_object_set_new(object, key, json_real(value));
}

static double json_scale(const struct test *test, const char *kpi)
{
	const struct kpi *k = test_kpi(test, kpi);

	return k && k->scale > 0 ? k->scale : 1;
}

static void json_hist(json_t *object, const struct test *test, const char *kpi,
		      const struct hist *hist)
{
	static const struct {
		const char *suffix;
		double q;
	} quantiles[] = {{"@p50", 0.5}, {"@p95", 0.95}, {"@p99", 0.99}, {"@p99.9", 0.999}};
	double scale = json_scale(test, kpi);

	for (size_t i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++)
		json_number(object, kpi, quantiles[i].suffix,
			    hist_carries(hist, quantiles[i].q)
				    ? hist_quantile(hist, quantiles[i].q) * scale
				    : NAN);
	json_number(object, kpi, "@max", (double)hist->max * scale);
	json_number(object, kpi, "@n", (double)hist->n);
}

/* One row into the object of its trial. */
static void json_row(json_t *object, const struct test *test, const struct row *row)
{
	if (row->hist)
		json_hist(object, test, row->kpi, row->hist);
	else if (row->text)
		json_object_set_new(object, row->kpi, json_text(row->text));
	else
		json_number(object, row->kpi, "", row->missing ? NAN : row->value);
}

/* One KPI of a cell: what its rows say together. */
static int json_cell(json_t *object, const struct test *test, const struct rows *rows,
		     const struct row *first)
{
	const struct rows_filter filter = rows_like(first);
	struct column column;
	struct report_cell cell;
	int err;

	if (first->hist) {
		struct hist *sum = calloc(1, sizeof(*sum));

		if (!sum)
			return -ENOMEM;
		rows_hist(rows, &filter, sum);
		json_hist(object, test, first->kpi, sum);
		free(sum);
		return 0;
	}
	if (column_parse(&column, test, first->kpi))
		return 0;
	err = cell_read(&cell, rows, &filter, &column);
	if (err)
		return err;
	if (cell.kind == CELL_TEXTS) {
		json_object_set_new(object, first->kpi, json_text(cell.text));
		return 0;
	}
	json_number(object, first->kpi, "", cell.kind == CELL_NUMBER ? cell.value : NAN);
	json_number(object, first->kpi, "@low", cell.low);
	json_number(object, first->kpi, "@high", cell.high);
	if (cell.kind == CELL_NUMBER) {
		json_number(object, first->kpi, "@coverage", cell.coverage);
		json_number(object, first->kpi, "@cv", cell.cv);
		json_number(object, first->kpi, "@trials", cell.trials);
	}
	return 0;
}

/* The object of a place in a list, by an index of places; made when it is first met. */
static json_t *json_at(json_t *list, json_t *index, const struct row *row, bool trial)
{
	char place[ROW_NAME_MAX * 2 * (ROWS_MAX_PARAMS + 1)];
	json_t *object;

	json_place(row, trial, place, sizeof(place));
	object = json_object_get(index, place);
	if (object)
		return object;
	object = json_name(row);
	if (trial)
		json_object_set_new(object, "trial", json_integer(row->trial));
	json_object_set(index, place, object);
	json_array_append_new(list, object);
	return object;
}

/* The list that a row is in: its test's, or "test@param" if it has a parameter of its own. */
static json_t *json_list(json_t *lists, const struct test *test, const struct row *row)
{
	char name[2 * ROW_NAME_MAX + 2];
	unsigned declared = 0;
	json_t *list;

	for (const struct param *p = test->params; p && p->name; p++)
		declared++;
	snprintf(name, sizeof(name), row->n_params > declared ? "%s@%s" : "%s", test->id,
		 row->n_params > declared ? row->param[declared].name : "");
	list = json_object_get(lists, name);
	if (!list)
		json_object_set_new(lists, name, list = json_array());
	return list;
}

static int json_test(const struct results *results, const struct test *test, json_t *trials,
		     json_t *cells)
{
	json_t *trial_index = json_object(), *cell_index = json_object();
	struct rows *rows;
	int err = results_test(results, test, &rows);

	if (err)
		return err;
	for (size_t i = 0; !err && i < rows_count(rows); i++) {
		const struct row *row = rows_at(rows, i);
		json_t *cell;

		if (row->kpi[0] == '_')
			continue;
		if (row->trial < DERIVED_TRIAL)
			json_row(json_at(json_list(trials, test, row), trial_index, row, true),
				 test, row);
		cell = json_at(json_list(cells, test, row), cell_index, row, false);
		if (!json_object_get(cell, row->kpi))
			err = json_cell(cell, test, rows, row);
	}
	rows_close(rows);
	json_decref(trial_index);
	json_decref(cell_index);
	return err;
}

static json_t *json_strategies(const struct results *results, const struct results_tests *tests)
{
	struct lead *lead = calloc(1, sizeof(*lead));
	json_t *list = NULL;

	if (lead && !lead_init(lead, results, tests)) {
		list = lead_json(lead);
		lead_fini(lead);
	}
	free(lead);
	return list;
}

json_t *results_json(const struct results *results, const struct results_tests *tests)
{
	json_t *trials = json_object(), *cells = json_object();
	json_t *root = json_pack("{s:s, s:O?, s:o, s:o, s:o, s:o}", "schema", "farebench-results-1",
				 "run", results->run, "trials", trials, "cells", cells,
				 "accounting", account_json(results, tests), "strategies",
				 json_strategies(results, tests));
	int err = root ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < tests->n; i++)
		err = json_test(results, tests->test[i], trials, cells);
	if (!err)
		return root;
	json_decref(root);
	return NULL;
}

int results_json_dump(json_t *root, const char *path)
{
	size_t flags = JSON_INDENT(1) | JSON_REAL_PRECISION(9);
	int err = root ? 0 : -ENOMEM;

	errno = 0;
	if (!err && strcmp(path, "-") == 0)
		err = json_dumpf(root, stdout, flags) || putchar('\n') < 0 || fflush(stdout);
	else if (!err)
		err = json_dump_file(root, path, flags);
	if (err && err != -ENOMEM)
		err = errno ? -errno : -EIO;
	json_decref(root);
	if (err)
		fprintf(stderr, "farebench: %s: %s\n", path, strerror(-err));
	return err;
}
