/* SPDX-License-Identifier: BSD-2-Clause */
#include "suite/suite.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/machine.h"
#include "core/rng.h"
#include "core/interrupt.h"
#include "core/progress.h"
#include "fabric/leaf_load.h"
#include "suite/derive.h"
#include "suite/derive_interval.h"
#include "suite/describe.h"
#include "suite/trial.h"

#define SUITE_LINE_BPS 400e9 /* what a GPU's line stands for, unless --scale says otherwise */
/*
 * How long a trial's repetition waits for idle cores: with six trials in a row that may fail, what
 * else runs on a machine now and then has a minute to end.
 */
#define SUITE_BUSY_NS	   UINT64_C(10000000000)
#define SUITE_POLL_NS	   250000000
#define SUITE_IDLE_PERCENT 20. /* of every core: nobody else computes there */

struct suite {
	const struct suite_options *options;
	struct fabric fabric;
	bool has_fabric;
	void *state; /* of the test that runs */
	struct rows *rows;
	struct progress progress;
	double scale;
	uint64_t seed;
	unsigned done, made;	 /* made: not by the run that goes on */
	struct resume before;	 /* of the run that goes on */
	struct machine machine;	 /* when it began */
	struct leaf_load leaves; /* the same; at_ns 0: none was read */
	bool draft, training;	 /* tests of a draft are among them */
	double idle_sum_percent; /* of the machine, over trials of which it is known */
	unsigned idle_trials;
};

/* ---- the directory ---- */

static void suite_path(const struct suite *suite, const char *name, char *out, size_t size)
{
	snprintf(out, size, "%s/%s", suite->options->dir, name);
}

static bool suite_is_whole(const struct rows *rows, const struct row *row)
{
	struct rows_filter done = {.test = row->test,
				   .strategy = row->strategy,
				   .kpi = SUITE_DONE,
				   .trial = (int)row->trial};

	ROWS_EACH (i, rows, &done) {
		const struct row *last = rows_at(rows, i);
		struct rows_filter own = {
			.n_params = last->n_params, .param = last->param, .trial = -1};

		/* (a row may have a parameter more than the trial: trial_with()) */
		if (row_matches(row, &own))
			return true;
	}
	return false;
}

/* Takes the rows of trials that were cut off, and of what was derived, out of an earlier file; an
 * attempt that did not count was one, whatever became of its trial. */
static int suite_keep_whole(const char *path)
{
	struct rows *was, *kept;
	char fresh[4104];
	int err = rows_read(&was, path);

	if (err)
		return err == -ENOENT ? 0 : err;
	snprintf(fresh, sizeof(fresh), "%s.new", path);
	unlink(fresh);
	err = rows_open(&kept, fresh);
	if (!err) {
		for (size_t i = 0; !err && i < rows_count(was); i++)
			if (strcmp(rows_at(was, i)->kpi, SUITE_EXCLUDED) == 0 ||
			    suite_is_whole(was, rows_at(was, i)))
				err = rows_add(kept, rows_at(was, i));
		rows_close(kept);
	}
	rows_close(was);
	if (!err && rename(fresh, path))
		err = -errno;
	return err;
}

static int suite_open_rows(struct suite *suite)
{
	char path[4096];
	bool there;

	if (!suite->options->dir)
		return rows_open(&suite->rows, NULL);
	suite_path(suite, "rows.jsonl", path, sizeof(path));
	if (mkdir(suite->options->dir, 0777) && errno != EEXIST) {
		fprintf(stderr, "farebench: %s: %s\n", suite->options->dir, strerror(errno));
		return -errno;
	}
	there = access(path, F_OK) == 0;
	if (there && !suite->options->resume) {
		fprintf(stderr,
			"farebench: %s holds an earlier run: name another directory, or go on with "
			"--resume\n",
			suite->options->dir);
		return -EEXIST;
	}
	if (there) {
		int err = suite_keep_whole(path);

		if (err)
			return err;
	}
	return rows_open(&suite->rows, path);
}

/* ---- one trial ---- */

static int suite_keep(struct suite *suite, const struct trial *t, double seconds)
{
	struct row done = {.value = seconds, .n = 1};
	int err = t->err;

	for (unsigned i = 0; !err && i < t->n_rows; i++)
		err = rows_add(suite->rows, &t->row[i]);
	if (err || t->n_rows == 0)
		return err;
	trial_fill_row(t, &done, SUITE_DONE);
	return rows_add(suite->rows, &done);
}

