/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * compare.h - two runs: which KPIs changed beyond the noise, and for the better or the worse.
 *
 * Owns: the list of what was compared. In: two results and the tests that may be in them; out: a
 * list. Pure but for memory. Thread: one.
 *
 * Compared is each KPI of each test at each combination of parameters and strategy that A or B has.
 * A distribution is compared by its P50 and its P99, each trial giving one value; percentiles that
 * a trial does not support are left out.
 *
 * A change is beyond the noise if both have COMPARE_MIN_TRIALS values or more, the rank test
 * (Mann-Whitney, two-sided) of the values says so with p adjusted for the number of comparisons
 * (Benjamini and Hochberg: of all changes reported, at most 5% are expected to be none), and the
 * medians differ by min_percent. If the test cannot say so, but all values of one are above all of
 * the other and the medians differ by min_percent, it is "maybe": more trials would tell.
 * Only what a test was made of, or is the same words, counts as equal within the noise.
 */
#ifndef COMPARE_H
#define COMPARE_H

#include <stdio.h>

#include "report/cell.h"
#include "report/results.h"

#define COMPARE_MIN_TRIALS 4 /* 3 against 3 reach p = 0.1 at best, 4 against 4 0.029 */
#define COMPARE_P	   0.05

enum compare_verdict {
	COMPARE_SAME, /* equal within the noise */
	COMPARE_BETTER,
	COMPARE_WORSE,
	COMPARE_CHANGED,      /* beyond the noise, of a KPI of which neither is better */
	COMPARE_MAYBE_BETTER, /* apart, but too few trials to be sure */
	COMPARE_MAYBE_WORSE,
	COMPARE_MAYBE_CHANGED,
	COMPARE_GONE, /* only A has it */
	COMPARE_NEW,  /* only B has it */
	COMPARE_FEW,  /* too few trials to say, and not apart */
	COMPARE_ONE,  /* derived from all trials of a run together: no test can say */
	COMPARE_NONE, /* neither has it */
	COMPARE_VERDICTS
};

struct compare_item {
	const struct test *test;
	struct column column;
	char strategy[ROW_NAME_MAX];
	char params[ROWS_MAX_PARAMS * 40]; /* "size=1M qps=8" */
	struct report_cell a, b;	   /* medians, or words */
	unsigned n_a, n_b;		   /* values compared */
	double percent, low, high;	   /* (b - a) / a and the ends that the intervals leave */
	double p;			   /* adjusted; NaN: no test was made */
	bool apart;			   /* all values of one are above all of the other */
	enum compare_verdict verdict;
};

struct compare {
	struct compare_item *item;
	size_t n, room;
	size_t count[COMPARE_VERDICTS];
	size_t n_numbers;	   /* comparisons of numbers with numbers */
	unsigned least_a, least_b; /* trials behind them; 0: there are none */
};

/* -ENOMEM. On success the caller calls compare_fini(). */
int compare_results(const struct results *a, const struct results *b,
		    const struct results_tests *tests, double min_percent, struct compare *out);
/* The same of two strategies of one run, by KPIs of which more or less is better; items have no
 * strategy of their own. */
int compare_strategies(const struct results *results, const struct results_tests *tests,
		       const char *a, const char *b, double min_percent, struct compare *out);
void compare_fini(struct compare *compare);

/* Trials of each that suffice to tell a single change among that many comparisons: the smallest p
 * of so many values, all apart, is below COMPARE_P after adjustment. */
unsigned compare_trials_wanted(size_t n_comparisons);

const char *compare_verdict_name(enum compare_verdict verdict);

#endif
