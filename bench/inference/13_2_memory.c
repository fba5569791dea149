/* SPDX-License-Identifier: BSD-2-Clause */
#include "procedure/soak.h"
#include "suite/kpis.h"

static void add_memory(struct trial *t)
{
	const struct fabric *f = t->fabric;
	double workers = 0, daemons = 0, descriptors = 0;

	for (unsigned gpu = 0; gpu < trial_gpus(t); gpu++) {
		workers += soak_rss_kib(cluster_pid(f->cluster, gpu));
		descriptors += soak_descriptors(cluster_pid(f->cluster, gpu));
	}
	for (unsigned i = 0; i < f->topo->n_servers; i++) {
		daemons += soak_rss_kib(f->topo->servers[i].fared_pid);
		descriptors += soak_descriptors(f->topo->servers[i].fared_pid);
	}
	trial_value(t, "worker_memory", workers, trial_gpus(t));
	trial_value(t, "fared_memory", daemons, f->topo->n_servers);
	trial_value(t, "descriptors", descriptors, 1);
}

static int memory_run(struct trial *t)
{
	int err = soak_sample(t, NULL, NULL);

	if (err)
		return err;
	add_memory(t);
	trial_missing(t, "GPU_memory", "%s", fabric_lacks(t->fabric, FABRIC_GPU_MEMORY));
	return 0;
}

static int memory_derive(const struct test *test, struct rows *rows)
{
	int err = soak_slope(rows, test->id, "worker_memory", "slope_worker");

	if (!err)
		err = soak_slope(rows, test->id, "fared_memory", "slope_fared");
	return err ? err : soak_slope(rows, test->id, "descriptors", "slope_descriptors");
}

const struct test test_13_2 = {
	INFERENCE_CLAUSE("13.2"),
	.name = "KV Cache Memory Leak Detection",
	.dut = "SUT-E",
	.summary = "The service of 13.1; memory and descriptors of workers and daemons after each "
		   "sample.",
	.needs = NEED_TWO_SERVERS | NEED_ONE_MACHINE,
	.trials = {4, 60, 96},
	.seconds = {1.5, 30, 900},
	.kpis = KPIS(
		KPI_AT_S,
		{"worker_memory", "KiB", "DUT-N", "resident, all workers", BETTER_LOWER, 0},
		{"fared_memory", "KiB", "DUT-N", "resident, all daemons", BETTER_LOWER, 0},
		{"descriptors", "", "DUT-N", "open, all workers and daemons", BETTER_LOWER, 0},
		{"slope_worker", "KiB/h", "DUT-N", "growth, least squares", BETTER_LOWER, 0},
		{"slope_fared", "KiB/h", "DUT-N", "growth, least squares", BETTER_LOWER, 0},
		{"slope_descriptors", "1/h", "DUT-N", "growth, least squares", BETTER_LOWER, 0},
		{"GPU_memory", "MiB", "SUT-E", "of the accelerators", BETTER_LOWER, 0}),
	.views = VIEWS(VIEW(VIEW_TREND, "Memory over time", "at_s", "strategy", NULL,
			    "worker_memory", "fared_memory"),
		       VIEW(VIEW_TABLE, "Memory", "strategy", NULL, NULL, "worker_memory",
			    "slope_worker", "fared_memory", "slope_fared", "descriptors",
			    "slope_descriptors")),
	.run = memory_run,
	.derive = memory_derive,
};