static unsigned suite_trials(const struct suite_options *o, const struct test *test)
{
	for (unsigned i = 0; i < SUITE_MAX_TRIALS_OF && o->trials_of[i].test; i++)
		if (o->trials_of[i].n && strcmp(o->trials_of[i].test, test->id) == 0)
			return o->trials_of[i].n;
	if (o->trials)
		return o->trials;
	return o->profile == PROFILE_DRAFT ? edition_trials(o->editions, test)
					   : test->trials[o->profile];
}

static struct trial suite_trial(struct suite *suite, const struct test *test,
				const struct cell *cell, unsigned number)
{
	const struct suite_options *o = suite->options;
	uint64_t seed = suite->seed ^ (number + 1) * 0x9e3779b97f4a7c15ULL;
	struct trial t = {.test = test,
			  .profile = o->profile,
			  .editions = o->editions,
			  .fabric = test->no_fabric ? NULL : &suite->fabric,
			  .state = &suite->state,
			  .strategy = STRATEGY_FARE_SPRAY,
			  .strategy_name = "",
			  .n_params = cell->n_params,
			  .number = number,
			  .n_trials = suite_trials(o, test),
			  .seed = rng_next(&seed),
			  .seconds = o->profile == PROFILE_DRAFT
					     ? edition_seconds(o->editions, test)
					     : test->seconds[o->profile],
			  .scale = suite->scale,
			  .rows = suite->rows,
			  .idle = {.mean_percent = -1}};

	t.warm_s = t.seconds / 5 < 0.2 ? 0.2 : t.seconds / 5 > 2 ? 2 : t.seconds / 5;
	memcpy(t.param, cell->param, sizeof(t.param));
	if (cell->strategy >= 0) {
		if (!test->strategies)
			t.strategy = (enum strategy)cell->strategy;
		t.strategy_name = test_strategy_name(test, cell->strategy);
	}
	return t;
}

static bool suite_has(const struct suite *suite, const struct trial *t)
{
	struct rows_filter filter = {.test = t->test->id,
				     .strategy = t->strategy_name,
				     .kpi = SUITE_DONE,
				     .n_params = t->n_params,
				     .param = t->param,
				     .trial = (int)t->number};

	return rows_next(suite->rows, &filter, 0) < rows_count(suite->rows);
}

/* 0: the trial counts. -EAGAIN: it is to be made again, because. -EBUSY: so it was, too often, or
 * no trial is made again: it counts all the same. */
static int suite_judge(struct suite *suite, struct trial_guard *guard, const struct trial *t,
		       const char **why)
{
	static const struct cpu_idle none = {.busiest_core_percent = 0};

	*why = t->again ? t->again : TRIAL_GUARD_REASON;
	if (suite->options->even_busy) /* kept, and counted */
		return t->idle.mean_percent >= 0 && trial_guard_is_busy(&t->idle) ? -EBUSY : 0;
	if (t->again)
		return trial_guard_judge(guard, &none);
	return t->idle.mean_percent >= 0 ? trial_guard_judge(guard, &t->idle) : 0;
}

/* An attempt that does not count is in the rows and on the terminal, and so is one that counts all
 * the same. */
static int suite_account(struct suite *suite, const struct trial *t, int verdict, const char *why)
{
	struct row row = {.value = NAN, .n = 1, .text = (char *)(uintptr_t)why};
	char idle[48] = "";

	if (!verdict && !t->again)
		return 0;
	if (!t->again)
		snprintf(idle, sizeof(idle), " (%.1f%%)", t->idle.busiest_core_percent);
	if (t->again || !suite->options->even_busy) /* else it would be said of most trials */
		fprintf(stderr, "%sfarebench: %s, trial %u: %s%s; %s\n",
			suite->progress.terminal ? "\r\033[K" : "", t->test->id, t->number + 1, why,
			idle, verdict == -EAGAIN ? "it is made again" : "it is kept all the same");
	trial_fill_row(t, &row, verdict == -EAGAIN ? SUITE_EXCLUDED : SUITE_KEPT);
	return rows_add(suite->rows, &row);
}

