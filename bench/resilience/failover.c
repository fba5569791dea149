/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * failover.c - what a fault costs, from the moment it happens: decided, moved, restored.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demo/demo.h"
#include "resilience/failover.h"
#include "suite/trial.h"

#define MAX_EVENTS 400000u
#define PATHS_MS   60000

struct failover {
	struct failover_bench bench;
	struct fabric *fabric;

	int weights;
	unsigned n_trials;
};

static void failover_close_all(void *state)
{
	struct failover *f = state;

	undo_guard_destroy(f->bench.guard);
	observe_stop(f->bench.observe);
	stalls_destroy(f->bench.stalls);
	json_decref(f->bench.lowered);
	free(f);
}

static int open_all(struct trial *t)
{
	struct failover *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	*t->state = f;
	f->fabric = t->fabric;
	f->bench.lab = t->fabric->lab;
	f->bench.topo = t->fabric->topo;
	f->bench.dst = demo_victim(f->bench.topo);
	f->bench.ep.moe = ep_default_moe();
	f->bench.ep.moe.tokens = 32;
	return undo_guard_create(&f->bench.guard, "farebench failover", failover_scenario_undo,
				 &f->bench.lab, sizeof(struct failover_scenario));
}

static uint64_t arena_bytes(const struct failover_bench *b)
{
	uint64_t ep = ep_arena_bytes(b->topo, &b->ep),
		 kv = (uint64_t)FAILOVER_KV_BYTES * FAILOVER_KV_DEPTH;

	return ep > kv ? ep : kv;
}

/* The observer calls away what is not as it was when it began: it begins when weights are set. */
static int failover_watch(struct failover *f, struct trial *t)
{
	int err = 0;

	if (f->bench.observe && f->weights == t->fabric->weights)
		return 0;
	observe_stop(f->bench.observe);
	f->bench.observe = NULL;
	f->weights = t->fabric->weights;
	f->bench.equal = f->weights == 1;
	err = cluster_await_paths(f->bench.cluster, f->bench.topo, NULL, PATHS_MS);
	return err ? err : observe_start(&f->bench.observe, f->bench.topo, MAX_EVENTS);
}

static int failover_prepare(struct failover *f, struct trial *t)
{
	int err = fabric_daemons(t->fabric);

	if (!err)
		err = fabric_cluster(t->fabric, arena_bytes(&f->bench));
	f->bench.cluster = t->fabric->cluster;
	if (!err)
		err = fabric_prepare(t->fabric, t->strategy);
	if (!err && trial_number(t, "max_stall") > 0 && !f->bench.stalls)
		err = stalls_create(&f->bench.stalls);
	if (err == -EPERM)
		fprintf(stderr, "farebench: failover: max_stall needs real-time priority: run it "
				"as root\n");
	return err ? err : failover_watch(f, t);
}

static enum failover_scenario_id scenario_of(const struct trial *t)
{
	int id = 0;

	while (strcmp(failover_scenario_name((enum failover_scenario_id)id),
		      trial_text(t, "scenario")) != 0)
		id++;
	return (enum failover_scenario_id)id;
}

/*
 * Was the machine not ours meanwhile, or not the same? What it took in time then tells of the
 * hypervisor. What was lost, moved needlessly or never decided stands however that was, and so does
 * what did not come back while traffic begun anew is faster.
 */
static void failover_judge(struct trial *t, const struct failover_trial *one)
{
	double max_stolen = trial_number(t, "max_stolen"), max_stall = trial_number(t, "max_stall");

	if (one->lost || one->needless || one->undecided)
		return;
	if (failover_trial_slowed(one))
		snprintf(t->why_again, sizeof(t->why_again),
			 "made again: traffic begun anew is no faster, the machine has become "
			 "slower");
	else if (one->back_at_all && one->stolen_percent > max_stolen)
		snprintf(t->why_again, sizeof(t->why_again),
			 "made again: a hypervisor took %.1f%% of the machine",
			 one->stolen_percent);
	else if (one->back_at_all && max_stall > 0 && one->stalled_ms > max_stall)
		snprintf(t->why_again, sizeof(t->why_again),
			 "made again: a core stalled for %.1f ms", one->stalled_ms);
	if (t->why_again[0])
		t->again = t->why_again;
}

