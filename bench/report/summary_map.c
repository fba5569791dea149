/* SPDX-License-Identifier: BSD-2-Clause */
/* summary_map.c - appendix A of each draft: in which test of the run a KPI was measured. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/kpi_map.h"
#include "report/summary.h"
#include "suite/edition.h"

/* What rows say of an entry's KPIs in one test: measured, or why not. */
static int summary_map_test(const struct kpi_map *entry, const struct results *results,
			    const struct test *test, bool *measured, const char **why)
{
	struct rows *rows;
	int err = results_test(results, test, &rows);

	*measured = false;
	*why = err || rows_count(rows) ? NULL : "the test was not run";
	for (size_t i = 0; !err && !*measured && i < rows_count(rows); i++) {
		const struct row *row = rows_at(rows, i);

		if (!kpi_map_is(entry, row->kpi))
			continue;
		*measured = !row->missing;
		*why = *why ? *why : row->missing;
	}
	if (!err)
		rows_close(rows);
	*why = *why ? *why : "no row has it";
	return err;
}

/* "5.1, 5.3" more of it. */
static void summary_map_add(char *list, size_t size, const char *text, const char *between)
{
	size_t used = strlen(list);

	if (used < size)
		snprintf(list + used, size - used, "%s%s", used ? between : "", text);
}

/* A KPI: where it was measured, where it was not, and each reason once. */
static int summary_map_row(struct table *table, const struct results *results,
			   const struct kpi_map *entry, bool newer, const struct test *const *tests,
			   size_t n)
{
	char measured[200] = "", not_measured[200] = "", reasons[600] = "";
	int err = 0;

	for (size_t i = 0; !err && i < n; i++) {
		const char *why;
		bool is_measured;

		if (!kpi_map_measures(entry, tests[i]))
			continue;
		err = summary_map_test(entry, results, tests[i], &is_measured, &why);
		summary_map_add(is_measured ? measured : not_measured, sizeof(measured),
				tests[i]->id, ", ");
		if (!err && !is_measured && !strstr(reasons, why))
			summary_map_add(reasons, sizeof(reasons), why, "; ");
	}
	if (!*measured && !*not_measured && entry->test) {
		snprintf(not_measured, sizeof(not_measured), "%s", entry->test);
		snprintf(reasons, sizeof(reasons), "the test is not in this run");
	}
	return err ? err
		   : table_row(table, (const char *[]){newer ? entry->name : entry->kpi, measured,
						       not_measured, reasons, entry->dut});
}

/* The KPIs of one draft, in those of the tests that are of it. */
static void summary_map_of(struct doc *doc, struct table *table, const struct results *results,
			   const struct kpi_map *map, size_t n, bool newer,
			   const struct results_tests *tests,
			   bool (*is_of)(const struct test *test))
{
	const struct test **own = calloc(tests->n + 1, sizeof(*own));
	size_t n_own = 0;

	for (size_t i = 0; own && i < tests->n; i++)
		if (is_of(tests->test[i]))
			own[n_own++] = tests->test[i];
	for (size_t i = 0; n_own && i < n; i++)
		doc_fail(doc, summary_map_row(table, results, &map[i], newer, own, n_own));
	if (!own)
		doc_fail(doc, -ENOMEM);
	free(own);
}

void summary_map(struct doc *doc, const struct results *results, const struct results_tests *tests)
{
	static const char *const headers[] = {"KPI", "Measured in", "Declared, not measured",
					      "Because", "DUT/SUT"};
	struct table *table = doc_table_of(doc, 5, headers);
	bool newer = editions_of(results->run).newer[EDITION_INFERENCE];
	size_t n, n_added, n_training;
	const struct kpi_map *map = kpi_map_all(&n), *added = kpi_map_added(&n_added),
			     *training = kpi_map_training(&n_training);

	doc_heading(doc, 2, "map", "Which KPI is measured in which test");
	doc_text(doc, "Appendix A of each methodology: the tests of this run that measured a KPI, "
		      "and those that declare it and gave no value of it here.");
	if (!table)
		return;
	summary_map_of(doc, table, results, map, n, newer, tests, test_is_draft);
	summary_map_of(doc, table, results, added, newer ? n_added : 0, newer, tests,
		       test_is_draft);
	summary_map_of(doc, table, results, training, n_training, false, tests, test_is_training);
	doc_table(doc, table);
}
