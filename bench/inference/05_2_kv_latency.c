/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <string.h>

#include "fabric/optimum.h"
#include "procedure/ideal.h"
#include "procedure/load.h"
#include "suite/kpis.h"

#define BACKGROUND_BYTES (64u << 10)
#define OPEN_SHARE	 0.02 /* of the pair's capacity: messages do not meet */

/* Of blocks that come after a pause no time is the line's, if they are short. */
static bool latency_lacks_line(struct trial *t)
{
	const struct topo *topo = t->fabric->topo;
	double size = trial_number(t, "size");

	if (strcmp(trial_text(t, "arrivals"), "even") != 0 || !optimum_short(topo, 0, size))
		return false;
	trial_missing(t, NULL,
		      "a paced block of %.0f KB is shorter than ten times the %.0f KB that token "
		      "buckets pass at once: give the topology bucket_frames",
		      size / 1e3, optimum_bucket_bytes(topo, 0) / 1e3);
	return true;
}

/*
 * In a closed loop the next block waits for this one: so each takes what is left of the line, and
 * the half of it that is fair where other traffic would take more.
 */
static void latency_model(struct trial *t, unsigned dst, double share, bool closed)
{
	double size = trial_number(t, "size"), bps = fabric_pair_bps(t->fabric, 0, dst),
	       bucket = closed ? 0 : optimum_bucket_bytes(t->fabric->topo, 0);

	trial_model(t, "KV_xfer_latency",
		    ideal_transfer_s(size, bps * fmax(1 - share, .5), bucket) * 1e6, "");
}

/* A bucket that filled up while the block before ended lets a short one pass at once. */
static bool latency_beat_line(struct trial *t, unsigned dst, const struct hist *delivered)
{
	double line_ns = trial_number(t, "size") * 8 / fabric_pair_bps(t->fabric, 0, dst) * 1e9,
	       bucket = optimum_bucket_bytes(t->fabric->topo, 0);

	if (!bucket || !delivered->n || !load_beat_line(hist_quantile(delivered, .5), line_ns))
		return false;
	trial_missing(t, NULL,
		      "the median block took %.0f us, less than its %.0f us on the line: token "
		      "buckets pass %.0f KB at once; give the topology bucket_frames",
		      hist_quantile(delivered, .5) / 1e3, line_ns / 1e3, bucket / 1e3);
	return true;
}

static void latency_add(struct trial *t, const struct measured *m, bool loaded)
{
	const struct hist *h = &m->load[0].delivered;

	trial_one_way(t, "KV_xfer_latency", h);
	trial_hist(t, "Fabric_FCT", &m->load[0].completed);
	if (loaded)
		trial_value(t, "unfinished", load_unfinished(&m->load[1]) * 100,
			    m->load[1].posted.n + m->load[1].unposted);
	else
		trial_missing(t, "unfinished", "there is no other traffic");
	if (hist_carries(h, 0.99))
		trial_value(t, "tail_spread",
			    (hist_quantile(h, 0.99) - hist_quantile(h, 0.5)) / 1e3, h->n);
	else
		trial_no_p99(t, "tail_spread");
}

static int kv_latency_run(struct trial *t)
{
	double share = trial_number(t, "load") / 100;
	unsigned dst = trial_gpus(t) - 1, load;
	struct traffic_load kv = trial_load(t, "kv", 0), other = trial_load(t, "background", 0);
	struct plan plan = {0};
	struct measured m;
	bool can = true;
	int err;

	if (latency_lacks_line(t))
		return 0;
	if (strcmp(trial_text(t, "arrivals"), "even") == 0) {
		kv.law = ARRIVAL_EVEN;
		kv.mean_s = trial_number(t, "size") * 8 /
			    (fabric_pair_bps(t->fabric, 0, dst) * OPEN_SHARE);
	}
	kv.read = load_is_read(t, &can);
	if (!can)
		return 0;
	load = plan_load(&plan, &kv);
	plan_stream(&plan, load, 0, dst, 1, (uint64_t)trial_number(t, "size"));
	if (share > 0) {
		other.law = ARRIVAL_POISSON;
		other.mean_s = BACKGROUND_BYTES * 8 / (fabric_pair_bps(t->fabric, 0, dst) * share);
		other.verify_every = 16;
		plan_stream(&plan, plan_load(&plan, &other), 0, dst, 64, BACKGROUND_BYTES);
	}
	err = trial_measure(t, &plan, NULL, NULL, &m);
	plan_fini(&plan);
	if (err)
		return err;
	if (!latency_beat_line(t, dst, &m.load[0].delivered)) {
		latency_add(t, &m, share > 0);
		latency_model(t, dst, share, kv.law == ARRIVAL_CLOSED);
	}
	measured_fini(&m);
	return 0;
}

const struct test test_5_2 = {
	INFERENCE_CLAUSE("5.2"),
	.name = "KV Cache Transfer Latency",
	.dut = "DUT-N",
	.summary = "One block at a time between two GPUs, timed from its post to its notification "
		   "at the receiver; other traffic of the same pair beside it. What it takes to "
		   "make a block up is left out.",
	.needs = NEED_TWO_SERVERS,
	.trials = {2, 10, 20},
	.seconds = {1, 5, 120},
	.params = PARAMS(PARAM("size", PARAM_BYTES, "bytes", "of a message", "64K,1M", "64K,1M,4M",
			       "64K,1M,16M,256M"),
			 PARAM("load", PARAM_COUNT, "%",
			       "of the pair's capacity, open loop beside it", "0,50,90",
			       "0,25,50,75,90"),
			 PARAM_VERB,
			 PARAM("arrivals", PARAM_NAME, "",
			       "closed: the next when the one before was notified; even: open "
			       "loop, at 2% of the capacity",
			       "closed", NULL, "closed,even")),
	.kpis = KPIS(
		KPI_KV_LATENCY,
		{"Fabric_FCT", "us", "DUT-F", "until the sender knew of its completion",
		 BETTER_LOWER, 1e-3},
		{"tail_spread", "us", "DUT-N", "P99 less P50 of a trial", BETTER_LOWER, 0},
		{"unfinished", "%", "DUT-F",
		 "of the other traffic, what was due in the time measured and had not arrived "
		 "by its end",
		 BETTER_LOWER, 0},
		{"model", "us", "",
		 "KV_xfer_latency on an ideal fabric, computed: size over what other traffic "
		 "leaves of the line, half of it at least (max-min fairness): the same for all "
		 "loads from 50% on; no queue is in it",
		 BETTER_NONE, 0},
		{"model_ratio", "", "", "of KV_xfer_latency, measured over the model", BETTER_NONE,
		 0}),
	.views = VIEWS(
		VIEW(VIEW_TABLE, "Latency by size and load", "size", "load", "strategy",
		     "KV_xfer_latency@p50", "KV_xfer_latency@p95", "KV_xfer_latency@p99",
		     "KV_xfer_latency@p99.9", "tail_spread", "unfinished", "model", "model_ratio"),
		VIEW(VIEW_TABLE, "Until the sender knew", "size", "load", "strategy",
		     "Fabric_FCT@p50", "Fabric_FCT@p95", "Fabric_FCT@p99", "Fabric_FCT@p99.9"),
		{VIEW_FIELDS(VIEW_CDF, "Distribution of latency", "load", "strategy", "size",
			     "KV_xfer_latency"),
		 .log_x = true}),
	.run = kv_latency_run,
};
