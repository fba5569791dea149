/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/results.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool results_is_table(const json_t *table)
{
	const json_t *rows = json_object_get(table, "rows"), *row;
	size_t i;

	if (!json_is_string(json_object_get(table, "title")) || !json_is_array(rows))
		return false;
	json_array_foreach (rows, i, row)
		if (json_array_size(row) != 2 || !json_is_string(json_array_get(row, 0)) ||
		    !json_is_string(json_array_get(row, 1)))
			return false;
	return true;
}

static int results_check(const json_t *run, const char *path)
{
	const json_t *tables = json_object_get(run, "tables"), *table;
	size_t i;

	if (tables && !json_is_array(tables)) {
		fprintf(stderr, "farebench: %s: \"tables\" is no list\n", path);
		return -EBADMSG;
	}
	json_array_foreach (tables, i, table)
		if (!results_is_table(table)) {
			fprintf(stderr,
				"farebench: %s: table %zu has no title, or rows that are no pairs "
				"of text\n",
				path, i + 1);
			return -EBADMSG;
		}
	return 0;
}

static int results_read_run(struct results *results, const char *dir)
{
	char path[4096];
	json_error_t error;

	snprintf(path, sizeof(path), "%s/run.json", dir);
	if (access(path, F_OK))
		return 0;
	results->run = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	if (!results->run) {
		fprintf(stderr, "farebench: %s:%d: %s\n", path, error.line, error.text);
		return -EBADMSG;
	}
	return results_check(results->run, path);
}

int results_open(struct results *results, const char *dir)
{
	char path[4096];
	int err;

	memset(results, 0, sizeof(*results));
	if ((size_t)snprintf(path, sizeof(path), "%s/rows.jsonl", dir) >= sizeof(path))
		return -ENAMETOOLONG;
	err = rows_read(&results->rows, path);
	if (!err)
		err = results_read_run(results, dir);
	if (err)
		results_close(results);
	return err;
}

void results_close(struct results *results)
{
	rows_close(results->rows);
	json_decref(results->run);
	memset(results, 0, sizeof(*results));
}

const char *results_table(const struct results *results, size_t i, const json_t **rows)
{
	const json_t *table = json_array_get(json_object_get(results->run, "tables"), i);

	*rows = json_object_get(table, "rows");
	return json_string_value(json_object_get(table, "title"));
}

const char *results_value(const struct results *results, const char *title, const char *name)
{
	const json_t *rows, *row;
	const char *is;
	size_t k;

	for (size_t i = 0; (is = results_table(results, i, &rows)); i++) {
		if (strcmp(is, title) != 0)
			continue;
		json_array_foreach (rows, k, row)
			if (strcmp(json_string_value(json_array_get(row, 0)), name) == 0)
				return json_string_value(json_array_get(row, 1));
	}
	return NULL;
}

bool results_even_busy(const struct results *results)
{
	return json_is_true(json_object_get(results->run, "even_busy"));
}

int results_test(const struct results *results, const struct test *test, struct rows **out)
{
	const struct rows_filter filter = {.test = test->id, .trial = -1};

	return rows_part(out, results->rows, &filter);
}

double results_unit(const void *context, const char *test, const char *kpi, const char **unit,
		    const char **point)
{
	const struct results_tests *tests = context;

	for (size_t i = 0; i < tests->n; i++) {
		const struct kpi *k = strcmp(tests->test[i]->id, test) == 0
					      ? test_kpi(tests->test[i], kpi)
					      : NULL;

		if (!k)
			continue;
		*unit = k->unit;
		*point = k->point;
		return k->scale > 0 ? k->scale : 1;
	}
	return 1;
}
