/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>

#include "procedure/dispatch.h"
#include "procedure/load.h"
#include "suite/kpis.h"

static int kv(struct trial *t, unsigned gpus)
{
	struct traffic_load load = trial_load(t, "kv", 0);
	struct plan plan = {0};
	struct load_links use;
	struct measured m;
	unsigned at = plan_load(&plan, &load), half = gpus / 2;
	double uplinks_bps;
	int err;

	for (unsigned i = 0; i < half; i++)
		plan_stream(&plan, at, i, half + i, 2, 256u << 10);
	uplinks_bps = load_uplinks_bps(t->fabric->topo, &plan) / half;
	err = trial_measure(t, &plan, NULL, NULL, &m);
	plan_fini(&plan);
	if (err)
		return err;
	trial_value(t, "KV_xfer_bandwidth", m.load[0].bps / 8e6 / half, m.load[0].messages);
	trial_one_way(t, "KV_xfer_latency", &m.load[0].delivered);
	use = load_links(t, &m, true, LINKS_OF_ALL);
	trial_value(t, "Link_utilization_max", use.max * 100, use.n);
	trial_model(t, "KV_xfer_bandwidth",
		    fmin(fabric_pair_bps(t->fabric, 0, half), uplinks_bps) / 8e6, "");
	measured_fini(&m);
	return 0;
}

static int scale_run(struct trial *t)
{
	unsigned gpus = trial_count(t, "gpus");
	int err;

	if (gpus > trial_gpus(t) || gpus < 2) {
		trial_missing(t, NULL, "the fabric has %u GPUs", trial_gpus(t));
		return 0;
	}
	err = kv(t, gpus);
	if (!err)
		err = dispatch_run(t, &(struct dispatch){.config = "M4", .ep = gpus, .batch = 32});
	trial_missing(t, "control_convergence", "farebench converge measures it");
	return err;
}

const struct test test_12_1 = {
	INFERENCE_CLAUSE("12.1"),
	.name = "Fabric Scale Limits for Inference Clusters",
	.dut = "DUT-F",
	.summary = "Half of ever more GPUs transfer to the other half, then all dispatch.",
	.needs = NEED_TWO_SERVERS,
	.trials = {1, 10, 20},
	.seconds = {0.8, 5, 60},
	.params = PARAMS(PARAM("gpus", PARAM_COUNT, "", "that take part", "2,4,8", "2,4,8,16,32",
			       "2,4,8,16,32,64")),
	.kpis = KPIS(
		{"KV_xfer_bandwidth", "MB/s", "DUT-F", "payload acknowledged, for a pair",
		 BETTER_HIGHER, 0},
		KPI_KV_LATENCY, KPI_EP_LATENCY, KPI_EP_BANDWIDTH,
		{"Link_utilization_max", "%", "DUT-F", "of the busiest sub-port, KV transfers",
		 BETTER_NONE, 0},
		{"control_convergence", "ms", "DUT-F", "of the control plane", BETTER_LOWER, 0},
		KPI_MODEL("KV_xfer_bandwidth", "MB/s")),
	.views = VIEWS({VIEW_FIELDS(VIEW_DUAL, "Scale", "gpus", "strategy", NULL,
				    "KV_xfer_bandwidth", "EP_alltoall_latency@p99"),
			.log_x = true},
		       VIEW(VIEW_TABLE, "Scale", "gpus", "strategy", NULL, "KV_xfer_bandwidth",
			    "KV_xfer_latency@p99", "EP_alltoall_latency@p99",
			    "EP_alltoall_bandwidth", "model", "model_ratio")),
	.run = scale_run,
};
