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
	unsigned turn; /* how many failures there were */
	char spec[2 * 96];
	uint64_t at_ns, due_ns;
};

/* Link i of two; false: this fabric has no such link. */
static bool failure_link(const struct failure *f, const char *what, unsigned i, char spec[96])
{
	const struct topo *topo = f->t->fabric->topo;
	unsigned gpu = topo->n_gpus - 1, sub_ports = topo->gpus[gpu].plane[0].n_sub_ports,
		 /* another plane each time: of several cuts in a row, fared takes one for gray */
		plane = (f->turn + i) % topo->n_planes;
	char name[2 * TOPO_NAME_MAX];

	if (strcmp(what, "leaf-spine") == 0)
		return (!i || topo->n_planes > 1) && fault_uplink(topo, gpu, plane, spec, 96);
	if (strcmp(what, "spine-spine") == 0)
		return (!i || topo->n_planes > 1) && fault_spine_uplink(topo, gpu, plane, spec, 96);
	topo_gpu_label(topo, gpu, name, sizeof(name));
	if (sub_ports == 1)
		snprintf(spec, 96, "subport %.40s %u 0", name, i);
	else
		snprintf(spec, 96, "subport %.40s 0 %u", name, i);
	return i + 1 < topo->n_planes * sub_ports; /* something has to be left */
}

static bool failure_spec(struct failure *f, const char *what)
{
	bool dual = strncmp(what, "dual-", 5) == 0;
	char link[2][96];

	what += dual ? 5 : 0;
	if (!failure_link(f, what, 0, link[0]) || (dual && !failure_link(f, what, 1, link[1])))
		return false;
	snprintf(f->spec, sizeof(f->spec), "%s%s%s", link[0], dual ? "," : "", dual ? link[1] : "");
	return true;
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
	trial_value(t, "Packet_drop_rate", load_links(t, m, false, LINKS_OF_ALL).drop_ppm, 1);
}

/* *observe begins with the workers, who have seen the whole fabric. */
static int bulk(struct trial *t, const struct failure *f, struct observe **observe)
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
		err = fault_measure(t, &plan, f->spec, 1 / 3., &inject_ns, &m, &goodput);
	plan_fini(&plan);
	if (err)
		return err;
	err = fabric_check(t->fabric); /* the fault is in force */
	if (!err)
		add_bulk(t, &m, &goodput, inject_ns,
			 fabric_pair_bps(t->fabric, 0, dst) / whole_bps);
	measured_fini(&m);
	return err;
}

/* ---- a service: what its users see ---- */

static int fail_service(void *arg, uint64_t now_ns)
{
	struct failure *f = arg;

	if (f->due_ns == 0)
		f->due_ns = now_ns + (uint64_t)(f->t->seconds * 0.5e9);
	return f->at_ns || now_ns < f->due_ns ? 0 : fabric_fail(f->t->fabric, f->spec, &f->at_ns);
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
		failure_add_change(t, service_change(&r, t->seconds * 0.5));
	}
	serving_fini(&r);
	return err;
}

/* Fails and heals under bulk transfers; the fabric is whole again. */
static int bulk_and_back(struct trial *t, const struct failure *f)
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
	struct failure f = {.t = t, .turn = 2 * t->number}, g = {.t = t, .turn = f.turn + 1};
	int err, healed;

	if (!failure_spec(&f, trial_text(t, "failure")) ||
	    !failure_spec(&g, trial_text(t, "failure"))) {
		trial_missing(t, NULL, "%s: the fabric has no such link, or nothing beside it",
			      trial_text(t, "failure"));
		return 0;
	}
	if (fabric_cannot_fail(t->fabric, f.spec)) {
		trial_missing(t, NULL, "%s: %s", trial_text(t, "failure"),
			      fabric_cannot_fail(t->fabric, f.spec));
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
		   "bulk transfers, healed, and another under a service at 80% of its bound. Times "
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
		{"capacity_kept", "%", "DUT-F", "rate afterwards over before", BETTER_HIGHER, 0},
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
	.views = VIEWS(
		VIEW(VIEW_BARS, "Disruption of bulk transfers", "failure", "strategy", NULL,
		     "disruption"),
		{VIEW_FIELDS(VIEW_CDF, "Distribution of TTFT", NULL, "strategy", "failure", "TTFT"),
		 .log_x = true},
		VIEW(VIEW_TABLE, "Link failures", "failure", "strategy", NULL, "disruption",
		     "convergence", "full_recovery", "capacity_kept", "TTFT_degradation",
		     "TPS_reduction", "TTFT@p99", "TPS_output", "Packet_drop_rate", "model",
		     "model_ratio")),
	.run = link_failure_run,
};
