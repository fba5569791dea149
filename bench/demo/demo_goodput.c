/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo_goodput.c - goodput of every strategy in every scenario, and what farectl says of the path
 * that suffers.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demo/demo.h"
#include "fabric/hash_model.h"
#include "fabric/optimum.h"
#include "suite/trial.h"

struct scenario {
	struct fabric *fabric;
	char name[ROW_NAME_MAX]; /* in force */
};

static void close_scenario(void *state)
{
	struct scenario *s = state;

	fabric_restore(s->fabric);
	free(s);
}

/* The verdict that the scenario calls for, seen from GPU 0 toward the one that suffers. */
static const char *expected_verdict(const struct topo *topo)
{
	if (topo_live_sub_ports(topo, 0, DEMO_PLANE) == 0)
		return "local-down";
	return optimum_path_bps(topo, 0, demo_victim(topo), DEMO_PLANE) ? "ok" : "no-route";
}

/* What the daemon says of the path that suffers has to be right. */
static int check_verdict(struct trial *t)
{
	const struct topo *topo = t->fabric->topo;
	const char *expected = expected_verdict(topo);
	char verdict[64], *text;
	int err = lab_why(&t->fabric->lab, topo, 0, demo_victim(topo), DEMO_PLANE, verdict,
			  sizeof(verdict), &text);

	if (err)
		return err;
	free(text);
	if (strcmp(verdict, expected) == 0) {
		trial_set_text(t, "verdict", verdict);
		return 0;
	}
	fprintf(stderr, "farebench: %s: farectl says %s, and %s is right\n",
		trial_text(t, "scenario"), verdict, expected);
	return -EBADE;
}

/* Heals what is in force, and breaks what is wanted. */
static int enter(struct trial *t)
{
	const char *wanted = trial_text(t, "scenario");
	struct scenario *s = *t->state;
	uint64_t at_ns;
	char spec[96];
	int err;

	if (!s) {
		s = calloc(1, sizeof(*s));
		if (!s)
			return -ENOMEM;
		s->fabric = t->fabric;
		*t->state = s;
	}
	if (strcmp(s->name, wanted) == 0)
		return 0;
	err = fabric_heal(t->fabric, &at_ns);
	demo_spec(t->fabric->topo, wanted, spec, sizeof(spec));
	if (!err && spec[0])
		err = fabric_fail(t->fabric, spec, &at_ns);
	if (!err)
		err = fabric_settle(t->fabric);
	if (!err)
		err = check_verdict(t);
	snprintf(s->name, sizeof(s->name), "%s", err ? "" : wanted);
	return err;
}

static void demo_goodput_add(struct trial *t, double bps, double optimum_bps, uint64_t messages)
{
	trial_value(t, "goodput", bps / 8e6, messages);
	trial_value(t, "optimum", optimum_bps / 8e6, 1);
	trial_value(t, "of_optimum", bps / optimum_bps, messages);
	trial_value(t, "idle", t->idle.mean_percent, 1);
	trial_value(t, "idle_busiest_core", t->idle.busiest_core_percent, 1);
}

/* What the two hashes on the way would leave of the optimum. */
static int add_model(struct trial *t, unsigned dst, unsigned qps)
{
	struct hash_model model = {.src = 0,
				   .dst = dst,
				   .flows = qps,
				   .striped = strategy_placement(t->strategy) == FARE_KERNEL_STRIPE,
				   .weighted = !strategy_equal_weights(t->strategy),
				   .draws = 1000,
				   .seed = t->seed};
	struct hash_model_share share;
	int err;

	if (strategy_mode(t->strategy) != FARE_MODE_KERNEL) {
		trial_missing(t, "model", "FARE hashes nothing");
		return 0;
	}
	if (strategy_placement(t->strategy) == FARE_KERNEL_HASH) {
		trial_missing(t, "model",
			      "a message waits for the QP that its hash names, and others have "
			      "nothing to do meanwhile: the model's flows always have something");
		return 0;
	}
	err = hash_model_run(&model, t->fabric->topo, &share);
	if (err)
		return err;
	trial_value(t, "model", share.median, model.draws);
	trial_value(t, "model_p10", share.p10, model.draws);
	trial_value(t, "model_p90", share.p90, model.draws);
	return 0;
}

