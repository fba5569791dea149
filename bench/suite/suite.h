/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * suite.h - runs tests: which, how often, in what order; keeps their rows in a directory.
 *
 * Owns: the directory DIR (rows.jsonl, run.json, report.*) while it runs. In: tests and options;
 * out: rows, and what describes the run. A run that was stopped goes on with --resume: a
 * trial whose rows are there is not made
 * again. Thread: one.
 */
#ifndef SUITE_H
#define SUITE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "fabric/fabric.h"
#include "report/results.h"
#include "suite/cells.h"
#include "suite/edition.h"
#include "suite/test.h"

#define SUITE_MAX_OVERRIDES 32
#define SUITE_MAX_OWN	    16
#define SUITE_MAX_TRIALS_OF 4

struct suite_trials {
	const char *test; /* id */
	unsigned n;	  /* 0: as elsewhere */
};

struct suite_options {
	const char *lab;	     /* NULL: none is needed */
	struct launch_options hosts; /* instead of a lab; hosts.inventory == NULL: a lab */
	const char *workload;	     /* the file in force (workload/custom.h); NULL: none */
	const char *store;	     /* where workers of a lab have files; NULL: nowhere */
	const char *dir;	     /* NULL: rows are kept in memory alone */
	enum profile profile;
	struct editions editions;
	/* those that spread traffic; and names of strategies that tests have of their own: a test
	 * of which none is named has all of its own */
	int strategy[STRATEGY_COUNT];
	unsigned n_strategies;
	const char *own[SUITE_MAX_OWN];
	unsigned n_own;
	struct cells_override override[SUITE_MAX_OVERRIDES];
	unsigned n_overrides;
	uint64_t seed;
	bool has_seed, resume;
	double scale;	 /* 0: so that a GPU's line stands for 400 Gb/s */
	unsigned trials; /* 0: the test's */
	struct suite_trials trials_of[SUITE_MAX_TRIALS_OF]; /* of single tests */
	bool even_busy; /* count trials during which a core had no idle time */
	bool strict;	/* end with -EBUSY where no trial has idle time, instead of counting one */
	/* members of run.json beside the suite's own; its "tables" come behind the suite's. NULL:
	 * none. Borrowed. */
	const json_t *extra;
	const json_t *args; /* of the command line, for run.json; NULL: none. Borrowed. */
};

/*
 * Before a run: -EINVAL, after saying which level, or which parameter of none of the tests, is
 * wrong; -E2BIG; -ENOMEM.
 */
int suite_check(const struct suite_options *options, const struct test *const *tests, size_t n);
/*
 * 0; -EINTR: stopped by a signal, what was measured is kept; -errno, after saying why. *rows and
 * *run (describe.h; NULL: it came to nothing) are the caller's: rows_close(), json_decref().
 */
int suite_run(const struct suite_options *options, const struct test *const *tests, size_t n,
	      struct rows **rows, json_t **run);

/*
 * The report as text on standard output (unless JSON goes there), its files into dir, JSON, a page:
 * each but the first if it is not NULL. -errno, after saying why.
 */
int suite_report(const struct results *results, const struct results_tests *tests, const char *dir,
		 const char *json, const char *html);

/* `farebench run ...` and `farebench list ...` */
int suite_main(int argc, char **argv);
int suite_list_main(int argc, char **argv);

/* ---- resume.c: what a run that was stopped left in its run.json, which is checked. Which trials
 * are done suite_has() says: those with a row SUITE_DONE. ---- */

struct resume {
	bool has_seed;
	uint64_t seed;
	double seconds;
	char started[32]; /* "": it does not say */
};

/*
 * *args: a list of texts, the caller's; NULL: the run has left none. *resume is all 0 where the
 * directory has no run. -EBADMSG, after saying why: its run.json is no such file.
 */
int resume_read(struct resume *resume, json_t **args, const char *dir);

#endif