static void failover_add(struct trial *t, const char *kpi, double value)
{
	if (value >= 0)
		trial_value(t, kpi, value, 1);
	else
		trial_missing(t, kpi, "not due in this scenario, or not seen");
}

static void add_curve(struct trial *t, const char *kpi, const double *value, unsigned n,
		      unsigned bin_ms)
{
	for (unsigned i = 0; i < n; i++) {
		char at[16];

		snprintf(at, sizeof(at), "%d", (int)(i * bin_ms + bin_ms / 2) - FAILOVER_BEFORE_MS);
		trial_with(t, "at_ms", at);
		if (isfinite(value[i]))
			trial_value(t, kpi, value[i], 1);
	}
	trial_with(t, NULL, NULL);
}

static void add_all(struct trial *t, const struct failover_trial *one)
{
	failover_add(t, "kernel", one->kernel_ms);
	failover_add(t, "decide", one->decide_ms);
	failover_add(t, "decide_after_kernel", one->decide_after_kernel_ms);
	failover_add(t, "move", one->move_ms);
	failover_add(t, "gap", one->gap_ms);
	failover_add(t, "settled", one->settled_ratio);
	failover_add(t, "back", one->back_ms);
	/* a path in flap back-off is no measure of restoring */
	failover_add(t, "hold", one->backoff ? -1 : one->hold_ms);
	failover_add(t, "ramp", one->backoff ? -1 : one->ramp_ms);
	failover_add(t, "weights", one->weights_ms);
	failover_add(t, "restore", one->backoff ? -1 : one->restore_after_back_ms);
	failover_add(t, "after", one->after_ratio);
	trial_value(t, "undecided", one->undecided, 1);
	trial_value(t, "backoff", one->backoff, 1);
	trial_value(t, "back_at_all", one->back_at_all, 1);
	trial_value(t, "messages", (double)one->messages, one->messages);
	trial_value(t, "lost", (double)one->lost, one->messages);
	trial_value(t, "needless", one->needless, 1);
	trial_value(t, "replayed", (double)one->replayed, 1);
	failover_add(t, "stolen", one->stolen_percent);
	failover_add(t, "stalled", one->stalled_ms);
	if (t->number > 0)
		return;
	add_curve(t, "goodput", one->curves.fault, FAILOVER_FAULT_POINTS, FAILOVER_FAULT_BIN);
	add_curve(t, "goodput_healed", one->curves.heal, FAILOVER_HEAL_POINTS, FAILOVER_HEAL_BIN);
}

/* Which weights were lowered without need: what to look for in the daemon's log. */
static void report_lowered(const json_t *lowered)
{
	char *text = json_array_size(lowered) ? json_dumps(lowered, JSON_COMPACT) : NULL;

	if (text)
		fprintf(stderr, "farebench: failover: lowered needlessly: %s\n", text);
	free(text);
}

static int failover_run(struct trial *t)
{
	struct failover_scenario scenario;
	struct failover_trial one;
	struct failover *f;
	int err = *t->state ? 0 : open_all(t);

	f = *t->state;
	if (err)
		return err;
	if (t->fabric->topo->n_planes < 2) {
		trial_missing(t, NULL, "the fabric has one plane");
		return 0;
	}
	err = failover_prepare(f, t);
	if (err)
		return err;
	failover_scenario_make(&scenario, scenario_of(t), f->bench.topo, f->bench.src, f->bench.dst,
			       f->n_trials++ % f->bench.topo->n_planes);
	err = failover_trial_run(&f->bench, &scenario, t->strategy,
				 strcmp(trial_text(t, "traffic"), "kv") == 0, &one);
	if (err)
		return err;
	report_lowered(f->bench.lowered);
	failover_judge(t, &one);
	add_all(t, &one);
	return 0;
}

#define MS_KPI(name, what)                                                                         \
	{                                                                                          \
		name, "ms", "DUT-F", what, BETTER_LOWER, 0                                         \
	}
#define RATIO_KPI(name, what)                                                                      \
	{                                                                                          \
		name, "", "DUT-F", what, BETTER_HIGHER, 0                                          \
	}
