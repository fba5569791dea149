/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/results_report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/options.h"
#include "report/account.h"
#include "report/export.h"
#include "report/lead.h"
#include "report/levels.h"
#include "report/repeatability.h"
#include "report/summary.h"
#include "report/table.h"
#include "report/view.h"

#define REPORT_MAX_LINKS  64
#define REPORT_MAX_LEVELS 16 /* of a parameter, in its line of names */

/* What the marks in tables mean: as cell_text() and the views write them. */
static const char *const legend_marks[][2] = {
	{"12.3", "of trials that give a number each: their median; of a distribution: the "
		 "percentile that the column names, of all measurements of all trials together"},
	{"[11.9, 12.8]", "the 95% interval of that number, free of assumptions about its "
			 "distribution; of a value that follows from others, as a ratio of two "
			 "medians, by drawing the trials anew (bootstrap)"},
	{"(11.9 to 12.8)", "the lowest and the highest trial: with fewer than six there is no 95% "
			   "interval"},
	{"n=20", "trials that gave a number"},
	{"n=4100 in 20 trials", "measurements of a distribution, and the trials that they are of"},
	{"CV 3%", "coefficient of variation of the trials: standard deviation over mean; not shown "
		  "where it is 0"},
	{"max of 41", "too few measurements carry the percentile (three are expected beyond it, "
		      "ten beyond P99): the largest of 41"},
	{"12.3 alone", "computed from parameters and rates, or the same in every trial and neither "
		       "good nor bad"},
	{"yes (3 of 5)", "words, and how many trials said so"},
	{"n/a", "not available: the reason stands below the table, and in Not measured"},
	{"-", "nothing at this combination: it is not defined here, or follows from others"},
};

static void legend_show(struct doc *doc)
{
	static const char *const headers[] = {"Mark", "Meaning"};
	struct table *table = NULL;
	int err = table_create(&table, 2, headers);

	for (size_t i = 0; !err && i < sizeof(legend_marks) / sizeof(legend_marks[0]); i++)
		err = table_row(table, legend_marks[i]);
	doc_fail(doc, err);
	doc_heading(doc, 2, "legend", "How to read the tables");
	doc_pairs(doc, table);
}

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
		{"SUT-E", "the whole system: the fabric, the hosts, and what they run"},
	};

	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++)
		if (strcmp(points[i][0], dut) == 0)
			return points[i][1];
	return NULL;
}

/* What a parameter is, and the levels that were measured: those of one level stand nowhere else. */
static void report_levels(const struct rows *rows, const struct param *param, char *out,
			  size_t size)
{
	const struct rows_filter all = {.trial = -1};
	struct row_param level[REPORT_MAX_LEVELS];
	size_t n = rows_levels(rows, &all, param->name, level, REPORT_MAX_LEVELS),
	       used = (size_t)snprintf(out, size, "%s%s", param->what,
				       n ? *param->what ? "; here " : "here " : "");

	for (size_t i = 0; i < n && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "",
					 level[i].text);
}

static int report_params(struct table *table, const struct param *list, const struct rows *rows)
{
	int err = 0;

	for (const struct param *p = list; !err && p && p->name; p++) {
		char what[600];

		report_levels(rows, p, what, sizeof(what));
		err = table_row(table, (const char *[]){p->name, p->unit, what});
	}
	return err;
}

/* What the names in a test's tables and pictures mean. */
static void report_terms(struct doc *doc, const struct test *test, const struct rows *rows)
{
	static const char *const headers[] = {"Name", "Unit", "Meaning"};
	struct table *table = NULL;
	int err = table_create(&table, sizeof(headers) / sizeof(headers[0]), headers);

	if (!err)
		err = report_params(table, test->params, rows);
	if (!err)
		err = report_params(table, test->added, rows);
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
	doc_text(doc, "%s Tested is %s%s%s%s.", test->summary, point ? point : test->dut,
		 point ? " (" : "", point ? test->dut : "", point ? ")" : "");
	measured = rows_are_measured(rows);
	for (const struct view *view = test->views; measured && view && view->title; view++)
		view_show(doc, test, view, rows);
	if (measured)
		report_terms(doc, test, rows);
	else
		doc_text(doc, "Not available: %s.", report_first_reason(rows));
	rows_close(rows);
}

/* Is any of them of that methodology, whose chapters the report has then? */
static bool report_has(const struct results_tests *tests, bool (*is_of)(const struct test *test))
{
	for (size_t i = 0; i < tests->n; i++)
		if (is_of(tests->test[i]))
			return true;
	return false;
}

