/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "procedure/fault.h"
#include "procedure/load.h"
#include "procedure/service.h"
#include "suite/kpis.h"

#define SMOOTH_MS 100
#define WITHIN	  0.1

/* What fails: a sub-port of the last decode GPU, all of a plane, a link of its leaf to a spine. */
struct failure {
	struct trial *t;
	unsigned turn; /* how many failures there were */
	char spec[96];
	uint64_t at_ns, due_ns;
};

/* False: this fabric has no such link. */
static bool failure_spec(struct failure *f, const char *what)
{
	const struct topo *topo = f->t->fabric->topo;
	char gpu[2 * TOPO_NAME_MAX];

	topo_gpu_label(topo, topo->n_gpus - 1, gpu, sizeof(gpu));
	if (strcmp(what, "leaf-spine") == 0)
		/* another plane each time: of several cuts in a row, fared takes one for gray */
		return fault_uplink(topo, topo->n_gpus - 1, f->turn % topo->n_planes, f->spec,
				    sizeof(f->spec));
	if (strcmp(what, "decode-link") == 0)
		snprintf(f->spec, sizeof(f->spec), "subport %.40s 0 0", gpu);
	else if (strcmp(what, "dual-decode-link") == 0)
		snprintf(f->spec, sizeof(f->spec), "plane %.40s 0", gpu);
	else
		return false;
	/* something has to be left */
	return topo->n_planes > 1 || (strcmp(what, "decode-link") == 0 &&
				      topo->gpus[topo->n_gpus - 1].plane[0].n_sub_ports > 1);
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

static int bulk(struct trial *t, const struct failure *f)
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

static int service(struct trial *t, struct failure *f)
{
	struct serving_options o = service_usual(t);
	struct serving_result r;
	int err;

	o.per_s = service_load(t, &o, 0.8);
	err = serving_run(t, &o, fail_service, f, &r);
	if (!err) {
		struct service_change ttft = service_ttft_change(&r, t->seconds * 0.5);

		service_add(t, &r);
		trial_one_way_value(t, "TTFT_degradation", (ttft.after_s - ttft.before_s) * 1e3,
				    ttft.n_after, ttft.before_s * 1e9);
	}
	serving_fini(&r);
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
	err = bulk(t, &f);
	healed = fabric_restore(t->fabric);
	err = err ? err : healed;
	if (!err)
		err = service(t, &g);
	healed = fabric_restore(t->fabric);
	return err ? err : healed;
}

const struct test test_12_3 = {
	INFERENCE_CLAUSE("12.3"),
	.name = "Link Failure Convergence Impact on Serving",
	.dut = "DUT-F",
	.summary =
		"A link of the decode GPU's leaf is cut under bulk transfers, healed, and cut "
		"again under a service at 80% of its bound. Times begin when the command is given.",
	.needs = NEED_TWO_SERVERS | NEED_FAULTS,
	.trials = {2, 10, 20},
	.seconds = {3, 10, 60},
	.params = PARAMS(PARAM("failure", PARAM_NAME, "", "links that are cut",
			       "decode-link,dual-decode-link,leaf-spine,spine-spine")),
	.kpis = KPIS(
		{"disruption", "ms", "DUT-F", "longest time below half of the rate afterwards",
		 BETTER_LOWER, 0},
		{"convergence", "ms", "DUT-F",
		 "until the rate stays within 10% of what it becomes (means of 100 ms)",
		 BETTER_LOWER, 0},
		{"capacity_kept", "%", "DUT-F", "rate afterwards over before", BETTER_HIGHER, 0},
		{"TTFT_degradation", "ms", "SUT-E",
		 "worst TTFT of the second after, less worst before", BETTER_LOWER, 0},
		KPI_TTFT, KPI_ITL, KPI_TPS_OUTPUT, KPI_OFFERED, KPI_DROPS,
		KPI_MODEL("capacity_kept", "%")),
	.views = VIEWS(
		VIEW(VIEW_BARS, "Disruption of bulk transfers", "failure", "strategy", NULL,
		     "disruption"),
		{VIEW_FIELDS(VIEW_CDF, "Distribution of TTFT", NULL, "strategy", "failure", "TTFT"),
		 .log_x = true},
		VIEW(VIEW_TABLE, "Link failures", "failure", "strategy", NULL, "disruption",
		     "convergence", "capacity_kept", "TTFT_degradation", "TTFT@p99", "TPS_output",
		     "Packet_drop_rate", "model", "model_ratio")),
	.run = link_failure_run,
};
