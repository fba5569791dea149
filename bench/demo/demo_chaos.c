/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo_chaos.c - bgpd, then fared of the sender's server end by SIGKILL while messages fly, and
 * come back while they still do.
 */
#include "demo/demo.h"
#include "procedure/fault.h"
#include "suite/trial.h"

static const char *const daemons[] = {"bgpd", "fared"};

static int chaos_do(struct fabric *fabric, const char *verb, const char *daemon)
{
	const char *args[] = {daemon, fabric->topo->servers[fabric->topo->gpus[0].server].name,
			      NULL};

	return lab_do(&fabric->lab, verb, args);
}

/* Both live again, also where a trial was cut short. */
static void close_chaos(void *state)
{
	chaos_do(state, "heal", daemons[0]);
	chaos_do(state, "heal", daemons[1]);
}

/* A quarter of the window for each step; the last quarter is after all of them. */
static int chaos_kill_and_heal(void *arg, uint64_t from_ns, uint64_t to_ns)
{
	struct fabric *fabric = arg;
	int err = 0;

	for (unsigned i = 0; !err && i < 4; i++) {
		err = cluster_sleep_until(fabric->cluster, from_ns + (to_ns - from_ns) / 4 * i);
		if (!err)
			err = chaos_do(fabric, i < 2 ? "fail" : "heal", daemons[i % 2]);
	}
	return err;
}

static void chaos_add(struct trial *t, const struct measured *m)
{
	const struct recovery goodput = fault_goodput(m);
	uint64_t n = m->books.messages;

	trial_value(t, "messages", (double)n, n);
	trial_value(t, "lost", (double)(m->books.posted - n), n);
	trial_value(t, "longest_gap", recovery_gap_ms(&goodput, m->from_ns, m->to_ns), n);
	trial_value(t, "of_optimum",
		    m->load[0].bps / fabric_pair_bps(t->fabric, 0, demo_victim(t->fabric->topo)),
		    n);
	trial_value(t, "replayed", (double)m->books.replayed, n);
}

static int demo_chaos_run(struct trial *t)
{
	struct plan plan = {0};
	struct measured m;
	int err = demo_cluster(t->fabric);

	*t->state = t->fabric;
	t->strategy = STRATEGY_FARE_SPRAY;
	t->bins = true;
	t->is_fault_planned = true;
	demo_kv(t, &plan);
	/* fails unless every message posted was completed, verified and credited exactly once */
	if (!err)
		err = trial_measure(t, &plan, chaos_kill_and_heal, t->fabric, &m);
	plan_fini(&plan);
	if (err)
		return err;
	chaos_add(t, &m);
	measured_fini(&m);
	return fabric_settle(t->fabric);
}

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
	.kpis = KPIS(
		{"messages", "", "DUT-N", "each checked byte by byte", BETTER_NONE, 0},
		{"lost", "", "DUT-N", "messages", BETTER_LOWER, 0},
		{"longest_gap", "ms", "DUT-N", "without a byte acknowledged", BETTER_LOWER, 0},
		{"of_optimum", "", "DUT-F", "goodput meanwhile, of the optimum", BETTER_HIGHER, 0},
		{"replayed", "", "DUT-N", "chunks sent again", BETTER_NONE, 0}),
	.views = VIEWS(VIEW(VIEW_TABLE, "Daemons killed in mid-transfer", NULL, NULL, NULL,
			    "messages", "lost", "longest_gap", "of_optimum", "replayed")),
	.run = demo_chaos_run,
	.close = close_chaos,
};
