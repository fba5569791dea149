/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "procedure/dispatch.h"
#include "procedure/load.h"
#include "procedure/uplinks.h"
#include "suite/kpis.h"

#define BALANCING_OWN	   "own"
#define BALANCING_EP_BYTES (1u << 20) /* a flow of a dispatch is shorter */
#define BALANCING_BUSY	   0.02	      /* of a leaf's uplinks: others send acknowledgements */

static const char *const balancing_of_uplinks[] = {"Uplink_JFI", "Uplink_utilization_max",
						   "Uplink_utilization_min", "Oversubscription"};

/* Leaves spread as the trial wants it. 1: they cannot, and the rows say why. */
static int balancing_set(struct trial *t)
{
	const char *mode = trial_text(t, "balance"), *why = fabric_cannot(t->fabric, NEED_SPINES);
	int err = 0;

	if (strcmp(mode, BALANCING_OWN) == 0)
		return fabric_balance_back(t->fabric);
	if (t->fabric->hosts)
		why = "how switches of hosts spread is not set from here";
	if (!why)
		err = fabric_balance(t->fabric, mode, 0, t->seed);
	if (!why && err != -EOPNOTSUPP)
		return err;
	trial_missing(t, NULL, "%s", why ? why : t->fabric->why);
	return 1;
}

/* Dispatches with the most tokens whose flows are short enough. */
static void balancing_plan_ep(struct trial *t, struct dispatch *d, struct plan *plan,
			      struct moe *moe)
{
	struct plan trial_plan = {0};

	for (;; d->batch /= 2) {
		dispatch_plan(t, d, &trial_plan, moe);
		plan_fini(&trial_plan);
		trial_plan = (struct plan){0};
		if (moe_largest(moe, moe->period) < BALANCING_EP_BYTES || d->batch < 2)
			break;
	}
	dispatch_plan(t, d, plan, moe);
}

static void balancing_add_uplinks(struct trial *t, const struct uplinks *u)
{
	struct link_balance use = uplinks_balance_busy(u, BALANCING_BUSY);
	double full = uplinks_full_bytes(u);

	trial_value(t, "Oversubscription", topo_oversubscription(t->fabric->topo), 1);
	if (!use.n) {
		for (unsigned i = 0; i < 3; i++)
			trial_missing(t, balancing_of_uplinks[i],
				      "no leaf sent 2%% of what its uplinks carry");
		return;
	}
	trial_value(t, "Uplink_JFI", use.jfi, use.n);
	trial_value(t, "Uplink_utilization_max", use.max / full * 100, use.n);
	trial_value(t, "Uplink_utilization_min", use.min / full * 100, use.n);
}

static void balancing_add(struct trial *t, const struct plan *plan, const struct measured *m)
{
	bool senders[TOPO_MAX_GPUS];
	struct load_links use;

	load_senders(plan, senders);
	use = load_links(t, m, senders);
	trial_value(t, "JFI", use.jfi, use.n);
	trial_model(t, "JFI", 1, "");
	trial_value(t, "Link_utilization_max", use.max * 100, use.n);
	trial_value(t, "Link_utilization_min", use.min * 100, use.n);
	trial_value(t, "max_over_mean", use.max_over_mean, use.n);
	trial_value(t, "retransmissions", (double)m->books.retransmitted, m->books.messages);
	trial_value(t, "fabric_bandwidth",
		    (m->load[0].bps + (m->n_loads > 1 ? m->load[1].bps : 0)) / 8e6, use.n);
}

static int balancing_measure(struct trial *t, const struct plan *plan)
{
	const char *why = fabric_cannot(t->fabric, NEED_SPINES);
	struct uplinks u;
	struct measured m;
	int err = uplinks_init(&u, t->fabric);

	if (!err)
		err = trial_measure(t, plan, why ? NULL : uplinks_meanwhile, &u, &m);
	if (!err) {
		balancing_add(t, plan, &m);
		if (!why)
			balancing_add_uplinks(t, &u);
		for (unsigned i = 0; why && i < 4; i++)
			trial_missing(t, balancing_of_uplinks[i], "%s", why);
		measured_fini(&m);
	}
	uplinks_fini(&u);
	return err;
}