/* Until every core has idle time, or somebody has had time enough to end. */
static int suite_await_idle(void)
{
	uint64_t end_ns = clock_now_ns() + SUITE_BUSY_NS;
	struct cpu_times before;
	struct cpu_idle idle;
	int err;

	fprintf(stderr,
		"farebench: waiting until every core is idle for %.0f%% of the time, %llu s at "
		"most\n",
		SUITE_IDLE_PERCENT, (unsigned long long)(SUITE_BUSY_NS / 1000000000));
	do {
		err = interrupt_pending() ? -EINTR : cpu_read(&before);
		clock_pause_ns(SUITE_POLL_NS);
		if (!err)
			err = cpu_idle_since(&before, &idle);
	} while (!err && idle.busiest_core_percent < SUITE_IDLE_PERCENT && clock_now_ns() < end_ns);
	return err;
}

/* What of the trial this fabric cannot do; NULL: it can. */
static const char *suite_cannot_try(struct suite *suite, const struct trial *t)
{
	if (!t->fabric)
		return NULL;
	if (t->warm_s + t->seconds > fabric_max_run_s(&suite->fabric))
		return "a trial takes longer than the inventory's max_run_s";
	return t->strategy_name[0] ? fabric_cannot_spread(&suite->fabric, t->strategy) : NULL;
}

static bool suite_wants_row(const struct trial *t, const char *kpi)
{
	for (unsigned i = 0; i < t->n_rows; i++)
		if (strcmp(t->row[i].kpi, kpi) == 0)
			return false;
	return test_kpi(t->test, kpi) != NULL;
}

/* A count of hosts, if the test wants it and has no row of it yet; not known: because. */
static void suite_note_count(struct trial *t, const char *kpi, bool known, double value, uint64_t n,
			     const char *why)
{
	if (suite_wants_row(t, kpi) && known)
		trial_value(t, kpi, value, n);
	else if (suite_wants_row(t, kpi))
		trial_missing(t, kpi, "%s", why);
}

/* Marks and pauses of hosts, as far as NICs or switches count them. */
static int suite_note_counts(const struct hosts *hosts, struct trial *t)
{
	static const char no_marks[] =
		"no host counts marked packets, and all packets, by names that are known";
	struct nic_counts nics, switches;
	int err = hosts_nic_counts(hosts, false, &nics, &switches);
	uint64_t pauses;
	bool known;

	if (err)
		return err;
	pauses = nic_pauses(&nics, &switches, &known);
	suite_note_count(t, "PFC_frame_count", known, (double)pauses, 1,
			 "no NIC and no switch of the inventory counts pause frames by a name that "
			 "is known");
	suite_note_count(t, "ECN_marking_rate", nics.marked_of,
			 100 * (double)nics.marked / (double)nics.marked_of, nics.marked_of,
			 no_marks);
	suite_note_count(t, "ECN_marks", nics.marked_of, (double)nics.marked, nics.marked_of,
			 no_marks);
	return 0;
}

/* What the hosts counted meanwhile, a row for each; and how well their clocks agreed. */
static int suite_note_hosts(struct suite *suite, struct trial *t)
{
	struct hosts *hosts = suite->fabric.hosts;
	int err = hosts_counters_end(hosts);

	for (unsigned i = 0; !err && i < suite->fabric.topo->n_servers; i++) {
		char kpi[ROW_NAME_MAX], *grown = hosts_counters_grown(hosts, i, false);

		snprintf(kpi, sizeof(kpi), "_counters %.23s", suite->fabric.topo->servers[i].name);
		if (grown && grown[0])
			trial_set_text(t, kpi, grown);
		err = grown ? 0 : -ENOMEM;
		free(grown);
	}
	if (!err)
		err = suite_note_counts(hosts, t);
	if (t->idle.mean_percent < 0)
		return err;
	trial_value(t, "_clock_error_us", t->clock_error_ns / 1e3, 1);
	if (t->held)
		trial_set_text(t, "_rate_limited", "yes");
	return err;
}

/* The end of every trial: one in which something was made or lost has no figure. */
static void suite_end_trial(struct trial *t)
{
	char why[160];

	if (!audit_conserved(&t->counts, why, sizeof(why)))
		trial_spoil(t, why);
	if (t->path_deaths)
		trial_value(t, SUITE_DEATHS, (double)t->path_deaths, 1);
}

static int suite_run_trial(struct suite *suite, struct trial *t)
{
	const char *why = suite_cannot_try(suite, t);
	int err, undone;

	if (why) {
		trial_missing(t, NULL, "%s", why);
		return 0;
	}
	err = suite->fabric.hosts && t->fabric ? hosts_counters_begin(suite->fabric.hosts) : 0;
	if (!err) {
		err = t->test->run(t);
		undone = fabric_balance_back(&suite->fabric); /* what follows may have no mode */
		err = err ? err : undone;
	}
	if (!err)
		suite_end_trial(t);
	return err || !t->fabric || !suite->fabric.hosts ? err : suite_note_hosts(suite, t);
}

