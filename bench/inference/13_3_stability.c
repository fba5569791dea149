/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "fabric/pauses.h"
#include "procedure/fault.h"
#include "procedure/soak.h"
#include "suite/kpis.h"

struct flap {
	struct trial *t;
	uint64_t begin_ns, at_ns;
	int phase;
	char spec[96];
};

static void flap_spec(struct flap *f)
{
	const struct topo *topo = f->t->fabric->topo;
	char gpu[2 * TOPO_NAME_MAX];

	topo_gpu_label(topo, topo->n_gpus - 1, gpu, sizeof(gpu));
	snprintf(f->spec, sizeof(f->spec), "subport %.40s 0 0", gpu);
}

/* A sub-port of the last GPU is down for a second, in the middle of the sample in the middle. */
static int flap(void *arg, uint64_t now_ns)
{
	struct flap *f = arg;

	if (f->begin_ns == 0)
		f->begin_ns = now_ns;
	if (f->phase == 0 && now_ns - f->begin_ns > (uint64_t)(f->t->seconds * 0.3e9)) {
		f->phase = 1;
		return fabric_fail(f->t->fabric, f->spec, &f->at_ns);
	}
	if (f->phase == 1 && now_ns - f->at_ns > UINT64_C(1000000000)) {
		f->phase = 2;
		return fabric_heal(f->t->fabric, &f->at_ns);
	}
	return 0;
}

static int flap_sample(struct flap *f)
{
	struct fabric *fabric = f->t->fabric;
	struct observe *observe = NULL;
	int err = 0, healed;

	if (!fabric->hosts)
		err = observe_start(&observe, fabric->topo, FAULT_MAX_EVENTS);
	if (!err)
		err = soak_sample(f->t, flap, f);
	healed = f->phase < 2 ? fabric_heal(fabric, &f->at_ns) : 0;
	err = err ? err : healed;
	if (!err)
		err = fault_settle(f->t, observe, f->at_ns, "recovery");
	observe_stop(observe);
	return err;
}

/* The most that an ingress port of a leaf or spine held in the sample. */
static int stability_add_buffers(struct trial *t)
{
	struct pauses pauses;
	int err = pauses_read(&pauses, &t->fabric->lab);

	if (err)
		return err;
	trial_value(t, "Buffer_utilization", (double)pauses.peak_bytes, pauses.n);
	pauses_fini(&pauses);
	return 0;
}

/* Samples with a flap and without one are kept apart. */
static int stability_run(struct trial *t)
{
	struct flap f = {.t = t};
	bool middle = t->number == t->n_trials / 2, buffers = !fabric_cannot(t->fabric, NEED_PFC);
	int err = 0;

	flap_spec(&f);
	middle = middle && !fabric_cannot_fail(t->fabric, f.spec);
	trial_with(t, "flap", middle ? "yes" : "no");
	if (buffers) /* the same as before: peaks begin anew */
		err = pauses_set(&t->fabric->lab, PAUSES_XOFF, t->fabric->topo->pfc.xoff_bytes);
	if (!err)
		err = middle ? flap_sample(&f) : soak_sample(t, NULL, NULL);
	if (!err && buffers)
		err = stability_add_buffers(t);
	else if (!err)
		trial_missing(t, "Buffer_utilization", "%s: %s",
			      fabric_lacks(t->fabric, FABRIC_BUFFERS),
			      fabric_cannot(t->fabric, NEED_PFC));
	trial_missing(t, "FEC_errors", "%s", fabric_lacks(t->fabric, FABRIC_FEC));
	trial_with(t, "flap", NULL);
	return err;
}

static int stability_derive(const struct test *test, struct rows *rows)
{
	return soak_length(rows, test->id);
}

const struct test test_13_3 = {
	INFERENCE_CLAUSE("13.3"),
	.name = "Long-Running Serving Stability",
	.dut = "SUT-E",
	.headline = "TTFT@p99",
	.summary = "The service of 13.1; in the sample in the middle a link is down for a second.",
	.needs = NEED_TWO_SERVERS | NEED_FAULTS,
	.trials = {3, 60, 96},
	.seconds = {4, 30, 900},
	.added = PARAMS(PARAM("flap", PARAM_NAME, "",
			      "whether a link was down for a second in the sample", "no,yes")),
	.kpis = KPIS(KPI_AT_S, KPI_SOAK_LENGTH, KPI_OBJECTIVES, KPI_TTFT_JUDGED,
		     {"QP_transitions", "", "DUT-N", "paths of QP groups that died or were rebuilt",
		      BETTER_LOWER, 0},
		     KPI_RETRANSMISSIONS, KPI_FLAPS,
		     {"recovery", "ms", "DUT-F",
		      "from the command that heals the link until all weights are published as "
		      "before",
		      BETTER_LOWER, 0},
		     KPI_TTFT, KPI_TTFT_P99, KPI_TPS_OUTPUT, KPI_OFFERED,
		     {"FEC_errors", "", "DUT-S", "of links", BETTER_LOWER, 0},
		     {"Buffer_utilization", "bytes", "DUT-S",
		      "most that an ingress port of a leaf or spine held (labs with pfc)",
		      BETTER_NONE, 0},
		     KPI_MODEL("TPS_output", "tokens/s")),
	.views = VIEWS(VIEW(VIEW_TREND, "TTFT over time; a link flaps in the middle", "at_s",
			    "strategy", NULL, "TTFT@p99"),
		       VIEW(VIEW_TREND, "Counters over time", "at_s", "strategy", NULL,
			    "QP_transitions", "retransmissions", "flaps"),
		       VIEW(VIEW_TREND, "Buffers over time", "at_s", "strategy", NULL,
			    "Buffer_utilization"),
		       VIEW(VIEW_TABLE, "Stability", "flap", "strategy", NULL, "soak_length",
			    "recovery", "QP_transitions", "flaps", "retransmissions",
			    "Buffer_utilization"),
		       VIEW(VIEW_TABLE, "The service", "flap", "strategy", NULL, "Offered_rate",
			    "Objectives", "TTFT_judged", "TTFT@p99", "TTFT_p99", "TPS_output",
			    "model", "model_ratio")),
	.run = stability_run,
	.derive = stability_derive,
};
