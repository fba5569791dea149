/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trial.h - one trial of a test: its parameters, the fabric, and where its rows go.
 *
 * Owns: the rows of the trial until it counts; the suite drops those of a trial that does not.
 * In: what the suite chose; out: rows. Thread: the coordinator's.
 */
#ifndef TRIAL_H
#define TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/cpu.h"
#include "engine/audit.h"
#include "engine/measure.h"
#include "engine/plan.h"
#include "fabric/fabric.h"
#include "suite/edition.h"
#include "suite/test.h"

struct trial {
	const struct test *test;
	enum profile profile;
	struct fabric *fabric;	   /* NULL: the test needs none */
	enum strategy strategy;	   /* of a test without strategies of its own */
	const char *strategy_name; /* "": the test has none */
	struct editions editions;  /* that the run follows */
	unsigned n_params;
	struct row_param param[ROWS_MAX_PARAMS];
	unsigned number, n_trials; /* which of how many */
	uint64_t seed; /* of this trial, whatever its strategy: all strategies meet the same */
	double warm_s, seconds;
	double scale; /* unscaled line rate over this fabric's: bytes are divided by it */
	const struct rows *rows;   /* of trials before: bounds that other tests found */
	struct memory_pair memory; /* a test sets it: where blocks lie */
	bool bins;		   /* a test sets it: trial_measure() brings timelines */
	struct cpu_idle idle;	   /* of what was measured; mean_percent < 0: nothing was */
	void **state;		   /* the test's own, from trial to trial; its close() frees it */
	/* a test sets it: what was measured tells of the machine, because; it is made again */
	const char *again;
	bool is_fault_planned; /* who stalls is what is measured, not the machine */
	char why_again[96];    /* room for that */
	double clock_error_ns; /* of times of two servers against each other; the worst run's */
	uint64_t path_deaths;  /* of QP groups, of all its runs */
	bool held;	       /* a host's limit of the rate made messages wait */
	struct audit_counts counts; /* checked when it ends: audit_conserved() */
	struct row *row;	    /* this trial's */
	unsigned n_rows, room;
	int err; /* a row that could not be kept */
};

/* A parameter's value; the test declares it, so it is there. */
double trial_number(const struct trial *t, const char *param);
const char *trial_text(const struct trial *t, const char *param);
unsigned trial_count(const struct trial *t, const char *param);

/* What a row of that trial belongs to. */
void trial_fill_row(const struct trial *t, struct row *row, const char *kpi);
void trial_value(struct trial *t, const char *kpi, double value, uint64_t n);
/* Of a KPI that not every test has: nothing, where this one does not. */
void trial_value_asked(struct trial *t, const char *kpi, double value, uint64_t n);
void trial_hist(struct trial *t, const char *kpi, const struct hist *hist);
/* The same of times that began by one server's clock and ended by another's: missing where the
 * error of both clocks is more than a tenth of the median. */
void trial_one_way(struct trial *t, const char *kpi, const struct hist *hist);
/* A value that rests on such times, of about typical_ns. */
void trial_one_way_value(struct trial *t, const char *kpi, double value, uint64_t n,
			 double typical_ns);
/* The P99 of such times, times scale; missing where too few carry none (hist.h). */
void trial_p99(struct trial *t, const char *kpi, const struct hist *hist, double scale);
/* That reason. */
void trial_no_p99(struct trial *t, const char *kpi);
void trial_set_text(struct trial *t, const char *kpi, const char *text);
/* The rows that follow, of this trial, have one parameter more: what is measured of several kinds
 * at once. text NULL: no longer. */
void trial_with(struct trial *t, const char *param, const char *text);
/* Nothing was measured, because; kpi NULL: of all the test's KPIs but those of KPI_SIMULATED. */
void trial_missing(struct trial *t, const char *kpi, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * What an ideal fabric gives for that KPI, in its unit, and what was measured (the mean, of a
 * distribution) over it: the rows "model" and "model_ratio" of a test that declares KPI_MODEL. Not
 * finite: missing, because why.
 */
void trial_model(struct trial *t, const char *kpi, double model, const char *why);

/* Its rows go: all its KPIs are missing, because: a reason that begins with TRIAL_SPOILT. */
#define TRIAL_SPOILT "spoilt: "
void trial_spoil(struct trial *t, const char *why);

/* A load that spreads as the trial's strategy does; qps 0: one per sub-port. */
struct traffic_load trial_load(const struct trial *t, const char *name, unsigned qps);

/* Makes the workers' memory large enough and of the kinds wanted (-EOPNOTSUPP: fabric->memory_lacks
 * says why there is none), sets the kernel's weights, runs the plan, notes how idle
 * the machine was. meanwhile and arg: as of struct measure. */
int trial_measure(struct trial *t, const struct plan *plan,
		  int (*meanwhile)(void *arg, uint64_t from_ns, uint64_t to_ns), void *arg,
		  struct measured *out);

/* The GPUs in two pools: prefill GPUs are 0..n - 1, decode GPUs n..gpus - 1, on other servers. */
unsigned trial_prefill(const struct trial *t);
unsigned trial_gpus(const struct trial *t);

void trial_fini(struct trial *t);

/* ---- which trials count: those during which every core had idle time. Where one had none, the
 * machine may have been the limit rather than the strategy. Pure. ---- */

/*
 * A core that was idle for less had no idle time as far as can be known: /proc/stat counts ticks of
 * 10 ms, two readings differ by up to one that was not, and the shortest trial lasts 0.4 s.
 */
#define TRIAL_GUARD_PERCENT  2.5
#define TRIAL_GUARD_REASON   "a core was idle for less than 2.5% of the time"
#define TRIAL_GUARD_IN_A_ROW 5 /* so often is a trial repeated, and then the machine is too busy */

struct trial_guard {
	unsigned repeated; /* trials that did not count, in all */
	unsigned in_a_row; /* of the last ones */
};

/* Had a core no idle time? */
bool trial_guard_is_busy(const struct cpu_idle *idle);
/* 0: it counts. -EAGAIN: it does not; repeat it. -EBUSY: neither did those before it; give up. */
int trial_guard_judge(struct trial_guard *guard, const struct cpu_idle *idle);

#endif
