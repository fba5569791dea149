/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo_parts.c - what the demo measures: steady goodput and verdicts, time to shift, daemons
 * killed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demo.h"
#include "optimum.h"
#include "shift.h"

#define DEMO_SHIFT_BEFORE_NS 300000000u	 /* traffic before the fault */
#define DEMO_SHIFT_AFTER_NS  1500000000u /* and after it */
#define DEMO_SETTLE_NS	     500000000u
#define DEMO_TIMELINE_NS     25000000u /* of a bin: finer ones show messages, not goodput */

static bool demo_wanted(const struct demo *demo, const struct demo_scenario *scenario)
{
	return !demo->only || strcmp(demo->only, scenario->name) == 0;
}

/* ---- steady goodput
 * ------------------------------------------------------------------------------------- */

static int demo_measure(struct demo *demo, const struct demo_scenario *scenario,
			enum strategy strategy, bool is_kv)
{
	struct result_entry entry = {.scenario = scenario->name,
				     .test = is_kv ? "kv" : "ep",
				     .strategy = strategy,
				     .size_bytes = is_kv ? demo->kv.size_bytes : 0};
	unsigned per_sub_port;
	int err;

	demo->kv.traffic.strategy = strategy;
	demo->ep.traffic.strategy = strategy;
	err = traffic_qps(demo->topo, &demo->kv.traffic, &entry.qps, &per_sub_port);
	progress_step(&demo->progress, "%s: %s by %s", scenario->title,
		      is_kv ? "KV transfer" : "MoE all-to-all", strategy_name(strategy));
	for (unsigned i = 0; !err && i < demo->n; i++) {
		struct traffic_result one;

		err = is_kv ? kv_run(demo->cluster, demo->topo, &demo->kv, &one)
			    : ep_run(demo->cluster, demo->topo, &demo->ep, i, &one);
		if (!err)
			err = result_sample(&entry, &one);
	}
	return err ? err : result_add_run(demo->result, &entry);
}

/* The verdict that the scenario calls for, seen from GPU 0 toward the one that suffers. */
static const char *demo_expected_verdict(const struct demo *demo)
{
	const struct topo *topo = demo->topo;

	if (topo_live_sub_ports(topo, demo->kv.src, demo->plane) == 0)
		return "local-down";
	return optimum_path_bps(topo, demo->kv.src, demo->kv.dst, demo->plane) ? "ok" : "no-route";
}

static int demo_why(struct demo *demo, const struct demo_scenario *scenario)
{
	const char *expected = demo_expected_verdict(demo);
	char verdict[64], *text;
	int err = lab_why(&demo->lab, demo->topo, demo->kv.src, demo->kv.dst, demo->plane, verdict,
			  sizeof(verdict), &text);

	if (err)
		return err;
	err = result_append(demo->result, "why",
			    json_pack("{s:s, s:s, s:i, s:s, s:s, s:b, s:s}", "scenario",
				      scenario->name, "peer",
				      topo_gpu_address(demo->topo, demo->kv.dst), "plane",
				      (int)demo->plane, "verdict", verdict, "expected", expected,
				      "right", strcmp(verdict, expected) == 0, "text", text));
	free(text);
	if (!err && strcmp(verdict, expected) != 0) {
		fprintf(stderr, "farebench demo: %s: farectl says %s, and %s is right\n",
			scenario->name, verdict, expected);
		err = -EBADE;
	}
	return err;
}

/*
 * Changing the kernel's weights takes bgpd a while: scenarios take turns in which kind of weights
 * comes first, so that there is one change per scenario. Measurements are sorted afterwards.
 */
