/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
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

/* Blocks at their rate from every prefill GPU, and a dispatch a period. */
static void contention_model(struct trial *t, const struct dispatch *d, bool has_kv,
			     const struct moe *moe)
{
	double bytes_per_s = 0;

	if (has_kv)
		bytes_per_s += trial_prefill(t) * fabric_line_bps(t->fabric, 0) / 8 *
			       trial_number(t, "load") / 100;
	if (moe)
		bytes_per_s += dispatch_spread(t, d, moe).bytes / d->period_s;
	trial_model(t, "fabric_bandwidth", bytes_per_s / 1e6, "");
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
	double bps = 0;
	int err;

	if (dispatch_cannot(t, &d, why, sizeof(why))) {
		trial_missing(t, NULL, "%s", why);
		return 0;
	}
	if (has_kv)
		plan_kv(t, &plan);
	if (has_ep)
		dispatch_plan(t, &d, &plan, &moe);
	err = load_marks_begin(t);
	if (!err)
		err = trial_measure(t, &plan, NULL, NULL, &m);
	plan_fini(&plan);
	if (err)
		return err;
	for (unsigned i = 0; i < m.n_loads; i++)
		bps += m.load[i].bps;
	trial_value(t, "fabric_bandwidth", bps / 8e6, 1);
	contention_model(t, &d, has_kv, has_ep ? &moe : NULL);
	if (has_kv) {
		trial_one_way(t, "KV_xfer_latency", &m.load[0].delivered);
		trial_value(t, "unfinished_KV", load_unfinished(&m.load[0]) * 100,
			    m.load[0].posted.n + m.load[0].unposted);
	}
	if (has_ep) {
		trial_one_way(t, "EP_alltoall_latency", &m.load[has_kv].round);
		trial_value(t, "unfinished_EP",
			    dispatch_unfinished(&m.load[has_kv], d.period_s, m.from_ns, m.to_ns) *
				    100,
			    (uint64_t)(t->seconds / d.period_s));
		dispatch_add_volume(t, &d, &moe);
	}
	trial_value(t, "Packet_drop_rate", load_links(t, &m, NULL).drop_ppm, 1);
	measured_fini(&m);
	return load_add_marks(t);
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
	return derive_value_or(
		rows, row, name, contended / isolated,
		"alone or with both, there is no P99 of this load: not run, or fewer "
		"than the 300 measurements of all trials together that carry one; "
		"unfinished_KV and unfinished_EP say what did not end in time");
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
	ROWS_EACH_WHILE (!err, i, rows, &filter) {
		struct row row = *rows_at(rows, i);

		if (!isfinite(derive_median(rows, test->id, row.strategy, row.kpi, row.n_params,
					    row.param, 0.5)))
			continue;
		err = penalty(rows, &row, "EP_alltoall_latency", "ep", "penalty_EP");
		if (!err)
			err = penalty(rows, &row, "KV_xfer_latency", "kv", "penalty_KV");
	}
	return err;
}

const struct test test_7_4 = {
	INFERENCE_CLAUSE("7.4"),
	.name = "Expert Parallelism and KV Cache Transfer Contention",
	.dut = "DUT-F",
	.summary = "KV blocks of 256 KB at a rate (open loop) and a dispatch of M3 every 10 ms on "
		   "the same links, each alone and together.",
	.needs = NEED_TWO_SERVERS,
	.trials = {2, 10, 20},
	.seconds = {2, 5, 60}, /* two trials carry a P99 of dispatches and of blocks */
	.params = PARAMS(
		PARAM("traffic", PARAM_NAME, "", "each alone, then both at once", "kv,ep,both"),
		PARAM("load", PARAM_COUNT, "%", "of a GPU's line that KV transfers take", "50,75")),
	.kpis = KPIS(KPI_KV_LATENCY, KPI_EP_LATENCY,
		     {"penalty_KV", "", "DUT-F", "P99 of KV transfers with dispatches over without",
		      BETTER_LOWER, 0},
		     {"penalty_EP", "", "DUT-F", "P99 of dispatches with KV transfers over without",
		      BETTER_LOWER, 0},
		     {"unfinished_KV", "%", "DUT-F",
		      "blocks due in the time measured that had not arrived by its end, with those "
		      "under way then",
		      BETTER_LOWER, 0},
		     {"unfinished_EP", "%", "DUT-F", "the same of dispatches, one due each 10 ms",
		      BETTER_LOWER, 0},
		     KPI_DROPS, KPI_FABRIC_BW, KPI_MARKS, KPI_MARKED, KPI_PAUSES, KPI_VOLUME,
		     KPI_MODEL("fabric_bandwidth", "MB/s")),
	.views = VIEWS(VIEW(VIEW_BARS, "P99 of dispatches, alone and beside KV transfers",
			    "traffic", "strategy", "load", "EP_alltoall_latency@p99"),
		       VIEW(VIEW_TABLE, "Contention", "traffic", "load", "strategy",
			    "KV_xfer_latency@p99", "EP_alltoall_latency@p99", "penalty_KV",
			    "penalty_EP", "unfinished_KV", "unfinished_EP", "fabric_bandwidth",
			    "model", "model_ratio"),
		       VIEW(VIEW_TABLE, "Congestion", "traffic", "load", "strategy",
			    "ECN_marking_rate", "ECN_marks", "PFC_frame_count", "Packet_drop_rate"),
		       VIEW(VIEW_TABLE, "Bytes of a dispatch of one GPU", "traffic", NULL, NULL,
			    "T_egress", "S_fabric")),
	.run = contention_run,
	.derive = contention_derive,
};
