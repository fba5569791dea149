/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "suite/kpis.h"
#include "suite/trial.h"

static int tiers_run(struct trial *t)
{
	unsigned dst = trial_gpus(t) - 1, load;
	struct traffic_load kv = trial_load(t, "kv", 0);
	struct plan plan = {0};
	struct measured m;
	int err;

	if (strcmp(trial_text(t, "tier"), "dram-dram") != 0) {
		trial_missing(t, NULL, "tier %s: a worker's blocks are in host memory: %s",
			      trial_text(t, "tier"), fabric_lacks(t->fabric, FABRIC_GPU_MEMORY));
		return 0;
	}
	load = plan_load(&plan, &kv);
	plan_stream(&plan, load, 0, dst, 2, (uint64_t)trial_number(t, "size"));
	err = trial_measure(t, &plan, NULL, NULL, &m);
	plan_fini(&plan);
	if (err)
		return err;
	trial_value(t, "KV_xfer_bandwidth", m.load[0].bps / 8e6, m.load[0].messages);
	trial_one_way(t, "KV_xfer_latency", &m.load[0].delivered);
	trial_model(t, "KV_xfer_bandwidth", fabric_pair_bps(t->fabric, 0, dst) / 8e6, "");
	measured_fini(&m);
	return 0;
}

static const struct param params[] = {
	PARAM("tier", PARAM_NAME, "", "from where to where",
	      "dram-dram,hbm-hbm,hbm-dram,dram-hbm,hbm-nvme"),
	PARAM("size", PARAM_BYTES, "bytes", "of a message", "1M", "1M,4M,16M", "1M,16M,256M"),
	LIST_END};

static const struct kpi kpis[] = {KPI_KV_BANDWIDTH, KPI_KV_LATENCY,
				  KPI_MODEL("KV_xfer_bandwidth", "MB/s"), LIST_END};

static const struct view views[] = {VIEW(VIEW_TABLE, "Tiers", "tier", "size", "strategy",
					 "KV_xfer_bandwidth", "KV_xfer_latency@p50",
					 "KV_xfer_latency@p99", "model", "model_ratio"),
				    VIEWS_END};

const struct test test_5_4 = {
	.id = "5.4",
	.name = "Multi-Tier Storage Transfer Characterization",
	.clause = DRAFT "5.4",
	.dut = "DUT-PD",
	.summary =
		"Blocks from host memory to remote host memory; the tiers of GPU memory and NVMe "
		"are named and not measured where there are none.",
	.needs = NEED_TWO_SERVERS,
	.trials = {3, 10, 20},
	.seconds = {0.8, 4, 60},
	.params = params,
	.kpis = kpis,
	.views = views,
	.run = tiers_run,
};
