/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo_chaos.c - bgpd, then fared of the sender's server end by SIGKILL while messages fly, and
 * come back while they still do.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "demo/demo.h"
#include "inference/common.h"
#include "resilience/shift.h"

#define BEFORE_NS 300000000u
#define SETTLE_NS 500000000u

static const char *const daemons[] = {"bgpd", "fared"};

static int tell(struct fabric *fabric, const char *verb, const char *daemon)
{
	const char *args[] = {daemon, fabric->topo->servers[fabric->topo->gpus[0].server].name,
			      NULL};

	return lab_do(&fabric->lab, verb, args);
}

/* Both live again, also where a trial was cut short. */
static void close_chaos(void *state)
{
	tell(state, "heal", daemons[0]);
	tell(state, "heal", daemons[1]);
}

static int kill_and_heal(struct fabric *fabric)
{
	int err = 0;

	for (int i = 0; !err && i < 4; i++) {
		err = tell(fabric, i < 2 ? "fail" : "heal", daemons[i % 2]);
		if (!err)
			err = cluster_sleep_until(fabric->cluster, clock_now_ns() + SETTLE_NS);
	}
	return err;
}

static void add(struct trial *t, const struct kv_options *kv, const struct traffic_result *sums,
		const uint64_t *times, size_t n, uint64_t from, uint64_t to)
{
	double verified = traffic_progress(times, n, to) - traffic_progress(times, n, from);

	trial_value(t, "messages", (double)n, n);
	trial_value(t, "lost", (double)(sums->posted - sums->messages), n);
	trial_value(t, "longest_gap", shift_longest_gap_ms(times, n, from, to), n);
	trial_value(t, "of_optimum",
		    verified * (double)kv->size_bytes * 8e9 / (double)(to - from) /
			    fabric_pair_bps(t->fabric, kv->src, kv->dst),
		    n);
	trial_value(t, "replayed", (double)sums->replayed, n);
}

static int run(struct trial *t)
{
	struct fabric *fabric = t->fabric;
	struct kv_options kv = demo_kv(fabric->topo, STRATEGY_FARE_SPRAY);
	struct traffic_result sums = {0};
	struct cpu_times before, after;
	uint64_t from, to, *times;
	size_t n;
	int err = demo_cluster(fabric);

	*t->state = fabric;
	if (!err)
		err = kv_begin(fabric->cluster, fabric->topo, &kv);
	if (!err)
		err = cluster_sleep_until(fabric->cluster, clock_now_ns() + BEFORE_NS);
	from = clock_now_ns();
	if (!err)
		err = cpu_read(&before);
	if (!err)
		err = kill_and_heal(fabric);
	if (!err)
		err = cpu_read(&after);
	if (!err)
		err = cpu_idle(&before, &after, &t->idle);
	to = clock_now_ns();
	/* fails unless every message posted was completed, verified and credited exactly once */
	if (!err)
		err = kv_end(fabric->cluster, &kv, &sums, &times, &n);
	if (err)
		return err;
	add(t, &kv, &sums, times, n, from, to);
	free(times);
	return fabric_settle(fabric);
}

static const struct kpi kpis[] = {
	{"messages", "", "DUT-N", "each checked byte by byte", BETTER_NONE, 0},
	{"lost", "", "DUT-N", "messages", BETTER_LOWER, 0},
	{"longest_gap", "ms", "DUT-N", "between verified messages", BETTER_LOWER, 0},
	{"of_optimum", "", "DUT-F", "goodput meanwhile, of the optimum", BETTER_HIGHER, 0},
	{"replayed", "", "DUT-N", "chunks sent again", BETTER_NONE, 0},
	LIST_END};

static const struct view views[] = {VIEW(VIEW_TABLE, "Daemons killed in mid-transfer", NULL, NULL,
					 NULL, "messages", "lost", "longest_gap", "of_optimum",
					 "replayed"),
				    VIEWS_END};

const struct test test_demo_chaos = {
	.id = "demo-chaos",
	.name = "Daemons killed in mid-transfer",
	.clause = "draft-calabria-bmwg-ai-fabric-inference-bench-02, 12.3",
	.dut = "fared",
	.summary = "bgpd, then fared of the sender's server end by SIGKILL while fare-spray "
		   "transfers, and come back while it still does.",
	.needs = NEED_TWO_SERVERS | NEED_FAULTS,
	.no_strategies = true,
	.trials = {3, 10, 20},
	.seconds = {2, 2, 2},
	.kpis = kpis,
	.views = views,
	.run = run,
	.close = close_chaos,
};