static int demo_steady_scenario(struct demo *demo, const struct demo_scenario *scenario)
{
	enum strategy order[STRATEGY_COUNT] = {STRATEGY_FARE_PACKET, STRATEGY_FARE_SPRAY,
					       STRATEGY_FARE_FLOW, STRATEGY_WECMP_KERNEL,
					       STRATEGY_ECMP};
	int err;

	if (demo->weights == 1) { /* equal weights are in force: begin with those who want them */
		order[3] = STRATEGY_ECMP;
		order[4] = STRATEGY_WECMP_KERNEL;
	}
	err = demo_fault(demo, scenario, true);
	if (!err)
		err = demo_why(demo, scenario);
	/* after a fault the weights must be seen again before the kernel's strategies are measured
	 */
	if (!err)
		err = lab_weights(&demo->lab, demo->topo, demo->weights == 1);
	for (int i = 0; !err && i < STRATEGY_COUNT; i++) {
		if (!demo->wanted[order[i]])
			continue;
		err = demo_weights(demo, order[i]);
		if (!err)
			err = demo_measure(demo, scenario, order[i], true);
		if (!err)
			err = demo_measure(demo, scenario, order[i], false);
	}
	return err ? err : demo_fault(demo, scenario, false);
}

int demo_steady(struct demo *demo)
{
	int err = 0;

	for (int i = 0; !err && i < DEMO_SCENARIOS; i++)
		if (demo_wanted(demo, &demo->scenario[i]))
			err = demo_steady_scenario(demo, &demo->scenario[i]);
	return err ? err : result_sort_runs(demo->result);
}

/* ---- time to shift
 * -------------------------------------------------------------------------------------- */

struct demo_trial {
	double shift_ms[RESULT_MAX_N], gap_ms[RESULT_MAX_N], settled_ratio[RESULT_MAX_N];
	unsigned n;
};

static int demo_shift_traffic(struct demo *demo, const struct demo_scenario *scenario,
			      uint64_t *inject_ns, uint64_t *end_ns, uint64_t **times, size_t *n)
{
	struct traffic_result sums = {0};
	int err = kv_begin(demo->cluster, demo->topo, &demo->shift_kv);

	if (!err)
		err = cluster_sleep_until(demo->cluster, cluster_now_ns() + DEMO_SHIFT_BEFORE_NS);
	*inject_ns = cluster_now_ns();
	if (!err)
		err = lab_do_words(&demo->lab, "fail", scenario->fault);
	*end_ns = *inject_ns + DEMO_SHIFT_AFTER_NS;
	if (!err)
		err = cluster_sleep_until(demo->cluster, *end_ns);
	return err ? err : kv_end(demo->cluster, &demo->shift_kv, &sums, times, n);
}

/* Goodput of every bin around the fault, of what the whole fabric allowed before it. */
static int demo_shift_timeline(struct demo *demo, const struct demo_scenario *scenario,
			       double optimum_bps, const uint64_t *times, size_t n,
			       uint64_t inject_ns, uint64_t end_ns)
{
	const double message_bits = (double)demo->shift_kv.size_bytes * 8;
	uint64_t begin_ns = inject_ns - DEMO_SHIFT_BEFORE_NS / 2; /* warmed up */
	json_t *bins = json_array();

	for (uint64_t from = begin_ns; bins && from + DEMO_TIMELINE_NS <= end_ns;
	     from += DEMO_TIMELINE_NS) {
		double messages = traffic_progress(times, n, from + DEMO_TIMELINE_NS) -
				  traffic_progress(times, n, from);

		json_array_append_new(bins, json_real(messages * message_bits /
						      (DEMO_TIMELINE_NS / 1e9) / optimum_bps));
	}
	return result_append(demo->result, "shift_timeline",
			     json_pack("{s:s, s:s, s:f, s:f, s:o}", "scenario", scenario->name,
				       "strategy", strategy_name(demo->shift_kv.traffic.strategy),
				       "from_ms", -(double)(inject_ns - begin_ns) / 1e6, "bin_ms",
				       DEMO_TIMELINE_NS / 1e6, "of_optimum", bins));
}

static double demo_shift_optimum(const struct demo *demo)
{
	return (double)optimum_pair_bps(demo->topo, demo->shift_kv.src, demo->shift_kv.dst) *
	       optimum_goodput_factor(demo->topo);
}

