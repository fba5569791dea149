/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "procedure/service.h"
#include "suite/kpis.h"

/* Shards of a cache: a transfer goes as so many flows as the wider side has ranks. */
static unsigned shards(const char *shape)
{
	return strcmp(shape, "tp8-tp8") == 0 ? 8 : strcmp(shape, "tp8-tp4dp2") == 0 ? 8 : 4;
}

static int parallelism_run(struct trial *t)
{
	const char *shape = trial_text(t, "shape");
	struct serving_options o = service_usual(t);
	int err;

	o.pieces = shards(shape);
	/* data parallel attention splits a pool into replicas of fewer ranks each */
	o.n_decode *= strcmp(shape, "tp8-tp8") == 0 ? 1 : strcmp(shape, "tp8-tp4dp2") == 0 ? 2 : 4;
	o.n_prefill *= strcmp(shape, "tp4dp2-tp2dp4") == 0 ? 2 : 1;
	o.per_s = service_capacity(&o) * 0.5 * trial_prefill(t) / o.n_prefill;
	err = service_run(t, &o, NULL, NULL);
	if (!err)
		trial_value(t, "flows", o.n_prefill * o.n_decode, 1);
	return err;
}

static const struct param params[] = {PARAM("shape", PARAM_NAME, "",
					    "parallelism of prefill and of decode",
					    "tp8-tp8,tp8-tp4dp2,tp4dp2-tp2dp4"),
				      LIST_END};

static const struct kpi kpis[] = {
	KPI_TTFT,
	KPI_ITL,
	KPI_FABRIC_BW,
	{"flows", "", "DUT-F", "pairs of workers that may transfer", BETTER_NONE, 0},
	{"peak_transfers", "", "DUT-F", "under way at once", BETTER_NONE, 0},
	LIST_END};

static const struct view views[] = {
	VIEW(VIEW_BARS, "TTFT by parallelism", "shape", "strategy", NULL, "TTFT@p99"),
	VIEW(VIEW_TABLE, "Parallelism", "shape", "strategy", NULL, "flows", "peak_transfers",
	     "fabric_bandwidth", "TTFT@p50", "TTFT@p99", "ITL@p50", "ITL@p99"),
	VIEWS_END};

const struct test test_6_3 = {
	.id = "6.3",
	.name = "Heterogeneous Parallelism Configuration",
	.clause = DRAFT "6.3",
	.dut = "SUT-E",
	.summary = "A cache leaves in as many shards as the wider side has ranks; replicas of data "
		   "parallel attention are decode workers of their own. Compute emulated, the same "
		   "for "
		   "all shapes.",
	.needs = NEED_TWO_SERVERS,
	.trials = {1, 10, 20},
	.seconds = {4, 20, 60},
	.params = params,
	.kpis = kpis,
	.views = views,
	.run = parallelism_run,
};
