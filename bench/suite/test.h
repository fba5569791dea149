/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test.h - what a test declares, in one file of its own: those of the methodology
 * (bench/inference/), and whatever else is measured here.
 *
 * A test says what it varies, what it measures and how its results are drawn, and runs one trial;
 * options, sweeps, repetition, the order of trials, progress, resuming, tables, JSON, CSV, HTML and
 * "not available" come from the suite. Owns: nothing. Thread: the coordinator's.
 */
#ifndef TEST_H
#define TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/hist.h"
#include "core/rows.h"

#define TEST_MAX_COLUMNS 12

/*
 * Rows of the suite itself have names of KPIs that begin with _. The last row of each trial that
 * counts: how long it took. An attempt that does not count: why. A trial that counts although its
 * last attempt was no better than those before: why.
 */
#define SUITE_DONE     "_trial_s"
#define SUITE_EXCLUDED "_excluded"
#define SUITE_KEPT     "_kept"
#define SUITE_REQUESTS "_requests"    /* those of a service in words (workload/serving.h) */
#define SUITE_DEATHS   "_path_deaths" /* paths of QP groups that died; only where some did */
#define SUITE_LIBRARY  "_library"     /* what a job's collective library says that it is */

/*
 * KPIs that begin with this come from a model and not from this fabric: they have columns of their
 * own, and what the fabric cannot do is no reason for them to be missing.
 */
#define KPI_SIMULATED "Simulated_"

static inline bool kpi_is_simulated(const char *name)
{
	return strncmp(name, KPI_SIMULATED, sizeof(KPI_SIMULATED) - 1) == 0;
}

enum profile { PROFILE_QUICK, PROFILE_LAB, PROFILE_DRAFT, PROFILE_COUNT };

const char *profile_name(enum profile profile);
int profile_parse(const char *name); /* enum profile, or -ENOENT */

/* What values of a parameter are; it decides how they are read and put on an axis. */
enum param_kind {
	PARAM_COUNT,  /* 8 */
	PARAM_BYTES,  /* 64K, 1M (powers of 1,024) */
	PARAM_NUMBER, /* 0.5 */
	PARAM_NAME,   /* a word of those in any profile; each level is a category */
	/* the same; to go from one to another takes long: all trials of one come before the next */
	PARAM_SLOW_NAME,
	PARAM_TEXT /* any word, as a file's name */
};

struct param {
	const char *name; /* "size"; NULL ends the list */
	enum param_kind kind;
	const char *unit, *what; /* "" where it has none; one line for people */
	/* levels in each profile, with commas; NULL: as the profile before. draft: the text's. */
	const char *level[PROFILE_COUNT];
};

