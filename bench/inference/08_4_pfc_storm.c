/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/pauses.h"
#include "procedure/load.h"
#include "procedure/recovery.h"
#include "procedure/ring_storm.h"
#include "suite/kpis.h"

#define STORM_KV_BYTES	  (64u << 10)
#define STORM_KV_SHARE	  0.1 /* of each flow's line: by itself it pauses nobody */
#define STORM_KV_SLOTS	  64
#define STORM_FLOOD_SHARE 0.4 /* of the window; then it is watched, and recovers */
#define STORM_LATE	  10  /* times what the line needs for it: the storm's */

/* While transfers go on: a flood, what it leaves, and the way out of that. */
static int storm_meanwhile(void *arg, uint64_t from_ns, uint64_t to_ns)
{
	struct ring_storm *s = arg;
	int err = pauses_read(&s->from, s->storm.lab);

	(void)from_ns;
	(void)to_ns;
	if (!err)
		err = flood_run(&s->storm.flood);
	return err ? err : ring_storm_judge(s);
}

static void storm_add_kv(struct trial *t, const struct measured *m)
{
	const struct measured_load *kv = &m->load[0];
	double late_ns = STORM_LATE * STORM_KV_BYTES * 8 / fabric_line_bps(t->fabric, 0) * 1e9;
	const struct recovery bins = {.from_ns = m->from_ns / RECOVERY_BIN_NS * RECOVERY_BIN_NS,
				      .n = m->n_bins,
				      .bytes = kv->bin_bytes};

	trial_value(t, "zero_throughput", recovery_gap_ms(&bins, m->from_ns, m->to_ns),
		    kv->messages);
	trial_hist(t, "KV_xfer_latency", &kv->delivered);
	trial_value(t, "KV_due", (double)kv->delivered.n, kv->delivered.n);
	trial_value(t, "KV_affected", (double)hist_above(&kv->delivered, (uint64_t)late_ns),
		    kv->delivered.n);
	trial_value(t, "retransmissions", (double)m->books.retransmitted, m->books.messages);
	trial_value(t, "Packet_drop_rate", load_links(t, m, NULL).drop_ppm, 1);
}

static int storm_add(struct trial *t, const struct ring_storm *s)
{
	unsigned depth;
	int err = pause_depth(t->fabric->topo, &s->from, &s->to, &depth);

	if (err)
		return err;
	ring_storm_add(t, s, "deadlock", "Deadlock_possible", "recovery");
	trial_value(t, "PFC_storm", s->to.storms > s->from.storms || s->stands, 1);
	trial_value(t, "pause_depth", depth, s->to.n);
	trial_value(t, "PFC_frame_count", (double)(s->to.sent - s->from.sent), 1);
	return 0;
}

static int storm_measure(struct trial *t, struct ring_storm *s)
{
	struct traffic_load kv = trial_load(t, "kv", 0);
	struct plan plan = {0};
	struct measured m;
	int err;

	kv.law = ARRIVAL_EVEN;
	kv.mean_s = STORM_KV_BYTES * 8 / (fabric_line_bps(t->fabric, 0) * STORM_KV_SHARE);
	plan_load(&plan, &kv);
	for (unsigned i = 0; i < RING_LEAVES; i++)
		plan_stream(&plan, 0, s->storm.flow[i].from, s->storm.flow[i].to, STORM_KV_SLOTS,
			    STORM_KV_BYTES);
	t->bins = true;
	t->is_fault_planned = true;
	err = trial_measure(t, &plan, storm_meanwhile, s, &m);
	plan_fini(&plan);
	if (err)
		return err;
	err = storm_add(t, s);
	if (!err)
		storm_add_kv(t, &m);
	measured_fini(&m);
	return err;
}

static int storm_run(struct trial *t)
{
	return ring_storm_run(t, t->seconds * STORM_FLOOD_SHARE, storm_measure);
}

const struct test test_8_4 = {
	INFERENCE_CLAUSE("8.4"),
	.name = "PFC Storm and Deadlock Resilience",
	.dut = "DUT-S",
	.summary = "KV transfers at a tenth of the line by the paths of three flows of datagrams "
		   "without congestion control, over leaves and spines that pause senders "
		   "(emulated), by a ring and by a tree, without a watchdog and with one.",
	.needs = NEED_TWO_SERVERS | NEED_PFC | NEED_SPINES,
	.no_strategies = true,
	.trials = {1, 3, 3},
	.seconds = {10, 30, 300},
	.params = PARAMS(RING_STORM_PARAMS),
	.kpis = KPIS(
		{"PFC_storm", "", "DUT-S",
		 "1: the watchdog ended a pause, or ports were paused for good when no flood was "
		 "sent",
		 BETTER_LOWER, 0},
		{"deadlock", "", "DUT-S",
		 "1: after the flood, what switches held did not move for a second", BETTER_LOWER,
		 0},
		{"Deadlock_possible", "", "",
		 "1: buffers can wait for one another, and there is no watchdog", BETTER_NONE, 0},
		{"pause_depth", "hops", "DUT-S",
		 "links from a switch that paused to the farthest port that was, by way of others",
		 BETTER_LOWER, 0},
		{"zero_throughput", "ms", "DUT-F", "longest time without a byte of KV acknowledged",
		 BETTER_LOWER, 0},
		{"recovery", "ms", "DUT-F",
		 "from setting a watchdog of 200 ms until switches held nothing", BETTER_LOWER, 0},
		{"KV_due", "", "DUT-N", "KV transfers that became due", BETTER_NONE, 0},
		{"KV_affected", "", "DUT-N",
		 "of these, that took more than ten times what an idle link needs", BETTER_LOWER,
		 0},
		KPI_KV_LATENCY, KPI_RETRANSMISSIONS, KPI_PAUSES, KPI_DROPS, RING_STORM_KPIS),
	.views =
		VIEWS(VIEW(VIEW_TABLE, "Storm", "routes", "watchdog", NULL, "PFC_storm", "deadlock",
			   "Deadlock_possible", "pause_depth", "zero_throughput", "recovery",
			   "PFC_storms", "PFC_frame_count", "Held", "No_headroom", "Arrived"),
		      VIEW(VIEW_TABLE, "KV transfers meanwhile", "routes", "watchdog", NULL,
			   "KV_due", "KV_affected", "KV_xfer_latency@p50", "KV_xfer_latency@p99",
			   "retransmissions", "Packet_drop_rate"),
		      {VIEW_FIELDS(VIEW_CDF, "Distribution of latency", NULL, "routes", "watchdog",
				   "KV_xfer_latency"),
		       .log_x = true}),
	.run = storm_run,
};
