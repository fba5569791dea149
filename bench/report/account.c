/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/account.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "suite/edition.h"
#include "suite/trial.h"

#define ACCOUNT_MAX_REASONS 8
#define ACCOUNT_REASONS	    1024
#define ACCOUNT_COLUMNS	    11

static bool account_is(const struct rows *rows, size_t i, const char *kpi)
{
	return strcmp(rows_at(rows, i)->kpi, kpi) == 0;
}

enum account_kind { ACCOUNT_MEASURED, ACCOUNT_NOT_POSSIBLE, ACCOUNT_SPOILT };

/* Is it a KPI that the fabric was to give? */
static bool account_is_kpi(const struct row *row)
{
	return row->kpi[0] != '_' && !kpi_is_simulated(row->kpi);
}

/*
 * What became of the trial that ended there: its rows are those right before. *why, if nothing was
 * measured: the first reason.
 */
static enum account_kind account_kind(const struct rows *rows, size_t at, const char **why)
{
	struct rows_filter trial = rows_like(rows_at(rows, at));

	trial.kpi = NULL;
	trial.trial = (int)rows_at(rows, at)->trial;
	*why = NULL;
	for (size_t i = at; i-- > 0 && row_matches(rows_at(rows, i), &trial);) {
		const struct row *row = rows_at(rows, i);

		if (!account_is_kpi(row))
			continue;
		if (!row->missing)
			return ACCOUNT_MEASURED;
		*why = row->missing;
	}
	if (!*why) /* a trial of simulated KPIs alone */
		return ACCOUNT_MEASURED;
	return strncmp(*why, TRIAL_SPOILT, sizeof(TRIAL_SPOILT) - 1) == 0 ? ACCOUNT_SPOILT
									  : ACCOUNT_NOT_POSSIBLE;
}

/* How many trials of that combination were measured, if `at` is the first of them; else 0. */
static unsigned account_trials(const struct rows *rows, size_t at)
{
	const struct rows_filter filter = rows_like(rows_at(rows, at));
	const char *why;
	unsigned n = 0;

	for (size_t i = rows_next(rows, &filter, 0); i < rows_count(rows);
	     i = rows_next(rows, &filter, i + 1)) {
		bool measured = account_kind(rows, i, &why) == ACCOUNT_MEASURED;

		if (measured && n == 0 && i != at)
			return 0;
		n += measured;
	}
	return n;
}

static void account_add_measured(struct account *account, const struct rows *rows, size_t at)
{
	double took_s = rows_at(rows, at)->value;
	unsigned n = account_trials(rows, at);

	if (!account->included || took_s < account->shortest_s)
		account->shortest_s = took_s;
	account->longest_s = fmax(account->longest_s, took_s);
	account->included++;
	if (!n)
		return;
	if (!account->combinations || n < account->least)
		account->least = n;
	account->most = n > account->most ? n : account->most;
	account->combinations++;
}

/* A trial that ended. */
static void account_add(struct account *account, const struct rows *rows, size_t at)
{
	const struct rows_filter filter = rows_like(rows_at(rows, at));
	const char *why;

	account->all += rows_next(rows, &filter, 0) == at;
	switch (account_kind(rows, at, &why)) {
	case ACCOUNT_MEASURED:
		account_add_measured(account, rows, at);
		break;
	case ACCOUNT_NOT_POSSIBLE:
		account->not_possible++;
		break;
	case ACCOUNT_SPOILT:
		account->spoilt++;
		break;
	}
}

