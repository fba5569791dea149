/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/stats.h"
#include "procedure/service.h"
#include "suite/kpis.h"

static int decode_fairness_run(struct trial *t)
{
	struct serving_options o = service_usual(t);
	struct serving_result r;
	int err;

	o.n_decode = trial_count(t, "decode");
	if (!o.n_decode || o.n_decode > SERVING_MAX_WORKERS) {
		trial_missing(t, NULL, "1 to %d decode workers are possible", SERVING_MAX_WORKERS);
		return 0;
	}
	o.trace = NULL; /* lengths of its own */
	o.prompt = (struct lengths){LENGTHS_UNIFORM, 128, 1024, 0};
	o.n_prefill *= 2;
	o.per_s = service_capacity(&o) * 0.6;
	err = serving_run(t, &o, NULL, NULL, &r);
	if (!err) {
		trial_value(t, "JFI_KV", stats_jfi(r.decode_bytes, o.n_decode), o.n_decode);
		trial_value(t, "JFI_busy", stats_jfi(r.decode_busy, o.n_decode), o.n_decode);
		trial_value(t, "JFI_decode", stats_jfi(r.decode_tokens, o.n_decode), o.n_decode);
		trial_model(t, "JFI_decode", 1, "");
		service_add_offered(t, &r);
		trial_value(t, "max_min_KV", stats_max_min(r.decode_bytes, o.n_decode), o.n_decode);
		trial_value(t, "max_min_busy", stats_max_min(r.decode_busy, o.n_decode),
			    o.n_decode);
		trial_value(t, "max_min_TPS", stats_max_min(r.decode_tokens, o.n_decode),
			    o.n_decode);
	}
	serving_fini(&r);
	return err;
}

const struct test test_9_4 = {
	INFERENCE_CLAUSE("9.4"),
	.name = "Jain Fairness Index for Decode Worker Utilization",
	.dut = "SUT-E",
	.headline = "",
	.summary = "How evenly the KV-aware router fills decode workers; busy means steps with a "
		   "batch, since GPUs are emulated.",
	.needs = NEED_TWO_SERVERS,
	.trials = {1, 10, 20},
	.seconds = {4, 20, 60},
	.params = PARAMS(PARAM("decode", PARAM_COUNT, "", "decode workers; GPUs play several",
			       "2,8", "8,16,32", "8,16,32,64")),
	.kpis = KPIS(
		{"JFI_KV", "", "SUT-E", "Jain's index of bytes of cache received", BETTER_HIGHER,
		 0},
		{"JFI_busy", "", "SUT-E", "of the share of steps with a batch", BETTER_HIGHER, 0},
		{"JFI_decode", "", "SUT-E", "of output tokens", BETTER_HIGHER, 0},
		{"max_min_KV", "", "SUT-E", "most over least, bytes", BETTER_LOWER, 0},
		{"max_min_busy", "", "SUT-E", "most over least, share of steps", BETTER_LOWER, 0},
		{"max_min_TPS", "", "SUT-E", "most over least, tokens", BETTER_LOWER, 0},
		KPI_OFFERED, KPI_MODEL("JFI_decode", "")),
	.views = VIEWS({VIEW_FIELDS(VIEW_LINES, "Fairness over decode workers", "decode",
				    "strategy", NULL, "JFI_KV"),
			.log_x = true},
		       VIEW(VIEW_TABLE, "Fairness", "decode", "strategy", NULL, "JFI_KV",
			    "JFI_busy", "JFI_decode", "max_min_KV", "max_min_busy", "max_min_TPS",
			    "model", "model_ratio")),
	.run = decode_fairness_run,
};
