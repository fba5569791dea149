/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/optimum.h"
#include "procedure/load.h"
#include "procedure/service.h"
#include "suite/kpis.h"

/* S_KV over the rate of all links, less what their token buckets let pass at once. */
static double theory_ms(const struct trial *t, const struct model *model)
{
	const struct topo *topo = t->fabric->topo;
	unsigned dst = trial_gpus(t) - 1, ports = 0;
	double bps = fabric_pair_bps(t->fabric, 0, dst), bytes;

	for (unsigned plane = 0; plane < topo->n_planes; plane++)
		ports += topo->gpus[0].plane[plane].n_sub_ports;
	bytes = model_kv_bytes(model, trial_number(t, "prompt")) / t->scale -
		(double)ports * topo->bucket_bytes * optimum_goodput_factor(topo);
	return bytes > 0 ? bytes * 8e3 / bps : 0;
}

static int ttft_run(struct trial *t)
{
	struct serving_options o = service_usual(t);
	bool can = true;
	int err;

	o.read = load_is_read(t, &can);
	if (!can)
		return 0;
	o.trace = NULL; /* lengths of its own */
	o.prompt = (struct lengths){LENGTHS_FIXED, trial_count(t, "prompt"), 0, 0};
	o.output = (struct lengths){LENGTHS_FIXED, 4, 0, 0};
	o.pieces = trial_count(t, "pieces");
	o.page_tokens = trial_count(t, "page");
	o.per_s = service_capacity(&o) * trial_number(t, "load") / 100;
	err = service_run(t, &o, NULL, NULL);
	if (!err)
		trial_value(t, "T_transfer_theory", theory_ms(t, o.model), 1);
	return err;
}

static const struct param params[] = {
	PARAM("prompt", PARAM_COUNT, "tokens", "of every request", "128,2048,16384",
	      "128,512,1024,2048,4096,8192,16384"),
	PARAM("pieces", PARAM_COUNT, "", "of a cache, each sent when its layers are computed", "1",
	      "1,8"),
	PARAM("page", PARAM_COUNT, "tokens", "of one message; 0: a piece is one message", "0",
	      "0,256"),
	PARAM("load", PARAM_NUMBER, "%", "of what prefill can do; 0: one request at a time", "40"),
	PARAM_VERB,
	LIST_END};

static const struct kpi kpis[] = {
	KPI_TTFT,
	KPI_T_PREFILL,
	KPI_T_TRANSFER,
	KPI_T_DECODE_INIT,
	KPI_FABRIC_FRACTION,
	KPI_KV_LATENCY,
	{"T_transfer_theory", "ms", "DUT-PD",
	 "S_KV over the links' rate, less what their token buckets pass at once", BETTER_NONE, 0},
	LIST_END};

static const struct view views[] = {
	VIEW(VIEW_STACK, "TTFT by prompt length, decomposed (median)", "prompt", "strategy", NULL,
	     "T_prefill@p50", "T_transfer@p50", "T_decode_init@p50"),
	VIEW(VIEW_TABLE, "TTFT", "prompt", "strategy", NULL, "TTFT@p50", "TTFT@p95", "TTFT@p99",
	     "T_transfer@p50", "T_transfer@p99", "T_transfer_theory", "fabric_fraction"),
	VIEWS_END};

const struct test test_6_1 = {
	.id = "6.1",
	.name = "End-to-End Disaggregated TTFT",
	.clause = DRAFT "6.1",
	.dut = "SUT-E",
	.summary = "A service of CFG-B on half of the GPUs for prefill, half for decode; Poisson "
		   "arrivals, or one request at a time. Compute emulated.",
	.needs = NEED_TWO_SERVERS,
	.trials = {1, 10, 20},
	.seconds = {4, 20, 60},
	.params = params,
	.kpis = kpis,
	.views = views,
	.run = ttft_run,
};
