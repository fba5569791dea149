/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo_rate.c - the link rate at which this machine is not what limits: found by the demo's
 * heaviest traffic, before anything is measured.
 */
#include <errno.h>
#include <stdio.h>

#include "demo.h"
#include "rate_search.h"

#define DEMO_UNLOADED_NS UINT64_C(500000000)
#define DEMO_OTHERS_NS	 UINT64_C(20000000000)
#define DEMO_SEARCH_S	 0.3

/*
 * A round of the all-to-all takes as long at any rate: what a lower rate takes away is bytes. So
 * trials take as long, and hold as many rounds, as at the rate for which 256 tokens were chosen.
 */
#define DEMO_TOKENS	    256u
#define DEMO_TOKENS_AT_MBPS 160u

static unsigned demo_tokens(unsigned mbps)
{
	unsigned tokens = DEMO_TOKENS * mbps / DEMO_TOKENS_AT_MBPS;

	return tokens > DEMO_TOKENS ? DEMO_TOKENS : tokens ? tokens : 1;
}

unsigned demo_rate_mbps(const struct topo *topo)
{
	return (unsigned)(topo->gpus[0].plane[0].sub_port[0].rate_bps / 1000000);
}

/*
 * What is idle while the daemons run and nothing is sent. Where that is less than what a rate aims
 * at, somebody else uses the machine, and gets some time to end.
 */
static int demo_rate_unloaded(struct demo *demo, struct cpu_idle *idle)
{
	uint64_t end_ns = cluster_now_ns() + DEMO_OTHERS_NS;
	int err;

	do
		err = demo_idle_for(demo, DEMO_UNLOADED_NS, idle);
	while (!err && idle->mean_percent < RATE_SEARCH_AIM_PERCENT && cluster_now_ns() < end_ns);
	return err;
}

/* One strategy's all-to-all at the rate in force. The least idle of all counts. */
static int demo_rate_strategy(struct demo *demo, enum strategy strategy, struct rate_step *step)
{
	struct ep_options ep = demo->ep;
	struct traffic_result one;
	int err;

	ep.traffic.strategy = strategy;
	ep.measure_s = DEMO_SEARCH_S;
	err = ep_run(demo->cluster, demo->topo, &ep, 0, &one);
	if (err)
		return err;
	fprintf(stderr,
		"farebench demo: %u Mb/s a sub-port: %.0f%% of the machine idle under all-to-all "
		"by %s\n",
		step->mbps, one.idle.mean_percent, strategy_name(strategy));
	err = result_append(demo->result, "rate_steps",
			    json_pack("{s:i, s:s, s:f, s:f, s:f}", "sub_port_mbps", (int)step->mbps,
				      "strategy", strategy_name(strategy), "idle_cpu_percent",
				      one.idle.mean_percent, "idle_busiest_core_percent",
				      one.idle.busiest_core_percent, "ratio",
				      one.goodput_bps / one.optimum_bps));
	if (one.idle.mean_percent < step->idle_percent) {
		step->idle_percent = one.idle.mean_percent;
		step->of_optimum = one.goodput_bps / one.optimum_bps;
	}
	if (one.idle.busiest_core_percent < step->core_percent)
		step->core_percent = one.idle.busiest_core_percent;
	return err;
}

/* The strategies that fill the links cost the most; the kernel's reach about half of that. */
static int demo_rate_measure(struct demo *demo, struct rate_step *step)
{
	bool any = demo->wanted[STRATEGY_FARE_FLOW] || demo->wanted[STRATEGY_FARE_PACKET];
	int err = 0;

	*step = (struct rate_step){
		.mbps = demo_rate_mbps(demo->topo), .idle_percent = 100, .core_percent = 100};
	demo->ep.moe.tokens = demo_tokens(step->mbps);
	for (int s = 0; !err && s < STRATEGY_COUNT; s++)
		if (strategy_mode((enum strategy)s) != FARE_MODE_KERNEL &&
		    (demo->wanted[s] || (s == STRATEGY_FARE_SPRAY && !any)))
			err = demo_rate_strategy(demo, (enum strategy)s, step);
	return err;
}

static int demo_rate_set(const struct demo *demo, unsigned mbps)
{
	char words[32];

	snprintf(words, sizeof(words), "all %u", mbps);
	return lab_do_words(&demo->lab, "rate", words);
}

static void demo_rate_too_slow(const struct rate_step *step, const struct cpu_idle *unloaded)
{
	fprintf(stderr,
		"farebench demo: this machine is too slow or too busy. At %u Mb/s a sub-port, the "
		"slowest useful rate,\n"
		"%.0f%% of the machine is idle under all-to-all traffic (least idle core: %.0f%%), "
		"and %.0f%% must be.\n"
		"Without traffic %.0f%% is idle. Stop what else runs, or take a machine with more "
		"or "
		"faster cores.\n",
		step->mbps, step->idle_percent, step->core_percent, RATE_SEARCH_IDLE_PERCENT,
		unloaded->mean_percent);
}

int demo_rate(struct demo *demo)
{
	unsigned slowest = rate_search_slowest_mbps(demo->topo->n_gpus - 1), next;
	enum rate_verdict verdict = RATE_LOWER;
	struct cpu_idle unloaded;
	struct rate_step step;
	int err;

	demo->given_mbps = demo_rate_mbps(demo->topo);
	/* who brings up a slower lab wants it so */
	slowest = demo->given_mbps < slowest ? demo->given_mbps : slowest;
	err = demo_rate_unloaded(demo, &unloaded);
	demo->unloaded_core_percent = unloaded.busiest_core_percent;
	while (!err && verdict == RATE_LOWER) {
		err = demo_rate_measure(demo, &step);
		if (!err)
			verdict = rate_search_next(&step, unloaded.mean_percent, slowest, &next);
		if (!err && verdict == RATE_LOWER)
			err = demo_rate_set(demo, next);
		if (!err && verdict == RATE_LOWER)
			err = demo_refresh(demo);
	}
	if (err)
		return err;
	if (verdict == RATE_TOO_SLOW)
		demo_rate_too_slow(&step, &unloaded);
	if (verdict == RATE_TOO_SLOW && !demo->even_busy)
		return -EBUSY;
	return result_set(
		demo->result, "rate",
		json_pack("{s:i, s:i, s:i, s:f, s:f, s:f, s:f}", "sub_port_mbps", (int)step.mbps,
			  "given_mbps", (int)demo->given_mbps, "slowest_mbps", (int)slowest,
			  "idle_cpu_percent", step.idle_percent, "idle_busiest_core_percent",
			  step.core_percent, "unloaded_idle_cpu_percent", unloaded.mean_percent,
			  "wanted_idle_cpu_percent", RATE_SEARCH_IDLE_PERCENT));
}

int demo_rate_restore(const struct demo *demo)
{
	if (!demo->topo || !demo->given_mbps || demo_rate_mbps(demo->topo) == demo->given_mbps)
		return 0;
	return demo_rate_set(demo, demo->given_mbps);
}
