/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/leaf_routes.h"
#include "procedure/dispatch.h"
#include "procedure/load.h"
#include "procedure/service.h"
#include "suite/derive.h"
#include "suite/kpis.h"

#define MOST_SCALES 16
#define DEGRADED    0.1 /* from the smallest scale: the draft's limit */

/* Half of so many GPUs are of each pool, where pools are large enough. */
static unsigned scale_target(const struct trial *t, unsigned gpus, unsigned i)
{
	unsigned half = gpus / 2, first = trial_prefill(t);

	return half <= first && half <= trial_gpus(t) - first ? first + i : half + i;
}

static int kv(struct trial *t, unsigned gpus)
{
	struct traffic_load load = trial_load(t, "kv", 0);
	struct plan plan = {0};
	struct load_links use;
	struct measured m;
	unsigned at = plan_load(&plan, &load), half = gpus / 2;
	bool senders[TOPO_MAX_GPUS];
	double uplinks_bps;
	int err;

	for (unsigned i = 0; i < half; i++)
		plan_stream(&plan, at, i, scale_target(t, gpus, i), 2, 256u << 10);
	uplinks_bps = load_uplinks_bps(t->fabric->topo, &plan) / half;
	load_senders(&plan, senders);
	err = trial_measure(t, &plan, NULL, NULL, &m);
	plan_fini(&plan);
	if (err)
		return err;
	trial_value(t, "KV_xfer_bandwidth", m.load[0].bps / 8e6 / half, m.load[0].messages);
	trial_one_way(t, "KV_xfer_latency", &m.load[0].delivered);
	use = load_links(t, &m, senders);
	trial_value(t, "Link_utilization_max", use.max * 100, use.n);
	trial_model(t, "KV_xfer_bandwidth",
		    fmin(fabric_pair_bps(t->fabric, 0, scale_target(t, gpus, 0)), uplinks_bps) /
			    8e6,
		    "");
	measured_fini(&m);
	return 0;
}

/* A service on the first of equal parts of both pools, at 60% of what its prefill can compute. */
static int scale_service(struct trial *t, unsigned gpus)
{
	struct serving_options o = service_usual(t);
	struct serving_result r;
	int err;

	o.tenants = trial_gpus(t) / gpus;
	if (trial_gpus(t) % gpus || o.n_prefill % o.tenants || o.n_decode % o.tenants) {
		trial_missing(t, "TTFT", "%u GPUs are no equal part of both pools", gpus);
		trial_missing(t, "TPS_output", "%u GPUs are no equal part of both pools", gpus);
		return 0;
	}
	o.n_prefill /= o.tenants;
	o.n_decode /= o.tenants;
	o.per_s = service_capacity(&o) * 0.6;
	err = serving_run(t, &o, NULL, NULL, &r);
	if (!err && r.tokenless < r.requests) {
		trial_one_way(t, "TTFT", &r.ttft);
		trial_value(t, "TPS_output", (double)r.output_tokens / r.seconds, r.output_tokens);
		trial_value(t, "TPS_per_GPU", (double)r.output_tokens / r.seconds / r.decode_gpus,
			    r.output_tokens);
	} else if (!err) {
		trial_missing(t, "TTFT", "no request had a token");
		trial_missing(t, "TPS_output", "no request had a token");
	}
	if (!err)
		service_add_offered(t, &r);
	serving_fini(&r);
	return err;
}

/* What does not depend on who takes part: the fabric stays as large as it is. */
static int control_plane(struct trial *t)
{
	const struct topo *topo = t->fabric->topo;
	unsigned most;
	double seconds;
	int err;

	if (t->fabric->hosts) {
		trial_missing(t, "control_convergence", "BGP of switches is cleared in labs alone");
		trial_missing(t, "Routes", "tables of switches are read in labs alone");
		return 0;
	}
	err = leaf_routes_most(topo, &most);
	if (err)
		return err;
	trial_value(t, "Routes", most, topo->n_leaves + topo->n_spines);
	err = fabric_clear_sessions(t->fabric, &seconds);
	if (!err)
		trial_value(t, "control_convergence", seconds * 1e3, 1);
	return err;
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
	if (!err)
		err = scale_service(t, gpus);
	return err ? err : control_plane(t);
}

/* Of which KPI the median at a scale is worse than the smallest scale's by a tenth; NULL: none. */
static const char *scale_worse(const struct rows *rows, const struct row *like,
			       const struct row_param *least, const struct row_param *here)
{
	static const struct {
		const char *kpi;
		bool higher; /* is better */
	} watched[] = {{"KV_xfer_bandwidth", true},    {"KV_xfer_latency", false},
		       {"EP_alltoall_latency", false}, {"TTFT", false},
		       {"TPS_per_GPU", true},	       {"control_convergence", false}};

	for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++) {
		double was = derive_median(rows, like->test, like->strategy, watched[i].kpi, 1,
					   least, 0.5),
		       is = derive_median(rows, like->test, like->strategy, watched[i].kpi, 1, here,
					  0.5);

		if (watched[i].higher ? is < was * (1 - DEGRADED) : is > was * (1 + DEGRADED))
			return watched[i].kpi;
	}
	return NULL;
}