static int demo_shift_trial(struct demo *demo, const struct demo_scenario *scenario,
			    struct demo_trial *trial)
{
	uint64_t inject_ns, end_ns, *times;
	struct shift shift;
	double optimum = demo_shift_optimum(demo);
	size_t n;
	int err = demo_shift_traffic(demo, scenario, &inject_ns, &end_ns, &times, &n);

	if (err)
		return err;
	err = shift_analyse(times, n, demo->shift_kv.size_bytes, inject_ns, end_ns, DEMO_SETTLE_NS,
			    &shift);
	if (!err && trial->n == 0)
		err = demo_shift_timeline(demo, scenario, optimum, times, n, inject_ns, end_ns);
	free(times);
	if (!err)
		err = demo_fault(demo, &demo->scenario[0],
				 true); /* no fault more: reads the topology as it is */
	if (err)
		return err;
	optimum = demo_shift_optimum(demo);
	trial->shift_ms[trial->n] = shift.shift_ms;
	trial->gap_ms[trial->n] = shift.longest_gap_ms;
	trial->settled_ratio[trial->n++] = optimum > 0 ? shift.settled_bps / optimum : 0;
	err = demo_fault(demo, scenario, false);
	/* healed for the daemons is not yet healed for the kernel: sessions come back one by one */
	return err ? err : lab_weights(&demo->lab, demo->topo, demo->weights == 1);
}

static int demo_shift_strategy(struct demo *demo, const struct demo_scenario *scenario,
			       enum strategy strategy)
{
	struct demo_trial trial = {.n = 0};
	int err = demo_weights(demo, strategy);

	demo->shift_kv.traffic.strategy = strategy;
	progress_step(&demo->progress, "%s in mid-transfer: %s", scenario->title,
		      strategy_name(strategy));
	for (unsigned i = 0; !err && i < demo->n_shift; i++)
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

static int demo_chaos_trial(struct demo *demo)
{
	struct kv_options *kv = &demo->shift_kv;
	struct traffic_result sums = {0};
	uint64_t from, to, *times;
	double optimum = demo_shift_optimum(demo), verified;
	size_t n;
	int err = kv_begin(demo->cluster, demo->topo, kv);

	if (!err)
		err = cluster_sleep_until(demo->cluster, cluster_now_ns() + DEMO_SHIFT_BEFORE_NS);
	from = cluster_now_ns();
	if (!err)
		err = demo_chaos_faults(demo);
	to = cluster_now_ns();
	/* kv_end() fails unless every message posted was completed, verified and credited exactly
	 * once */
	if (!err)
		err = kv_end(demo->cluster, kv, &sums, &times, &n);
	if (err)
		return err;
	verified = traffic_progress(times, n, to) - traffic_progress(times, n, from);
	err = result_append(
		demo->result, "chaos",
		json_pack("{s:s, s:s, s:I, s:I, s:f, s:f, s:I}", "killed", "bgpd, then fared",
			  "strategy", strategy_name(kv->traffic.strategy), "messages",
			  (json_int_t)n, "messages_lost", (json_int_t)(sums.posted - sums.messages),
			  "longest_gap_ms", shift_longest_gap_ms(times, n, from, to), "ratio",
			  verified * (double)kv->size_bytes * 8e9 / (double)(to - from) / optimum,
			  "replayed_chunks", (json_int_t)sums.replayed));
	free(times);
	return err ? err : demo_fault(demo, &demo->scenario[0], false);
}

int demo_chaos(struct demo *demo)
{
	int err = demo_weights(demo, STRATEGY_WECMP_KERNEL);

	demo->shift_kv.traffic.strategy = STRATEGY_FARE_SPRAY;
	for (unsigned i = 0; !err && i < demo->n; i++) {
		progress_step(&demo->progress, "bgpd and fared killed in mid-transfer");
		err = demo_chaos_trial(demo);
	}
	return err;
}