static void suite_note_idle(struct suite *suite, const struct trial *t)
{
	if (t->idle.mean_percent < 0)
		return;
	suite->idle_sum_percent += t->idle.mean_percent;
	suite->idle_trials++;
}

/* Tries again while the machine has no idle time; if it never has, the trial counts as busy. */
static int suite_one(struct suite *suite, const struct test *test, const struct cell *cell,
		     unsigned number)
{
	struct trial_guard guard = {0};
	const char *why;
	int err, verdict = 0;
	bool had;

	do {
		struct trial t = suite_trial(suite, test, cell, number);
		uint64_t start = clock_now_ns();

		had = suite_has(suite, &t);
		err = had ? 0 : suite_run_trial(suite, &t);
		verdict = err ? 0 : suite_judge(suite, &guard, &t, &why);
		if (!err)
			err = suite_account(suite, &t, verdict, why);
		if (!err && verdict == -EBUSY && suite->options->strict &&
		    !suite->options->even_busy)
			err = -EBUSY;
		if (!err && verdict == -EAGAIN)
			err = suite_await_idle();
		else if (!err)
			suite_note_idle(suite, &t);
		if (!err && verdict != -EAGAIN)
			err = suite_keep(suite, &t, (double)(clock_now_ns() - start) / 1e9);
		trial_fini(&t);
		if (!err && interrupt_pending())
			err = -EINTR;
	} while (!err && verdict == -EAGAIN);
	suite->made += !had;
	return err;
}

/* ---- one test ---- */

static void suite_show(struct suite *suite, const struct test *test, const struct cell *cell,
		       unsigned number)
{
	double passed = progress_seconds(&suite->progress);
	unsigned left = suite->progress.total - suite->done;
	char text[128] = "";
	size_t used = 0;

	for (unsigned i = 0; i < cell->n_params && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, " %s=%s",
					 cell->param[i].name, cell->param[i].text);
	progress_step(&suite->progress, "%s%s%s%s, trial %u; about %.0f s left", test->id, text,
		      cell->strategy >= 0 ? " " : "",
		      cell->strategy >= 0 ? test_strategy_name(test, cell->strategy) : "",
		      number + 1, suite->made ? passed / suite->made * left : 0.0);
	suite->done++;
}

/* A test that this fabric cannot run says so in its rows. */
static int suite_refuse(struct suite *suite, const struct test *test, const char *why)
{
	struct cell none = {.strategy = -1};
	struct trial t = suite_trial(suite, test, &none, 0);
	int err = 0;

	if (!suite_has(suite, &t)) {
		trial_missing(&t, NULL, "%s", why);
		err = suite_keep(suite, &t, 0);
	}
	trial_fini(&t);
	return err;
}

static int suite_derive(struct suite *suite, const struct test *test)
{
	int err = test->derive ? derive_with_intervals(test, suite->rows) : 0;

	return err ? err : derive_missing(test, suite->rows);
}

/* Why this test cannot be run here; NULL: it can. */
static const char *suite_cannot(const struct suite *suite, const struct test *test)
{
	return test->no_fabric ? NULL : fabric_cannot(&suite->fabric, test->needs);
}

/* All trials of a block, each cell once before any is met twice. */
static int suite_block(struct suite *suite, const struct test *test, const struct cells *cells,
		       unsigned block, uint64_t *random, unsigned *order)
{
	int err = 0;

	for (unsigned number = 0; !err && number < suite_trials(suite->options, test); number++) {
		unsigned n = cells_shuffle(cells, block, random, order);

		for (unsigned i = 0; !err && i < n; i++) {
			suite_show(suite, test, &cells->cell[order[i]], number);
			err = suite_one(suite, test, &cells->cell[order[i]], number);
		}
	}
	return err;
}

static int suite_test(struct suite *suite, const struct test *test, const struct cells *cells)
{
	const char *why = suite_cannot(suite, test);
	unsigned *order = calloc(cells->n + 1, sizeof(*order));
	uint64_t random = suite->seed;
	int err = order ? 0 : -ENOMEM;

	if (!err && why)
		err = suite_refuse(suite, test, why);
	for (unsigned block = 0; !err && !why && block < cells->n_blocks; block++)
		err = suite_block(suite, test, cells, block, &random, order);
	if (suite->state)
		test->close(suite->state);
	suite->state = NULL;
	free(order);
	return err ? err : suite_derive(suite, test);
}

