/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo_parts.c - what the demo measures beside goodput: time to shift, daemons killed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demo.h"
#include "optimum.h"
#include "shift.h"

#define DEMO_SHIFT_BEFORE_NS 300000000u	 /* traffic before the fault */
#define DEMO_SHIFT_AFTER_NS  1200000000u /* and after it */
#define DEMO_SETTLE_NS	     500000000u
#define DEMO_TIMELINE_NS     25000000u /* of a bin: finer ones show messages, not goodput */

/* ---- time to shift
 * -------------------------------------------------------------------------------------- */

struct demo_trial {
	double shift_ms[RESULT_MAX_N], gap_ms[RESULT_MAX_N], settled_ratio[RESULT_MAX_N];
	unsigned n;
};

/* One transfer with a fault in it. times is freed by who asked for it. */
struct demo_transfer {
	uint64_t inject_ns, end_ns;
	uint64_t *times;
	size_t n;
	struct cpu_idle idle;
};

static int demo_shift_traffic(struct demo *demo, const struct demo_scenario *scenario,
			      struct demo_transfer *t)
{
	struct traffic_result sums = {0};
	struct cpu_times before, after;
	int err = kv_begin(demo->cluster, demo->topo, &demo->shift_kv);

	if (!err)
		err = cpu_read(&before);
	if (!err)
		err = cluster_sleep_until(demo->cluster, cluster_now_ns() + DEMO_SHIFT_BEFORE_NS);
	t->inject_ns = cluster_now_ns();
	if (!err)
		err = lab_do_words(&demo->lab, "fail", scenario->fault);
	t->end_ns = t->inject_ns + DEMO_SHIFT_AFTER_NS;
	if (!err)
		err = cluster_sleep_until(demo->cluster, t->end_ns);
	if (!err)
		err = cpu_read(&after);
	if (!err)
		err = cpu_idle(&before, &after, &t->idle);
	return err ? err : kv_end(demo->cluster, &demo->shift_kv, &sums, &t->times, &t->n);
}

/* Goodput of every bin around the fault, of what the whole fabric allowed before it. */
static int demo_shift_timeline(struct demo *demo, const struct demo_scenario *scenario,
			       double optimum_bps, const struct demo_transfer *t)
{
	const double message_bits = (double)demo->shift_kv.size_bytes * 8;
	uint64_t begin_ns = t->inject_ns - DEMO_SHIFT_BEFORE_NS / 2; /* warmed up */
	json_t *bins = json_array();

	for (uint64_t from = begin_ns; bins && from + DEMO_TIMELINE_NS <= t->end_ns;
	     from += DEMO_TIMELINE_NS) {
		double messages = traffic_progress(t->times, t->n, from + DEMO_TIMELINE_NS) -
				  traffic_progress(t->times, t->n, from);

		json_array_append_new(bins, json_real(messages * message_bits /
						      (DEMO_TIMELINE_NS / 1e9) / optimum_bps));
	}
	return result_append(demo->result, "shift_timeline",
			     json_pack("{s:s, s:s, s:f, s:f, s:o}", "scenario", scenario->name,
				       "strategy", strategy_name(demo->shift_kv.traffic.strategy),
				       "from_ms", -(double)(t->inject_ns - begin_ns) / 1e6,
				       "bin_ms", DEMO_TIMELINE_NS / 1e6, "of_optimum", bins));
}

static double demo_shift_optimum(const struct demo *demo)
{
	return (double)optimum_pair_bps(demo->topo, demo->shift_kv.src, demo->shift_kv.dst) *
	       optimum_goodput_factor(demo->topo);
}

/* The fault is in force, before and after this. */
static int demo_shift_record(struct demo *demo, const struct demo_scenario *scenario,
			     const struct demo_transfer *t, struct demo_trial *trial)
{
	double optimum = demo_shift_optimum(demo); /* of the fabric before the fault */
	struct shift shift;
	int err = shift_analyse(t->times, t->n, demo->shift_kv.size_bytes, t->inject_ns, t->end_ns,
				DEMO_SETTLE_NS, &shift);

	if (!err && trial->n == 0)
		err = demo_shift_timeline(demo, scenario, optimum, t);
	if (!err)
		err = demo_fault(demo, &demo->scenario[0], true); /* reads the topology as it is */
	if (err)
		return err;
	optimum = demo_shift_optimum(demo);
	trial->shift_ms[trial->n] = shift.shift_ms;
	trial->gap_ms[trial->n] = shift.longest_gap_ms;
	trial->settled_ratio[trial->n++] = optimum > 0 ? shift.settled_bps / optimum : 0;
	return 0;
}

/* Recorded if it counts; the fault is healed if it does not, too, and if none will: -EBUSY. */
static int demo_shift_trial(struct demo *demo, const struct demo_scenario *scenario,
			    struct demo_trial *trial)
{
	struct demo_transfer t;
	int err = demo_shift_traffic(demo, scenario, &t), busy;
	bool counts;

