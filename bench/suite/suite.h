/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * suite.h - runs tests: which, how often, in what order; keeps their rows in a directory.
 *
 * Owns: the directory DIR (rows.jsonl, run.json, report.*) while it runs. In: tests and options;
 * out: rows. A run that was stopped goes on with --resume: a trial whose rows are there is not made
 * again. Thread: one.
 */
#ifndef SUITE_H
#define SUITE_H

#include "fabric/fabric.h"
#include "suite/cells.h"
#include "suite/test.h"

#define SUITE_MAX_OVERRIDES 16

struct suite_options {
	const char *lab, *dir;
	struct launch_options hosts; /* instead of a lab; hosts.inventory == NULL: a lab */
	enum profile profile;
	int strategy[STRATEGY_COUNT];
	unsigned n_strategies;
	struct cells_override override[SUITE_MAX_OVERRIDES];
	unsigned n_overrides;
	uint64_t seed;
	bool has_seed, resume;
	double scale;	 /* 0: so that a GPU's line stands for 400 Gb/s */
	unsigned trials; /* 0: the test's */
	bool even_busy;	 /* count trials during which a core had no idle time */
};

/* 0; -EINTR: stopped by a signal, what was measured is kept; -errno, after saying why. */
int suite_run(const struct suite_options *options, const struct test *const *tests, size_t n);

const char *profile_name(enum profile profile);
int profile_parse(const char *name); /* enum profile, or -ENOENT */

/* `farebench run ...` and `farebench list ...` */
int suite_main(int argc, char **argv);
int suite_list_main(int argc, char **argv);

#endif