/* ---- all of them ---- */

/* A test's own strategies: those that were named, or all. Returns how many. */
static unsigned suite_own(const struct suite_options *o, const struct test *test,
			  int out[SUITE_MAX_OWN])
{
	unsigned n = 0, all = 0;

	for (unsigned i = 0; i < o->n_own; i++) {
		int place = test_own_strategy(test, o->own[i]);

		if (place >= 0)
			out[n++] = place;
	}
	while (n == 0 && all < SUITE_MAX_OWN && test->strategies[all]) {
		out[all] = (int)all;
		all++;
	}
	return n ? n : all;
}

static int suite_expand(const struct suite_options *o, const struct test *const *tests, size_t n,
			struct cells *cells)
{
	int err = 0;

	for (size_t i = 0; !err && i < n; i++) {
		int own[SUITE_MAX_OWN];
		const int *strategies = tests[i]->strategies ? own : o->strategy;
		unsigned count =
			tests[i]->strategies ? suite_own(o, tests[i], own) : o->n_strategies;

		err = cells_expand(tests[i], o->profile, o->override, o->n_overrides, strategies,
				   count, &cells[i]);
	}
	return err;
}

/* A strategy of tests' own is one of these tests'. */
static int suite_check_own(const struct suite_options *o, const struct test *const *tests, size_t n)
{
	for (unsigned k = 0; k < o->n_own; k++) {
		bool known = false;

		for (size_t i = 0; i < n; i++)
			known |= test_own_strategy(tests[i], o->own[k]) >= 0;
		if (known)
			continue;
		fprintf(stderr, "farebench: --strategy: no test of these has %s; there are",
			o->own[k]);
		for (size_t i = 0; i < STRATEGY_COUNT; i++)
			fprintf(stderr, " %s", strategy_name((enum strategy)i));
		fputc('\n', stderr);
		return -EINVAL;
	}
	return 0;
}

/* A parameter that was named on the command line is one of a test at least. */
static int suite_check_names(const struct suite_options *o, const struct test *const *tests,
			     size_t n)
{
	for (unsigned k = 0; k < o->n_overrides; k++) {
		bool known = false;

		for (size_t i = 0; i < n; i++)
			known |= test_param(tests[i], o->override[k].name) != NULL;
		if (known)
			continue;
		fprintf(stderr, "farebench: --param %s: there are", o->override[k].name);
		for (size_t i = 0; i < n; i++)
			for (const struct param *p = tests[i]->params; p && p->name; p++)
				fprintf(stderr, " %s", p->name);
		fputc('\n', stderr);
		return -EINVAL;
	}
	return suite_check_own(o, tests, n);
}

int suite_check(const struct suite_options *options, const struct test *const *tests, size_t n)
{
	struct cells *cells = calloc(n + 1, sizeof(*cells));
	int err = cells ? suite_check_names(options, tests, n) : -ENOMEM;

	if (!err)
		err = suite_expand(options, tests, n, cells);
	for (size_t i = 0; cells && i < n; i++)
		cells_fini(&cells[i]);
	free(cells);
	return err;
}

static bool suite_wants_fabric(const struct test *const *tests, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!tests[i]->no_fabric)
			return true;
	return false;
}

static int suite_open(struct suite *suite, bool fabric)
{
	const struct suite_options *o = suite->options;
	json_t *args = NULL;
	int err = !fabric	       ? 0
		  : o->hosts.inventory ? fabric_open_hosts(&suite->fabric, &o->hosts)
				       : fabric_open(&suite->fabric, o->lab);

	if (err)
		return err;
	suite->has_fabric = fabric;
	suite->fabric.store = o->store;
	if (fabric && !(fabric_line_bps(&suite->fabric, 0) > 0)) {
		fputs("farebench: the first GPU has no link with a rate: labs with rate_mbps 0 are "
		      "not measured, as the machine is their limit; 'farelab rate' sets one\n",
		      stderr);
		return -EINVAL;
	}
	if (fabric && !suite->fabric.hosts &&
	    leaf_load_read(&suite->leaves, suite->fabric.topo, &suite->fabric.lab))
		suite->leaves.at_ns = 0;
	err = o->resume ? resume_read(&suite->before, &args, o->dir) : 0;
	json_decref(args);
	if (err)
		return err;
	if (suite->before.started[0]) {
		strcpy(suite->machine.started, suite->before.started);
		suite->leaves.at_ns = 0; /* how the leaves were then is not known */
	}
	suite->seed = o->seed;
	if (!o->has_seed && getrandom(&suite->seed, sizeof(suite->seed), 0) < 0)
		return -errno;
	if (!o->has_seed && suite->before.has_seed)
		suite->seed = suite->before.seed;
	suite->seed &= UINT32_MAX;
	suite->scale = o->scale > 0 ? o->scale
		       : fabric	    ? SUITE_LINE_BPS / fabric_line_bps(&suite->fabric, 0)
				    : 1;
	return suite_open_rows(suite);
}

