/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "procedure/service.h"
#include "suite/kpis.h"

static int one(struct trial *t, bool aware, struct serving_result *r)
{
	struct serving_options o = service_usual(t);

	o.prefix_share = trial_number(t, "share") / 100;
	o.prefix_tokens = trial_count(t, "prefix");
	o.trace = NULL; /* lengths of its own */
	o.prompt = (struct lengths){LENGTHS_UNIFORM, 64, 512, 0};
	o.per_s = 8;
	o.prefix_aware = aware;
	return serving_run(t, &o, NULL, NULL, r);
}

static void prefix_compare(struct trial *t, const struct serving_result *with,
			   const struct serving_result *without)
{
	trial_value(t, "Prefix_hit_rate",
		    with->prefix_lookups
			    ? 100.0 * (double)with->prefix_hits / (double)with->prefix_lookups
			    : 0,
		    with->prefix_lookups);
	trial_value(t, "bandwidth_reduction", 100 * (1 - with->kv_bytes / without->kv_bytes),
		    with->requests);
	trial_value(t, "TTFT_reduction", (hist_mean(&without->ttft) - hist_mean(&with->ttft)) / 1e6,
		    with->requests);
	trial_value(t, "TPS_improvement",
		    100 * ((double)with->output_tokens / with->seconds /
				   ((double)without->output_tokens / without->seconds) -
			   1),
		    with->requests);
}

/* The same requests (one seed), with reuse and without, one after the other. */
static int prefix_run(struct trial *t)
{
	struct serving_result without = {0}, with = {0};
	int err = one(t, false, &without);

	if (!err)
		err = one(t, true, &with);
	if (!err)
		prefix_compare(t, &with, &without);
	serving_fini(&without);
	serving_fini(&with);
	return err;
}

static const struct param params[] = {
	PARAM("share", PARAM_COUNT, "%", "of requests that have a common prefix", "25,90",
	      "25,50,75,90"),
	PARAM("prefix", PARAM_COUNT, "tokens", "of the prefix", "256,2048", "256,512,1024,2048"),
	LIST_END};

static const struct kpi kpis[] = {
	{"Prefix_hit_rate", "%", "SUT-E", "of lookups", BETTER_HIGHER, 0},
	{"bandwidth_reduction", "%", "DUT-PD", "bytes of cache that were not sent", BETTER_HIGHER,
	 0},
	{"TTFT_reduction", "ms", "SUT-E", "of the mean", BETTER_HIGHER, 0},
	{"TPS_improvement", "%", "SUT-E", "of output tokens", BETTER_HIGHER, 0},
	LIST_END};

static const struct view views[] = {
	VIEW(VIEW_HEAT, "Bandwidth saved", "prefix", "share", "strategy", "bandwidth_reduction"),
	VIEW(VIEW_TABLE, "Prefix cache", "share", "prefix", "strategy", "Prefix_hit_rate",
	     "bandwidth_reduction", "TTFT_reduction", "TPS_improvement"),
	VIEWS_END};

const struct test test_9_2 = {
	.id = "9.2",
	.name = "Prefix-Aware Cache Hit Rate",
	.clause = DRAFT "9.2",
	.dut = "SUT-E",
	.summary = "16 prefixes, 8 of which a decode worker keeps (least recently used goes); the "
		   "same "
		   "requests with reuse and without. Compute emulated.",
	.needs = NEED_TWO_SERVERS,
	.trials = {1, 10, 20},
	.seconds = {2.5, 15, 60},
	.params = params,
	.kpis = kpis,
	.views = views,
	.run = prefix_run,
};
