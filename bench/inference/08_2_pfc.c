/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "fabric/class_probe.h"
#include "fabric/pauses.h"
#include "procedure/ideal.h"
#include "procedure/load.h"
#include "suite/kpis.h"

#define PFC_LONGEST_S 50  /* a burst takes: what is under way when a run ends has a minute */
#define PFC_SPARE     1.5 /* times what a burst takes: then the next one begins */
#define PFC_PROBE_NS  UINT64_C(5000000)
#define PFC_SLOTS     2
#define CONTROL_DSCP  48 /* not paused where switches have a band for it */
#define PFC_LEAST     2	 /* senders: one's link is shared by who sends to the other */

enum { PFC_DATA, PFC_CONTROL, PFC_CLASSES };

struct pfc_trial {
	struct trial *t;
	unsigned to, senders; /* GPUs: 0 to senders - 1 send */
	struct class_probe probe[PFC_CLASSES];
};

/* As many GPUs of other servers than the last one's as share a burst evenly. */
static unsigned pfc_senders(const struct topo *topo, unsigned burst)
{
	unsigned n = 0;

	while (topo->gpus[n].server != topo->gpus[topo->n_gpus - 1].server)
		n++;
	n = burst < n ? burst : n;
	while (n > 1 && burst % n)
		n--;
	return n;
}

/* What ideal_paused() says of one burst: each link of a sender has its part, with headers. */
static double pfc_model(const struct trial *t, const struct pfc_trial *p, const struct pauses *now)
{
	const struct topo *topo = t->fabric->topo;
	double size = trial_number(t, "size"), wire_bps = 0, ports = 0, bytes;

	for (unsigned plane = 0; plane < topo->n_planes; plane++) {
		wire_bps += (double)topo_capacity_bps(topo, p->to, plane);
		ports += topo->gpus[p->to].plane[plane].n_sub_ports;
	}
	bytes = size * trial_count(t, "burst") / p->senders * wire_bps /
		fabric_line_bps(t->fabric, p->to) / ports;
	return 100 *
	       ideal_paused(p->senders, bytes, (double)(now->xoff_bytes + now->xon_bytes) / 2);
}

/* What other classes, and others' data by the same links, wait for: from one sender to another. */
static int pfc_meanwhile(void *arg, uint64_t from_ns, uint64_t to_ns)
{
	struct pfc_trial *p = arg;

	(void)from_ns;
	return class_probe_run(p->t->fabric->topo, p->probe, PFC_CLASSES, PFC_PROBE_NS, to_ns);
}

static void pfc_add_classes(struct trial *t, const struct pfc_trial *p)
{
	static const char *const names[PFC_CLASSES] = {"data", "control"};

	for (unsigned i = 0; i < PFC_CLASSES; i++) {
		const struct hist *delay = &p->probe[i].delay;

		trial_with(t, "class", names[i]);
		if (delay->n) {
			trial_value(t, "blocking", (hist_mean(delay) - (double)delay->min) / 1e3,
				    delay->n);
			trial_value(t, "blocking_max", (double)(delay->max - delay->min) / 1e3,
				    delay->n);
		} else {
			trial_missing(t, "blocking", "no probe arrived");
			trial_missing(t, "blocking_max", "no probe arrived");
		}
		trial_value(t, "Probes_lost", (double)(p->probe[i].sent - p->probe[i].received),
			    p->probe[i].sent);
		trial_with(t, "class", NULL);
	}
}

static int pfc_add_depth(struct trial *t, const struct pauses *from, const struct pauses *to)
{
	unsigned hops;
	int err = pause_depth(t->fabric->topo, from, to, &hops);

	if (!err)
		trial_value(t, "pause_depth", hops, to->n);
	return err;
}

/* Ports of the servers that sent, and the time in which the receiver's link carries what came. */
static void pfc_add_pauses(struct trial *t, const struct pfc_trial *p, const struct measured *m,
			   const struct pauses *from, const struct pauses *to)
{
	double carried_s = (double)m->books.bytes * 8 / fabric_line_bps(t->fabric, p->to),
	       all_s = 0, servers_s = 0;

	for (unsigned i = 0; i < to->n; i++) {
		double paused_s = to->port[i].paused_s - from->port[i].paused_s;

		all_s += paused_s;
		servers_s += to->port[i].is_server ? paused_s : 0;
	}
	trial_value(t, "PFC_frame_count", (double)(to->sent - from->sent), 1);
	trial_value(t, "pause", all_s * 1e6, to->n);
	trial_value(t, "Buffer_peak", (double)to->peak_bytes, to->n);
	trial_value(t, "Buffer_utilization",
		    (double)to->peak_bytes /
			    (double)(to->xoff_bytes + t->fabric->topo->pfc.headroom_bytes) * 100,
		    to->n);
	trial_value(t, "No_headroom", (double)(to->dropped - from->dropped), 1);
	trial_value(t, "PFC_storms", (double)(to->storms - from->storms), 1);
	trial_value(t, "Reaction_max", to->reaction_max_us, to->reactions);
	if (carried_s > 0)
		trial_value(t, "Paused", servers_s / p->senders / carried_s * 100, p->senders);
	else
		trial_missing(t, "Paused", "nothing arrived");
	trial_model(t, "Paused", pfc_model(t, p, to), "");
}