/* Rows with that name, and these words (NULL: any). */
static unsigned suite_count(const struct suite *suite, const char *kpi, const char *text)
{
	struct rows_filter filter = {.kpi = kpi, .trial = -1};
	unsigned n = 0;

	ROWS_EACH (i, suite->rows, &filter)
		n += !text || (rows_at(suite->rows, i)->text &&
			       strcmp(rows_at(suite->rows, i)->text, text) == 0);
	return n;
}

static int suite_describe(const struct suite *suite, json_t **run)
{
	char path[4096];
	struct describe about = {
		.fabric = suite->has_fabric ? &suite->fabric : NULL,
		.options = suite->options,
		.seed = suite->seed,
		.scale = suite->scale,
		.repeated = suite_count(suite, SUITE_EXCLUDED, NULL),
		.busy = suite_count(suite, SUITE_KEPT,
				    suite->options->even_busy ? TRIAL_GUARD_REASON : NULL),
		.included = suite_count(suite, SUITE_DONE, NULL),
		.idle_percent =
			suite->idle_trials ? suite->idle_sum_percent / suite->idle_trials : 0,
		.idle_trials = suite->idle_trials,
		.seconds = suite->before.seconds + progress_seconds(&suite->progress),
		.resumed = suite->before.started[0] != '\0',
		.machine = &suite->machine,
		.leaves = &suite->leaves,
		.draft = suite->draft,
		.training = suite->training};

	json_decref(*run);
	*run = describe_json(&about);
	if (!*run)
		return -ENOMEM;
	if (!suite->options->dir)
		return 0;
	suite_path(suite, "run.json", path, sizeof(path));
	if (!json_dump_file(*run, path, JSON_INDENT(1)))
		return 0;
	fprintf(stderr, "farebench: %s cannot be written\n", path);
	return -EIO;
}

/* Trials that this fabric can make. */
static unsigned suite_total(const struct suite *suite, const struct test *const *tests, size_t n,
			    const struct cells *cells)
{
	unsigned total = 0;

	for (size_t i = 0; i < n; i++)
		if (!suite_cannot(suite, tests[i]))
			total += cells[i].n * suite_trials(suite->options, tests[i]);
	return total;
}

int suite_run(const struct suite_options *options, const struct test *const *tests, size_t n,
	      struct rows **rows, json_t **run)
{
	struct cells *cells = calloc(n + 1, sizeof(*cells));
	struct suite suite = {.options = options};
	int err = cells ? suite_expand(options, tests, n, cells) : -ENOMEM;

	*rows = NULL;
	*run = NULL;
	machine_read(&suite.machine);
	for (size_t i = 0; i < n; i++) {
		suite.draft |= test_is_draft(tests[i]);
		suite.training |= test_is_training(tests[i]);
	}
	if (!err)
		err = suite_open(&suite, suite_wants_fabric(tests, n));
	for (size_t i = 0; !err && i < n && suite.has_fabric; i++)
		cells_fit(tests[i], suite.fabric.topo, options->override, options->n_overrides,
			  &cells[i]);
	if (!err) {
		progress_init(&suite.progress, suite_total(&suite, tests, n, cells));
		err = suite_describe(&suite, run);
	}
	for (size_t i = 0; !err && i < n; i++)
		err = suite_test(&suite, tests[i], &cells[i]);
	if (suite.rows) {
		progress_fini(&suite.progress);
		if (suite_describe(&suite, run) && !err)
			err = -EIO;
	}
	*rows = suite.rows;
	leaf_load_fini(&suite.leaves);
	fabric_close(&suite.fabric);
	for (size_t i = 0; cells && i < n; i++)
		cells_fini(&cells[i]);
	free(cells);
	return err;
}
