/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <stdio.h>

#include "procedure/load.h"
#include "suite/kpis.h"
#include "training/common.h"
#include "training/ramp.h"

/* A row of the packets that met a queue from so many bytes on, to where the next row begins. */
static void add_part(struct trial *t, double from_bytes, double packets, double marked,
		     double model)
{
	char text[ROW_NAME_MAX];

	if (packets == 0)
		return;
	snprintf(text, sizeof(text), "%.0f", from_bytes / 1024);
	trial_with(t, "queue_KiB", text);
	trial_value(t, "P_mark", marked / packets * 100, (uint64_t)packets);
	trial_value(t, "P_mark_model", model * 100, 1);
	trial_with(t, "queue_KiB", NULL);
}

static bool is_ramp(const struct topo *topo)
{
	return topo->ecn_max_bytes > topo->ecn_threshold_bytes;
}

/* Below the threshold, in each part of the ramp, and above. */
static void add_parts(struct trial *t, const struct load_marks *marks, const struct ramp *r,
		      double max)
{
	const struct topo *topo = t->fabric->topo;
	double from = (double)topo->ecn_threshold_bytes,
	       width = is_ramp(topo) ? ((double)topo->ecn_max_bytes - from) / TOPO_RAMP_PARTS : 0;

	add_part(t, 0, r->below_packets, r->below_marked, 0);
	for (unsigned i = 0; i <= TOPO_RAMP_PARTS; i++)
		add_part(t, from + i * width, marks->ramp_packets[i], marks->ramp_marked[i],
			 ramp_share(i, max));
}

/* Without a ramp the closed form is a step. */
static void add_deviation(struct trial *t, const struct load_marks *marks, const struct ramp *r)
{
	double from = (double)t->fabric->topo->ecn_threshold_bytes, step = ramp_step_deviation(r);

	if (is_ramp(t->fabric->topo))
		trial_missing(t, "Threshold_deviation",
			      "a ramp marks by chance from the threshold on: Deviation");
	else if (isfinite(marks->onset_bytes))
		trial_value(t, "Threshold_deviation", (marks->onset_bytes / from - 1) * 100, 1);
	else
		trial_missing(t, "Threshold_deviation", "no packet was marked");
	if (is_ramp(t->fabric->topo) && r->met > 0) {
		trial_value(t, "Deviation", r->deviation * 100, (uint64_t)r->met);
		trial_value(t, "Deviation_allowed", r->allowed * 100, (uint64_t)r->met);
	} else if (!is_ramp(t->fabric->topo) && isfinite(step)) {
		trial_value(t, "Deviation", step * 100, (uint64_t)marks->packets);
		trial_value(t, "Deviation_allowed", 0, (uint64_t)marks->packets);
	} else {
		const char *why = is_ramp(t->fabric->topo) ? "no queue was within the ramp"
							   : "no queue was above the threshold";

		trial_missing(t, "Deviation", "%s", why);
		trial_missing(t, "Deviation_allowed", "%s", why);
	}
}

static void ecn_add(struct trial *t, unsigned to)
{
	struct load_marks marks = load_marks(t->fabric->topo, to, to + 1);
	double max = t->fabric->topo->ecn_max_percent / 100.;
	struct ramp r = ramp_of(marks.packets, marks.marked, marks.ramp_packets, marks.ramp_marked,
				marks.ramp_squares, max);

	trial_value(t, "ECN_marking_ratio", marks.rate_percent, (uint64_t)marks.packets);
	trial_value(t, "ECN_marking_expected", r.expected / marks.packets * 100,
		    (uint64_t)marks.packets);
	trial_value(t, "Marked_below", r.below_marked, (uint64_t)r.below_packets);
	if (r.above_packets > 0)
		trial_value(t, "Marked_above", r.above_marked / r.above_packets * 100,
			    (uint64_t)r.above_packets);
	else
		trial_missing(t, "Marked_above", "no packet met a queue above the ramp");
	add_deviation(t, &marks, &r);
	add_parts(t, &marks, &r, max);
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
	.added = PARAMS(PARAM("queue_KiB", PARAM_NUMBER, "KiB",
			      "that packets met, from there to the next row's")),
	.kpis = KPIS(
		{"ECN_marking_ratio", "%", "DUT-S", "packets to the receiver that left with CE",
		 BETTER_NONE, 0},
		{"Marked_below", "packets", "DUT-S",
		 "that met a queue below the threshold; 0 is right", BETTER_LOWER, 0},
		{"Marked_above", "%", "DUT-S",
		 "of those that met a queue above the ramp; 100 is right", BETTER_HIGHER, 0},
		{"ECN_marking_expected", "%", "",
		 "of it, by the closed form of the queues that those packets met", BETTER_NONE, 0},
		{"Deviation", "%", "DUT-S",
		 "of the share in a part of the ramp from its closed form, the worst; without "
		 "a ramp of the shares below and above the threshold",
		 BETTER_LOWER, 0},
		{"Deviation_allowed", "%", "DUT-S",
		 "of that part: its half width, and 95% of draws of so many packets, all "
		 "parts together; without a ramp 0",
		 BETTER_NONE, 0},
		{"Threshold_deviation", "%", "DUT-S",
		 "queue at the first mark over the threshold, less 1 (without a ramp); a "
		 "queue grows by whole packets",
		 BETTER_NONE, 0},
		{"P_mark", "%", "DUT-S",
		 "share marked of what met a queue from there to the next row's", BETTER_NONE, 0},
		{"P_mark_model", "%", "", "in the middle of that, closed form", BETTER_NONE, 0},
		{"Throughput", "Gb/s", "DUT-F", "payload acknowledged", BETTER_NONE, 0}, KPI_DROPS),
	.views = VIEWS(VIEW(VIEW_TABLE, "Marking", "senders", "threshold", "strategy",
			    "ECN_marking_ratio", "ECN_marking_expected", "Marked_below",
			    "Marked_above", "Deviation", "Deviation_allowed", "Threshold_deviation",
			    "Throughput", "Packet_drop_rate"),
		       VIEW(VIEW_TABLE, "Share marked over the queue", "queue_KiB", "senders",
			    "strategy", "P_mark", "P_mark_model"),
		       {VIEW_FIELDS(VIEW_LINES, "Marking probability over the queue", "queue_KiB",
				    "strategy", "senders", "P_mark"),
			.reference = "P_mark_model"}),
	.run = ecn_run,
};
