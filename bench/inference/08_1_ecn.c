/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>

#include "procedure/load.h"
#include "suite/kpis.h"

/* What the leaves sent to one GPU, all sub-ports. */
static void add_marks(struct trial *t, unsigned gpu)
{
	const struct topo *topo = t->fabric->topo;
	const struct topo_sub_port *first = NULL;
	double packets = 0, marked = 0;

	for (unsigned plane = 0; plane < topo->n_planes; plane++)
		for (unsigned s = 0; s < topo->gpus[gpu].plane[plane].n_sub_ports; s++) {
			const struct topo_sub_port *port =
				&topo->gpus[gpu].plane[plane].sub_port[s];

			packets += (double)port->marks.packets;
			marked += (double)port->marks.marked;
			if (port->marks.marked &&
			    (!first || port->marks.onset_ns < first->marks.onset_ns))
				first = port;
		}
	trial_value(t, "ECN_marking_rate", packets > 0 ? marked / packets * 100 : NAN,
		    (uint64_t)packets);
	if (!first) {
		trial_missing(t, "marking_onset", "no queue reached the threshold");
		trial_missing(t, "Buffer_utilization", "no queue reached the threshold");
		return;
	}
	trial_value(t, "marking_onset", (double)first->marks.onset_ns / 1e6, 1);
	trial_value(t, "Buffer_utilization", (double)first->marks.queue_at_onset_bytes, 1);
}

/* Counters begin with the threshold: so the warm-up counts, in which the queues fill. */
static int ecn_run(struct trial *t)
{
	unsigned senders = trial_count(t, "senders"), to = trial_gpus(t) - 1;
	struct traffic_load kv = trial_load(t, "kv", 0);
	struct plan plan = {0};
	struct measured m;
	unsigned load;
	int err;

	if (senders > to) {
		trial_missing(t, NULL, "%u senders: the fabric has %u GPUs", senders,
			      trial_gpus(t));
		return 0;
	}
	load = plan_load(&plan, &kv);
	for (unsigned from = 0; from < senders; from++)
		plan_stream(&plan, load, from, to, 4, 256u << 10);
	err = fabric_mark_at(t->fabric, (uint64_t)(trial_number(t, "threshold") / 1024));
	if (!err)
		err = trial_measure(t, &plan, NULL, NULL, &m);
	plan_fini(&plan);
	if (err)
		return err;
	trial_value(t, "KV_xfer_bandwidth", m.load[0].bps / 8e6, m.load[0].messages);
	trial_value(t, "Packet_drop_rate", load_links(t, &m, false, LINKS_OF_ALL).drop_ppm, 1);
	trial_model(t, "KV_xfer_bandwidth", fabric_line_bps(t->fabric, to) / 8e6, "");
	measured_fini(&m);
	err = fabric_look(t->fabric);
	if (!err)
		add_marks(t, to);
	return err;
}

static const struct param params[] = {
	PARAM("senders", PARAM_COUNT, "", "prefill GPUs toward one decode GPU", "2,3", "2,4,8",
	      "2,4,8,16,32"),
	PARAM("threshold", PARAM_BYTES, "bytes", "at which the leaf marks", "100K", "100K,500K,1M",
	      "100K,500K,1M,5M"),
	LIST_END};

static const struct kpi kpis[] = {
	{"ECN_marking_rate", "%", "DUT-S", "packets to the receiver that left its leaves with CE",
	 BETTER_NONE, 0},
	{"marking_onset", "ms", "DUT-S", "from the first data packet to the first mark",
	 BETTER_NONE, 0},
	{"Buffer_utilization", "bytes", "DUT-S", "in the queue at the first mark", BETTER_NONE, 0},
	KPI_KV_BANDWIDTH,
	KPI_DROPS,
	KPI_MODEL("KV_xfer_bandwidth", "MB/s"),
	LIST_END};

static const struct view views[] = {VIEW(VIEW_TABLE, "Marking", "senders", "threshold", "strategy",
					 "ECN_marking_rate", "marking_onset", "Buffer_utilization",
					 "KV_xfer_bandwidth", "model", "model_ratio"),
				    VIEWS_END};

const struct test test_8_1 = {
	.id = "8.1",
	.name = "ECN Marking Under Inference Incast",
	.clause = DRAFT "8.1",
	.dut = "DUT-S",
	.summary = "Several GPUs send to one. Leaves mark by a virtual queue that drains as the "
		   "shaper does (emulated; BPF at the leaf's egress).",
	.needs = NEED_TWO_SERVERS | NEED_ECN,
	.trials = {3, 10, 20},
	.seconds = {1, 5, 60},
	.params = params,
	.kpis = kpis,
	.views = views,
	.run = ecn_run,
};