unsigned account_attempted(const struct account *account)
{
	return account->included + account->not_possible + account->spoilt + account->excluded;
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

/* Distinct texts, and how often each was met. */
struct account_reasons {
	const char *text[ACCOUNT_MAX_REASONS];
	unsigned count[ACCOUNT_MAX_REASONS], more;
	size_t n;
};

static void account_reason(struct account_reasons *r, const char *text)
{
	size_t at = 0;

	while (at < r->n && strcmp(r->text[at], text) != 0)
		at++;
	if (at == ACCOUNT_MAX_REASONS) {
		r->more++;
		return;
	}
	r->text[at] = text;
	r->count[at]++;
	r->n += at == r->n;
}

/* "3: a core was idle ...; 1: ..." */
static void account_reasons_text(const struct account_reasons *r, char *out, size_t size)
{
	size_t used = 0;

	*out = '\0';
	for (size_t i = 0; i < r->n && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%u: %s", i ? "; " : "",
					 r->count[i], r->text[i]);
	if (r->more && used < size)
		snprintf(out + used, size - used, "; %u: others", r->more);
}

/* Why attempts were made again. */
static void account_again(const struct rows *rows, char *out, size_t size)
{
	struct account_reasons reasons = {.n = 0};

	for (size_t i = 0; i < rows_count(rows); i++)
		if (rows_at(rows, i)->text && account_is(rows, i, SUITE_EXCLUDED))
			account_reason(&reasons, rows_at(rows, i)->text);
	account_reasons_text(&reasons, out, size);
}

/* Why nothing was measured. */
static void account_unmeasured(const struct rows *rows, char *out, size_t size)
{
	struct account_reasons reasons = {.n = 0};
	const char *why;

	for (size_t i = 0; i < rows_count(rows); i++)
		if (account_is(rows, i, SUITE_DONE) &&
		    account_kind(rows, i, &why) != ACCOUNT_MEASURED)
			account_reason(&reasons, why);
	account_reasons_text(&reasons, out, size);
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

/* Why attempts are not in the figures, by what became of them. */
static void account_why(const struct rows *rows, char *out, size_t size)
{
	char none[ACCOUNT_REASONS], again[ACCOUNT_REASONS];

	account_unmeasured(rows, none, sizeof(none));
	account_again(rows, again, sizeof(again));
	snprintf(out, size, "%s%s%s%s", none, *none && *again ? "; " : "",
		 *again ? "made again: " : "", again);
}

struct account_line {
	char text[ACCOUNT_COLUMNS][2 * ACCOUNT_REASONS + 32];
	const char *cell[ACCOUNT_COLUMNS];
	size_t n;
};

static char *account_next(struct account_line *line)
{
	line->cell[line->n] = line->text[line->n];
	return line->text[line->n++];
}

static void account_count(struct account_line *line, unsigned n)
{
	snprintf(account_next(line), sizeof(line->text[0]), "%u", n);
}

/* Attempted, and what became of these. */
static void account_counts(struct account_line *line, const struct account *a)
{
	account_count(line, account_attempted(a));
	account_count(line, a->included);
	account_count(line, a->not_possible);
	account_count(line, a->spoilt);
	account_count(line, a->excluded);
}

static int account_row(struct table *table, const struct results *results, const struct test *test,
		       const struct rows *rows, struct account *sum)
{
	struct account_line line = {.n = 0};
	struct account a;
	char *text;

	account_read(&a, rows);
	if (account_attempted(&a) == 0)
		return 0;
	snprintf(account_next(&line), sizeof(line.text[0]), "%s", test->id);
	text = account_next(&line);
	snprintf(text, sizeof(line.text[0]), a.combinations == a.all ? "%u" : "%u of %u",
		 a.combinations, a.all);
	text = account_next(&line);
	if (a.included)
		account_range(a.least, a.most, account_window_s(results, test), text,
			      sizeof(line.text[0]));
	else
		snprintf(text, sizeof(line.text[0]), "-");
	edition_asks(editions_of(results->run), test, account_next(&line), sizeof(line.text[0]));
	text = account_next(&line);
	if (a.included)
		account_range(round(a.shortest_s * 10) / 10, round(a.longest_s * 10) / 10, 0, text,
			      sizeof(line.text[0]));
	else
		snprintf(text, sizeof(line.text[0]), "-");
	account_counts(&line, &a);
	account_why(rows, account_next(&line), sizeof(line.text[0]));
	if (a.kept) {
		text = line.text[line.n - 1];
		snprintf(text + strlen(text), sizeof(line.text[0]) - strlen(text),
			 "%s%u of those measured were no better than what was made again",
			 *text ? "; " : "", a.kept);
	}
	if (!*line.text[line.n - 1])
		snprintf(line.text[line.n - 1], sizeof(line.text[0]), "-");
	sum->combinations += a.combinations;
	sum->all += a.all;
	sum->included += a.included;
	sum->not_possible += a.not_possible;
	sum->spoilt += a.spoilt;
	sum->excluded += a.excluded;
	return table_row(table, line.cell);
}

static int account_sum(struct table *table, const struct account *sum)
{
	struct account_line line = {.n = 0};

	snprintf(account_next(&line), sizeof(line.text[0]), "All");
	snprintf(account_next(&line), sizeof(line.text[0]),
		 sum->combinations == sum->all ? "%u" : "%u of %u", sum->combinations, sum->all);
	for (int i = 0; i < 3; i++)
		*account_next(&line) = '\0';
	account_counts(&line, sum);
	*account_next(&line) = '\0';
	return table_row(table, line.cell);
}

void account_show(struct doc *doc, const struct results *results, const struct results_tests *tests)
{
	static const char *const headers[ACCOUNT_COLUMNS] = {"Test",
							     "Combinations",
							     "Trials of each",
							     "The draft asks for",
							     "Took, s",
							     "Attempted",
							     "Measured",
							     "Not possible",
							     "Spoilt",
							     "Made again",
							     "Not in the figures, because"};
	struct account sum = {0};
	struct table *table = NULL;
	int err = table_create(&table, ACCOUNT_COLUMNS, headers);

	doc_heading(doc, 2, "accounting", "Trial accounting");
	doc_text(doc,
		 "A trial is one measurement of one combination of parameters and strategy. Every "
		 "attempt is one of four. Measured: something of it is in the figures; where a KPI "
		 "of it is not, Not measured gives the reason. Not possible: this fabric or this "
		 "level cannot, and nothing was tried (a test that the fabric cannot run at all "
		 "has one). Spoilt: it made or lost something, so that its sums do not agree. Made "
		 "again: it tells of the machine; up to five times, and if none was better, or the "
		 "run keeps busy trials as they are, the last one counts. Combinations: those of "
		 "which something was measured, and of how "
		 "many. A trial of so many seconds measures for that long; it took longer with "
		 "set-up and warm-up, or where it searches. (1.3): the test's own clause names no "
		 "number, and 1.3 of the draft holds for all (60 s; 20 trials for latency, 50 for "
		 "bursts).");
	for (size_t i = 0; !err && i < tests->n; i++) {
		struct rows *rows;

		err = results_test(results, tests->test[i], &rows);
		if (err)
			break;
		err = account_row(table, results, tests->test[i], rows, &sum);
		rows_close(rows);
	}
	if (!err)
		err = account_sum(table, &sum);
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
	char reasons[2 * ACCOUNT_REASONS + 32], asks[200];

	account_read(&account, rows);
	account_why(rows, reasons, sizeof(reasons));
	edition_asks(editions, test, asks, sizeof(asks));
	return json_pack(
		"{si si si si ss si si si si si si sf sf sf sf ss}", "combinations",
		(int)account.combinations, "least_trials", (int)account.least, "most_trials",
		(int)account.most, "draft_trials", (int)edition_trials(editions, test),
		"draft_asks", asks, "attempted", (int)account_attempted(&account), "included",
		(int)account.included, "not_possible", (int)account.not_possible, "spoilt",
		(int)account.spoilt, "excluded", (int)account.excluded, "kept", (int)account.kept,
		"window_s", account_window_s(results, test), "draft_window_s",
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
