/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * make_pages DIR: pages for page.sh from results made up: DIR/report.html and DIR/compare.html
 * (bench/report/fake_tests.h), DIR/all.html of all tests that there are, with long numbers and
 * words.
 */
#include <stdio.h>
#include <string.h>

#include "bench/report/fake_tests.h"
#include "report/compare_show.h"
#include "report/results_report.h"

static const struct results_tests tests = {fake_tests, sizeof(fake_tests) / sizeof(fake_tests[0])};

static int make(const char *dir, const char *from, const char *name)
{
	char was[128], is[4200];
	FILE *in, *out;
	int c;

	snprintf(was, sizeof(was), "%s/%s", from, name);
	snprintf(is, sizeof(is), "%s/%s", dir, name);
	in = fopen(was, "re");
	out = fopen(is, "we");
	if (!in || !out)
		return 1;
	while ((c = getc(in)) != EOF)
		putc(c, out);
	fclose(in);
	return fclose(out) != 0;
}

/* ---- all tests ---- */

#define ALL_MAX_LEVELS 4
#define ALL_TRIALS     3
#define ALL_WORDS      "5309956 at most, 5309956 at the end; -2.832e+05 more an hour"

/* Level i of a parameter, of those of the quick profile; false: it has none. */
static bool all_level(const struct param *param, unsigned i, struct row_param *out)
{
	char text[400], *level[ALL_MAX_LEVELS], *save = NULL;
	unsigned n = 0;

	/* names can be long: the first levels of each */
	snprintf(text, sizeof(text), "%s", param->level[PROFILE_QUICK] ? param->level[0] : "");
	for (char *at = strtok_r(text, ",", &save); at && n < ALL_MAX_LEVELS;
	     at = strtok_r(NULL, ",", &save))
		level[n++] = at;
	return n && row_param_set(out, param->name, level[i % n]) == 0;
}

static void all_params(struct row *row, const struct param *list, unsigned i)
{
	for (; list && list->name && row->n_params < ROWS_MAX_PARAMS; list++)
		row->n_params += all_level(list, i, &row->param[row->n_params]);
}

/* Does a view ask for a percentile of it? */
static bool all_is_hist(const struct test *test, const char *kpi)
{
	for (const struct view *view = test->views; view && view->title; view++)
		for (size_t i = 0; i < TEST_MAX_COLUMNS && view->y[i]; i++)
			if (strncmp(view->y[i], kpi, strlen(kpi)) == 0 &&
			    strncmp(view->y[i] + strlen(kpi), "@p", 2) == 0)
				return true;
	return false;
}

static void all_add(struct rows *rows, const struct test *test, const struct kpi *kpi,
		    struct row *row)
{
	double value = 12345.6 * (1 + row->trial / 50.);
	static struct hist hist;

	snprintf(row->kpi, sizeof(row->kpi), "%s", kpi->name);
	row->value = value;
	row->n = 1;
	row->text = NULL;
	row->hist = NULL;
	if (all_is_hist(test, kpi->name)) {
		hist_init(&hist);
		for (unsigned i = 0; i < 400; i++)
			hist_add(&hist, (uint64_t)(value / (kpi->scale > 0 ? kpi->scale : 1) *
						   (1 + i / 300.)));
		row->hist = &hist;
	} else if (!*kpi->unit && kpi->better == BETTER_NONE && strcmp(kpi->name, "model_ratio")) {
		row->text = (char[]){ALL_WORDS};
	}
	fake_must(rows_add(rows, row) == 0);
}

static void all_rows(struct rows *rows, const struct test *test)
{
	static const char *const strategies[] = {"ecmp-stripe", "ecmp-flow", "fare-spray"};

	for (unsigned i = 0; i < 3 * ALL_MAX_LEVELS * ALL_TRIALS; i++) {
		struct row row = {.trial = i / 3 / ALL_MAX_LEVELS};

		snprintf(row.test, sizeof(row.test), "%s", test->id);
		snprintf(row.strategy, sizeof(row.strategy), "%s",
			 test->no_strategies ? "" : strategies[i % 3]);
		all_params(&row, test->params, i / 3 % ALL_MAX_LEVELS);
		all_params(&row, test->added, i / 3 % ALL_MAX_LEVELS);
		for (const struct kpi *kpi = test->kpis; kpi->name; kpi++)
			all_add(rows, test, kpi, &row);
		snprintf(row.kpi, sizeof(row.kpi), "%s", SUITE_DONE);
		row.value = 12.3;
		row.text = NULL;
		row.hist = NULL;
		fake_must(rows_add(rows, &row) == 0);
	}
}

/* Sentences that begin with a number, as a lab's are. */
static void all_describe(const char *dir)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/run.json", dir);
	file = fopen(path, "we");
	fake_must(file);
	fputs("{\"profile\":\"quick\","
	      "\"strategies\":[\"ecmp-stripe\",\"ecmp-flow\",\"fare-spray\"],"
	      "\"tables\":[{\"title\":\"Fabric health\",\"rows\":["
	      "[\"CPU Utilization (switch)\",\"0.12% of a core: the daemons of the busiest "
	      "leaf, over the whole run; forwarding is the kernel's and not in it\"],"
	      "[\"Memory Usage (switch)\",\"43.7 MiB resident, 0.18% of this machine's memory: "
	      "the daemons of the largest leaf; 37.1 MiB when the run began. TCAM and buffers: a "
	      "leaf is a namespace, and has none\"],"
	      "[\"NIC QP State\",\"10 paths of QP groups died in 541 measured runs, 0 were set "
	      "up anew\"]]}]}",
	      file);
	fake_must(fclose(file) == 0);
}

static int all_page(const char *to)
{
	char dir[] = "/tmp/make_pages.XXXXXX", path[128];
	struct results_tests list;
	struct results results;
	struct rows *rows;
	int status;

	fake_must(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/rows.jsonl", dir);
	fake_must(rows_open(&rows, path) == 0);
	list.test = tests_all(&list.n);
	for (size_t i = 0; i < list.n; i++)
		if (test_is_draft(list.test[i]) || test_is_training(list.test[i]))
			all_rows(rows, list.test[i]);
	rows_close(rows);
	all_describe(dir);
	status = results_open(&results, dir) != 0;
	status |= results_report(&results, &list, dir, NULL) != 0;
	results_close(&results);
	snprintf(path, sizeof(path), "mv %s/report.html %s/all.html", dir, to);
	status |= system(path) != 0;
	fake_directory_gone(dir);
	return status;
}

int main(int argc, char **argv)
{
	char a[] = "/tmp/make_pages.XXXXXX", b[] = "/tmp/make_pages.XXXXXX", html[64];
	char *compare[] = {(char[]){"compare"}, (char[]){"--html"}, html, a, b, NULL};
	struct results results;
	int status;

	if (argc != 2)
		return 2;
	fake_directory(a, 2);
	fake_directory(b, 1.4);
	snprintf(html, sizeof(html), "%s/compare.html", a);
	status = results_open(&results, a) != 0 || results_report(&results, &tests, a, NULL) != 0;
	results_close(&results);
	status |= compare_command(5, compare, &tests) != 3; /* something got worse */
	status |= make(argv[1], a, "report.html") | make(argv[1], a, "compare.html");
	fake_directory_gone(a);
	fake_directory_gone(b);
	status |= all_page(argv[1]);
	return status;
}
