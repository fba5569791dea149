/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo_rate.c - the link rate at which this machine is not what limits: found by the demo's
 * heaviest traffic, before anything is measured.
 */
#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "demo/demo.h"

#define WINDOW_BITS   (192u * 1024 * 8)
#define QUEUE_MS      100u
#define CORE_PERCENT  5. /* twice what makes a trial count: trial.h */
#define STEP_MBPS     5u
#define LEAST_STEP(m) ((m) / 10 * 9) /* a rate that misses by little is lowered by a tenth */

static unsigned whole_steps(double mbps)
{
	return mbps > 0 ? (unsigned)(mbps / STEP_MBPS) * STEP_MBPS : 0;
}

unsigned rate_search_slowest_mbps(unsigned peers)
{
	unsigned kbps = peers * (WINDOW_BITS / QUEUE_MS);

	return (kbps / 1000 / STEP_MBPS + 1) * STEP_MBPS;
}

enum rate_verdict rate_search_next(const struct rate_step *step, double unloaded_percent,
				   unsigned slowest_mbps, unsigned *next_mbps)
{
	double budget = unloaded_percent - RATE_SEARCH_AIM_PERCENT,
	       used = unloaded_percent - step->idle_percent;
	unsigned least_step = whole_steps(LEAST_STEP(step->mbps)), next = 0;

	if (step->idle_percent >= RATE_SEARCH_IDLE_PERCENT && step->core_percent >= CORE_PERCENT)
		return RATE_HOLDS;
	if (step->mbps <= slowest_mbps)
		return RATE_TOO_SLOW;
	if (budget > 0 && used > 0)
		next = whole_steps(step->mbps * step->of_optimum * budget / used);
	next = next > least_step ? least_step : next;
	*next_mbps = next > slowest_mbps ? next : slowest_mbps;
	return RATE_LOWER;
}

#define UNLOADED_NS UINT64_C(500000000)
#define OTHERS_NS   UINT64_C(20000000000)
#define SEARCH_S    0.3

struct rate {
	struct fabric fabric;
	const bool *wanted;
	json_t *steps;
	struct cpu_idle unloaded;
};

static unsigned rate_mbps(const struct topo *topo)
{
	return (unsigned)(topo->gpus[0].plane[0].sub_port[0].rate_bps / 1000000);
}

static int rate_set(const struct lab *lab, unsigned mbps)
{
	char args[32];

	snprintf(args, sizeof(args), "all %u", mbps);
	return lab_do_text(lab, "rate", args);
}

/*
 * What is idle while the daemons run and nothing is sent. Where that is less than what a rate aims
 * at, somebody else uses the machine, and gets some time to end.
 */
static int rate_unloaded(struct rate *r)
{
	uint64_t end_ns = clock_now_ns() + OTHERS_NS;
	struct cpu_times before;
	int err;

	do {
		err = cpu_read(&before);
		if (!err)
			err = cluster_sleep_until(r->fabric.cluster, clock_now_ns() + UNLOADED_NS);
		if (!err)
			err = cpu_idle_since(&before, &r->unloaded);
	} while (!err && r->unloaded.mean_percent < RATE_SEARCH_AIM_PERCENT &&
		 clock_now_ns() < end_ns);
	return err;
}

/* One strategy's all-to-all at the rate in force. The least idle of all counts. */
static int rate_strategy(struct rate *r, enum strategy strategy, struct rate_step *step)
{
	struct ep_options ep = demo_ep(r->fabric.topo, strategy);
	struct traffic_result one;
	int err;

	ep.measure_s = SEARCH_S;
	err = ep_run(r->fabric.cluster, r->fabric.topo, &ep, 0, &one);
	if (err)
		return err;
	fprintf(stderr,
		"farebench demo: %u Mb/s a sub-port: %.0f%% of the machine idle under all-to-all "
		"by %s\n",
		step->mbps, one.idle.mean_percent, strategy_name(strategy));
	json_array_append_new(r->steps,
			      json_pack("{s:i, s:s, s:f, s:f, s:f}", "sub_port_mbps",
					(int)step->mbps, "strategy", strategy_name(strategy),
					"idle_cpu_percent", one.idle.mean_percent,
					"idle_busiest_core_percent", one.idle.busiest_core_percent,
					"ratio", one.goodput_bps / one.optimum_bps));
	if (one.idle.mean_percent < step->idle_percent) {
		step->idle_percent = one.idle.mean_percent;
		step->of_optimum = one.goodput_bps / one.optimum_bps;
	}
	if (one.idle.busiest_core_percent < step->core_percent)
		step->core_percent = one.idle.busiest_core_percent;
	return 0;
}