/* The scales at which transfers were measured. Returns how many. */
static size_t scale_levels(const struct rows *rows, const struct row *like,
			   struct row_param levels[MOST_SCALES])
{
	struct rows_filter same = {
		.test = like->test, .strategy = like->strategy, .kpi = like->kpi, .trial = -1};
	size_t n = rows_levels(rows, &same, "gpus", levels, MOST_SCALES), kept = 0;

	for (size_t i = 0; i < n; i++)
		if (isfinite(derive_median(rows, like->test, like->strategy, like->kpi, 1,
					   &levels[i], 0.5)))
			levels[kept++] = levels[i];
	return kept;
}

/* Of a strategy: at each scale what is worse, and the first at which anything is. */
static int scale_add_limit(struct rows *rows, const struct row *like)
{
	struct row_param levels[MOST_SCALES];
	size_t n = scale_levels(rows, like, levels);
	struct row of = *like; /* rows may move */
	bool found = false;
	int err = 0;

	for (size_t i = 1; !err && i < n; i++) {
		const char *worse = scale_worse(rows, &of, &levels[0], &levels[i]);
		struct row row = {.trial = DERIVED_TRIAL, .value = NAN, .n = 1, .n_params = 1};
		char text[ROW_NAME_MAX];

		snprintf(text, sizeof(text), "%s", worse ? worse : "none");
		snprintf(row.kpi, sizeof(row.kpi), "Limited_by");
		memcpy(row.test, of.test, sizeof(row.test));
		memcpy(row.strategy, of.strategy, sizeof(row.strategy));
		row.param[0] = levels[i];
		row.text = text;
		err = rows_add(rows, &row);
		if (!err && worse && !found)
			err = derive_value(rows, &row, "Scale_limit", levels[i].number);
		found |= worse != NULL;
	}
	return err;
}

static int scale_derive(const struct test *test, struct rows *rows)
{
	struct rows_filter all = {.test = test->id, .kpi = "KV_xfer_bandwidth", .trial = -1};
	int err = 0;

	ROWS_EACH_WHILE (!err, i, rows, &all) {
		struct rows_filter first = all;

		first.strategy = rows_at(rows, i)->strategy;
		if (rows_next(rows, &first, 0) == i)
			err = scale_add_limit(rows, rows_at(rows, i));
	}
	return err;
}

const struct test test_12_1 = {
	INFERENCE_CLAUSE("12.1"),
	.name = "Fabric Scale Limits for Inference Clusters",
	.dut = "DUT-F",
	.summary = "Half of ever more GPUs transfer to the other half, then all dispatch, then a "
		   "service runs on them (compute emulated); at last all BGP sessions of the "
		   "fabric, whose size stays, are ended at once.",
	.needs = NEED_TWO_SERVERS,
	.trials = {1, 10, 20},
	.seconds = {1.5, 5, 60},
	.params = PARAMS(PARAM("gpus", PARAM_COUNT, "", "that take part", "2,4,8", "2,4,8,16,32",
			       "2,4,8,16,32,64")),
	.kpis = KPIS(
		{"KV_xfer_bandwidth", "MB/s", "DUT-F", "payload acknowledged, for a pair",
		 BETTER_HIGHER, 0},
		KPI_KV_LATENCY, KPI_EP_LATENCY, KPI_EP_BANDWIDTH, KPI_TTFT, KPI_TPS_OUTPUT,
		KPI_TPS_PER_GPU, KPI_OFFERED,
		{"Link_utilization_max", "%", "DUT-F", "of the busiest sub-port, KV transfers",
		 BETTER_NONE, 0},
		{"control_convergence", "ms", "DUT-F",
		 "from when all BGP sessions were ended until every server has all its routes "
		 "again",
		 BETTER_LOWER, 0},
		{"Routes", "", "DUT-S", "of the leaf or spine that has most, of both families",
		 BETTER_NONE, 0},
		{"Scale_limit", "GPUs", "DUT-F",
		 "fewest at which a median is worse than with the fewest of all by 10%",
		 BETTER_HIGHER, 0},
		{"Limited_by", "", "DUT-F", "the first KPI that is, at that scale", BETTER_NONE, 0},
		KPI_MODEL("KV_xfer_bandwidth", "MB/s")),
	.views = VIEWS({VIEW_FIELDS(VIEW_DUAL, "Scale", "gpus", "strategy", NULL,
				    "KV_xfer_bandwidth", "EP_alltoall_latency@p99"),
			.log_x = true},
		       VIEW(VIEW_TABLE, "Scale", "gpus", "strategy", NULL, "KV_xfer_bandwidth",
			    "KV_xfer_latency@p99", "EP_alltoall_latency@p99",
			    "EP_alltoall_bandwidth", "TTFT@p99", "TPS_output", "TPS_per_GPU",
			    "Link_utilization_max", "control_convergence", "Routes", "model",
			    "model_ratio"),
		       VIEW(VIEW_TABLE, "The limit", "gpus", "strategy", NULL, "Scale_limit",
			    "Limited_by")),
	.run = scale_run,
	.derive = scale_derive,
};
