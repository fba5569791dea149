/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "procedure/service.h"
#include "suite/kpis.h"
#include "workload/custom.h"

/* One with ids of blocks; NULL: prefixes are drawn. */
static const struct trace *prefix_trace(void)
{
	const struct trace *trace = custom_trace();

	return trace && trace->block ? trace : NULL;
}

static bool prefix_ignores(const char *param)
{
	return prefix_trace() && strcmp(param, "prefix_router") != 0;
}

/* Requests at so much of what prefill can compute without reuse. */
static int one(struct trial *t, bool aware, double load, struct serving_result *r)
{
	struct serving_options o = service_usual(t);

	if (prefix_trace()) {
		o.reuse = true;
		o.per_s = load * service_capacity(&o);
	} else {
		o.prefix_share = trial_number(t, "share") / 100;
		o.prefix_tokens = trial_count(t, "prefix");
		o.trace = NULL; /* lengths of its own */
		o.prompt = (struct lengths){LENGTHS_UNIFORM, 64, 512, 0};
		o.per_s = load * o.n_prefill /
			  model_prefill_s(o.model, (o.prompt.min + o.prompt.max) / 2. +
							   o.prefix_share * o.prefix_tokens);
	}
	if (aware)
		o.router = strcmp(trial_text(t, "prefix_router"), "prefix-load") == 0
				   ? ROUTER_PREFIX_LOAD
				   : ROUTER_PREFIX;
	return serving_run(t, &o, NULL, NULL, r);
}

/* Below the capacity the router changes latencies and bytes; beyond it, tokens a second. */
static void prefix_compare(struct trial *t, struct serving_result r[2][2])
{
	const struct serving_result *with = &r[0][1], *without = &r[0][0];
	struct service_prefix gain = service_prefix(without, with, &r[1][0], &r[1][1]);

	trial_value(t, "Prefix_cache_hit_rate", gain.hit_percent, with->prefix_lookups);
	trial_value(t, "hit_rate_unaware", gain.hit_unaware_percent, without->prefix_lookups);
	trial_value(t, "bandwidth_reduction", gain.saved_percent, with->requests);
	trial_value(t, "TTFT_reduction", gain.ttft_saved_ms, with->requests);
	trial_value(t, "TPS_improvement", gain.tokens_more_percent, r[1][1].output_tokens);
	service_add_offered(t, with);
	/* of the same look-ups what hits where nothing is ever forgotten and all share it */
	trial_model(t, "Prefix_cache_hit_rate",
		    100 * (double)with->prefix_repeats / (double)with->prefix_lookups,
		    "no look-up");
}

/* The same requests (one seed) by both routers, at half of the capacity and beyond it. */
static int prefix_run(struct trial *t)
{
	static const double load[2] = {0.5, 1.5};
	struct serving_result r[2][2] = {0};
	int err = 0;

	for (int i = 0; !err && i < 4; i++)
		err = one(t, i % 2, load[i / 2], &r[i / 2][i % 2]);
	if (!err)
		prefix_compare(t, r);
	for (int i = 0; i < 4; i++)
		serving_fini(&r[i / 2][i % 2]);
	return err;
}

const struct test test_9_2 = {
	INFERENCE_CLAUSE("9.2"),
	.name = "Prefix-Aware Cache Hit Rate",
	.dut = "SUT-E",
	.headline = "",
	.summary = "16 prefixes, 8 of which a worker keeps (least recently used goes); the same "
		   "requests routed to workers that have their prefix, and by queue and memory "
		   "alone. A prefill worker does not compute what it has, and a decode worker is "
		   "not sent it. Compute emulated.",
	.needs = NEED_TWO_SERVERS,
	.trials = {1, 10, 20},
	.seconds = {2.5, 15, 60},
	.params = PARAMS(PARAM("share", PARAM_COUNT, "%", "of requests that have a common prefix",
			       "25,90", "25,50,75,90"),
			 PARAM("prefix", PARAM_COUNT, "tokens", "of the prefix", "256,2048",
			       "256,512,1024,2048"),
			 PARAM("prefix_router", PARAM_NAME, "",
			       "prefix: the worker that has most of it, whatever its load; "
			       "prefix-load: where least is left to compute, with what waits there "
			       "and without what is there",
			       "prefix", "prefix,prefix-load")),
	.ignores = prefix_ignores,
	.kpis = KPIS(
		{"Prefix_cache_hit_rate", "%", "SUT-E", "of look-ups at decode workers",
		 BETTER_HIGHER, 0},
		{"hit_rate_unaware", "%", "SUT-E", "the same by a router that looks at no prefix",
		 BETTER_NONE, 0},
		{"bandwidth_reduction", "%", "DUT-PD",
		 "bytes of cache that were not sent, against the router that looks at no prefix",
		 BETTER_HIGHER, 0},
		{"TTFT_reduction", "ms", "SUT-E", "of the mean, at half of the capacity",
		 BETTER_HIGHER, 0},
		{"TPS_improvement", "%", "SUT-E",
		 "of output tokens, with more requests than can be served", BETTER_HIGHER, 0},
		KPI_OFFERED, KPI_MODEL("Prefix_cache_hit_rate", "%")),
	.views = VIEWS(VIEW(VIEW_HEAT, "Bandwidth saved", "prefix", "share", "strategy",
			    "bandwidth_reduction"),
		       VIEW(VIEW_TABLE, "Prefix cache", "share", "prefix", "strategy",
			    "Prefix_cache_hit_rate", "hit_rate_unaware", "bandwidth_reduction",
			    "TTFT_reduction", "TPS_improvement", "model", "model_ratio")),
	.run = prefix_run,
};
