/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/results_report.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "report/account.h"
#include "report/lead.h"
#include "report/summary.h"
#include "report/view.h"

#define REPORT_MAX_LINKS 64

static const char *report_first_reason(const struct rows *rows)
{
	for (size_t i = 0; i < rows_count(rows); i++)
		if (rows_at(rows, i)->missing)
			return rows_at(rows, i)->missing;
	return "it was not run";
}

/* Components under test (section 3.3 of the methodology). */
static const char *report_point(const char *dut)
{
	static const char *const points[][2] = {
		{"DUT-S", "one switch"},
		{"DUT-F", "the whole fabric, from the sender's NIC to the receiver's"},
		{"DUT-N", "the transport of the NICs, as the endpoints see it"},
		{"DUT-PD", "the path from the memory of a prefill GPU to that of a decode GPU"},
		{"SUT-E", "the whole serving system"},
	};

	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++)
		if (strcmp(points[i][0], dut) == 0)
			return points[i][1];
	return NULL;
}

/* What the names in a test's tables and pictures mean. */
static void report_terms(struct doc *doc, const struct test *test, const struct rows *rows)
{
	static const char *const headers[] = {"Name", "Unit", "Meaning"};
	struct table *table = NULL;
	int err = table_create(&table, sizeof(headers) / sizeof(headers[0]), headers);

	for (const struct param *p = test->params; !err && p && p->name; p++)
		err = table_row(table, (const char *[]){p->name, p->unit, p->what});
	for (const struct kpi *k = test->kpis; !err && k->name; k++) {
		const struct rows_filter filter = {.kpi = k->name, .trial = -1};
		char what[400];

		if (rows_next(rows, &filter, 0) == rows_count(rows))
			continue;
		snprintf(what, sizeof(what), "%s%s%s%s", k->what,
			 *k->point ? *k->what ? "; seen at " : "seen at " : "", k->point,
			 k->better == BETTER_HIGHER  ? "; more is better"
			 : k->better == BETTER_LOWER ? "; less is better"
						     : "");
		err = table_row(table, (const char *[]){k->name, k->unit, what});
	}
	doc_fail(doc, err);
	if (err) {
		table_destroy(table);
		return;
	}
	doc_heading(doc, 4, "", "Names");
	doc_pairs(doc, table);
}

static void report_test(struct doc *doc, const struct results *results, const struct test *test)
{
	char title[200], id[32];
	const char *point;
	struct rows *rows;
	bool measured;
	int err = results_test(results, test, &rows);

	doc_fail(doc, err);
	if (err)
		return;
	snprintf(title, sizeof(title), "%s %s", test->id, test->name);
	snprintf(id, sizeof(id), "test-%s", test->id);
	doc_heading(doc, 3, id, title);
	point = report_point(test->dut);
	doc_text(doc, "%s Tested is %s%s%s%s.", test->summary, test->dut, point ? " (" : "",
		 point ? point : "", point ? ")" : "");
	measured = rows_are_measured(rows);
	for (const struct view *view = test->views; measured && view && view->title; view++)
		view_show(doc, test, view, rows);
	if (measured)
		report_terms(doc, test, rows);
	else
		doc_text(doc, "Not available: %s.", report_first_reason(rows));
	rows_close(rows);
}

/* Is any of them one of a methodology, whose chapters the report has then? */
static bool report_is_draft(const struct results_tests *tests)
{
	for (size_t i = 0; i < tests->n; i++)
		if (test_is_draft(tests->test[i]) || test_is_training(tests->test[i]))
			return true;
	return false;
}

