/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/levels.h"

#include <stdio.h>
#include <string.h>

#include "report/table.h"

#define LEVELS_MAX 64

/* "a, b"; "-" stands for none. */
static void levels_add(char *list, const char *level)
{
	size_t used = strcmp(list, "-") == 0 ? 0 : strlen(list);

	if (used < LEVELS_TEXT)
		snprintf(list + used, LEVELS_TEXT - used, "%s%s", used ? ", " : "", level);
}

/* Did a trial at that level measure something? */
static bool levels_is_measured(const struct rows *rows, const struct row_param *level)
{
	const struct rows_filter filter = {.n_params = 1, .param = level, .trial = -1};

	ROWS_EACH (i, rows, &filter)
		if (rows_at(rows, i)->kpi[0] != '_' && !rows_at(rows, i)->missing)
			return true;
	return false;
}

/* The same number, or the same word. */
static bool levels_is_same(const struct row_param *a, const struct row_param *b)
{
	return strcmp(a->text, b->text) == 0 || a->number == b->number;
}

/* The levels of profile draft: its own, or of the last profile before that has some. */
static const char *levels_draft(const struct param *param)
{
	for (int i = PROFILE_DRAFT; i >= 0; i--)
		if (param->level[i])
			return param->level[i];
	return "";
}

static bool levels_has(const struct row_param *level, size_t n, const struct row_param *wanted)
{
	for (size_t i = 0; i < n; i++)
		if (levels_is_same(&level[i], wanted))
			return true;
	return false;
}

void levels_read(struct levels *levels, const struct rows *rows, const struct param *param)
{
	const struct rows_filter all = {.trial = -1};
	struct row_param level[LEVELS_MAX], wanted;
	size_t n = rows_levels(rows, &all, param->name, level, LEVELS_MAX);
	char text[ROW_NAME_MAX];

	*levels = (struct levels){"-", "-", "-"};
	for (size_t i = 0; i < n; i++) {
		bool measured = levels_is_measured(rows, &level[i]);

		levels_add(measured ? levels->measured : levels->not_possible, level[i].text);
	}
	for (const char *at = levels_draft(param); *at; at += strspn(at, ",")) {
		size_t length = strcspn(at, ",");

		snprintf(text, sizeof(text), "%.*s", (int)length, at);
		at += length;
		if (!row_param_set(&wanted, param->name, text) && !levels_has(level, n, &wanted))
			levels_add(levels->left_out, text);
	}
}

/* What is said of every parameter of which there is more than one level. */
static int levels_rows(struct table *table, const struct test *test, const struct rows *rows)
{
	int err = 0;

	for (const struct param *p = test->params; !err && p && p->name; p++) {
		struct levels levels;

		levels_read(&levels, rows, p);
		if (!strchr(levels_draft(p), ',') && strcmp(levels.left_out, "-") == 0 &&
		    !strchr(levels.measured, ','))
			continue;
		err = table_row(table, (const char *[]){test->id, p->name, p->unit, levels.measured,
							levels.not_possible, levels.left_out});
	}
	return err;
}

void levels_show(struct doc *doc, const struct results *results, const struct results_tests *tests)
{
	static const char *const headers[] = {"Test",	      "Parameter",
					      "Unit",	      "Measured",
					      "Not possible", "Of profile draft, left out"};
	struct table *table = NULL;
	int err = table_create(&table, sizeof(headers) / sizeof(headers[0]), headers);

	for (size_t i = 0; !err && i < tests->n; i++) {
		struct rows *rows;

		if (!test_is_draft(tests->test[i]) && !test_is_training(tests->test[i]))
			continue;
		err = results_test(results, tests->test[i], &rows);
		if (!err && rows_count(rows) > 0)
			err = levels_rows(table, tests->test[i], rows);
		if (!err)
			rows_close(rows);
	}
	doc_fail(doc, err);
	if (err || table_rows(table) <= 1) {
		table_destroy(table);
		return;
	}
	doc_heading(doc, 3, "levels", "Levels of parameters");
	doc_text(doc,
		 "Of every parameter that has more than one level: the levels of which "
		 "something was measured, those that were tried and are not possible here, and "
		 "those of profile draft that this run leaves out, by its own profile, by its "
		 "command, or because they say nothing on this fabric. Profile draft has the "
		 "levels of the draft's text, and some that this project adds. Parameters of one "
		 "level stand under Names of each test.");
	doc_pairs(doc, table);
}
