/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "procedure/dispatch.h"
#include "procedure/load.h"
#include "suite/derive.h"
#include "suite/kpis.h"

#define KV_BYTES (256u << 10)

static void plan_kv(struct trial *t, struct plan *plan)
{
	struct traffic_load kv = trial_load(t, "kv", 0);

	kv.law = ARRIVAL_POISSON;
	kv.mean_s = KV_BYTES * 8 / (fabric_line_bps(t->fabric, 0) * trial_number(t, "load") / 100);
	load_pools(t, plan, &kv, 32, KV_BYTES);
}

static int contention_run(struct trial *t)
{
	const char *traffic = trial_text(t, "traffic");
	struct dispatch d = {.config = "M3", .ep = trial_gpus(t), .batch = 128, .period_s = 0.01};
	bool has_kv = strcmp(traffic, "ep") != 0, has_ep = strcmp(traffic, "kv") != 0;
	struct plan plan = {0};
	struct measured m;
	struct moe moe;
	char why[128];
	int err;

	if (dispatch_cannot(t, &d, why, sizeof(why))) {
		trial_missing(t, NULL, "%s", why);
		return 0;
	}
	if (has_kv)
		plan_kv(t, &plan);
	if (has_ep)
		dispatch_plan(t, &d, &plan, &moe);
	err = trial_measure(t, &plan, NULL, NULL, &m);
	plan_fini(&plan);
	if (err)
		return err;
	if (has_kv)
		trial_one_way(t, "KV_xfer_latency", &m.load[0].delivered);
	if (has_ep)
		trial_one_way(t, "EP_alltoall_latency", &m.load[has_kv].round);
	trial_value(t, "Packet_drop_rate", load_links(t, &m, false, LINKS_OF_ALL).drop_ppm, 1);
	trial_missing(t, "ECN_PFC", "nothing marks or pauses on this fabric");
	measured_fini(&m);
	return 0;
}

static int penalty(struct rows *rows, const struct row *row, const char *kpi, const char *alone,
		   const char *name)
{
	struct row_param param[2];
	double contended, isolated;

	memcpy(param, row->param, sizeof(param));
	contended = derive_median(rows, "7.4", row->strategy, kpi, 2, param, 0.99);
	row_param_set(&param[0], "traffic", alone);
	isolated = derive_median(rows, "7.4", row->strategy, kpi, 2, param, 0.99);
	return derive_value(rows, row, name, contended / isolated);
}

static int contention_derive(const struct test *test, struct rows *rows)
{
	struct row_param both;
	struct rows_filter filter = {.test = test->id,
				     .kpi = "EP_alltoall_latency",
				     .n_params = 1,
				     .param = &both,
				     .trial = 0};
	int err = 0;

	row_param_set(&both, "traffic", "both");
	for (size_t i = rows_next(rows, &filter, 0); !err && i < rows_count(rows);
	     i = rows_next(rows, &filter, i + 1)) {
		struct row row = *rows_at(rows, i);

		if (row.missing)
			continue;
		err = penalty(rows, &row, "EP_alltoall_latency", "ep", "penalty_EP");
		if (!err)
			err = penalty(rows, &row, "KV_xfer_latency", "kv", "penalty_KV");
	}
	return err;
}

static const struct param params[] = {
	PARAM("traffic", PARAM_NAME, "", "each alone, then both at once", "kv,ep,both"),
	PARAM("load", PARAM_COUNT, "%", "of a GPU's line that KV transfers take", "50,75"),
	LIST_END};

static const struct kpi kpis[] = {
	KPI_KV_LATENCY,
	KPI_EP_LATENCY,
	{"penalty_KV", "", "DUT-F", "P99 of KV transfers with dispatches over without",
	 BETTER_LOWER, 0},
	{"penalty_EP", "", "DUT-F", "P99 of dispatches with KV transfers over without",
	 BETTER_LOWER, 0},
	KPI_DROPS,
	KPI_NOT("ECN_PFC", "", "packets marked, pause frames"),
	LIST_END};

static const struct view views[] = {
	VIEW(VIEW_BARS, "P99 of dispatches, alone and beside KV transfers", "traffic", "strategy",
	     "load", "EP_alltoall_latency@p99"),
	VIEW(VIEW_TABLE, "Contention", "traffic", "load", "strategy", "KV_xfer_latency@p99",
	     "EP_alltoall_latency@p99", "penalty_KV", "penalty_EP", "Packet_drop_rate"),
	VIEWS_END};

const struct test test_7_4 = {
	.id = "7.4",
	.name = "Expert Parallelism and KV Cache Transfer Contention",
	.clause = DRAFT "7.4",
	.dut = "DUT-F",
	.summary = "KV blocks at a rate (open loop) and a dispatch of M3 every 10 ms on the same "
		   "links, each alone and together.",
	.needs = NEED_TWO_SERVERS,
	.trials = {2, 10, 20},
	.seconds = {1, 5, 60},
	.params = params,
	.kpis = kpis,
	.views = views,
	.run = contention_run,
	.derive = contention_derive,
};