static bool report_was_run(const struct results *results, const struct test *test)
{
	const struct rows_filter filter = {.test = test->id, .trial = -1};

	return rows_next(results->rows, &filter, 0) < rows_count(results->rows);
}

/* A line for all of them, in place of a chapter each. */
static void report_not_run(struct doc *doc, const struct results *results,
			   const struct results_tests *tests)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	for (size_t i = 0; out && i < tests->n; i++)
		if (!report_was_run(results, tests->test[i]))
			fprintf(out, "%s%s %s", ftell(out) ? "; " : "", tests->test[i]->id,
				tests->test[i]->name);
	if (!out || fclose(out))
		doc_fail(doc, -ENOMEM);
	else if (length)
		doc_text(doc, "Not run: %s.", text);
	free(text);
}

static void report_links(struct doc *doc, const struct results *results,
			 const struct results_tests *tests, bool compared)
{
	static const char *const fixed[][2] = {{"strategies", "Strategies compared"},
					       {"kpis", "KPI summary"},
					       {"anomalies", "Anomalies"},
					       {"missing", "Not measured"},
					       {"accounting", "Trial accounting"},
					       {"repeatability", "Repeatability"},
					       {"health", "Fabric health indicators"},
					       {"run", "System, workload and run"},
					       {"map", "Which KPI is measured in which test"}};
	const bool draft = report_has(tests, test_is_draft) || report_has(tests, test_is_training);
	const bool wanted[] = {compared, true, true, true, true, true, draft, true, draft};
	const char *ids[REPORT_MAX_LINKS], *texts[REPORT_MAX_LINKS];
	char id[REPORT_MAX_LINKS][32], text[REPORT_MAX_LINKS][120];
	size_t n = 0;

	for (size_t i = 0; i < tests->n && n + sizeof(wanted) < REPORT_MAX_LINKS; i++) {
		if (!report_was_run(results, tests->test[i]))
			continue;
		snprintf(id[n], sizeof(id[n]), "test-%s", tests->test[i]->id);
		snprintf(text[n], sizeof(text[n]), "%s %s", tests->test[i]->id,
			 tests->test[i]->name);
		ids[n] = id[n];
		texts[n] = text[n];
		n++;
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
	bool inference = report_has(tests, test_is_draft),
	     training = report_has(tests, test_is_training);

	lead_page(doc, lead);
	report_links(doc, results, tests, lead->n > 0);
	legend_show(doc);
	doc_heading(doc, 2, "tests", "Tests");
	for (size_t i = 0; i < tests->n; i++)
		if (report_was_run(results, tests->test[i]))
			report_test(doc, results, tests->test[i]);
	report_not_run(doc, results, tests);
	lead_chapter(doc, lead);
	summary_kpis(doc, results, tests);
	summary_anomalies(doc, results, tests);
	summary_not_measured(doc, results, tests);
	account_show(doc, results, tests);
	levels_show(doc, results, tests);
	repeatability_show(doc, results, tests);
	edition_show(doc, results, tests);
	if (inference || training)
		summary_health(doc, results, tests, inference, training);
	summary_run(doc, results, tests);
	if (inference || training)
		summary_map(doc, results, tests);
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
	return err ? err
		   : export_write(results->rows,
				  results_value(results, "Real and emulated", "Emulated"), dir);
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
	const char *began = json_string_value(json_object_get(results->run, "started"));
	int err = lead ? doc_create(doc, "farebench") : -ENOMEM;

	if (err) {
		free(lead);
		return err;
	}
	if (began)
		doc_measured(*doc, began);
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

struct report_options {
	bool quiet;
};

static const struct options_entry report_options_known[] = {
	{"quiet", NULL, "do not print the report as text, too",
	 OPTIONS_FLAG(struct report_options, quiet)},
	{.name = NULL},
};

int results_report_main(int argc, char **argv)
{
	struct report_options o = {.quiet = false};
	struct results_tests list;
	struct results results;
	int err = options_read("farebench report DIR", report_options_known, argc, argv, &o, NULL);

	if (!err && optind + 1 != argc) {
		fputs("farebench report: one directory of farebench run is expected\n", stderr);
		err = -EINVAL;
	}
	if (err)
		return err > 0 ? 0 : 2;
	list.test = tests_all(&list.n);
	if (results_open(&results, argv[optind]))
		return 1;
	err = results_report(&results, &list, argv[optind], o.quiet ? NULL : stdout);
	results_close(&results);
	return err ? 1 : 0;
}
