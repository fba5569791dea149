/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/leaf_routes.h"
#include "procedure/soak.h"
#include "suite/derive.h"
#include "training/common.h"
#include "training/lab_changes.h"
#include "training/sustained.h"

#define LEAK_KIB_H (1e6 / 1024) /* the draft's 1 MB/h */
#define LEAST_S	   3600		/* what a process takes once is not a slope */

static void add_process(void *arg, const char *host, const char *program, double rss_bytes)
{
	struct trial *t = arg;
	char name[ROW_NAME_MAX];

	snprintf(name, sizeof(name), "%.30s %.12s", host, program);
	trial_with(t, "process", name);
	trial_value(t, "Process_memory", rss_bytes / 1024, 1);
	trial_with(t, "process", NULL);
}

static int add_tables(struct trial *t)
{
	const struct topo *topo = t->fabric->topo;
	unsigned most;
	int err = leaf_routes_most(topo, &most);

	if (err)
		return err;
	trial_value(t, "Table_entries", most, topo->n_leaves + topo->n_spines);
	trial_missing(t, "Table_occupancy",
		      "the switches (%u) forward by kernel routes, whose number has no limit",
		      topo->n_leaves + topo->n_spines);
	return 0;
}

static int leaks_run(struct trial *t)
{
	char *text = NULL;
	int err = sustained_sample(t);

	if (err)
		return err > 0 ? 0 : err;
	err = lab_counters(&t->fabric->lab, &text);
	if (!err)
		err = lab_changes_daemons(text, add_process, t);
	free(text);
	return err ? err : add_tables(t);
}

/* ---- what follows ---- */

/* The value of the sample closest to that part of the run. */
static double value_at(const struct soak_series *s, double part)
{
	double at_s = s->at_s[s->n - 1] * part;
	size_t best = 0;

	for (size_t i = 1; i < s->n; i++)
		if (fabs(s->at_s[i] - at_s) < fabs(s->at_s[best] - at_s))
			best = i;
	return s->value[best];
}

/* The draft's 0, 1, 6, 12 and 24 h, as parts of the run. */
static int add_parts(struct rows *rows, const struct row *like, const struct soak_series *s)
{
	static const char *const parts[] = {"0", "0.0417", "0.25", "0.5", "1"};
	struct row row = *like;
	int err = 0;

	if (row.n_params == ROWS_MAX_PARAMS)
		return 0;
	row.n_params++;
	for (size_t i = 0; !err && i < sizeof(parts) / sizeof(parts[0]); i++) {
		struct row_param *part = &row.param[row.n_params - 1];

		err = row_param_set(part, "part", parts[i]);
		if (!err)
			err = derive_value(rows, &row, "Memory_at", value_at(s, part->number));
	}
	return err;
}

static int add_too_short(struct rows *rows, const struct row *like, const char *slope,
			 double seconds)
{
	char why[96];
	int err;

	snprintf(why, sizeof(why),
		 "%.0f s: what a process takes once is no slope in less than %d s", seconds,
		 LEAST_S);
	err = derive_value_or(rows, like, slope, NAN, why);
	return err ? err : derive_value_or(rows, like, "Leak", NAN, why);
}

static int add_leak(struct rows *rows, const struct row *like, const struct soak_series *s,
		    const char *name)
{
	double slope = soak_regression(s->at_s, s->value, s->n) * 3600;
	int err = add_parts(rows, like, s);

	if (err)
		return err;
	if (!isfinite(slope) || s->at_s[s->n - 1] < LEAST_S)
		return add_too_short(rows, like, name, s->at_s[s->n - 1]);
	err = derive_value(rows, like, name, slope);
	return err ? err : derive_value(rows, like, "Leak", slope > LEAK_KIB_H);
}

static int leaks_derive(const struct test *test, struct rows *rows)
{
	return soak_derive(rows, test->id, "Process_memory", add_leak, "Memory_slope");
}

/* ---- declarations ---- */

const struct test test_t12_2 = {
	TRAINING_CLAUSE("12.2"),
	.name = "Resource Leak Detection",
	.dut = "DUT-F",
	.summary =
		"The collectives of T12.1; resident memory of each daemon of servers and switches "
		"after each sample, counters that became smaller, routes of the switches.",
	.headline = "", /* daemons and tables: nothing of the fabric */
	.needs = NEED_TWO_SERVERS | NEED_ONE_MACHINE,
	.strategies = mpi_strategies,
	.trials = {4, 60, 1440},
	.seconds = {1, 20, 60},
	.params = PARAMS(SUSTAINED_PARAMS),
	.kpis = KPIS(
		SUSTAINED_KPIS,
		{"Process_memory", "KiB", "DUT-F", "resident, after each sample", BETTER_NONE, 0},
		{"Memory_slope", "KiB/h", "DUT-F", "growth, least squares, over an hour or longer",
		 BETTER_LOWER, 0},
		{"Memory_at", "KiB", "DUT-F", "of the sample closest to that part of the run",
		 BETTER_NONE, 0},
		{"Leak", "", "DUT-F", "1: more than 1 MB/h, over an hour or longer", BETTER_LOWER,
		 0},
		{"Table_entries", "", "DUT-S", "routes of the switch that has most", BETTER_NONE,
		 0},
		{"Table_occupancy", "%", "DUT-S", "of hardware tables", BETTER_LOWER, 0}),
	.views = VIEWS(VIEW(VIEW_TREND, "Routes of a switch over time", "at_s", "strategy", NULL,
			    "Table_entries"),
		       VIEW(VIEW_TABLE, "Forwarding plane", "strategy", NULL, NULL, "Table_entries",
			    "Table_occupancy", "Counter_wraps", "Daemons_ended"),
		       VIEW(VIEW_TABLE, "Growth of each process", "process", "strategy", NULL,
			    "Process_memory", "Memory_slope", "Leak"),
		       VIEW(VIEW_TABLE, "Memory at parts of the run", "part", "process", "strategy",
			    "Memory_at")),
	.run = leaks_run,
	.derive = leaks_derive,
};
