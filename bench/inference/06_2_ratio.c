/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "procedure/service.h"
#include "suite/kpis.h"

static int ratio_run(struct trial *t)
{
	struct serving_options o = service_usual(t);
	int err;

	if (sscanf(trial_text(t, "ratio"), "%uP%uD", &o.n_prefill, &o.n_decode) != 2 ||
	    !o.n_prefill || !o.n_decode || o.n_prefill > SERVING_MAX_WORKERS ||
	    o.n_decode > SERVING_MAX_WORKERS) {
		trial_missing(t, NULL, "%s: xPyD is expected, with 1 to %d of each",
			      trial_text(t, "ratio"), SERVING_MAX_WORKERS);
		return 0;
	}
	o.batch = 8;
	o.per_s = trial_number(t, "rate");
	err = service_run(t, &o, NULL, NULL);
	if (!err)
		trial_model(t, "TPS_output", service_ideal(t, &o).tokens_per_s, "");
	return err;
}

static const struct param params[] = {
	PARAM("ratio", PARAM_TEXT, "", "prefill and decode workers, 12 in all; GPUs play several",
	      "2P10D,6P6D,10P2D", "1P11D,2P10D,3P9D,4P8D,6P6D,8P4D,10P2D,11P1D"),
	PARAM("rate", PARAM_NUMBER, "req/s", "Poisson", "20", "10,20,40"), LIST_END};

static const struct kpi kpis[] = {
	KPI_TTFT, KPI_ITL, KPI_TPS_OUTPUT, KPI_GOODPUT, KPI_MODEL("TPS_output", "tokens/s"),
	LIST_END};

static const struct view views[] = {VIEW(VIEW_PANELS, "xPyD by request rate", "ratio", "strategy",
					 "rate", "TTFT@p99", "TPS_output"),
				    VIEW(VIEW_TABLE, "Ratios", "ratio", "rate", "strategy",
					 "TTFT@p99", "ITL@p99", "TPS_output", "Inference_Goodput",
					 "model", "model_ratio"),
				    VIEWS_END};

const struct test test_6_2 = {
	.id = "6.2",
	.name = "xPyD Ratio Optimization",
	.clause = DRAFT "6.2",
	.dut = "SUT-E",
	.summary =
		"Twelve workers in all, played by the fabric's GPUs: prompts Zipf (1.0) over 128 "
		"to 8,192 tokens, batches of 8; compute emulated.",
	.needs = NEED_TWO_SERVERS,
	.trials = {1, 10, 20},
	.seconds = {4, 20, 60},
	.params = params,
	.kpis = kpis,
	.views = views,
	.run = ratio_run,
};
