/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo_steady.c - goodput of every strategy in every scenario, in random order, and what farectl
 * says of the path that suffers.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demo.h"
#include "optimum.h"
#include "trial_order.h"

/* Those that stay below half of the optimum need more than twice as long for the same rounds. */
#define DEMO_KERNEL_EP_S 0.28 /* four rounds: the least that ep measures */

static int demo_run_trial(struct demo *demo, const struct trial_order *trial, bool is_kv,
			  struct traffic_result *out)
{
	struct ep_options ep = demo->ep;

	demo->kv.traffic.strategy = ep.traffic.strategy = trial->strategy;
	if (is_kv)
		return kv_run(demo->cluster, demo->topo, &demo->kv, out);
	if (strategy_mode(trial->strategy) == FARE_MODE_KERNEL)
		ep.measure_s = DEMO_KERNEL_EP_S;
	return ep_run(demo->cluster, demo->topo, &ep, trial->repetition, out);
}

/* Until it counts. */
static int demo_sample(struct demo *demo, const struct demo_scenario *scenario,
		       const struct trial_order *trial, struct result_entry *entry)
{
	struct traffic_result one;
	bool is_kv = trial->test == 0, counts = false;
	int err = demo_weights(demo, trial->strategy);

	progress_step(&demo->progress, "%s: %s by %s", scenario->title,
		      is_kv ? "KV transfer" : "MoE all-to-all", strategy_name(trial->strategy));
	while (!err && !counts) {
		err = demo_run_trial(demo, trial, is_kv, &one);
		if (!err)
			err = demo_counts(demo, &one.idle, &counts);
	}
	return err ? err : result_sample(entry, &one);
}

static int demo_entries(struct demo *demo, const struct demo_scenario *scenario,
			const struct trial_order *trials, unsigned n, struct result_entry *entries)
{
	unsigned qps, per_sub_port;
	int err = traffic_qps(demo->topo, &demo->kv.traffic, &qps, &per_sub_port);

	for (unsigned i = 0; !err && i < n; i++) {
		bool is_kv = trials[i].test == 0;
		struct result_entry *entry =
			&entries[trials[i].strategy * TRIAL_ORDER_TESTS + trials[i].test];

		entry->scenario = scenario->name;
		entry->test = is_kv ? "kv" : "ep";
		entry->strategy = trials[i].strategy;
		entry->size_bytes = is_kv ? demo->kv.size_bytes : 0;
		entry->qps = qps;
		err = demo_sample(demo, scenario, &trials[i], entry);
	}
	for (unsigned i = 0; !err && i < STRATEGY_COUNT * TRIAL_ORDER_TESTS; i++)
		if (entries[i].n)
			err = result_add_run(demo->result, &entries[i]);
	return err;
}

static int demo_measure(struct demo *demo, const struct demo_scenario *scenario)
{
	struct result_entry *entries =
		calloc((size_t)STRATEGY_COUNT * TRIAL_ORDER_TESTS, sizeof(*entries));
	struct trial_order *trials =
		calloc((size_t)STRATEGY_COUNT * TRIAL_ORDER_TESTS * demo->n, sizeof(*trials));
	unsigned n;
	int err = entries && trials ? 0 : -ENOMEM;

	if (!err) {
		n = trial_order_draw(demo->wanted, demo->n, demo->weights == 1, &demo->random,
				     trials);
		err = demo_entries(demo, scenario, trials, n, entries);
	}
	free(entries);
	free(trials);
	return err;
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

static int demo_steady_scenario(struct demo *demo, const struct demo_scenario *scenario)
{
	int err = demo_fault(demo, scenario, true), healed;

	if (!err)
		err = demo_why(demo, scenario);
	/* after a fault the weights must be seen again before the kernel's strategies are measured
	 */
	if (!err)
		err = lab_weights(&demo->lab, demo->topo, demo->weights == 1);
	if (!err)
		err = demo_measure(demo, scenario);
	if (err && err != -EBUSY)
		return err;
	healed = demo_fault(demo, scenario, false);
	return err ? err : healed;
}

int demo_steady(struct demo *demo)
{
	int err = 0;

	for (int i = 0; !err && i < DEMO_SCENARIOS; i++)
		if (demo_wanted(demo, &demo->scenario[i]))
			err = demo_steady_scenario(demo, &demo->scenario[i]);
	return err ? err : result_sort_runs(demo->result);
}
