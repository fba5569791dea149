/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "suite/derive.h"
#include "suite/kpis.h"
#include "suite/trial.h"

#define TIERS_BEST "hbm-hbm" /* what the others are related to */

/* Tiers by their memory. NVMe is behind host memory: both providers move its bytes from there. */
static const struct {
	const char *name;
	struct memory_pair memory;
} tiers[] = {
	{"dram-dram", {MEMORY_HOST, MEMORY_HOST}},  {TIERS_BEST, {MEMORY_DMABUF, MEMORY_DMABUF}},
	{"hbm-dram", {MEMORY_DMABUF, MEMORY_HOST}}, {"dram-hbm", {MEMORY_HOST, MEMORY_DMABUF}},
	{"hbm-nvme", {MEMORY_DMABUF, MEMORY_FILE}}, {"nvme-hbm", {MEMORY_FILE, MEMORY_DMABUF}},
	{"dram-nvme", {MEMORY_HOST, MEMORY_FILE}},  {"nvme-dram", {MEMORY_FILE, MEMORY_HOST}},
};

/* True: the rows say why it cannot be measured. */
static bool tiers_lack(struct trial *t, const struct memory_pair **memory)
{
	uint64_t size = (uint64_t)trial_number(t, "size");

	for (size_t i = 0; i < sizeof(tiers) / sizeof(tiers[0]); i++)
		if (strcmp(tiers[i].name, trial_text(t, "tier")) == 0)
			*memory = &tiers[i].memory;
	if (!*memory)
		trial_missing(t, NULL, "%s is no tier", trial_text(t, "tier"));
	else if (((*memory)->source == MEMORY_FILE || (*memory)->target == MEMORY_FILE) &&
		 size % MEMORY_BLOCK)
		trial_missing(t, NULL, "a file takes multiples of %d bytes (O_DIRECT)",
			      MEMORY_BLOCK);
	else
		return false;
	return true;
}

static int tiers_run(struct trial *t)
{
	unsigned dst = trial_gpus(t) - 1, load;
	struct traffic_load kv = trial_load(t, "kv", 0);
	const struct memory_pair *memory = NULL;
	struct plan plan = {0};
	struct measured m;
	int err;

	if (tiers_lack(t, &memory))
		return 0;
	t->memory = *memory;
	load = plan_load(&plan, &kv);
	plan_stream(&plan, load, 0, dst, 2, (uint64_t)trial_number(t, "size"));
	err = trial_measure(t, &plan, NULL, NULL, &m);
	plan_fini(&plan);
	if (err == -EOPNOTSUPP) {
		trial_missing(t, NULL, "tier %s: %s", trial_text(t, "tier"),
			      t->fabric->memory_lacks);
		return 0;
	}
	if (err)
		return err;
	trial_value(t, "KV_xfer_bandwidth", m.load[0].bps / 8e6, m.load[0].messages);
	trial_one_way(t, "KV_xfer_latency", &m.load[0].delivered);
	trial_set_text(t, "medium", t->fabric->memory_text);
	trial_model(t, "KV_xfer_bandwidth", fabric_pair_bps(t->fabric, 0, dst) / 8e6, "");
	measured_fini(&m);
	return 0;
}

/* Throughput of every tier over that between GPUs, of the same size and strategy. */
static int tiers_derive(const struct test *test, struct rows *rows)
{
	struct rows_filter all = {.test = test->id, .kpi = "KV_xfer_bandwidth", .trial = 0};
	int err = 0;

	ROWS_EACH_WHILE (!err, i, rows, &all) {
		struct row row = *rows_at(rows, i);
		struct row_param best[ROWS_MAX_PARAMS];
		double mine = derive_median(rows, test->id, row.strategy, row.kpi, row.n_params,
					    row.param, 0.5);

		if (!isfinite(mine)) /* and its ratio, for the same reason */
			continue;
		memcpy(best, row.param, sizeof(best));
		for (unsigned k = 0; !err && k < row.n_params; k++)
			if (strcmp(best[k].name, "tier") == 0)
				err = row_param_set(&best[k], "tier", TIERS_BEST);
		if (!err)
			err = derive_value_or(
				rows, &row, "tier_ratio",
				mine / derive_median(rows, test->id, row.strategy, row.kpi,
						     row.n_params, best, 0.5),
				"no throughput of " TIERS_BEST " of this size to relate it to");
	}
	return err;
}

const struct test test_5_4 = {
	INFERENCE_CLAUSE("5.4"),
	.name = "Multi-Tier Storage Transfer Characterization",
	.dut = "DUT-PD",
	.summary =
		"Blocks between host memory (dram), dma-bufs (hbm) and files opened O_DIRECT "
		"(nvme), behind host memory: no GPU-direct storage; a block has arrived when its "
		"file has it. What is emulated stands beside each.",
	.needs = NEED_TWO_SERVERS,
	.trials = {3, 10, 20},
	.seconds = {0.8, 4, 60},
	.params = PARAMS(
		PARAM("tier", PARAM_NAME, "", "memory of the sender, and of the receiver",
		      "dram-dram,hbm-hbm,hbm-dram,dram-hbm,hbm-nvme,nvme-hbm,dram-nvme,nvme-dram"),
		PARAM("size", PARAM_BYTES, "bytes", "of a message", "1M", "1M,4M,16M",
		      "1M,16M,256M")),
	.kpis = KPIS(KPI_KV_BANDWIDTH, KPI_KV_LATENCY,
		     {"tier_ratio", "", "DUT-PD", "throughput over that of " TIERS_BEST,
		      BETTER_HIGHER, 0},
		     {"medium", "", "DUT-PD",
		      "what the tier is made of, at the sender and at the receiver; said once "
		      "where that is the same",
		      BETTER_NONE, 0},
		     KPI_MODEL("KV_xfer_bandwidth", "MB/s")),
	.views = VIEWS(
		{VIEW_FIELDS(VIEW_TABLE, "Tiers", "tier", "size", "strategy", "KV_xfer_bandwidth",
			     "KV_xfer_latency@p50", "KV_xfer_latency@p99"),
		 .across = true},
		VIEW(VIEW_TABLE, "What tiers are made of", "tier", "size", "strategy", "tier_ratio",
		     "medium", "model", "model_ratio")),
	.derive = tiers_derive,
	.run = tiers_run,
};
