/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo_shift.c - a fault in mid-transfer: how long until goodput is what it then stays.
 */
#include <stdio.h>

#include "demo/demo.h"
#include "procedure/fault.h"
#include "suite/trial.h"

#define BEFORE	    0.2 /* of the window is before the fault */
#define SETTLE_NS   500000000u
#define TIMELINE_NS 25000000u /* of a point: finer ones show messages, not goodput */

/*
 * Goodput around the fault, of what the whole fabric allowed before it. Points are at the same
 * times after the fault in all trials: they are levels of one axis, which has room for 64.
 */
static void shift_add_timeline(struct trial *t, const struct recovery *r, uint64_t inject_ns,
			       uint64_t end_ns, double optimum_bps)
{
	uint64_t n_before = (inject_ns - r->from_ns) / 2 / TIMELINE_NS; /* warmed up */
	uint64_t from = inject_ns - n_before * TIMELINE_NS;

	for (; from + TIMELINE_NS <= end_ns; from += TIMELINE_NS) {
		char at[24];

		snprintf(at, sizeof(at), "%.1f",
			 ((double)from + TIMELINE_NS / 2. - (double)inject_ns) / 1e6);
		trial_with(t, "ms_since_fault", at);
		trial_value(t, "of_whole",
			    recovery_mean(r, from, from + TIMELINE_NS) * 8e3 / optimum_bps, 1);
	}
	trial_with(t, NULL, NULL);
}

/* The fault is in force; before_bps: what the fabric carried before. */
static int shift_add(struct trial *t, const struct measured *m, const struct recovery *r,
		     uint64_t inject_ns, double before_bps)
{
	uint64_t settle_ns = m->to_ns - SETTLE_NS;
	double shift_ms = recovery_moved_ms(r, inject_ns, settle_ns, m->to_ns), left_bps;
	int err = fabric_settle(t->fabric); /* reads the topology as it is */

	if (err)
		return err;
	left_bps = fabric_pair_bps(t->fabric, 0, demo_victim(t->fabric->topo));
	if (shift_ms >= 0)
		trial_value(t, "shift", shift_ms, 1);
	else
		trial_missing(t, "shift", "goodput was not back when the recording ended");
	trial_value(t, "never", shift_ms < 0, 1);
	trial_value(t, "longest_gap", recovery_gap_ms(r, inject_ns, m->to_ns), m->load[0].messages);
	trial_value(t, "settled",
		    left_bps > 0 ? recovery_mean(r, settle_ns, m->to_ns) * 8e3 / left_bps : 0,
		    m->load[0].messages);
	shift_add_timeline(t, r, inject_ns, m->to_ns, before_bps);
	return 0;
}

static int demo_shift_run(struct trial *t)
{
	const struct topo *topo = t->fabric->topo;
	double before_bps = fabric_pair_bps(t->fabric, 0, demo_victim(topo));
	struct recovery goodput;
	struct plan plan = {0};
	struct measured m;
	uint64_t inject_ns;
	char spec[96];
	int err, healed;

	if (topo->n_planes < 2) {
		trial_missing(t, NULL, "the fabric has one plane");
		return 0;
	}
	err = demo_cluster(t->fabric);
	demo_spec(topo, trial_text(t, "scenario"), spec, sizeof(spec));
	demo_kv(t, &plan);
	if (!err)
		err = fault_measure(t, &plan, spec, BEFORE, &inject_ns, &m, &goodput);
	plan_fini(&plan);
	if (!err) {
		err = shift_add(t, &m, &goodput, inject_ns, before_bps);
		measured_fini(&m);
	}
	/* healed for the daemons is not yet healed for the kernel: sessions come back one by one */
	healed = fabric_restore(t->fabric);
	return err ? err : healed;
}

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
	.params = PARAMS(PARAM("scenario", PARAM_NAME, "", "the fault", DEMO_FAULTS)),
	.kpis = KPIS({"shift", "ms", "DUT-F",
		      "from the command until goodput is back at 90% of what it settles at, for "
		      "200 ms (farelab's own running time is inside)",
		      BETTER_LOWER, 0},
		     {"never", "", "DUT-F", "it was not, within 1.2 s", BETTER_LOWER, 0},
		     {"longest_gap", "ms", "DUT-N", "without a byte acknowledged", BETTER_LOWER, 0},
		     {"settled", "", "DUT-F", "goodput it settles at, of what the fault leaves",
		      BETTER_HIGHER, 0},
		     {"of_whole", "", "DUT-F",
		      "goodput over the most that the fabric carried before the fault", BETTER_NONE,
		      0}),
	.views = VIEWS(VIEW(VIEW_LINES, "Goodput around the fault", "ms_since_fault", "strategy",
			    "scenario", "of_whole"),
		       VIEW(VIEW_TABLE, "A fault in mid-transfer", "scenario", "strategy", NULL,
			    "shift", "never", "longest_gap", "settled")),
	.run = demo_shift_run,
};