/* The strategies that fill the links cost the most; the kernel's reach about half of that. */
static int rate_measure(struct rate *r, struct rate_step *step)
{
	bool any = r->wanted[STRATEGY_FARE_FLOW] || r->wanted[STRATEGY_FARE_PACKET];
	int err = 0;

	*step = (struct rate_step){
		.mbps = rate_mbps(r->fabric.topo), .idle_percent = 100, .core_percent = 100};
	for (int s = 0; !err && s < STRATEGY_COUNT; s++)
		if (strategy_mode((enum strategy)s) != FARE_MODE_KERNEL &&
		    (r->wanted[s] || (s == STRATEGY_FARE_SPRAY && !any)))
			err = rate_strategy(r, (enum strategy)s, step);
	return err;
}

static void rate_too_slow(const struct rate_step *step, const struct cpu_idle *unloaded)
{
	fprintf(stderr,
		"farebench demo: this machine is too slow or too busy. At %u Mb/s a sub-port, the "
		"slowest useful rate,\n"
		"%.0f%% of the machine is idle under all-to-all traffic (least idle core: %.0f%%), "
		"and %.0f%% must be.\n"
		"Without traffic %.0f%% is idle. Stop what else runs, or take a machine with more "
		"or faster cores.\n",
		step->mbps, step->idle_percent, step->core_percent, RATE_SEARCH_IDLE_PERCENT,
		unloaded->mean_percent);
}

/* Lower and lower, until one holds. */
static int rate_search(struct rate *r, unsigned slowest, struct rate_step *step,
		       enum rate_verdict *verdict)
{
	unsigned next;
	int err = rate_unloaded(r);

	*verdict = RATE_LOWER;
	while (!err && *verdict == RATE_LOWER) {
		err = rate_measure(r, step);
		if (err)
			break;
		*verdict = rate_search_next(step, r->unloaded.mean_percent, slowest, &next);
		if (*verdict != RATE_LOWER)
			break;
		err = rate_set(&r->fabric.lab, next);
		if (!err)
			err = fabric_settle(&r->fabric);
	}
	return err;
}

static json_t *rate_json(const struct rate *r, const struct rate_step *step, unsigned given,
			 unsigned slowest)
{
	return json_pack("{s:i, s:i, s:i, s:f, s:f, s:f, s:f, s:O}", "sub_port_mbps",
			 (int)step->mbps, "given_mbps", (int)given, "slowest_mbps", (int)slowest,
			 "idle_cpu_percent", step->idle_percent, "idle_busiest_core_percent",
			 step->core_percent, "unloaded_idle_cpu_percent", r->unloaded.mean_percent,
			 "wanted_idle_cpu_percent", RATE_SEARCH_IDLE_PERCENT, "steps", r->steps);
}

int demo_rate(const char *lab, const bool *wanted, bool even_busy, json_t **out)
{
	struct rate r = {.wanted = wanted, .steps = json_array()};
	enum rate_verdict verdict = RATE_HOLDS;
	unsigned given = 0, slowest = 0;
	struct rate_step step;
	int err = r.steps ? fabric_open(&r.fabric, lab) : -ENOMEM;

	if (!err)
		err = demo_cluster(&r.fabric);
	if (!err) {
		given = rate_mbps(r.fabric.topo);
		slowest = rate_search_slowest_mbps(r.fabric.topo->n_gpus - 1);
		/* who brings up a slower lab wants it so */
		slowest = given < slowest ? given : slowest;
		err = rate_search(&r, slowest, &step, &verdict);
	}
	*out = err ? json_pack("{s:i}", "given_mbps", (int)given)
		   : rate_json(&r, &step, given, slowest);
	if (!err && verdict == RATE_TOO_SLOW) {
		rate_too_slow(&step, &r.unloaded);
		err = even_busy ? 0 : -EBUSY;
	}
	fabric_close(&r.fabric);
	json_decref(r.steps);
	return err;
}

int demo_rate_restore(const char *name, const json_t *rate)
{
	json_int_t given = json_integer_value(json_object_get(rate, "given_mbps"));
	struct lab lab;

	if (!given || given == json_integer_value(json_object_get(rate, "sub_port_mbps")))
		return 0;
	lab_init(&lab, name);
	return rate_set(&lab, (unsigned)given);
}
