/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/account.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "suite/edition.h"

#define ACCOUNT_MAX_REASONS 8

static bool account_is(const struct rows *rows, size_t i, const char *kpi)
{
	return strcmp(rows_at(rows, i)->kpi, kpi) == 0;
}

/* A trial that counts. The first of its combination is met: how many has it? */
static void account_add(struct account *account, const struct rows *rows, size_t at)
{
	const struct rows_filter filter = rows_like(rows_at(rows, at));
	double took_s = rows_at(rows, at)->value;
	unsigned n = 0;

	/* 0: nothing was tried, as the fabric cannot */
	if (took_s > 0 && (account->shortest_s <= 0 || took_s < account->shortest_s))
		account->shortest_s = took_s;
	account->longest_s = fmax(account->longest_s, took_s);
	account->included++;
	if (rows_next(rows, &filter, 0) != at)
		return;
	for (size_t i = at; i < rows_count(rows); i = rows_next(rows, &filter, i + 1))
		n++;
	if (!account->combinations || n < account->least)
		account->least = n;
	account->most = n > account->most ? n : account->most;
	account->combinations++;
}

void account_read(struct account *account, const struct rows *rows)
{
	*account = (struct account){0};
	for (size_t i = 0; i < rows_count(rows); i++) {
		if (account_is(rows, i, SUITE_DONE))
			account_add(account, rows, i);
		account->excluded += account_is(rows, i, SUITE_EXCLUDED);
		account->kept += account_is(rows, i, SUITE_KEPT);
	}
}

/* "3: a core was idle ...; 1: ..." of the rows with that name. */
static void account_reasons(const struct rows *rows, const char *kpi, char *out, size_t size)
{
	const char *reason[ACCOUNT_MAX_REASONS];
	unsigned count[ACCOUNT_MAX_REASONS] = {0};
	size_t n = 0, used = 0;

	for (size_t i = 0; i < rows_count(rows); i++) {
		const char *text = rows_at(rows, i)->text;
		size_t at = 0;

		if (!text || !account_is(rows, i, kpi))
			continue;
		while (at < n && strcmp(reason[at], text) != 0)
			at++;
		if (at == ACCOUNT_MAX_REASONS)
			continue;
		reason[at] = text;
		count[at]++;
		n += at == n;
	}
	*out = '\0';
	for (size_t i = 0; i < n && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%u: %s", i ? "; " : "",
					 count[i], reason[i]);
}

/* What each trial of that test measures, in s, by the run's profile; 0: the run names none. */
static double account_window_s(const struct results *results, const struct test *test)
{
	const char *name = json_string_value(json_object_get(results->run, "profile"));
	int profile = name ? profile_parse(name) : -ENOENT;

	if (profile < 0)
		return 0;
	return profile == PROFILE_DRAFT ? edition_seconds(editions_of(results->run), test)
					: test->seconds[profile];
}

/* "3", "2 to 3", and of how many seconds each. */
static void account_range(double least, double most, double window_s, char *out, size_t size)
{
	int used = least < most ? snprintf(out, size, "%.12g to %.12g", least, most)
				: snprintf(out, size, "%.12g", most);

	if (window_s > 0 && used < (int)size)
		snprintf(out + used, size - (size_t)used, " of %.12g s", window_s);
}

/* Least and most of several tests; n 0: there is none. */
struct account_span {
	unsigned n;
	double least, most;
};

static void account_span_add(struct account_span *span, double value)
{
	span->least = span->n ? fmin(span->least, value) : value;
	span->most = span->n ? fmax(span->most, value) : value;
	span->n++;
}

int account_sentence(const struct results *results, const struct results_tests *tests, char *out,
		     size_t size)
{
	const struct editions editions = editions_of(results->run);
	struct account_span trials = {0}, window = {0}, asked = {0}, asked_s = {0};
	char had[112], wanted[112], of[112];

	*out = '\0';
	for (size_t i = 0; i < tests->n; i++) {
		const struct test *test = tests->test[i];
		struct account account;
		struct rows *rows;
		int err = results_test(results, test, &rows);

		if (err)
			return err;
		account_read(&account, rows);
		rows_close(rows);
		if (!(account.longest_s > 0) || !(account_window_s(results, test) > 0))
			continue;
		account_span_add(&trials, account.least);
		account_span_add(&trials, account.most);
		account_span_add(&window, account_window_s(results, test));
		if (edition_trials(editions, test)) {
			account_span_add(&asked, edition_trials(editions, test));
			account_span_add(&asked_s, edition_seconds(editions, test));
		}
	}
	if (!trials.n)
		return 0;
	account_range(trials.least, trials.most, 0, had, sizeof(had));
	account_range(window.least, window.most, 0, of, sizeof(of));
	account_range(asked.least, asked.most, 0, wanted, sizeof(wanted));
	if (asked.n)
		snprintf(out, size, "%s trials of %s s, where the draft asks for %s of %g s%s", had,
			 of, wanted, asked_s.least, asked_s.most > asked_s.least ? " or more" : "");
	else
		snprintf(out, size, "%s trials of %s s", had, of);
	return 0;
}

