/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "fabric/pauses.h"
#include "suite/kpis.h"
#include "training/common.h"
#include "training/incast.h"

/* The ports that grew. */
static void pfc_add_ports(struct trial *t, const struct pauses *from, const struct pauses *to,
			  double carried_s)
{
	for (unsigned i = 0; i < to->n; i++) {
		uint64_t frames = to->port[i].sent - from->port[i].sent;
		double paused_s = to->port[i].paused_s - from->port[i].paused_s;

		trial_with(t, "port", to->port[i].name);
		if (frames)
			trial_value(t, "Port_pause_frames", (double)frames, 1);
		if (paused_s > 0)
			trial_value(t, "Port_paused", paused_s / carried_s * 100, 1);
		trial_with(t, "port", NULL);
	}
}

static void pfc_add(struct trial *t, const struct incast *in, const struct pauses *from,
		    const struct pauses *to)
{
	const struct flood *f = &in->flood;
	/* the time in which the receiver's link carries what arrived: it is never idle */
	double carried_s = (double)incast_received(in) * in->frame_bytes * 8 / in->bps,
	       paused_s = 0;
	uint64_t first_ns = UINT64_MAX, last_ns = 0;

	for (unsigned i = 0; i < f->n; i++) {
		if (!f->flow[i].received)
			continue;
		first_ns = f->flow[i].first_ns < first_ns ? f->flow[i].first_ns : first_ns;
		last_ns = f->flow[i].last_ns > last_ns ? f->flow[i].last_ns : last_ns;
	}
	for (unsigned i = 0; i < to->n; i++)
		paused_s +=
			to->port[i].is_server ? to->port[i].paused_s - from->port[i].paused_s : 0;
	trial_value(t, "PFC_pause_count", (double)(to->sent - from->sent) / carried_s,
		    to->sent - from->sent);
	trial_value(t, "Paused", paused_s / f->n / carried_s * 100, f->n);
	trial_model(t, "Paused", 100 * (1 - 1. / f->n), "");
	if (last_ns > first_ns)
		trial_value(t, "Throughput",
			    (double)incast_received(in) * in->frame_bytes * 8 /
				    ((double)(last_ns - first_ns) / 1e9) / in->bps * 100,
			    incast_received(in));
	else
		trial_missing(t, "Throughput", "one datagram arrived");
	trial_value(t, "Packets_lost", (double)(incast_sent(in) - incast_received(in)),
		    incast_sent(in));
	trial_value(t, "No_headroom", (double)(to->dropped - from->dropped), incast_sent(in));
	trial_value(t, "PFC_storms", (double)(to->storms - from->storms), 1);
	if (to->reactions > from->reactions)
		trial_value(t, "Reaction",
			    (to->reaction_mean_us * (double)to->reactions -
			     from->reaction_mean_us * (double)from->reactions) /
				    (double)(to->reactions - from->reactions),
			    to->reactions - from->reactions);
	else
		trial_missing(t, "Reaction", "nobody was paused");
	trial_value(t, "Reaction_max", to->reaction_max_us, to->reactions);
	pfc_add_ports(t, from, to, carried_s);
}

static int pfc_measure(struct trial *t, struct incast *in)
{
	struct pauses from = {0}, to = {0};
	struct lab_packets before, after;
	int err = pauses_read(&from, &t->fabric->lab);

	if (!err)
		err = lab_packets(&t->fabric->lab, &before);
	if (!err)
		err = incast_flood(t, &in->flood);
	if (!err)
		err = lab_packets(&t->fabric->lab, &after);
	if (!err)
		err = pauses_read(&to, &t->fabric->lab);
	if (!err && to.n != from.n)
		err = -EBADMSG; /* the lab's ports have changed */
	if (!err && !incast_received(in)) {
		trial_missing(t, NULL, "nothing arrived");
	} else if (!err) {
		pfc_add(t, in, &from, &to);
		trial_value(t, "Packet_drop_rate",
			    (double)(after.dropped - before.dropped) /
				    (double)(after.sent - before.sent) * 1e6,
			    after.sent - before.sent);
	}
	pauses_fini(&from);
	pauses_fini(&to);
	return err;
}

static int pfc_run(struct trial *t)
{
	const struct topo_pfc *pfc = &t->fabric->topo->pfc;
	bool none = strcmp(trial_text(t, "headroom"), "none") == 0;
	struct pauses_guard *guard = NULL;
	struct incast in;
	int err, undone;

	if (!none && !pfc->headroom_bytes) {
		trial_missing(t, NULL, "the lab's topology has headroom_bytes 0");
		return 0;
	}
	if (!incast_init(&in, t, trial_count(t, "senders"), flood_most_bytes(t->fabric->topo)))
		return t->err;
	err = pauses_guard_create(&guard, &t->fabric->lab, pfc);
	if (!err && none)
		err = pauses_guard_set(guard, PAUSES_HEADROOM, 0);
	if (!err)
		err = pfc_measure(t, &in);
	undone = pauses_guard_destroy(guard);
	incast_fini(&in);
	return err ? err : undone;
}

const struct test test_t7_2 = {
	TRAINING_CLAUSE("7.2"),
	.name = "PFC Behavior Under Incast",
	.dut = "DUT-S",
	.summary = "Several GPUs send datagrams to one without congestion control; the leaf pauses "
		   "them (emulated: BPF counts, an agent stops queues), with headroom and without.",
	.needs = NEED_TWO_SERVERS | NEED_PFC,
	.no_strategies = true,
	.trials = {1, 5, 20},
	.seconds = {3, 10, 60},
	.params =
		PARAMS(PARAM("senders", PARAM_COUNT, "", "to one GPU, each at the rate of its link",
			     "2,3", NULL, "2,4,8,16,32,64"),
		       PARAM("headroom", PARAM_NAME, "", "lab: what its topology has; none: 0",
			     "lab,none")),
	.kpis = KPIS(
		{"PFC_pause_count", "frames/s", "DUT-S", "pause frames of all ports; XON is none",
		 BETTER_LOWER, 0},
		{"Paused", "%", "DUT-S",
		 "of the time that the receiver's link was busy each sender was paused, mean",
		 BETTER_NONE, 0},
		{"Port_pause_frames", "frames", "DUT-S", "that a port sent", BETTER_NONE, 0},
		{"Port_paused", "%", "DUT-S", "of that time a port was paused", BETTER_NONE, 0},
		{"Throughput", "%", "DUT-F", "of the receiver's link, headers included",
		 BETTER_HIGHER, 0},
		{"Packets_lost", "packets", "DUT-F", "sent, and not received", BETTER_LOWER, 0},
		{"No_headroom", "packets", "DUT-S", "that leaves dropped for want of it",
		 BETTER_LOWER, 0},
		KPI_STORMS,
		{"Reaction", "us", "DUT-S", "from XOFF to the stop of the sender's queue, mean",
		 BETTER_LOWER, 0},
		{"Reaction_max", "us", "DUT-S", "the longest since the lab is up", BETTER_LOWER, 0},
		KPI_DROPS, KPI_MODEL("Paused", "%")),
	.views = VIEWS(VIEW(VIEW_TABLE, "Incast", "senders", "headroom", NULL, "PFC_pause_count",
			    "Paused", "model", "model_ratio", "Throughput", "Packets_lost",
			    "No_headroom", "Packet_drop_rate", "PFC_storms", "Reaction",
			    "Reaction_max"),
		       VIEW(VIEW_TABLE, "Ports", "port", "senders", "headroom", "Port_pause_frames",
			    "Port_paused")),
	.run = pfc_run,
};
