/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "procedure/service.h"
#include "suite/kpis.h"

/* Of a cache: one for each rank of the wider side, all at once. */
static unsigned shards(const char *shape)
{
	return strcmp(shape, "tp8-tp8") == 0 ? 8 : strcmp(shape, "tp8-tp4dp2") == 0 ? 8 : 4;
}

static int parallelism_run(struct trial *t)
{
	const char *shape = trial_text(t, "shape");
	struct serving_options o = service_usual(t);
	struct traffic_options options = {.strategy = t->strategy};
	unsigned qps, per_sub_port;
	int err;

	o.shards = shards(shape);
	/* data parallel attention splits a pool into replicas of fewer ranks each */
	o.n_decode *= strcmp(shape, "tp8-tp8") == 0 ? 1 : strcmp(shape, "tp8-tp4dp2") == 0 ? 2 : 4;
	o.n_prefill *= strcmp(shape, "tp4dp2-tp2dp4") == 0 ? 2 : 1;
	o.per_s = service_capacity(&o) * 0.5 * trial_prefill(t) / o.n_prefill;
	err = service_run(t, &o, NULL);
	if (!err)
		err = traffic_qps(t->fabric->topo, &options, &qps, &per_sub_port);
	if (err)
		return err;
	trial_value(t, "worker_pairs", o.n_prefill * o.n_decode, 1);
	trial_value(t, "flows", o.n_prefill * o.n_decode * qps, 1);
	trial_model(t, "ITL", o.model->step_s * 1e3, "");
	return 0;
}

const struct test test_6_3 = {
	INFERENCE_CLAUSE("6.3"),
	.name = "Heterogeneous Parallelism Configuration",
	.dut = "SUT-E",
	.summary =
		"A cache leaves in as many shards at once as the wider side has ranks; replicas "
		"of data parallelism are workers of their own. Ranks and compute are emulated: a "
		"GPU sends for all ranks of its worker, and a step takes the same in all shapes.",
	.needs = NEED_TWO_SERVERS,
	.trials = {1, 10, 20},
	.seconds = {4, 20, 60},
	.params = PARAMS(PARAM("shape", PARAM_NAME, "", "parallelism of prefill and of decode",
			       "tp8-tp8,tp8-tp4dp2,tp4dp2-tp2dp4")),
	.kpis = KPIS(
		KPI_TTFT, KPI_ITL, KPI_FABRIC_BW, KPI_OFFERED,
		{"worker_pairs", "", "SUT-E", "pairs of workers that may transfer", BETTER_NONE, 0},
		{"flows", "", "DUT-F", "QPs between all of them", BETTER_NONE, 0},
		{"peak_transfers", "", "DUT-F", "caches under way at once", BETTER_NONE, 0},
		{"peak_shards", "", "DUT-F", "shards under way at once, a transfer of a rank each",
		 BETTER_NONE, 0},
		KPI_MODEL("ITL", "ms")),
	.correlated = NAMES("ITL"),
	.views =
		VIEWS(VIEW(VIEW_BARS, "TTFT by parallelism", "shape", "strategy", NULL, "TTFT@p99"),
		      VIEW(VIEW_TABLE, "Parallelism", "shape", "strategy", NULL, "worker_pairs",
			   "flows", "peak_transfers", "peak_shards", "fabric_bandwidth", "TTFT@p50",
			   "TTFT@p99", "ITL@p50", "ITL@p99", "model", "model_ratio")),
	.run = parallelism_run,
};