	if (err)
		return err;
	busy = demo_counts(demo, &t.idle, &counts);
	if (counts)
		err = demo_shift_record(demo, scenario, &t, trial);
	free(t.times);
	if (!err)
		err = demo_fault(demo, scenario, false);
	/* healed for the daemons is not yet healed for the kernel: sessions come back one by one */
	if (!err)
		err = lab_weights(&demo->lab, demo->topo, demo->weights == 1);
	return err ? err : busy;
}

static int demo_shift_strategy(struct demo *demo, const struct demo_scenario *scenario,
			       enum strategy strategy)
{
	struct demo_trial trial = {.n = 0};
	int err = demo_weights(demo, strategy);

	demo->shift_kv.traffic.strategy = strategy;
	progress_step(&demo->progress, "%s in mid-transfer: %s", scenario->title,
		      strategy_name(strategy));
	while (!err && trial.n < demo->n_shift)
		err = demo_shift_trial(demo, scenario, &trial);
	return err ? err
		   : result_add_shift(demo->result, scenario->name, strategy, trial.shift_ms,
				      trial.gap_ms, trial.settled_ratio, trial.n);
}

int demo_shifts(struct demo *demo)
{
	int err = 0;

	/* all scenarios with one kind of weights, then the other: one change in all */
	for (int s = STRATEGY_COUNT - 1; !err && s >= 0; s--)
		for (int i = 1; !err && i < DEMO_SCENARIOS; i++)
			if (demo->wanted[s] && demo_wanted(demo, &demo->scenario[i]))
				err = demo_shift_strategy(demo, &demo->scenario[i],
							  (enum strategy)s);
	return err;
}

/* ---- chaos
 * ---------------------------------------------------------------------------------------------- */

/* bgpd, then fared of the sender's server die while messages fly, and come back while they still
 * do. */
static int demo_chaos_faults(struct demo *demo)
{
	static const char *const daemons[] = {"bgpd", "fared"};
	const char *server = demo->topo->servers[demo->topo->gpus[demo->shift_kv.src].server].name;
	int err = 0;

	for (int i = 0; !err && i < 4; i++) {
		const char *args[] = {daemons[i % 2], server, NULL};

		err = lab_do(&demo->lab, i < 2 ? "fail" : "heal", args);
		if (!err)
			err = cluster_sleep_until(demo->cluster, cluster_now_ns() + DEMO_SETTLE_NS);
	}
	return err;
}

static int demo_chaos_record(struct demo *demo, const struct traffic_result *sums,
			     const struct demo_transfer *t)
{
	const struct kv_options *kv = &demo->shift_kv;
	uint64_t from = t->inject_ns, to = t->end_ns;
	double verified =
		traffic_progress(t->times, t->n, to) - traffic_progress(t->times, t->n, from);

	return result_append(
		demo->result, "chaos",
		json_pack("{s:s, s:s, s:I, s:I, s:f, s:f, s:I}", "killed", "bgpd, then fared",
			  "strategy", strategy_name(kv->traffic.strategy), "messages",
			  (json_int_t)t->n, "messages_lost",
			  (json_int_t)(sums->posted - sums->messages), "longest_gap_ms",
			  shift_longest_gap_ms(t->times, t->n, from, to), "ratio",
			  verified * (double)kv->size_bytes * 8e9 / (double)(to - from) /
				  demo_shift_optimum(demo),
			  "replayed_chunks", (json_int_t)sums->replayed));
}

static int demo_chaos_trial(struct demo *demo, bool *counts)
{
	struct traffic_result sums = {0};
	struct cpu_times before, after;
	struct demo_transfer t;
	int err = kv_begin(demo->cluster, demo->topo, &demo->shift_kv), busy;

	if (!err)
		err = cluster_sleep_until(demo->cluster, cluster_now_ns() + DEMO_SHIFT_BEFORE_NS);
	t.inject_ns = cluster_now_ns();
	if (!err)
		err = cpu_read(&before);
	if (!err)
		err = demo_chaos_faults(demo);
	if (!err)
		err = cpu_read(&after);
	if (!err)
		err = cpu_idle(&before, &after, &t.idle);
	t.end_ns = cluster_now_ns();
	/* kv_end() fails unless every message posted was completed, verified and credited exactly
	 * once: also where the trial does not count */
	if (!err)
		err = kv_end(demo->cluster, &demo->shift_kv, &sums, &t.times, &t.n);
	if (err)
		return err;
	busy = demo_counts(demo, &t.idle, counts);
	if (*counts)
		err = demo_chaos_record(demo, &sums, &t);
	free(t.times);
	if (!err)
		err = demo_fault(demo, &demo->scenario[0], false);
	return err ? err : busy;
}

int demo_chaos(struct demo *demo)
{
	int err = demo_weights(demo, STRATEGY_WECMP_KERNEL);

	demo->shift_kv.traffic.strategy = STRATEGY_FARE_SPRAY;
	for (unsigned i = 0; !err && i < demo->n_chaos; i++) {
		progress_step(&demo->progress, "bgpd and fared killed in mid-transfer");
		for (bool counts = false; !err && !counts;)
			err = demo_chaos_trial(demo, &counts);
	}
	return err;
}
