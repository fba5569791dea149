/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "procedure/fault.h"
#include "procedure/load.h"
#include "procedure/service.h"
#include "suite/kpis.h"

#define SMOOTH_MS 100
#define WITHIN	  0.1

/* What fails: sub-ports of the last decode GPU, links of its leaf to a spine, of a spine of it to a
 * superspine; one, or two at once ("dual-"). */
struct failure {
	struct trial *t;
	struct fault_links links;
	uint64_t at_ns, due_ns;
};

/* False: this fabric has no such link, or nothing beside it. Of several cuts of one link in a row
 * fared takes it for gray: so another each time, where several are as busy. */
static bool failure_init(struct failure *f, struct trial *t, unsigned turn)
{
	const char *what = trial_text(t, "failure");
	bool dual = strncmp(what, "dual-", 5) == 0;
	enum fault_tier tier = FAULT_SUB_PORT;

	*f = (struct failure){.t = t};
	what += dual ? 5 : 0;
	if (strcmp(what, "leaf-spine") == 0)
		tier = FAULT_LEAF_SPINE;
	else if (strcmp(what, "spine-spine") == 0)
		tier = FAULT_SPINE_SPINE;
	return fault_links_init(&f->links, t->fabric->topo, tier, trial_gpus(t) - 1, dual ? 2 : 1,
				turn);
}

/* An inventory has commands for some links alone. NULL: for enough of them. */
static const char *failure_lacks(struct failure *f)
{
	struct fault_links *links = &f->links;
	const char *why = NULL;
	unsigned n = 0;

	for (unsigned i = 0; i < links->n; i++) {
		const char *cannot = fabric_cannot_fail(f->t->fabric, links->link[i].spec);

		if (!cannot)
			links->link[n++] = links->link[i];
		why = cannot ? cannot : why;
	}
	links->n = n;
	return n >= links->wanted ? NULL : why;
}

/* ---- bulk transfers: how long bytes were missing ---- */

/*
 * Longest time below half, and until the rate has become what it stays; kept: what the links that
 * are left carry, of all.
 */
static void add_bulk(struct trial *t, const struct measured *m, const struct recovery *r,
		     uint64_t inject_ns, double kept)
{
	size_t at = (size_t)((inject_ns - r->from_ns) / RECOVERY_BIN_NS);
	struct recovery_step step = recovery_step(r->bytes, r->n, at, SMOOTH_MS, WITHIN);

	trial_value(t, "disruption", step.below_half_ms, 1);
	load_add_settled(t, "convergence", step.settled_ms, SMOOTH_MS, WITHIN);
	trial_value(t, "capacity_kept", step.after / step.before * 100, 1);
	trial_model(t, "capacity_kept", kept * 100, "");
	trial_value(t, "Packet_drop_rate", load_links(t, m, NULL).drop_ppm, 1);
}

/* *observe begins with the workers, who have seen the whole fabric. */
static int bulk(struct trial *t, struct failure *f, struct observe **observe)
{
	struct traffic_load kv = trial_load(t, "kv", 0);
	struct plan plan = {0};
	struct recovery goodput;
	struct measured m;
	unsigned dst = trial_gpus(t) - 1;
	double whole_bps = fabric_pair_bps(t->fabric, 0, dst);
	uint64_t inject_ns;
	int err;

	plan_stream(&plan, plan_load(&plan, &kv), 0, dst, 16, 64u << 10);
	err = fabric_cluster(t->fabric, plan_arena_bytes(&plan));
	if (!err && !t->fabric->hosts)
		err = observe_start(observe, t->fabric->topo, FAULT_MAX_EVENTS);
	if (!err)
		err = fault_measure_busiest(t, &plan, &f->links, 1 / 3., &inject_ns, &m, &goodput);
	plan_fini(&plan);
	if (err)
		return err;
	err = fabric_check(t->fabric); /* the fault is in force */
	if (!err) {
		trial_set_text(t, "link", f->links.text);
		if (isfinite(f->links.share))
			trial_value(t, "link_carried", f->links.share * 100, f->links.wanted);
		else
			trial_missing(t, "link_carried", "read in labs alone");
		add_bulk(t, &m, &goodput, inject_ns,
			 fabric_pair_bps(t->fabric, 0, dst) / whole_bps);
	}
	measured_fini(&m);
	return err;
}

/* ---- a service: what its users see ---- */

static int fail_service(void *arg, uint64_t now_ns)
{
	struct failure *f = arg;
	int err;

	if (f->due_ns == 0)
		f->due_ns = now_ns + (uint64_t)(f->t->seconds * 0.5e9);
	if (!f->links.at_ns && !f->at_ns && now_ns + FAULT_COUNT_NS >= f->due_ns)
		return fault_links_count(&f->links, f->t->fabric);
	if (f->at_ns || now_ns < f->due_ns)
		return 0;
	err = fault_links_count(&f->links, f->t->fabric);
	fault_links_choose(&f->links);
	return err ? err : fabric_fail(f->t->fabric, f->links.spec, &f->at_ns);
}