/* PARAM("size", PARAM_BYTES, "bytes", "of a message", "64K", "64K,1M") */
#define PARAM(called, of, in, means, ...)                                                          \
	{                                                                                          \
		.name = (called), .kind = (of), .unit = (in), .what = (means), .level = {          \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}

/* What value is best; a comparison of two runs flags changes for the worse. */
enum better { BETTER_NONE, BETTER_HIGHER, BETTER_LOWER };

struct kpi {
	const char *name;  /* as in section 4 of the draft where it is there; NULL ends the list */
	const char *unit;  /* of values and histograms: "us", "Gb/s", "" */
	const char *point; /* where it is observed: "DUT-PD", ... (section 3.3) */
	const char *what;
	enum better better;
	double scale; /* a histogram holds nanoseconds or bytes: times scale is in unit; 0: 1 */
};

#define KPI(...)                                                                                   \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

/* How results are shown. x, series, panel: a parameter, or "strategy", or "trial". */
enum view_kind {
	VIEW_TABLE,  /* a row per x, series (and panel): median, interval, n of each y */
	VIEW_LINES,  /* y[0] over x, a line per series, a panel per panel; error bars: interval */
	VIEW_CDF,    /* the distribution of histogram y[0], a line per series */
	VIEW_HEAT,   /* y[0] as colour over x and series; a panel per strategy */
	VIEW_STACK,  /* bars per x, made of y[0..]; a panel per series */
	VIEW_BARS,   /* y[0] as a bar per x and series */
	VIEW_DUAL,   /* y[0] (left axis) and y[1] (right) over x, a pair of lines per series */
	VIEW_PANELS, /* as DUAL, a panel per `panel`; levels of x on the Pareto front are marked */
	VIEW_SHADED, /* y[0], y[1] (lines) over x, and y[2] as a shaded area from 0 */
	VIEW_TREND   /* y[0..] over time: x is a KPI of the same trial ("at_s") */
};

struct view {
	enum view_kind kind; /* the list ends with title == NULL */
	const char *title;
	const char *x, *series, *panel;	 /* NULL: none */
	const char *y[TEST_MAX_COLUMNS]; /* KPIs; NULL ends them. "name@p99": that percentile */
	bool log_x, log_y;
	bool apart;	       /* a table for each level of panel */
	bool across;	       /* a table with columns of each level of series, instead of rows */
	const char *reference; /* a KPI drawn as a dashed line (line rate, optimum); NULL: none */
	const char *note;      /* a KPI whose value is written at each point (JFI); NULL: none */
};

/* VIEW(VIEW_TABLE, "title", x, series, panel, y...); what else a view says goes behind
 * VIEW_FIELDS(). */
#define VIEW_FIELDS(of, name, along, lines, panels, ...)                                           \
	.kind = (of), .title = (name), .x = (along), .series = (lines), .panel = (panels),         \
	.y = {__VA_ARGS__}
#define VIEW(...)                                                                                  \
	{                                                                                          \
		VIEW_FIELDS(__VA_ARGS__)                                                           \
	}

/* The ends of a test's lists. */
#define LIST_END                                                                                   \
	{                                                                                          \
		.name = NULL                                                                       \
	}
#define VIEWS_END                                                                                  \
	{                                                                                          \
		.title = NULL                                                                      \
	}
/* A test's lists, with their ends. */
#define PARAMS(...) ((const struct param[]){__VA_ARGS__, LIST_END})
#define KPIS(...)   ((const struct kpi[]){__VA_ARGS__, LIST_END})
#define VIEWS(...)  ((const struct view[]){__VA_ARGS__, VIEWS_END})
#define NAMES(...)  ((const char *const[]){__VA_ARGS__, NULL})

/* What a test needs of the fabric; the fabric says what it can do (fabric/fabric.h). */
enum need {
	NEED_TWO_SERVERS = 1u << 0,
	NEED_FAULTS = 1u << 1, /* links that can be cut */
	NEED_SPINES = 1u << 2, /* planes of two tiers */
	NEED_ECN = 1u << 3,    /* leaves that mark */
	NEED_PFC = 1u << 4,    /* pause frames */
	NEED_SWITCH_COUNTERS = 1u << 5,
	NEED_ONE_MACHINE = 1u << 6 /* workers that the coordinator can look into */
};

struct topo;
struct trial;

struct test {
	/* "5.1", of the training draft "T9.1"; else "group" or "group-name": `run group` runs
	 * them */
	const char *id;
	const char *name;    /* "Point-to-Point KV Cache Transfer Throughput" */
	const char *clause;  /* "draft-calabria-bmwg-ai-fabric-inference-bench-02, 5.1" */
	const char *dut;     /* "DUT-F" */
	const char *summary; /* one or two sentences: what is done here, and what is emulated */
	/*
	 * The column of its own tables that a report's first page compares strategies by:
	 * "TTFT@p99". NULL: the first of them of which more or less is better. "": none, as it
	 * says nothing of the fabric (memory, hit rates, sessions that the test itself ends).
	 */
	const char *headline;
	/* "load=none": of those combinations alone, as strategies meet the others at conditions of
	 * their own. NULL: of all */
	const char *headline_where;
	/* parameters, NULL at the end, whose levels are unlike conditions (without load and with
	 * it): no summary puts numbers of several of them together. NULL: none */
	const char *const *unlike;
	unsigned needs;
	bool no_strategies; /* what is compared does not depend on how traffic is spread */
	bool no_fabric;	    /* needs no lab: trial->fabric is NULL */
	/*
	 * what is compared instead of engine/strategy.h's, baselines first, NULL at the end; or
	 * NULL
	 */
	const char *const *strategies;
	/* of GLIBC_TUNABLES, which glibc reads when a process starts: `run` starts anew with them.
	 * NULL: none */
	const char *tunables;
	unsigned trials[PROFILE_COUNT];
	double seconds[PROFILE_COUNT]; /* measured in each trial */
	double sample_s;	       /* of a soak's sample by -05; 0: it asks for none */
	const struct param *params;    /* up to ROWS_MAX_PARAMS */
	/* those that trials add to rows (trial_with()): no cell has them */
	const struct param *added;
	/* Has that parameter no effect in this run, as a trace of requests has its own? Then no
	 * cell has it, and to name its levels is an error. NULL: all have. */
	bool (*ignores)(const char *param);
	/* Does that level say something on this fabric? Those that do not are left out, unless the
	 * command line names the parameter. NULL: all do. */
	bool (*fits)(const struct topo *topo, const char *param, const char *level);
	const struct kpi *kpis;
	/* names of those distributions, NULL at the end, whose measurements of a trial share causes
	 * (tokens of all batches share a step): how many there are says nothing of how sure a
	 * percentile is, and intervals are those of trials alone. NULL: none */
	const char *const *correlated;
	const struct view *views;
	/*
	 * One trial with the parameters of t. Rows are added with trial_*(). 0, or -errno after
	 * saying why on stderr: the run ends. Something that this fabric or this level cannot do is
	 * trial_missing(), and 0.
	 */
	int (*run)(struct trial *t);
	/* Frees trial->state, when the test's last trial is over. NULL: there is none. */
	void (*close)(void *state);
	/* What follows from all trials together, as rows of trial 0 (a penalty, a front, a bound);
	 * called again whenever rows came. NULL: nothing. */
	int (*derive)(const struct test *test, struct rows *rows);
};

bool test_is_draft(const struct test *test);	/* it is one of the methodology */
bool test_is_training(const struct test *test); /* of the training draft */
/* The name of strategy i of that test: of its own, or of engine/strategy.h. */
const char *test_strategy_name(const struct test *test, int i);
/* The style of its colour and mark, the same in every picture of a page, from 1; a name that is no
 * strategy has that of its place i. */
unsigned test_strategy_style(const struct test *test, const char *name, unsigned i);
/* The place of a name among a test's own strategies; -ENOENT: it has none, or not this. */
int test_own_strategy(const struct test *test, const char *name);

/* All tests, those of the methodology first, in the order in which they are run. */
const struct test *const *tests_all(size_t *n);
const struct kpi *test_kpi(const struct test *test, const char *name);
bool test_correlated(const struct test *test, const char *kpi); /* it is among those */
/* It is computed from parameters and the fabric's rates: KPI_MODEL, KPI_LINE. */
bool kpi_is_computed(const struct kpi *kpi);
const struct param *test_param(const struct test *test, const char *name);
/* The same, or one that trials add. */
const struct param *test_axis(const struct test *test, const char *name);

#endif