static void report_links(struct doc *doc, const struct results_tests *tests, bool compared)
{
	static const char *const fixed[][2] = {{"strategies", "Strategies compared"},
					       {"kpis", "KPI summary"},
					       {"anomalies", "Anomalies"},
					       {"accounting", "Trial accounting"},
					       {"health", "Fabric health indicators"},
					       {"run", "System, workload and run"},
					       {"map", "Which KPI is measured in which test"}};
	const bool draft = report_is_draft(tests);
	const bool wanted[] = {compared, true, true, true, draft, true, draft};
	const char *ids[REPORT_MAX_LINKS], *texts[REPORT_MAX_LINKS];
	char id[REPORT_MAX_LINKS][32], text[REPORT_MAX_LINKS][120];
	size_t n = 0;

	for (; n < tests->n && n + sizeof(wanted) < REPORT_MAX_LINKS; n++) {
		snprintf(id[n], sizeof(id[n]), "test-%s", tests->test[n]->id);
		snprintf(text[n], sizeof(text[n]), "%s %s", tests->test[n]->id,
			 tests->test[n]->name);
		ids[n] = id[n];
		texts[n] = text[n];
	}
	for (size_t i = 0; i < sizeof(wanted); i++) {
		if (!wanted[i])
			continue;
		ids[n] = fixed[i][0];
		texts[n++] = fixed[i][1];
	}
	doc_links(doc, n, ids, texts);
}

/* What a customer reads first; then what was measured; then on what that stands. */
static void report_chapters(struct doc *doc, const struct results *results,
			    const struct results_tests *tests, const struct lead *lead)
{
	bool draft = report_is_draft(tests);

	lead_page(doc, lead);
	report_links(doc, tests, lead->n > 0);
	doc_heading(doc, 2, "tests", "Tests");
	for (size_t i = 0; i < tests->n; i++)
		report_test(doc, results, tests->test[i]);
	lead_chapter(doc, lead);
	summary_kpis(doc, results, tests);
	summary_anomalies(doc, results, tests);
	account_show(doc, results, tests);
	if (draft)
		summary_health(doc, results);
	summary_run(doc, results);
	if (draft)
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

static bool report_was_run(const struct results *results, const struct test *test)
{
	const struct rows_filter filter = {.test = test->id, .trial = -1};

	return rows_next(results->rows, &filter, 0) < rows_count(results->rows);
}

/* Tests that were run; of the methodology the others too, if any of them was. */
static void report_choose(const struct results *results, const struct results_tests *all,
			  const struct test **chosen, struct results_tests *out)
{
	bool draft = false;

	*out = (struct results_tests){chosen, 0};
	for (size_t i = 0; i < all->n; i++)
		draft |= test_is_draft(all->test[i]) && report_was_run(results, all->test[i]);
	for (size_t i = 0; i < all->n; i++)
		if ((draft && test_is_draft(all->test[i])) || report_was_run(results, all->test[i]))
			chosen[out->n++] = all->test[i];
}

/* The document of the tests that were chosen. *doc: doc_destroy(). */
static int report_make(const struct results *results, const struct results_tests *tests,
		       struct doc **doc)
{
	struct lead *lead = calloc(1, sizeof(*lead));
	int err = lead ? doc_create(doc, "farebench") : -ENOMEM;

	if (err) {
		free(lead);
		return err;
	}
	doc_fail(*doc, lead_init(lead, results, tests));
	report_chapters(*doc, results, tests, lead);
	lead_fini(lead);
	free(lead);
	err = doc_error(*doc);
	if (err) {
		fprintf(stderr, "farebench: the report: %s\n", strerror(-err));
		doc_destroy(*doc);
	}
	return err;
}

int results_report(const struct results *results, const struct results_tests *tests,
		   const char *dir, FILE *text)
{
	const struct test **chosen = calloc(tests->n + 1, sizeof(*chosen));
	struct results_tests list;
	struct doc *doc;
	int err = chosen ? 0 : -ENOMEM;

	if (!err) {
		report_choose(results, tests, chosen, &list);
		err = report_make(results, &list, &doc);
	}
	if (!err) {
		if (dir)
			err = report_write_files(doc, results, &list, dir);
		if (!err && text)
			doc_print(doc, text);
		doc_destroy(doc);
	}
	free(chosen);
	return err;
}

int results_page(const struct results *results, const struct results_tests *tests, const char *path)
{
	struct doc *doc;
	int err = report_make(results, tests, &doc);

	if (err)
		return err;
	err = doc_write(doc, path, NULL);
	doc_destroy(doc);
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
	struct results_tests list;
	struct results results;
	bool quiet = false;
	int c, err;

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
	list.test = tests_all(&list.n);
	if (results_open(&results, argv[optind]))
		return 1;
	err = results_report(&results, &list, argv[optind], quiet ? NULL : stdout);
	results_close(&results);
	return err ? 1 : 0;
}
