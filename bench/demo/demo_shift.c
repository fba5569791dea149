/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo_shift.c - a fault in mid-transfer: how long until traffic has found its feet.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "demo/demo.h"
#include "inference/common.h"
#include "resilience/shift.h"

#define BEFORE_NS   300000000u	/* traffic before the fault */
#define AFTER_NS    1200000000u /* and after it */
#define SETTLE_NS   500000000u
#define TIMELINE_NS 25000000u /* of a point: finer ones show messages, not goodput */

struct transfer {
	struct kv_options kv;
	uint64_t inject_ns, end_ns;
	uint64_t *times; /* free() */
	size_t n;
};

static int transfer(struct trial *t, const char *words, struct transfer *x)
{
	struct fabric *fabric = t->fabric;
	struct traffic_result sums = {0};
	struct cpu_times before, after;
	int err = kv_begin(fabric->cluster, fabric->topo, &x->kv);

	if (!err)
		err = cpu_read(&before);
	if (!err)
		err = cluster_sleep_until(fabric->cluster, clock_now_ns() + BEFORE_NS);
	if (!err)
		err = fabric_fail(fabric, words, &x->inject_ns);
	x->end_ns = x->inject_ns + AFTER_NS;
	if (!err)
		err = cluster_sleep_until(fabric->cluster, x->end_ns);
	if (!err)
		err = cpu_read(&after);
	if (!err)
		err = cpu_idle(&before, &after, &t->idle);
	return err ? err : kv_end(fabric->cluster, &x->kv, &sums, &x->times, &x->n);
}

/* Goodput around the fault, of what the whole fabric allowed before it. */
static void add_timeline(struct trial *t, const struct transfer *x, double optimum_bps)
{
	const double bits = (double)x->kv.size_bytes * 8;
	uint64_t from = x->inject_ns - BEFORE_NS / 2; /* warmed up */

	for (; from + TIMELINE_NS <= x->end_ns; from += TIMELINE_NS) {
		double messages = traffic_progress(x->times, x->n, from + TIMELINE_NS) -
				  traffic_progress(x->times, x->n, from);
		char at[24];

		snprintf(at, sizeof(at), "%.1f",
			 ((double)from + TIMELINE_NS / 2. - (double)x->inject_ns) / 1e6);
		trial_with(t, "at_ms", at);
		trial_value(t, "timeline", messages * bits / (TIMELINE_NS / 1e9) / optimum_bps, 1);
	}
	trial_with(t, NULL, NULL);
}

/* The fault is in force. */
static int evaluate(struct trial *t, const struct transfer *x)
{
	double before = fabric_pair_bps(t->fabric, x->kv.src, x->kv.dst), left;
	struct shift shift;
	int err = shift_analyse(x->times, x->n, x->kv.size_bytes, x->inject_ns, x->end_ns,
				SETTLE_NS, &shift);

	if (!err)
		err = fabric_settle(t->fabric); /* reads the topology as it is */
	if (err)
		return err;
	left = fabric_pair_bps(t->fabric, x->kv.src, x->kv.dst);
	if (shift.shift_ms >= 0)
		trial_value(t, "shift", shift.shift_ms, 1);
	else
		trial_missing(t, "shift", "goodput was not back when the recording ended");
	trial_value(t, "never", shift.shift_ms < 0, 1);
	trial_value(t, "longest_gap", shift.longest_gap_ms, x->n);
	trial_value(t, "settled", left > 0 ? shift.settled_bps / left : 0, x->n);
	add_timeline(t, x, before);
	return 0;
}

static int run(struct trial *t)
{
	struct transfer x = {.kv = demo_kv(t->fabric->topo, t->strategy)};
	int err = demo_cluster(t->fabric), healed;
	uint64_t at_ns;
	char words[96];

	if (t->fabric->topo->n_planes < 2) {
		trial_missing(t, NULL, "the fabric has one plane");
		return 0;
	}
	if (!err)
		err = fabric_prepare(t->fabric, t->strategy);
	demo_words(t->fabric->topo, trial_text(t, "scenario"), words, sizeof(words));
	if (!err)
		err = transfer(t, words, &x);
	if (!err)
		err = evaluate(t, &x);
	free(x.times);
	healed = fabric_heal(t->fabric, &at_ns);
	/* healed for the daemons is not yet healed for the kernel: sessions come back one by one */
	if (!healed && !err)
		healed = fabric_settle(t->fabric);
	return err ? err : healed;
}

static const struct param params[] = {PARAM("scenario", PARAM_NAME, "", "the fault", DEMO_FAULTS),
				      LIST_END};

static const struct kpi kpis[] = {
	{"shift", "ms", "DUT-F",
	 "from the command until goodput is back at 90% of what it settles at, for 300 ms "
	 "(farelab's own running time is inside)",
	 BETTER_LOWER, 0},
	{"never", "", "DUT-F", "it was not, within 1.2 s", BETTER_LOWER, 0},
	{"longest_gap", "ms", "DUT-N", "between verified messages", BETTER_LOWER, 0},
	{"settled", "", "DUT-F", "goodput it settles at, of what the fault leaves", BETTER_HIGHER,
	 0},
	{"timeline", "", "DUT-F", "goodput, of the whole fabric's optimum", BETTER_NONE, 0},
	LIST_END};

static const struct view views[] = {
	VIEW(VIEW_LINES, "Goodput around the fault", "at_ms", "strategy", "scenario", "timeline"),
	VIEW(VIEW_TABLE, "A fault in mid-transfer", "scenario", "strategy", NULL, "shift", "never",
	     "longest_gap", "settled"),
	VIEWS_END};

const struct test test_demo_shift = {
	.id = "demo-shift",
	.name = "A fault in mid-transfer",
	.clause = "draft-calabria-bmwg-ai-fabric-inference-bench-02, 12.3",
	.dut = "DUT-F",
	.summary = "KV transfers of 128 KiB between two GPUs, 32 under way; the fault strikes "
		   "while they fly.",
	.needs = NEED_TWO_SERVERS | NEED_FAULTS,
	.trials = {2, 10, 20},
	.seconds = {1.5, 1.5, 1.5},
	.params = params,
	.kpis = kpis,
	.views = views,
	.run = run,
};