static int pfc_plan(struct trial *t, const struct pfc_trial *p, struct plan *plan)
{
	double size = trial_number(t, "size"), n = trial_count(t, "burst"),
	       burst_s = n * size * 8 / fabric_line_bps(t->fabric, p->to);
	struct traffic_load kv = trial_load(t, "kv", 0);

	if (burst_s > PFC_LONGEST_S) {
		trial_missing(t, NULL,
			      "a burst takes %.0f s of the receiver's link, and %d is the most",
			      burst_s, PFC_LONGEST_S);
		return 1;
	}
	kv.law = ARRIVAL_BURST;
	kv.mean_s = PFC_SPARE * burst_s;
	kv.spread_s = trial_number(t, "window") / 1e3;
	plan_load(plan, &kv);
	for (unsigned i = 0; i < n; i++)
		plan_stream(plan, 0, i % p->senders, p->to, PFC_SLOTS, (uint64_t)size);
	return 0;
}

/* The bursts, and what the lab's ports did meanwhile; on hosts the suite reads what NICs count. */
static int pfc_measure(struct trial *t, struct pfc_trial *p, const struct plan *plan)
{
	bool is_lab = !t->fabric->hosts;
	struct pauses from = {0}, to = {0};
	struct measured m = {0};
	int err = is_lab ? pauses_read(&from, &t->fabric->lab) : 0;

	if (!err)
		err = trial_measure(t, plan, is_lab ? pfc_meanwhile : NULL, p, &m);
	if (!err && is_lab)
		err = pauses_read(&to, &t->fabric->lab);
	if (!err && to.n != from.n)
		err = -EBADMSG; /* the lab's ports have changed */
	if (!err) {
		trial_one_way(t, "KV_xfer_latency", &m.load[0].delivered);
		trial_value(t, "Packet_drop_rate", load_links(t, &m, NULL).drop_ppm, 1);
	}
	if (!err && is_lab) {
		pfc_add_pauses(t, p, &m, &from, &to);
		pfc_add_classes(t, p);
		err = pfc_add_depth(t, &from, &to);
	}
	measured_fini(&m);
	pauses_fini(&from);
	pauses_fini(&to);
	return err;
}

/* suite_note_counts() has the frames. */
static void pfc_add_missing(struct trial *t)
{
	static const char *const of_labs[] = {
		"pause",       "Paused",      "blocking",	   "blocking_max", "Probes_lost",
		"Buffer_peak", "No_headroom", "PFC_storms",	   "Reaction_max", "pause_depth",
		"model",       "model_ratio", "Buffer_utilization"};

	for (size_t i = 0; i < sizeof(of_labs) / sizeof(*of_labs); i++)
		trial_missing(t, of_labs[i],
			      "of hosts: NICs and switches are asked for pause frames alone");
}

static int pfc_run(struct trial *t)
{
	const struct topo *topo = t->fabric->topo;
	struct pfc_trial p = {.t = t,
			      .to = trial_gpus(t) - 1,
			      .senders = pfc_senders(topo, trial_count(t, "burst"))};
	const char *why = t->fabric->hosts ? NULL : fabric_cannot(t->fabric, NEED_PFC);
	uint64_t threshold = (uint64_t)trial_number(t, "threshold");
	struct pauses_guard *guard = NULL;
	struct plan plan = {0};
	int err, undone;

	if (why || p.senders < PFC_LEAST) {
		trial_missing(t, NULL, "%s",
			      why ? why : "no two servers or more can share that burst evenly");
		return 0;
	}
	if (t->fabric->hosts && threshold) {
		trial_missing(t, NULL, "switches have thresholds of their own");
		return 0;
	}
	for (unsigned i = 0; i < PFC_CLASSES; i++)
		p.probe[i] = (struct class_probe){
			.from = 0, .to = 1, .dscp = i == PFC_CONTROL ? CONTROL_DSCP : 0};
	err = pfc_plan(t, &p, &plan);
	if (err) {
		plan_fini(&plan);
		return 0;
	}
	if (t->fabric->hosts) {
		pfc_add_missing(t);
	} else {
		err = pauses_guard_create(&guard, &t->fabric->lab, &topo->pfc);
		/* also where it stays as it is: peaks begin anew */
		if (!err)
			err = pauses_guard_set(guard, PAUSES_XOFF,
					       threshold ? threshold : topo->pfc.xoff_bytes);
	}
	if (!err)
		err = pfc_measure(t, &p, &plan);
	plan_fini(&plan);
	undone = pauses_guard_destroy(guard);
	return err ? err : undone;
}

