/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/optimum.h"
#include "procedure/ideal.h"
#include "procedure/load.h"
#include "procedure/service.h"
#include "suite/kpis.h"

/* S_KV over the rate of all links, and less what their token buckets let pass at once. */
static void add_theory(struct trial *t, const struct model *model)
{
	double bps = fabric_pair_bps(t->fabric, 0, trial_gpus(t) - 1),
	       bytes = model_kv_bytes(model, trial_number(t, "prompt")) / t->scale,
	       ms = 1e3 * ideal_transfer_s(bytes, bps, optimum_bucket_bytes(t->fabric->topo, 0));

	trial_value(t, "T_transfer_line", 1e3 * ideal_transfer_s(bytes, bps, 0), 1);
	if (ms > 0)
		trial_value(t, "T_transfer_theory", ms, 1);
	else
		trial_missing(t, "T_transfer_theory",
			      "a cache of %.0f KB passes through token buckets at once",
			      bytes / 1e3);
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
	err = service_run(t, &o, "TTFT");
	if (!err)
		add_theory(t, o.model);
	return err;
}

const struct test test_6_1 = {
	INFERENCE_CLAUSE("6.1"),
	.name = "End-to-End Disaggregated TTFT",
	.dut = "SUT-E",
	.summary = "A service of CFG-B on half of the GPUs for prefill, half for decode; Poisson "
		   "arrivals, or one request at a time. Compute emulated.",
	.needs = NEED_TWO_SERVERS,
	.trials = {1, 10, 20},
	.seconds = {4, 20, 60},
	.params = PARAMS(PARAM("prompt", PARAM_COUNT, "tokens", "of every request",
			       "128,2048,16384", "128,512,1024,2048,4096,8192,16384"),
			 PARAM("pieces", PARAM_COUNT, "",
			       "of a cache, each sent when its layers are computed", "1", "1,8"),
			 PARAM("page", PARAM_COUNT, "tokens",
			       "of one message; 0: a piece is one message", "0", "0,256"),
			 PARAM("load", PARAM_NUMBER, "%",
			       "of what prefill can do; 0: one request at a time", "40"),
			 PARAM_VERB),
	.kpis = KPIS(
		KPI_TTFT, KPI_T_PREFILL, KPI_T_TRANSFER, KPI_T_DECODE_INIT, KPI_FABRIC_FRACTION,
		KPI_TTFT_FABRIC, KPI_UNFINISHED, KPI_OFFERED, KPI_KV_LATENCY,
		{"T_transfer_line", "ms", "DUT-PD", "S_KV over the links' rate", BETTER_NONE, 0},
		{"T_transfer_theory", "ms", "DUT-PD",
		 "S_KV over the links' rate, less what their token buckets pass at once",
		 BETTER_NONE, 0},
		KPI_MODEL("TTFT", "ms")),
	.views = VIEWS(
		VIEW(VIEW_STACK, "TTFT by prompt length, decomposed (median)", "prompt", "strategy",
		     NULL, "T_prefill@p50", "T_transfer@p50", "T_decode_init@p50"),
		VIEW(VIEW_TABLE, "TTFT", "prompt", "strategy", NULL, "TTFT@p50", "TTFT@p95",
		     "TTFT@p99", "T_transfer@p50", "T_transfer@p95", "T_transfer@p99",
		     "T_transfer_line", "T_transfer_theory", "fabric_fraction", "unfinished"),
		VIEW(VIEW_TABLE, "What else TTFT is made of", "prompt", "strategy", NULL,
		     "T_prefill@p50", "T_prefill@p95", "T_prefill@p99", "T_decode_init@p50",
		     "T_decode_init@p95", "T_decode_init@p99"),
		VIEW(VIEW_TABLE, "The fabric's part of TTFT", "prompt", "strategy", NULL,
		     "TTFT_fabric@p50", "TTFT_fabric@p95", "TTFT_fabric@p99", "KV_xfer_latency@p50",
		     "KV_xfer_latency@p95", "KV_xfer_latency@p99"),
		{VIEW_FIELDS(VIEW_CDF, "Distribution of TTFT", NULL, "strategy", "prompt", "TTFT"),
		 .log_x = true},
		VIEW(VIEW_TABLE, "TTFT beside the model", "prompt", "load", "strategy",
		     "Offered_rate", "TTFT@p50", "model", "model_ratio")),
	.run = ttft_run,
};
