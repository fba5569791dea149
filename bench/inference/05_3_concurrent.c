/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <stdlib.h>

#include "core/stats.h"
#include "procedure/ideal.h"
#include "procedure/load.h"
#include "suite/kpis.h"

static void concurrent_add(struct trial *t, const struct plan *plan, const struct measured *m)
{
	double *bps = calloc(m->n_streams + 1, sizeof(*bps)), line;
	unsigned first = trial_prefill(t);
	bool senders[TOPO_MAX_GPUS];
	struct load_links use;

	load_senders(plan, senders);
	use = load_links(t, m, senders);
	for (unsigned i = 0; bps && i < m->n_streams; i++)
		bps[i] = m->stream[i].bps;
	line = ideal_pairs_bps(m->n_streams, first, trial_gpus(t) - first,
			       fabric_pair_bps(t->fabric, 0, first));
	trial_value(t, "KV_xfer_bandwidth", m->load[0].bps / 8e6, m->load[0].messages);
	trial_value(t, "of_line", m->load[0].bps / line * 100, m->load[0].messages);
	trial_one_way(t, "KV_xfer_latency", &m->load[0].delivered);
	trial_hist(t, "Fabric_FCT", &m->load[0].completed);
	if (bps)
		trial_value(t, "JFI", stats_jfi(bps, m->n_streams), m->n_streams);
	trial_value(t, "Link_utilization_max", use.max * 100, use.n);
	trial_value(t, "Link_utilization_mean", use.mean * 100, use.n);
	trial_model(t, "KV_xfer_bandwidth",
		    fmin(line, load_uplinks_bps(t->fabric->topo, plan)) / 8e6, "");
	free(bps);
}

static int concurrent_run(struct trial *t)
{
	unsigned first = trial_prefill(t), decode = trial_gpus(t) - first, load;
	struct traffic_load kv = trial_load(t, "kv", 0);
	struct plan plan = {0};
	struct measured m;
	int err;

	load = plan_load(&plan, &kv);
	for (unsigned i = 0; i < trial_count(t, "pairs"); i++) {
		unsigned src, dst;

		load_pair(i, first, decode, &src, &dst);
		plan_stream(&plan, load, src, first + dst, 2, (uint64_t)trial_number(t, "size"));
	}
	err = trial_measure(t, &plan, NULL, NULL, &m);
	if (!err) {
		concurrent_add(t, &plan, &m);
		measured_fini(&m);
	}
	plan_fini(&plan);
	return err;
}

const struct test test_5_3 = {
	INFERENCE_CLAUSE("5.3"),
	.name = "Concurrent KV Cache Transfer Scaling",
	.dut = "DUT-F",
	.summary = "Pairs of prefill and decode GPUs, two blocks of each under way, closed loop.",
	.needs = NEED_TWO_SERVERS,
	.trials = {3, 10, 20},
	.seconds = {1, 5, 60},
	.params = PARAMS(PARAM("pairs", PARAM_COUNT, "",
			       "that transfer at once; more than there are GPUs share them",
			       "1,2,4,8", "1,2,4,8,16,32", "1,2,4,8,16,32,64,128"),
			 PARAM("size", PARAM_BYTES, "bytes", "of a message", "256K", "1M", "16M")),
	.kpis = KPIS(KPI_KV_BANDWIDTH, KPI_OF_LINE, KPI_KV_LATENCY,
		     {"Fabric_FCT", "us", "DUT-F", "until the sender knew of its completion",
		      BETTER_LOWER, 1e-3},
		     KPI_JFI,
		     {"Link_utilization_max", "%", "DUT-F", "of the busiest sub-port of them",
		      BETTER_NONE, 0},
		     {"Link_utilization_mean", "%", "DUT-F",
		      "of the sub-ports of GPUs that send blocks, all packets", BETTER_NONE, 0},
		     KPI_MODEL("KV_xfer_bandwidth", "MB/s")),
	.views = VIEWS(
		{VIEW_FIELDS(VIEW_DUAL, "Aggregate throughput and tail latency over pairs", "pairs",
			     "strategy", NULL, "KV_xfer_bandwidth", "KV_xfer_latency@p99"),
		 .log_x = true, .note = "JFI"},
		VIEW(VIEW_TABLE, "Scaling", "pairs", "strategy", NULL, "KV_xfer_bandwidth",
		     "of_line", "KV_xfer_latency@p50", "KV_xfer_latency@p99", "JFI",
		     "Link_utilization_max", "Link_utilization_mean", "model", "model_ratio"),
		VIEW(VIEW_TABLE, "Until the sender knew", "pairs", "strategy", NULL,
		     "Fabric_FCT@p50", "Fabric_FCT@p95", "Fabric_FCT@p99")),
	.run = concurrent_run,
};
