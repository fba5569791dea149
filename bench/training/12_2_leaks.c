/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <stdio.h>

#include "fabric/leaf_load.h"
#include "procedure/soak.h"
#include "suite/derive.h"
#include "training/common.h"
#include "training/sustained.h"

#define LEAK_KIB_H (1e6 / 1024) /* the draft's 1 MB/h */
#define LEAST_S	   3600		/* what a process takes once is not a slope */

static void add_process(struct trial *t, const char *host, const char *program, double kib)
{
	char name[ROW_NAME_MAX];

	snprintf(name, sizeof(name), "%.40s %s", host, program);
	trial_with(t, "process", name);
	if (kib > 0)
		trial_value(t, "Process_memory", kib, 1);
	else
		trial_missing(t, "Process_memory", "it does not run");
	trial_with(t, "process", NULL);
}

/* A leaf's daemons together: switches give no more. */
static int leaks_run(struct trial *t)
{
	const struct topo *topo = t->fabric->topo;
	struct leaf_load leaves;
	int err = sustained_sample(t);

	if (err)
		return err > 0 ? 0 : err;
	err = fabric_daemons(t->fabric);
	if (!err)
		err = leaf_load_read(&leaves, topo, &t->fabric->lab);
	if (err)
		return err;
	for (unsigned i = 0; i < topo->n_servers; i++) {
		const struct topo_server *s = &topo->servers[i];

		add_process(t, s->name, "bgpd", soak_rss_kib(s->bgpd_pid));
		add_process(t, s->name, "fared", soak_rss_kib(s->fared_pid));
	}
	for (unsigned i = 0; i < topo->n_leaves; i++)
		add_process(t, topo->leaves[i].name, "daemons", (double)leaves.rss_bytes[i] / 1024);
	leaf_load_fini(&leaves);
	trial_missing(t, "Table_occupancy", "a lab's leaves have no hardware tables");
	return 0;
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

static int add_leak(struct rows *rows, const struct row *like, const struct soak_series *s,
		    const char *name)
{
	double slope = soak_regression(s->at_s, s->value, s->n) * 3600;
	int err = derive_value(rows, like, name, slope);

	if (!err)
		err = add_parts(rows, like, s);
	if (err || !isfinite(slope) || s->at_s[s->n - 1] < LEAST_S)
		return err;
	return derive_value(rows, like, "Leak", slope > LEAK_KIB_H);
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
	.summary = "The collectives of T12.1; resident memory of each server's bgpd and fared, and "
		   "of each leaf's daemons, after each sample.",
	.needs = TRAINING_NEEDS | NEED_ONE_MACHINE,
	.strategies = mpi_strategies,
	.trials = {4, 60, 1440},
	.seconds = {1, 20, 60},
	.params = PARAMS(SUSTAINED_PARAMS),
	.kpis = KPIS(
		SUSTAINED_KPIS,
		{"Process_memory", "KiB", "DUT-F", "resident, after each sample", BETTER_LOWER, 0},
		{"Memory_slope", "KiB/h", "DUT-F", "growth, least squares", BETTER_LOWER, 0},
		{"Memory_at", "KiB", "DUT-F", "of the sample closest to that part of the run",
		 BETTER_NONE, 0},
		{"Leak", "", "DUT-F", "1: more than 1 MB/h, over an hour or longer", BETTER_LOWER,
		 0},
		{"Table_occupancy", "%", "DUT-S", "of hardware tables", BETTER_LOWER, 0}),
	.views = VIEWS(VIEW(VIEW_TABLE, "Growth of each process", "process", "strategy", NULL,
			    "Process_memory", "Memory_slope", "Leak"),
		       VIEW(VIEW_TABLE, "Memory at parts of the run", "part", "process", "strategy",
			    "Memory_at")),
	.run = leaks_run,
	.derive = leaks_derive,
};
