/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "procedure/service.h"
#include "suite/kpis.h"

static unsigned kv_aware_workers(unsigned gpus)
{
	return gpus > SERVING_MAX_WORKERS / 4 ? SERVING_MAX_WORKERS : 4 * gpus;
}

static int kv_aware_run(struct trial *t)
{
	struct serving_options o = service_usual(t);

	o.router = strcmp(trial_text(t, "router"), "kv-aware") == 0 ? ROUTER_KV_PATHS
								    : ROUTER_ROUND_ROBIN;
	o.n_prefill = kv_aware_workers(o.n_prefill);
	o.n_decode = kv_aware_workers(o.n_decode);
	o.kv_tokens = 24000;
	o.per_s = trial_number(t, "rate");
	return service_run(t, &o, "Inference_Goodput");
}

const struct test test_9_1 = {
	INFERENCE_CLAUSE("9.1"),
	.name = "KV-Aware Request Routing Efficacy",
	.dut = "SUT-E",
	.headline = "TTFT@p99",
	.summary = "Four workers to a GPU, 64 at most in a pool; the KV-aware router takes the "
		   "shortest prefill queue and the emptiest decode worker; of those as short, and "
		   "within a tenth of their memory as empty, the two between which a cache is "
		   "soonest across, by what is still to come and what the last caches took. "
		   "Router, memory and "
		   "compute are emulated, transfers and dispatches are real.",
	.needs = NEED_TWO_SERVERS,
	.trials = {1, 10, 20},
	.seconds = {4, 20, 60},
	.params = PARAMS(
		PARAM("router", PARAM_NAME, "", "how workers are chosen", "round-robin,kv-aware"),
		PARAM("rate", PARAM_NUMBER, "req/s", "Poisson", "10,50", "10,50,100",
		      "10,50,100,200")),
	.kpis = KPIS({"memory_CV", "", "SUT-E",
		      "coefficient of variation of decode workers' cache, mean over steps",
		      BETTER_LOWER, 0},
		     KPI_TTFT, KPI_ITL,
		     {"evictions", "1/s", "SUT-E", "caches dropped", BETTER_LOWER, 0}, KPI_GOODPUT,
		     KPI_OFFERED, KPI_MODEL("Inference_Goodput", "tokens/s")),
	.correlated = NAMES("ITL"),
	.views = VIEWS(
		VIEW(VIEW_BARS, "Tail TTFT by router", "rate", "router", "strategy", "TTFT@p99"),
		{VIEW_FIELDS(VIEW_CDF, "Distribution of TTFT", NULL, "strategy", "router", "TTFT"),
		 .log_x = true},
		VIEW(VIEW_TABLE, "Routing", "router", "rate", "strategy", "memory_CV", "TTFT@p99",
		     "ITL@p99", "evictions", "Inference_Goodput", "model", "model_ratio")),
	.run = kv_aware_run,
};
