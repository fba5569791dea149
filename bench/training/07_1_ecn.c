/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "procedure/load.h"
#include "suite/kpis.h"
#include "training/common.h"
#include "training/ramp.h"

/* A row for each part of the ramp, of the packets that met a queue in it. */
static void add_parts(struct trial *t, const struct load_marks *marks, double max)
{
	const struct topo *topo = t->fabric->topo;
	double width = (double)(topo->ecn_max_bytes - topo->ecn_threshold_bytes) / TOPO_RAMP_PARTS;

	for (unsigned i = 0; i <= TOPO_RAMP_PARTS; i++) {
		double n = marks->ramp_packets[i];
		char text[ROW_NAME_MAX];

		if (n == 0)
			continue;
		snprintf(text, sizeof(text), "%.0f",
			 ((double)topo->ecn_threshold_bytes + i * width) / 1024);
		trial_with(t, "queue_KiB", text);
		trial_value(t, "P_mark", marks->ramp_marked[i] / n * 100, (uint64_t)n);
		trial_value(t, "P_mark_model", ramp_share(i, max) * 100, 1);
		trial_with(t, "queue_KiB", NULL);
	}
}

static void ecn_add(struct trial *t, unsigned to)
{
	struct load_marks marks = load_marks(t->fabric->topo, to, to + 1);
	double max = t->fabric->topo->ecn_max_percent / 100.;
	struct ramp r = ramp_of(marks.packets, marks.marked, marks.ramp_packets, marks.ramp_marked,
				marks.ramp_squares, max);

	trial_value(t, "ECN_marking_ratio", marks.rate_percent, (uint64_t)marks.packets);
	trial_value(t, "Marked_below", r.below_marked, (uint64_t)r.below_packets);
	if (r.above_packets > 0)
		trial_value(t, "Marked_above", r.above_marked / r.above_packets * 100,
			    (uint64_t)r.above_packets);
	else
		trial_missing(t, "Marked_above", "no packet met a queue above the ramp");
	trial_model(t, "ECN_marking_ratio", r.expected / marks.packets * 100,
		    "no packet was counted");
	if (r.met > 0) {
		trial_value(t, "Deviation", r.deviation * 100, (uint64_t)r.met);
		trial_value(t, "Deviation_allowed", r.allowed * 100, (uint64_t)r.met);
	} else {
		trial_missing(t, "Deviation", "no queue was within the ramp");
	}
	if (t->fabric->topo->ecn_max_bytes > t->fabric->topo->ecn_threshold_bytes)
		add_parts(t, &marks, max);
	else
		trial_missing(t, "P_mark", "%s",
			      t->fabric->topo->ecn_max_bytes
				      ? "the threshold is above the lab's ramp"
				      : "the lab marks from a threshold on, without a ramp");
}

static int ecn_run(struct trial *t)
{
	unsigned to = trial_gpus(t) - 1;
	struct measured m;
	int err = load_marked_incast(t, "write", to, 256u << 10, &m);

	if (err)
		return err > 0 ? 0 : err;
	trial_value(t, "Throughput", m.load[0].bps / 1e9, m.load[0].messages);
	measured_fini(&m);
	err = fabric_check(t->fabric);
	if (!err)
		ecn_add(t, to);
	return err;
}

const struct test test_t7_1 = {
	TRAINING_CLAUSE("7.1"),
	.name = "ECN Marking Accuracy",
	.dut = "DUT-S",
	.summary =
		"Several GPUs write to one; which packets leaves mark by the queue that they met, "
		"against the ramp that the lab is set to (BPF at the leaf's egress, emulated).",
	.needs = NEED_TWO_SERVERS | NEED_ECN,
	.trials = {1, 10, 20},
	.seconds = {2, 10, 60},
	.params = PARAMS(PARAM("threshold", PARAM_BYTES, "bytes", "from which on leaves mark",
			       "100K", NULL, "100K,1M,5M"),
			 PARAM("senders", PARAM_COUNT, "", "to one GPU", "3", "2,3", "2,4,8")),
	.kpis = KPIS({"ECN_marking_ratio", "%", "DUT-S",
		      "packets to the receiver that left with CE", BETTER_NONE, 0},
		     {"Marked_below", "packets", "DUT-S",
		      "that met a queue below the threshold; 0 is right", BETTER_LOWER, 0},
		     {"Marked_above", "%", "DUT-S",
		      "of those that met a queue above the ramp; 100 is right", BETTER_HIGHER, 0},
		     {"Deviation", "%", "DUT-S",
		      "of the share in a part of the ramp from its closed form, the worst",
		      BETTER_LOWER, 0},
		     {"Deviation_allowed", "%", "DUT-S",
		      "of that part: its half width, and 95% of draws of so many packets, all "
		      "parts together",
		      BETTER_NONE, 0},
		     {"P_mark", "%", "DUT-S", "share marked in a part of the ramp", BETTER_NONE, 0},
		     {"P_mark_model", "%", "", "in its middle, closed form", BETTER_NONE, 0},
		     {"Throughput", "Gb/s", "DUT-F", "payload acknowledged", BETTER_NONE, 0},
		     KPI_DROPS, KPI_MODEL("ECN_marking_ratio", "%")),
	.views = VIEWS(VIEW(VIEW_TABLE, "Marking", "senders", "threshold", "strategy",
			    "ECN_marking_ratio", "Marked_below", "Marked_above", "Deviation",
			    "Deviation_allowed", "Throughput", "Packet_drop_rate", "model",
			    "model_ratio"),
		       VIEW(VIEW_TABLE, "Share marked over the queue", "queue_KiB", "senders",
			    "strategy", "P_mark", "P_mark_model")),
	.run = ecn_run,
};
