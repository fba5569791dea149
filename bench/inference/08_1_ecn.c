/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>

#include "procedure/load.h"
#include "suite/kpis.h"

static const char *const ecn_of_leaves[] = {"ECN_marking_rate", "marking_onset", "Queue_at_onset",
					    "Buffer_utilization"};

/* What the leaves sent to one GPU, all sub-ports. */
static void ecn_add_marks(struct trial *t, unsigned gpu)
{
	struct load_marks marks = load_marks(t->fabric->topo, gpu, gpu + 1);
	double room = (double)t->fabric->topo->queue_bytes;

	trial_value(t, "ECN_marking_rate", marks.rate_percent, (uint64_t)marks.packets);
	if (room > 0) /* what does not fit is dropped: such a queue is full */
		trial_value(t, "Buffer_utilization", fmin(marks.peak_bytes / room, 1) * 100, 1);
	else
		trial_missing(t, "Buffer_utilization", "the lab does not tell its queues' length");
	if (isfinite(marks.onset_ms)) {
		trial_value(t, "marking_onset", marks.onset_ms, 1);
		trial_value(t, "Queue_at_onset", marks.onset_bytes, 1);
		return;
	}
	for (unsigned i = 1; i < 3; i++)
		trial_missing(t, ecn_of_leaves[i], "no queue reached the threshold");
}

/* Of hosts the suite adds the rate of marks, where NICs or switches count them. */
static int ecn_add(struct trial *t, unsigned to)
{
	int err;

	for (unsigned i = 1; t->fabric->hosts && i < 4; i++)
		trial_missing(t, ecn_of_leaves[i],
			      "switches count marks: they tell no time and no queue of theirs");
	if (t->fabric->hosts)
		return 0;
	err = fabric_check(t->fabric);
	if (!err)
		ecn_add_marks(t, to);
	return err;
}

static int ecn_run(struct trial *t)
{
	const char *why = t->fabric->hosts ? NULL : fabric_cannot(t->fabric, NEED_ECN);
	unsigned to = trial_gpus(t) - 1;
	struct measured m;
	int err;

	if (t->fabric->hosts && trial_number(t, "threshold") > 0)
		why = "switches have thresholds of their own";
	if (why) {
		trial_missing(t, NULL, "%s", why);
		return 0;
	}
	err = load_marked_incast(t, "kv", to, (uint64_t)trial_number(t, "size"), &m);
	if (err)
		return err > 0 ? 0 : err;
	trial_value(t, "KV_xfer_bandwidth", m.load[0].bps / 8e6, m.load[0].messages);
	trial_model(t, "KV_xfer_bandwidth", fabric_line_bps(t->fabric, to) / 8e6, "");
	measured_fini(&m);
	return ecn_add(t, to);
}

const struct test test_8_1 = {
	INFERENCE_CLAUSE("8.1"),
	.name = "ECN Marking Under Inference Incast",
	.dut = "DUT-S",
	.headline = "KV_xfer_bandwidth",
	.summary = "Several GPUs send to one. Leaves mark by a virtual queue that drains as the "
		   "shaper does (emulated; BPF at the leaf's egress).",
	.needs = NEED_TWO_SERVERS,
	.trials = {3, 10, 20},
	.seconds = {1, 5, 60},
	.params = PARAMS(PARAM("senders", PARAM_COUNT, "", "prefill GPUs toward one decode GPU",
			       "2,3", "2,4,8", "2,4,8,16,32"),
			 PARAM("threshold", PARAM_BYTES, "bytes",
			       "at which leaves mark; 0: the fabric's own", "0", "0,100K,500K,1M",
			       "0,100K,500K,1M,5M"),
			 PARAM("size", PARAM_BYTES, "bytes", "of a block", "256K", NULL, "16M")),
	.kpis = KPIS({"ECN_marking_rate", "%", "DUT-S",
		      "packets to the receiver that left its leaves with CE", BETTER_NONE, 0},
		     {"marking_onset", "ms", "DUT-S",
		      "from the first data packet to the first mark", BETTER_NONE, 0},
		     {"Queue_at_onset", "bytes", "DUT-S", "in the queue at the first mark",
		      BETTER_NONE, 0},
		     {"Buffer_utilization", "%", "DUT-S",
		      "of the room of a queue toward the receiver, at most", BETTER_LOWER, 0},
		     KPI_KV_BANDWIDTH, KPI_DROPS, KPI_MODEL("KV_xfer_bandwidth", "MB/s")),
	.views = VIEWS(VIEW(VIEW_TABLE, "Marking", "senders", "threshold", "strategy",
			    "ECN_marking_rate", "marking_onset", "Queue_at_onset",
			    "Buffer_utilization", "KV_xfer_bandwidth", "Packet_drop_rate", "model",
			    "model_ratio")),
	.run = ecn_run,
};