static void failure_add_change(struct trial *t, struct service_change change)
{
	if (change.n_before && change.n_after)
		trial_one_way_value(t, "TTFT_degradation", (change.after_s - change.before_s) * 1e3,
				    change.n_after, change.before_s * 1e9);
	else
		trial_missing(t, "TTFT_degradation",
			      "%u requests had a first token before the failure, %u within a "
			      "second after it",
			      change.n_before, change.n_after);
	if (isfinite(change.tokens_fewer_percent))
		trial_value(t, "TPS_reduction", change.tokens_fewer_percent, 1);
	else
		trial_missing(t, "TPS_reduction",
			      "no token before the failure, or no second after");
}

static int service(struct trial *t, struct failure *f)
{
	struct serving_options o = service_usual(t);
	struct serving_result r;
	int err;

	o.per_s = service_load(t, &o, 0.8);
	err = serving_run(t, &o, fail_service, f, &r);
	if (!err) {
		service_add(t, &r);
		trial_set_text(t, "service_link", f->links.text);
		failure_add_change(t, service_change(&r, t->seconds * 0.5));
	}
	serving_fini(&r);
	return err;
}

/* Fails and heals under bulk transfers; the fabric is whole again. */
static int bulk_and_back(struct trial *t, struct failure *f)
{
	struct observe *observe = NULL;
	uint64_t healed_ns;
	int err = bulk(t, f, &observe), healed;

	healed = fabric_heal(t->fabric, &healed_ns);
	err = err ? err : healed;
	if (!err)
		err = fault_settle(t, observe, healed_ns, "full_recovery");
	observe_stop(observe);
	return err;
}

static int link_failure_run(struct trial *t)
{
	struct failure f, g;
	const char *why;
	int err, healed;

	if (!failure_init(&f, t, 2 * t->number) || !failure_init(&g, t, 2 * t->number + 1)) {
		trial_missing(t, NULL, "%s: the fabric has no such link, or nothing beside it",
			      trial_text(t, "failure"));
		return 0;
	}
	why = failure_lacks(&f);
	if (why || (why = failure_lacks(&g))) {
		trial_missing(t, NULL, "%s: %s", trial_text(t, "failure"), why);
		return 0;
	}
	err = bulk_and_back(t, &f);
	if (!err)
		err = service(t, &g);
	healed = fabric_restore(t->fabric);
	return err ? err : healed;
}

const struct test test_12_3 = {
	INFERENCE_CLAUSE("12.3"),
	.name = "Link Failure Convergence Impact on Serving",
	.dut = "DUT-F",
	.summary = "A link, or two, of the decode GPU, its leaf or that leaf's spine is cut under "
		   "bulk transfers, healed, and one under a service at 80% of its bound: each the "
		   "one that carried most toward the GPU just before, by the lab's counters. Times "
		   "begin when the command is given.",
	.needs = NEED_TWO_SERVERS | NEED_FAULTS,
	.trials = {2, 10, 20},
	.seconds = {4, 10, 60},
	.params = PARAMS(PARAM("failure", PARAM_NAME, "", "links that are cut",
			       "decode-link,dual-decode-link,leaf-spine,dual-leaf-spine,"
			       "spine-spine,dual-spine-spine")),
	.kpis = KPIS(
		{"disruption", "ms", "DUT-F", "longest time below half of the rate afterwards",
		 BETTER_LOWER, 0},
		{"convergence", "ms", "DUT-F",
		 "until the rate stays within 10% of what it becomes (means of 100 ms)",
		 BETTER_LOWER, 0},
		{"capacity_kept", "%", "DUT-F",
		 "rate afterwards over before; the model is that of full links: traffic that left "
		 "links idle before can keep more",
		 BETTER_HIGHER, 0},
		{"link", "", "DUT-F",
		 "that was cut under bulk transfers, and what it carried toward the GPU in the "
		 "second before, of its rate",
		 BETTER_NONE, 0},
		{"link_carried", "%", "DUT-F", "that, of two their mean", BETTER_NONE, 0},
		{"service_link", "", "DUT-F", "the same as link, under the service", BETTER_NONE,
		 0},
		{"full_recovery", "ms", "DUT-F",
		 "from the command that heals until all weights are published as before",
		 BETTER_LOWER, 0},
		{"TTFT_degradation", "ms", "SUT-E",
		 "worst TTFT of the second after, less the P99 before (of few, next to the worst)",
		 BETTER_LOWER, 0},
		{"TPS_reduction", "%", "SUT-E",
		 "by which output tokens of the second after are fewer than those before",
		 BETTER_LOWER, 0},
		KPI_TTFT, KPI_ITL, KPI_TPS_OUTPUT, KPI_OFFERED, KPI_DROPS,
		KPI_MODEL("capacity_kept", "%")),
	.correlated = NAMES("ITL"),
	.views = VIEWS(
		VIEW(VIEW_BARS, "Disruption of bulk transfers", "failure", "strategy", NULL,
		     "disruption"),
		{VIEW_FIELDS(VIEW_CDF, "Distribution of TTFT", NULL, "strategy", "failure", "TTFT"),
		 .log_x = true},
		VIEW(VIEW_TABLE, "Link failures", "failure", "strategy", NULL, "disruption",
		     "convergence", "full_recovery", "capacity_kept", "TTFT_degradation",
		     "TPS_reduction", "TTFT@p99", "TPS_output", "Packet_drop_rate", "model",
		     "model_ratio"),
		VIEW(VIEW_TABLE, "What was cut", "failure", "strategy", NULL, "link",
		     "link_carried", "service_link")),
	.run = link_failure_run,
};