static int account_row(struct table *table, const struct results *results, const struct test *test,
		       const struct rows *rows)
{
	char combinations[16], trials[112], draft[112] = "", took[112], attempted[16], included[16],
					    reasons[512], kept[16];
	const struct editions editions = editions_of(results->run);
	unsigned asked = edition_trials(editions, test);
	struct account account;

	account_read(&account, rows);
	if (!account.included && !account.excluded)
		return 0;
	snprintf(combinations, sizeof(combinations), "%u", account.combinations);
	account_range(account.least, account.most, account_window_s(results, test), trials,
		      sizeof(trials));
	if (asked)
		account_range(asked, asked, edition_seconds(editions, test), draft, sizeof(draft));
	account_range(round(account.shortest_s * 10) / 10, round(account.longest_s * 10) / 10, 0,
		      took, sizeof(took));
	snprintf(attempted, sizeof(attempted), "%u", account.included + account.excluded);
	snprintf(included, sizeof(included), "%u", account.included);
	account_reasons(rows, SUITE_EXCLUDED, reasons, sizeof(reasons));
	snprintf(kept, sizeof(kept), "%u", account.kept);
	return table_row(table,
			 (const char *[]){test->id, combinations, trials, draft, took, attempted,
					  included, *reasons ? reasons : "-", kept});
}

void account_show(struct doc *doc, const struct results *results, const struct results_tests *tests)
{
	static const char *const headers[] = {"Test",
					      "Combinations",
					      "Trials of each",
					      "The draft asks for",
					      "Took, s",
					      "Attempted",
					      "Included",
					      "Not included, because",
					      "Included all the same"};
	struct table *table = NULL;
	int err = table_create(&table, sizeof(headers) / sizeof(headers[0]), headers);

	doc_heading(doc, 2, "accounting", "Trial accounting");
	doc_text(doc, "A trial is one measurement of one combination of parameters and strategy. "
		      "An attempt that does not count is made again, up to five times; if none was "
		      "better the last one is included all the same. A trial in which a KPI could "
		      "not be measured is included: Anomalies gives the reason. A trial of so many "
		      "seconds measures for that long; it took longer with set-up and warm-up, or "
		      "where it searches.");
	for (size_t i = 0; !err && i < tests->n; i++) {
		struct rows *rows;

		err = results_test(results, tests->test[i], &rows);
		if (err)
			break;
		err = account_row(table, results, tests->test[i], rows);
		rows_close(rows);
	}
	doc_fail(doc, err);
	if (!err)
		doc_table(doc, table);
	else
		table_destroy(table);
}

static json_t *account_test_json(const struct results *results, const struct test *test,
				 const struct rows *rows)
{
	const struct editions editions = editions_of(results->run);
	struct account account;
	char reasons[512];

	account_read(&account, rows);
	account_reasons(rows, SUITE_EXCLUDED, reasons, sizeof(reasons));
	return json_pack(
		"{si si si si si si si si sf sf sf sf ss}", "combinations",
		(int)account.combinations, "least_trials", (int)account.least, "most_trials",
		(int)account.most, "draft_trials", (int)edition_trials(editions, test), "attempted",
		(int)(account.included + account.excluded), "included", (int)account.included,
		"excluded", (int)account.excluded, "kept", (int)account.kept, "window_s",
		account_window_s(results, test), "draft_window_s",
		edition_trials(editions, test) ? edition_seconds(editions, test) : 0., "shortest_s",
		account.shortest_s, "longest_s", account.longest_s, "reasons", reasons);
}

json_t *account_json(const struct results *results, const struct results_tests *tests)
{
	json_t *root = json_object();
	int err = root ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < tests->n; i++) {
		struct rows *rows;

		err = results_test(results, tests->test[i], &rows);
		if (err)
			break;
		if (rows_count(rows) > 0)
			err = json_object_set_new(root, tests->test[i]->id,
						  account_test_json(results, tests->test[i], rows));
		rows_close(rows);
	}
	if (!err)
		return root;
	json_decref(root);
	return NULL;
}
