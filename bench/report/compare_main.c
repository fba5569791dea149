/* SPDX-License-Identifier: BSD-2-Clause */
/* compare_main.c - `farebench compare A B` (compare_show.h). */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/options.h"
#include "report/compare_show.h"
#include "report/results_json.h"

#define COMPARE_MIN_PERCENT 2.0

struct compare_options {
	const char *json, *html, *a, *b;
	double min_percent;
	bool all, more;
};

static int compare_min(void *into, char *text)
{
	struct compare_options *o = into;
	char *end;

	o->min_percent = strtod(text, &end);
	if (end != text && !*end && o->min_percent >= 0 && isfinite(o->min_percent))
		return 0;
	fprintf(stderr, "farebench: --min %s: a percentage is expected\n", text);
	return -EINVAL;
}

static const struct options_entry compare_table[] = {
	{"all", NULL, "list what did not change, too", OPTIONS_FLAG(struct compare_options, all)},
	{"more", NULL,
	 "first make the trials that are missing, each run's in the lab that it names",
	 OPTIONS_FLAG(struct compare_options, more)},
	{"min", "PERCENT", "changes below this do not count (2)", OPTIONS_CALL(compare_min)},
	{"html", "FILE", "write a page with a picture there",
	 OPTIONS_TEXT(struct compare_options, html)},
	{"json", "FILE", "write everything that was compared there (-: stdout, and no text)",
	 OPTIONS_TEXT(struct compare_options, json)},
	{.name = NULL},
};

/* 1: help was asked for. */
static int compare_parse(int argc, char **argv, struct compare_options *o)
{
	int err;

	*o = (struct compare_options){.min_percent = COMPARE_MIN_PERCENT};
	err = options_read("farebench compare A B", compare_table, argc, argv, o, NULL);
	if (!err && argc - optind != 2) {
		fprintf(stderr, "farebench compare: two directories of farebench run are expected, "
				"before and after: see farebench compare --help\n");
		err = -EINVAL;
	}
	if (err)
		return err;
	o->a = argv[optind];
	o->b = argv[optind + 1];
	return 0;
}

struct compare_pair {
	struct results a, b;
	struct compare compare;
};

static int compare_open(struct compare_pair *pair, const struct compare_options *o,
			const struct results_tests *tests)
{
	int err = results_open(&pair->a, o->a);

	if (!err)
		err = results_open(&pair->b, o->b);
	return err ? err
		   : compare_results(&pair->a, &pair->b, tests, o->min_percent, &pair->compare);
}

static void compare_close(struct compare_pair *pair)
{
	compare_fini(&pair->compare);
	results_close(&pair->a);
	results_close(&pair->b);
}

/* Makes what is missing; *pair is what there is then. */
static int compare_get_more(struct compare_pair *pair, const struct compare_options *o,
			    const struct results_tests *tests)
{
	const struct compare *compare = &pair->compare;
	unsigned wanted = compare_trials_wanted(compare->n_numbers);
	bool a = compare->n_numbers && compare->least_a < wanted,
	     b = compare->n_numbers && compare->least_b < wanted;
	int err = 0;

	if (a)
		err = compare_more(o->a, wanted);
	if (!err && b)
		err = compare_more(o->b, wanted);
	if (err || (!a && !b))
		return err;
	compare_close(pair);
	return compare_open(pair, o, tests);
}

static int compare_show(const struct compare_pair *pair, const struct compare_options *o)
{
	const struct compare_run a = {o->a, results_even_busy(&pair->a), editions_of(pair->a.run)},
				 b = {o->b, results_even_busy(&pair->b), editions_of(pair->b.run)};
	struct doc *doc;
	int err = doc_create(&doc, "Comparison of two runs");

	if (err)
		return err;
	compare_doc(doc, &pair->compare, &a, &b, o->min_percent, o->all);
	err = doc_error(doc);
	if (err)
		fprintf(stderr, "farebench: %s\n", strerror(-err));
	else if (o->html)
		err = doc_write(doc, o->html, NULL);
	if (!err && !(o->json && strcmp(o->json, "-") == 0))
		doc_print(doc, stdout);
	if (!err && o->json)
		err = results_json_dump(compare_json(&pair->compare, &a, &b), o->json);
	doc_destroy(doc);
	return err;
}

int compare_command(int argc, char **argv, const struct results_tests *tests)
{
	struct compare_pair pair = {0};
	struct compare_options o;
	int err = compare_parse(argc, argv, &o);
	bool worse;

	if (err > 0)
		puts("Exit status: 0 nothing got worse, 1 failed, 2 wrong usage, 3 something got "
		     "worse beyond the noise.");
	if (err)
		return err > 0 ? 0 : 2;
	err = compare_open(&pair, &o, tests);
	if (!err && o.more)
		err = compare_get_more(&pair, &o, tests);
	if (!err)
		err = compare_show(&pair, &o);
	worse = pair.compare.count[COMPARE_WORSE] > 0;
	compare_close(&pair);
	return err ? 1 : worse ? 3 : 0;
}

int compare_main(int argc, char **argv)
{
	struct results_tests tests;

	tests.test = tests_all(&tests.n);
	return compare_command(argc, argv, &tests);
}