static int kv(struct trial *t)
{
	unsigned dst = demo_victim(t->fabric->topo), qps = trial_count(t, "qps"), per_port;
	struct traffic_load load = trial_load(t, "kv", qps);
	struct plan plan = {0};
	struct measured m;
	int err = traffic_qps(t->fabric->topo, &load.options, &qps, &per_port);

	if (err)
		return err;
	plan_stream(&plan, plan_load(&plan, &load), 0, dst, trial_count(t, "depth"),
		    (uint64_t)trial_number(t, "size"));
	err = trial_measure(t, &plan, NULL, NULL, &m);
	plan_fini(&plan);
	if (err)
		return err;
	demo_goodput_add(t, m.load[0].bps, fabric_pair_bps(t->fabric, 0, dst), m.load[0].messages);
	measured_fini(&m);
	return add_model(t, dst, qps);
}

static int ep(struct trial *t)
{
	struct ep_options ep = demo_ep(t->fabric->topo, t->strategy);
	struct traffic_result one;
	int err = fabric_prepare(t->fabric, t->strategy);

	ep.traffic.qps = trial_count(t, "qps");
	ep.measure_s = t->seconds;
	if (!err)
		err = ep_run(t->fabric->cluster, t->fabric->topo, &ep, t->number, &one);
	if (err)
		return err;
	t->idle = one.idle;
	demo_goodput_add(t, one.goodput_bps, one.optimum_bps, one.messages);
	return 0;
}

static int demo_goodput_run(struct trial *t)
{
	int err;

	if (t->fabric->topo->n_planes < 2) {
		trial_missing(t, NULL, "the fabric has one plane");
		return 0;
	}
	err = demo_cluster(t->fabric);
	if (!err)
		err = enter(t);
	if (err)
		return err;
	return strcmp(trial_text(t, "traffic"), "kv") == 0 ? kv(t) : ep(t);
}

const struct test test_demo_goodput = {
	.id = "demo-goodput",
	.name = "How much of what the fabric can carry arrives",
	.clause = "draft-calabria-bmwg-ai-fabric-inference-bench-02, 5.1, 7.1, 12.3",
	.dut = "DUT-F",
	.summary = "Whole and after faults, by several ways to choose a plane, all over the same "
		   "transport. Links stand for faster ones: times do not scale with them, as "
		   "time-outs, probes and BGP's timers are those of a real fabric.",
	.needs = NEED_TWO_SERVERS | NEED_FAULTS,
	.trials = {5, 10, 30},
	.seconds = {0.4, 0.4, 1}, /* trial.h stands on 0.4 */
	.params = PARAMS(
		PARAM("scenario", PARAM_SLOW_NAME, "",
		      "one of the receiving GPU's sub-ports down, all of a plane, or a leaf switch",
		      "healthy," DEMO_FAULTS),
		PARAM("traffic", PARAM_NAME, "",
		      "kv: transfers of 1 MB between two GPUs; ep: expert-parallel all-to-all "
		      "among all",
		      "kv,ep"),
		PARAM("size", PARAM_BYTES, "bytes", "of a message of kv", "1M"),
		PARAM("qps", PARAM_COUNT, "",
		      "QPs of a pair, all planes together; 0: one per sub-port", "0"),
		PARAM("depth", PARAM_COUNT, "", "messages of kv under way", "8")),
	.kpis = KPIS({"of_optimum", "", "DUT-F",
		      "goodput over the most that the fabric can then carry", BETTER_HIGHER, 0},
		     {"goodput", "MB/s", "DUT-N", "payload acknowledged, all of it verified",
		      BETTER_HIGHER, 0},
		     {"optimum", "MB/s", "DUT-F", "what no strategy can beat on this fabric",
		      BETTER_NONE, 0},
		     {"model", "", "DUT-F",
		      "of_optimum that hashing as many flows twice, by the sender and by the leaf, "
		      "leaves: median of draws",
		      BETTER_NONE, 0},
		     {"model_p10", "", "DUT-F", "a tenth of the draws leaves less", BETTER_NONE, 0},
		     {"model_p90", "", "DUT-F", "a tenth of the draws leaves more", BETTER_NONE, 0},
		     {"idle", "%", "machine", "idle meanwhile", BETTER_NONE, 0},
		     {"idle_busiest_core", "%", "machine", "idle meanwhile, of the busiest core",
		      BETTER_NONE, 0},
		     {"verdict", "", "fared", "what farectl says of the path that suffers",
		      BETTER_NONE, 0}),
	.views = VIEWS(VIEW(VIEW_BARS, "Goodput, of the optimum", "scenario", "strategy", "traffic",
			    "of_optimum"),
		       VIEW(VIEW_TABLE, "Goodput", "scenario", "strategy", "traffic", "goodput",
			    "optimum", "of_optimum", "model", "idle")),
	.run = demo_goodput_run,
	.close = close_scenario,
};
