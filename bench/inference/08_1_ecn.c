/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>

#include "procedure/load.h"
#include "suite/kpis.h"

/* What the leaves sent to one GPU, all sub-ports. */
static void add_marks(struct trial *t, unsigned gpu)
{
	struct load_marks marks = load_marks(t->fabric->topo, gpu, gpu + 1);

	trial_value(t, "ECN_marking_rate", marks.rate_percent, (uint64_t)marks.packets);
	if (isfinite(marks.onset_ms)) {
		trial_value(t, "marking_onset", marks.onset_ms, 1);
		trial_value(t, "Buffer_utilization", marks.onset_bytes, 1);
		return;
	}
	trial_missing(t, "marking_onset", "no queue reached the threshold");
	trial_missing(t, "Buffer_utilization", "no queue reached the threshold");
}

static int ecn_run(struct trial *t)
{
	unsigned to = trial_gpus(t) - 1;
	struct measured m;
	int err = load_marked_incast(t, "kv", to, &m);

	if (err)
		return err > 0 ? 0 : err;
	trial_value(t, "KV_xfer_bandwidth", m.load[0].bps / 8e6, m.load[0].messages);
	trial_model(t, "KV_xfer_bandwidth", fabric_line_bps(t->fabric, to) / 8e6, "");
	measured_fini(&m);
	err = fabric_check(t->fabric);
	if (!err)
		add_marks(t, to);
	return err;
}

const struct test test_8_1 = {
	INFERENCE_CLAUSE("8.1"),
	.name = "ECN Marking Under Inference Incast",
	.dut = "DUT-S",
	.summary = "Several GPUs send to one. Leaves mark by a virtual queue that drains as the "
		   "shaper does (emulated; BPF at the leaf's egress).",
	.needs = NEED_TWO_SERVERS | NEED_ECN,
	.trials = {3, 10, 20},
	.seconds = {1, 5, 60},
	.params = PARAMS(PARAM("senders", PARAM_COUNT, "", "prefill GPUs toward one decode GPU",
			       "2,3", "2,4,8", "2,4,8,16,32"),
			 PARAM("threshold", PARAM_BYTES, "bytes", "at which the leaf marks", "100K",
			       "100K,500K,1M", "100K,500K,1M,5M")),
	.kpis = KPIS({"ECN_marking_rate", "%", "DUT-S",
		      "packets to the receiver that left its leaves with CE", BETTER_NONE, 0},
		     {"marking_onset", "ms", "DUT-S",
		      "from the first data packet to the first mark", BETTER_NONE, 0},
		     {"Buffer_utilization", "bytes", "DUT-S", "in the queue at the first mark",
		      BETTER_NONE, 0},
		     KPI_KV_BANDWIDTH, KPI_DROPS, KPI_MODEL("KV_xfer_bandwidth", "MB/s")),
	.views = VIEWS(VIEW(VIEW_TABLE, "Marking", "senders", "threshold", "strategy",
			    "ECN_marking_rate", "marking_onset", "Buffer_utilization",
			    "KV_xfer_bandwidth", "model", "model_ratio")),
	.run = ecn_run,
};