const struct test test_8_2 = {
	INFERENCE_CLAUSE("8.2"),
	.name = "PFC Behavior Under Bursty KV Cache Transfers",
	.dut = "DUT-S",
	.summary = "Bursts of KV transfers, each due within a window, to one GPU, whose leaf "
		   "pauses who sends (emulated: BPF counts, an agent stops queues); small "
		   "datagrams of two classes beside them.",
	.needs = NEED_TWO_SERVERS,
	.trials = {3, 10, 50}, /* of bursts: section 1.3 */
	.seconds = {2, 10, 60},
	.params = PARAMS(
		PARAM("burst", PARAM_COUNT, "",
		      "transfers at once to one GPU, of as many senders as share them evenly",
		      "4,8", "4,8,16", "4,8,16,32"),
		PARAM("window", PARAM_NUMBER, "ms", "in which they become due", "1", "0.1,1,10"),
		PARAM("threshold", PARAM_BYTES, "bytes",
		      "XOFF of an ingress port; 0: the fabric's own", "0", "0,10K,128K,1M",
		      "0,10K,100K,1M"),
		PARAM("size", PARAM_BYTES, "bytes", "of a transfer", "256K", NULL, "16M")),
	.added = PARAMS(PARAM("class", PARAM_NAME, "",
			      "data: DSCP 0, as transfers; control: DSCP 48", "data,control")),
	.kpis = KPIS(
		KPI_PAUSES,
		{"pause", "us", "DUT-S", "in which ports were paused, their sum; one class is",
		 BETTER_LOWER, 0},
		{"Paused", "%", "DUT-S",
		 "of the time that the receiver's link needs for what arrived each sender was "
		 "paused, mean",
		 BETTER_NONE, 0},
		{"blocking", "us", "DUT-S",
		 "that small datagrams from one sender to another took longer than the fastest, "
		 "mean",
		 BETTER_LOWER, 0},
		{"blocking_max", "us", "DUT-S", "the same, the longest", BETTER_LOWER, 0},
		{"Probes_lost", "packets", "DUT-F", "of these datagrams, sent and not received",
		 BETTER_LOWER, 0},
		KPI_KV_LATENCY,
		{"Buffer_peak", "bytes", "DUT-S",
		 "that came in by one port and were in the switch, at most", BETTER_LOWER, 0},
		{"Buffer_utilization", "%", "DUT-S", "the same, of XOFF and headroom", BETTER_LOWER,
		 0},
		{"pause_depth", "hops", "DUT-S",
		 "links from a switch that paused to the farthest port that was, by way of others",
		 BETTER_LOWER, 0},
		{"No_headroom", "packets", "DUT-S", "that leaves dropped for want of it",
		 BETTER_LOWER, 0},
		KPI_STORMS,
		{"Reaction_max", "us", "DUT-S",
		 "from XOFF to the stop of the sender's queue, the longest since the lab is up",
		 BETTER_LOWER, 0},
		KPI_DROPS, KPI_MODEL("Paused", "%")),
	.views = VIEWS(VIEW(VIEW_TABLE, "Pauses", "burst", "window", "threshold", "PFC_frame_count",
			    "pause", "Paused", "model", "model_ratio", "KV_xfer_latency@p50",
			    "KV_xfer_latency@p99", "Buffer_utilization", "pause_depth",
			    "No_headroom", "Packet_drop_rate"),
		       VIEW(VIEW_TABLE, "Other traffic by the same links", "class", "burst",
			    "threshold", "blocking", "blocking_max", "Probes_lost"),
		       {VIEW_FIELDS(VIEW_CDF, "Distribution of latency", "window", "burst",
				    "threshold", "KV_xfer_latency"),
			.log_x = true},
		       VIEW(VIEW_LINES, "Pauses over the size of a burst", "burst", "strategy",
			    "threshold", "Paused")),
	.run = pfc_run,
};
