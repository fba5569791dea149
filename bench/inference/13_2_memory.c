/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "procedure/soak.h"
#include "suite/derive.h"
#include "suite/kpis.h"

static void add_memory(struct trial *t)
{
	const struct fabric *f = t->fabric;
	double workers = 0, daemons = 0, descriptors = 0, pinned = 0;

	for (unsigned gpu = 0; gpu < trial_gpus(t); gpu++) {
		workers += soak_rss_kib(cluster_pid(f->cluster, gpu));
		pinned += soak_pinned_kib(cluster_pid(f->cluster, gpu));
		descriptors += soak_descriptors(cluster_pid(f->cluster, gpu));
	}
	for (unsigned i = 0; i < f->topo->n_servers; i++) {
		daemons += soak_rss_kib(f->topo->servers[i].fared_pid);
		descriptors += soak_descriptors(f->topo->servers[i].fared_pid);
	}
	trial_value(t, "worker_memory", workers, trial_gpus(t));
	trial_value(t, "fared_memory", daemons, f->topo->n_servers);
	trial_value(t, "descriptors", descriptors, 1);
	trial_value(t, "pinned_memory", pinned, trial_gpus(t));
}

static int memory_run(struct trial *t)
{
	static const char *const of_processes[] = {"worker_memory", "fared_memory", "descriptors",
						   "pinned_memory"};
	const char *why = fabric_cannot(t->fabric, NEED_ONE_MACHINE);
	int err = soak_sample(t, NULL, NULL);

	if (err)
		return err;
	if (!why)
		add_memory(t);
	for (size_t i = 0; why && i < sizeof(of_processes) / sizeof(of_processes[0]); i++)
		trial_missing(t, of_processes[i], "%s", why);
	trial_missing(t, "GPU_memory", "%s", fabric_lacks(t->fabric, FABRIC_GPU_MEMORY));
	return 0;
}

/* How it went, in words, as metrics differ in their units; and whether it never fell. */
static int memory_add_metric(struct rows *rows, const struct row *like, const struct soak_series *s,
			     const char *name)
{
	struct row row = {.kpi = "Trend", .trial = DERIVED_TRIAL, .value = NAN, .n = s->n};
	double most = s->value[0], growth = soak_fit(s);
	char text[128], why[128];
	int err;

	for (size_t i = 1; i < s->n; i++)
		most = fmax(most, s->value[i]);
	snprintf(text, sizeof(text), "%.7g at most, %.7g at the end; %.4g more an hour", most,
		 s->value[s->n - 1], growth);
	soak_too_short(s, why, sizeof(why));
	if (!isfinite(growth))
		*strchr(text, ';') = '\0';
	row.text = text;
	memcpy(row.test, like->test, sizeof(row.test));
	memcpy(row.strategy, like->strategy, sizeof(row.strategy));
	err = row_param_set(&row.param[row.n_params++], "metric", name);
	if (!err)
		err = rows_add(rows, &row);
	if (err)
		return err;
	return derive_value_or(rows, &row, "Monotonic", soak_carries_trend(s) ? soak_grows(s) : NAN,
			       why);
}

static int memory_derive(const struct test *test, struct rows *rows)
{
	static const char *const metrics[] = {
		"worker_memory",  "fared_memory",      "descriptors", "pinned_memory",
		"memory_regions", "registered_memory", "KV_pages"};
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(metrics) / sizeof(metrics[0]); i++)
		err = soak_derive(rows, test->id, metrics[i], memory_add_metric, metrics[i]);
	return err ? err : soak_length(rows, test->id);
}

const struct test test_13_2 = {
	INFERENCE_CLAUSE("13.2"),
	.name = "KV Cache Memory Leak Detection",
	.dut = "SUT-E",
	.headline = "",
	.summary =
		"The service of 13.1; memory, registrations and descriptors of workers and "
		"daemons after each sample, and pages of the emulated caches. A metric that never "
		"falls and ends higher is flagged (Monotonic).",
	.needs = NEED_TWO_SERVERS,
	.trials = {4, 60, 96},
	.seconds = {1.5, 30, 900},
	.added = PARAMS(PARAM("metric", PARAM_NAME, "", "that is monitored",
			      "worker_memory,fared_memory,descriptors,pinned_memory,memory_regions,"
			      "registered_memory,KV_pages")),
	.kpis = KPIS(
		KPI_AT_S, KPI_SOAK_LENGTH,
		{"worker_memory", "KiB", "DUT-N", "resident, all workers", BETTER_LOWER, 0},
		{"fared_memory", "KiB", "DUT-N", "resident, all daemons", BETTER_LOWER, 0},
		{"descriptors", "", "DUT-N", "open, all workers and daemons", BETTER_LOWER, 0},
		{"pinned_memory", "KiB", "DUT-N", "locked or pinned (VmLck, VmPin), all workers",
		 BETTER_LOWER, 0},
		{"memory_regions", "", "DUT-N", "registered by the workers", BETTER_LOWER, 0},
		{"registered_memory", "KiB", "DUT-N", "in these regions", BETTER_LOWER, 0},
		{"KV_pages", "", "SUT-E",
		 "of 16 tokens, of the emulated caches that decode workers hold at the end",
		 BETTER_NONE, 0},
		{"Trend", "", "",
		 "of a metric, in its unit: the most, the last sample, growth by least squares",
		 BETTER_NONE, 0},
		{"Monotonic", "", "", "1: the metric never fell and ended higher, a potential leak",
		 BETTER_LOWER, 0},
		{"GPU_memory", "MiB", "SUT-E", "of the accelerators", BETTER_LOWER, 0}),
	.views = VIEWS(
		VIEW(VIEW_TREND, "Memory over time", "at_s", "strategy", NULL, "worker_memory",
		     "fared_memory"),
		VIEW(VIEW_TREND, "Registered and pinned memory over time", "at_s", "strategy", NULL,
		     "registered_memory", "pinned_memory"),
		VIEW(VIEW_TREND, "Counts over time", "at_s", "strategy", NULL, "descriptors",
		     "memory_regions"),
		VIEW(VIEW_TREND, "Pages of caches over time", "at_s", "strategy", NULL, "KV_pages"),
		VIEW(VIEW_TABLE, "The soak", "strategy", NULL, NULL, "soak_length"),
		VIEW(VIEW_TABLE, "Each metric over the run", "metric", "strategy", NULL,
		     "Monotonic", "Trend")),
	.run = memory_run,
	.derive = memory_derive,
};