#define COUNT_KPI(name, what)                                                                      \
	{                                                                                          \
		name, "", "DUT-F", what, BETTER_LOWER, 0                                           \
	}

const struct test test_failover = {
	.id = "failover",
	.name = "What a fault costs",
	.clause = "draft-calabria-bmwg-ai-fabric-training-bench, 11.2",
	.dut = "DUT-F",
	.summary = "A fault under traffic, from a healthy fabric to a healthy fabric; planes take "
		   "turns. Times begin at the injection or the heal (one system call; what farelab "
		   "alone can do, as loss, from before its start). Weights are seen through "
		   "libfare, links and routes through each server's kernel.",
	.needs = NEED_TWO_SERVERS | NEED_FAULTS,
	.trials = {20, 20, 20},
	.seconds = {1, 1, 1},
	.params = PARAMS(
		PARAM("scenario", PARAM_NAME, "", "what breaks, and is healed",
		      "local-sub-port,remote-sub-port,remote-plane,leaf-killed,leaf-gray,"
		      "leaf-gray-one-way,leaf-loss-5,flap-1hz,flap-20hz,bgpd-killed,fared-killed,"
		      "two-faults"),
		PARAM("traffic", PARAM_NAME, "", "meanwhile", "kv,ep"),
		PARAM("max_stolen", PARAM_NUMBER, "%",
		      "a trial is made again if a hypervisor took more of the machine, unless it "
		      "went wrong",
		      "100"),
		PARAM("max_stall", PARAM_NUMBER, "ms",
		      "and if a core stalled for longer shortly before the decision (0: nobody "
		      "watches), by a process of real-time priority on each core",
		      "0")),
	.kpis = KPIS(
		MS_KPI("kernel",
		       "from the injection until the kernel tells the server that lost its link"),
		MS_KPI("decide",
		       "from the injection until all servers concerned have new weights for "
		       "applications; where they never came, as long as the fault lasted"),
		MS_KPI("decide_after_kernel", "the same from the kernel's event"),
		MS_KPI("move", "from the injection until goodput is at 90% of what it settles at"),
		MS_KPI("gap", "longest time without a byte acknowledged"),
		RATIO_KPI("settled", "goodput under the fault, of the healthy one"),
		MS_KPI("back", "from the heal until links and kernel routes are as before"),
		MS_KPI("hold", "from then until the first of the weight is back"),
		MS_KPI("ramp", "from then until all of it is"),
		MS_KPI("weights", "from the heal until all weights are back"),
		MS_KPI("restore",
		       "from links and routes being back until goodput is 98% of the healthy one"),
		RATIO_KPI("after", "goodput at the end of the trial, of the healthy one"),
		COUNT_KPI("undecided", "a decision was due, and never came"),
		COUNT_KPI("backoff", "a path went down more than once"),
		RATIO_KPI("back_at_all", "weights and goodput came back"),
		{"messages", "", "DUT-F", "each checked byte by byte", BETTER_NONE, 0},
		COUNT_KPI("lost", "messages"),
		COUNT_KPI("needless",
			  "flows moved, and weights lowered on planes that nothing happened to"),
		{"replayed", "", "DUT-F", "chunks sent again", BETTER_NONE, 0},
		{"stolen", "%", "machine", "by a hypervisor, while there was traffic", BETTER_NONE,
		 0},
		{"stalled", "ms", "machine", "a core stalled at most, until the decision",
		 BETTER_NONE, 0},
		RATIO_KPI("goodput", "around the injection, of the healthy one, first trial"),
		RATIO_KPI("goodput_healed", "around the heal")),
	.views = VIEWS(VIEW(VIEW_TABLE, "Under the fault", "scenario", "strategy", "traffic",
			    "kernel", "decide", "move", "gap", "settled", "undecided"),
		       VIEW(VIEW_TABLE, "After healing", "scenario", "strategy", "traffic", "back",
			    "hold", "ramp", "restore", "after", "backoff", "lost", "needless"),
		       VIEW(VIEW_LINES, "Goodput around the injection", "at_ms", "strategy",
			    "scenario", "goodput"),
		       VIEW(VIEW_LINES, "Goodput around the heal", "at_ms", "strategy", "scenario",
			    "goodput_healed")),
	.run = failover_run,
	.close = failover_close_all,
};
