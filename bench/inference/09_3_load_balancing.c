/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "procedure/dispatch.h"
#include "procedure/load.h"
#include "suite/kpis.h"

#define KV_BYTES (1u << 20)

static int load_balancing_run(struct trial *t)
{
	const char *traffic = trial_text(t, "traffic");
	struct dispatch d = {.config = "M4", .ep = trial_gpus(t), .batch = 128};
	struct traffic_load kv = trial_load(t, "kv", 0);
	struct plan plan = {0};
	struct load_links use;
	struct measured m;
	struct moe moe;
	char why[128];
	int err;

	if (strcmp(traffic, "kv") != 0 && dispatch_cannot(t, &d, why, sizeof(why))) {
		trial_missing(t, NULL, "%s", why);
		return 0;
	}
	if (strcmp(traffic, "ep") != 0)
		load_pools(t, &plan, &kv, 4, KV_BYTES);
	if (strcmp(traffic, "kv") != 0)
		dispatch_plan(t, &d, &plan, &moe);
	err = trial_measure(t, &plan, NULL, NULL, &m);
	plan_fini(&plan);
	if (err)
		return err;
	use = load_links(t, &m, true, LINKS_OF_ALL);
	trial_value(t, "JFI", use.jfi, use.n);
	trial_model(t, "JFI", 1, "");
	trial_value(t, "Link_utilization_max", use.max * 100, use.n);
	trial_value(t, "Link_utilization_min", use.min * 100, use.n);
	trial_value(t, "max_over_mean", use.max / use.mean, use.n);
	trial_value(t, "fabric_bandwidth",
		    (m.load[0].bps + (m.n_loads > 1 ? m.load[1].bps : 0)) / 8e6, use.n);
	measured_fini(&m);
	return 0;
}

const struct test test_9_3 = {
	INFERENCE_CLAUSE("9.3"),
	.name = "ECMP and Dynamic Load Balancing Under Inference Traffic",
	.dut = "DUT-F",
	.summary = "How evenly sub-ports are used, counted at the servers' interfaces; the ways to "
		   "balance are the strategies. JFI is between the links of a server, the mean of "
		   "servers; one that sends less than 2% (its GPUs only receive) is left out.",
	.needs = NEED_TWO_SERVERS,
	.trials = {2, 10, 20},
	.seconds = {1, 5, 60},
	.params = PARAMS(PARAM("traffic", PARAM_NAME, "", "KV transfers, dispatches, or both",
			       "kv,ep,mixed")),
	.kpis = KPIS(
		{"JFI", "", "DUT-F", "between the links of a server, mean of servers; 1 is even",
		 BETTER_HIGHER, 0},
		{"Link_utilization_max", "%", "DUT-F", "of the busiest sub-port, transmitting",
		 BETTER_NONE, 0},
		{"Link_utilization_min", "%", "DUT-F", "of the idlest sub-port of those in use",
		 BETTER_HIGHER, 0},
		{"max_over_mean", "", "DUT-F", "busiest sub-port over the mean", BETTER_LOWER, 0},
		KPI_FABRIC_BW, KPI_MODEL("JFI", "")),
	.views = VIEWS(VIEW(VIEW_BARS, "Evenness of links", "traffic", "strategy", NULL, "JFI"),
		       VIEW(VIEW_TABLE, "Links", "traffic", "strategy", NULL, "JFI",
			    "Link_utilization_max", "Link_utilization_min", "max_over_mean",
			    "fabric_bandwidth", "model", "model_ratio")),
	.run = load_balancing_run,
};