static int balancing_run(struct trial *t)
{
	const char *traffic = trial_text(t, "traffic");
	struct dispatch d = {.config = "M4", .ep = trial_gpus(t), .batch = 128};
	struct traffic_load kv = trial_load(t, "kv", 0);
	struct plan plan = {0};
	struct moe moe;
	char why[128];
	int err;

	if (strcmp(traffic, "kv") != 0 && dispatch_cannot(t, &d, why, sizeof(why))) {
		trial_missing(t, NULL, "%s", why);
		return 0;
	}
	err = balancing_set(t);
	if (err)
		return err > 0 ? 0 : err;
	if (strcmp(traffic, "ep") != 0)
		load_pools(t, &plan, &kv, 4, (uint64_t)trial_number(t, "size"));
	if (strcmp(traffic, "kv") != 0)
		balancing_plan_ep(t, &d, &plan, &moe);
	err = balancing_measure(t, &plan);
	plan_fini(&plan);
	return err;
}

const struct test test_9_3 = {
	INFERENCE_CLAUSE("9.3"),
	.name = "ECMP and Dynamic Load Balancing Under Inference Traffic",
	.dut = "DUT-F",
	.summary = "How evenly links are used: servers' by the way their QPs are spread (the "
		   "strategies), counted at the servers' interfaces, and leaves' links to spines "
		   "by the leaves' mode (emulated: the kernel, and BPF). JFI is between the links "
		   "of a server or of a leaf, the mean of those that send: GPUs that send blocks "
		   "or dispatches; of leaves those that fill 2% of their links to spines.",
	.needs = NEED_TWO_SERVERS,
	.trials = {2, 10, 20},
	.seconds = {1, 5, 60},
	.params = PARAMS(
		PARAM("traffic", PARAM_NAME, "",
		      "KV transfers, dispatches of flows below 1 MiB, or both", "kv,ep,mixed"),
		PARAM("balance", PARAM_NAME, "",
		      "how leaves spread over their uplinks (two tiers); own: as they are set",
		      BALANCING_OWN, BALANCING_OWN ",ecmp,flowlet,spray",
		      BALANCING_OWN ",ecmp,bth,flowlet,adaptive,spray"),
		PARAM("size", PARAM_BYTES, "bytes", "of a KV transfer", "1M", NULL, "16M")),
	.kpis = KPIS(
		{"JFI", "", "DUT-F", "between the links of a server, mean of servers; 1 is even",
		 BETTER_HIGHER, 0},
		{"Link_utilization_max", "%", "DUT-F", "of the busiest sub-port of GPUs that send",
		 BETTER_NONE, 0},
		{"Link_utilization_min", "%", "DUT-F",
		 "of the idlest of them; with both kinds of traffic decode GPUs send dispatches "
		 "alone",
		 BETTER_HIGHER, 0},
		{"max_over_mean", "", "DUT-F",
		 "of those of a server the busiest over their mean, of the worst server",
		 BETTER_LOWER, 0},
		{"Uplink_JFI", "", "DUT-F", "between a leaf's links to spines, mean of leaves",
		 BETTER_HIGHER, 0},
		{"Uplink_utilization_max", "%", "DUT-F", "of the busiest of them", BETTER_NONE, 0},
		{"Uplink_utilization_min", "%", "DUT-F", "of the idlest, of leaves in use",
		 BETTER_HIGHER, 0},
		{"Oversubscription", "", "DUT-F",
		 "links of a leaf's servers over its links to spines, of the worst leaf",
		 BETTER_NONE, 0},
		KPI_FABRIC_BW, KPI_RETRANSMISSIONS, KPI_MODEL("JFI", "")),
	.views = VIEWS(VIEW(VIEW_BARS, "Evenness of servers' links", "traffic", "strategy",
			    "balance", "JFI"),
		       VIEW(VIEW_BARS, "Evenness of leaves' links to spines", "traffic", "balance",
			    "strategy", "Uplink_JFI"),
		       VIEW(VIEW_TABLE, "Servers' links", "traffic", "strategy", "balance", "JFI",
			    "Link_utilization_max", "Link_utilization_min", "max_over_mean",
			    "fabric_bandwidth", "retransmissions", "model", "model_ratio"),
		       VIEW(VIEW_TABLE, "Leaves' links to spines", "traffic", "balance", "strategy",
			    "Uplink_JFI", "Uplink_utilization_max", "Uplink_utilization_min",
			    "Oversubscription", "retransmissions")),
	.run = balancing_run,
};
