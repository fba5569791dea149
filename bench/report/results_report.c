/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/results_report.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "report/results.h"
#include "report/summary.h"
#include "report/view.h"

#define REPORT_MAX_LINKS 64

static bool report_is_measured(const struct rows *rows)
{
	for (size_t i = 0; i < rows_count(rows); i++)
		if (!rows_at(rows, i)->missing && rows_at(rows, i)->kpi[0] != '_')
			return true;
	return false;
}

static const char *report_first_reason(const struct rows *rows)
{
	for (size_t i = 0; i < rows_count(rows); i++)
		if (rows_at(rows, i)->missing)
			return rows_at(rows, i)->missing;
	return "it was not run";
}

static void report_test(struct doc *doc, const struct results *results, const struct test *test)
{
	char title[200], id[32];
	struct rows *rows;
	int err = results_test(results, test, &rows);

	doc_fail(doc, err);
	if (err)
		return;
	snprintf(title, sizeof(title), "%s %s", test->id, test->name);
	snprintf(id, sizeof(id), "test-%s", test->id);
	doc_heading(doc, 3, id, title);
	doc_text(doc, "%s (%s)", test->summary, test->dut);
	if (report_is_measured(rows))
		for (const struct view *view = test->views; view && view->title; view++)
			view_show(doc, test, view, rows);
	else
		doc_text(doc, "Not available: %s.", report_first_reason(rows));
	rows_close(rows);
}

static void report_links(struct doc *doc, const struct results_tests *tests)
{
	static const char *const fixed[][2] = {{"run", "System, workload and run"},
					       {"kpis", "KPI summary"},
					       {"health", "Fabric health indicators"},
					       {"anomalies", "Anomalies"},
					       {"map", "Which KPI is measured in which test"}};
	const char *ids[REPORT_MAX_LINKS], *texts[REPORT_MAX_LINKS];
	char id[REPORT_MAX_LINKS][32], text[REPORT_MAX_LINKS][120];
	size_t n = 0;

	for (; n < sizeof(fixed) / sizeof(fixed[0]); n++) {
		ids[n] = fixed[n][0];
		texts[n] = fixed[n][1];
	}
	for (size_t i = 0; i < tests->n && n < REPORT_MAX_LINKS; i++, n++) {
		snprintf(id[n], sizeof(id[n]), "test-%s", tests->test[i]->id);
		snprintf(text[n], sizeof(text[n]), "%s %s", tests->test[i]->id,
			 tests->test[i]->name);
		ids[n] = id[n];
		texts[n] = text[n];
	}
	doc_links(doc, n, ids, texts);
}

static void report_chapters(struct doc *doc, const struct results *results,
			    const struct results_tests *tests)
{
	report_links(doc, tests);
	summary_run(doc, results);
	summary_kpis(doc, results, tests);
	summary_health(doc, results);
	summary_anomalies(doc, results, tests);
	doc_heading(doc, 2, "tests", "Tests");
	for (size_t i = 0; i < tests->n; i++)
		report_test(doc, results, tests->test[i]);
	summary_map(doc, tests);
}

static int report_write_files(struct doc *doc, const struct results *results,
			      const struct results_tests *tests, const char *dir)
{
	char html[4096], md[4096], csv[4096];
	int err;

	snprintf(html, sizeof(html), "%s/report.html", dir);
	snprintf(md, sizeof(md), "%s/report.md", dir);
	snprintf(csv, sizeof(csv), "%s/rows.csv", dir);
	err = doc_write(doc, html, md);
	if (err)
		return err;
	err = rows_csv(results->rows, csv, results_unit, tests);
	if (err)
		fprintf(stderr, "farebench: %s: %s\n", csv, strerror(-err));
	return err;
}

int results_report(const char *dir, const struct test *const *tests, size_t n, FILE *text)
{
	const struct results_tests list = {tests, n};
	struct results results;
	struct doc *doc;
	int err = results_open(&results, dir);

	if (err)
		return err;
	err = doc_create(&doc, "Inference fabric benchmark");
	if (!err) {
		report_chapters(doc, &results, &list);
		err = doc_error(doc);
		if (err)
			fprintf(stderr, "farebench: %s: %s\n", dir, strerror(-err));
		else
			err = report_write_files(doc, &results, &list, dir);
		if (!err && text)
			doc_print(doc, text);
		doc_destroy(doc);
	}
	results_close(&results);
	return err;
}

static void report_usage(FILE *file)
{
	fputs("usage: farebench report [--quiet] DIR\n\n"
	      "Writes DIR/report.html, DIR/report.md and DIR/rows.csv from DIR/rows.jsonl and "
	      "DIR/run.json,\n"
	      "and prints the report as text (--quiet: does not).\n",
	      file);
}

int results_report_main(int argc, char **argv)
{
	static const struct option options[] = {{"quiet", no_argument, NULL, 'q'},
						{"help", no_argument, NULL, 'h'},
						{NULL, 0, NULL, 0}};
	const struct test *const *tests;
	bool quiet = false;
	size_t n;
	int c;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (c == 'h') {
			report_usage(stdout);
			return 0;
		}
		if (c != 'q') {
			report_usage(stderr);
			return 2;
		}
		quiet = true;
	}
	if (optind + 1 != argc) {
		report_usage(stderr);
		return 2;
	}
	tests = tests_all(&n);
	return results_report(argv[optind], tests, n, quiet ? NULL : stdout) ? 1 : 0;
}
