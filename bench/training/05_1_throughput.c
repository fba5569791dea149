/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "core/search.h"
#include "fabric/optimum.h"
#include "procedure/load.h"
#include "suite/kpis.h"
#include "training/common.h"

#define IN_FLIGHT (1u << 20) /* bytes, where 64 messages are as much */

struct throughput {
	struct trial *t;
	double size, pair_bps, all_bps; /* payload that headers leave of the lines */
	unsigned pairs;
	bool both;
	double bps; /* of the highest rate that held: payload acknowledged */
	uint64_t messages;
	struct load_links use;
};

static unsigned slots_for(double size)
{
	double slots = IN_FLIGHT / size;

	return slots > 64 ? 64 : slots < 4 ? 4 : (unsigned)slots;
}

static void plan_pairs(const struct throughput *w, struct plan *plan, double share)
{
	unsigned first = trial_prefill(w->t), rest = trial_gpus(w->t) - first, load;
	struct traffic_load write = trial_load(w->t, "write", trial_count(w->t, "qps"));

	write.law = ARRIVAL_EVEN;
	write.mean_s = w->size * 8 / (share * w->pair_bps);
	write.verify_every = 16;
	load = plan_load(plan, &write);
	for (unsigned i = 0; i < w->pairs; i++) {
		unsigned src, dst;

		load_pair(i, first, rest, &src, &dst);
		plan_stream(plan, load, src, first + dst, slots_for(w->size), (uint64_t)w->size);
		if (w->both)
			plan_stream(plan, load, first + dst, src, slots_for(w->size),
				    (uint64_t)w->size);
	}
}

/*
 * Nothing was lost: no queue dropped a packet (where no queue can be read: none was sent again),
 * each message that was due was sent, and acknowledgements kept pace: what only fills queues would
 * be lost in a longer trial.
 */
static int try_share(void *arg, double share, bool *held)
{
	struct throughput *w = arg;
	struct plan plan = {0};
	struct measured m;
	bool senders[TOPO_MAX_GPUS];
	int err;

	plan_pairs(w, &plan, share);
	load_senders(&plan, senders);
	err = trial_measure(w->t, &plan, NULL, NULL, &m);
	plan_fini(&plan);
	if (err)
		return err;
	*held = m.load[0].unposted == 0 &&
		(m.fabric_sent ? m.fabric_dropped : m.books.retransmitted) == 0 &&
		load_keeps_pace(share * w->all_bps, m.load[0].bps,
				(double)(m.to_ns - m.from_ns) / 1e9, w->pairs * (w->both ? 2 : 1),
				w->size);
	if (*held) {
		w->bps = m.load[0].bps;
		w->messages = m.load[0].messages;
		w->use = load_links(w->t, &m, senders);
	}
	measured_fini(&m);
	return 0;
}

static void throughput_add(struct throughput *w, double share)
{
	struct trial *t = w->t;

	trial_value(t, "Throughput", share * w->all_bps / 1e9, w->messages);
	trial_value(t, "Throughput_measured", w->bps / 1e9, w->messages);
	trial_value(t, "Link_utilization_max", w->use.max * 100, w->use.n);
	trial_value(t, "Link_utilization_min", w->use.min * 100, w->use.n);
	trial_value(t, "Link_utilization_mean", w->use.mean * 100, w->use.n);
	trial_model(t, "Throughput_measured", w->all_bps / 1e9, "");
	trial_value(t, "Efficiency", w->bps / w->all_bps * 100, w->messages);
}

static int throughput_run(struct trial *t)
{
	/* the sixth step is to 1.6%, the tenth to 0.1% */
	static const unsigned steps[PROFILE_COUNT] = {6, 10, 10};
	unsigned first = trial_prefill(t);
	struct throughput w = {.t = t,
			       .size = trial_number(t, "size"),
			       .pairs = trial_count(t, "pairs"),
			       .both = strcmp(trial_text(t, "direction"), "both") == 0};
	unsigned rest = trial_gpus(t) - first, lines = first < rest ? first : rest;
	double share;
	int err;

	if (!load_divides(t, trial_count(t, "qps")))
		return 0;
	/* all pairs have the rate of those that share a line with most others; headers are of each
	 * message, not of whole packets */
	w.pair_bps = fabric_pair_bps(t->fabric, 0, first) / ((w.pairs + lines - 1) / lines) /
		     optimum_goodput_factor(t->fabric->topo) *
		     optimum_write_factor(t->fabric->topo, w.size);
	w.all_bps = w.pair_bps * w.pairs * (w.both ? 2 : 1);
	err = search_highest(0, 1, steps[t->profile], try_share, &w, &share);
	if (!err && share > 0)
		throughput_add(&w, share);
	else if (!err)
		trial_missing(t, NULL, "no rate passed without loss or a backlog that grew");
	return err;
}

const struct test test_t5_1 = {
	TRAINING_CLAUSE("5.1"),
	.name = "Baseline RDMA Write Throughput",
	.dut = "DUT-F",
	.summary = "Pairs of GPUs write at an even rate; the highest without loss by halving (RFC "
		   "2544, 26.1), ten steps, six in profile quick. A rate at which acknowledgements "
		   "fall behind is too high. By ECMP it is the rate of one draw of the hash: of "
		   "other ports it is another.",
	.needs = NEED_TWO_SERVERS,
	.trials = {1, 5, 20},
	.seconds = {0.8, 4, 60},
	.params = PARAMS(
		PARAM("size", PARAM_BYTES, "bytes", "of a message", "64K", "1K,4K,64K,1M",
		      "64,256,1K,4K,64K,256K,1M,4M"),
		PARAM("qps", PARAM_COUNT, "", "QPs of a pair", "8", "8,16,32", "1,4,16,32"),
		PARAM("pairs", PARAM_COUNT, "", "of hosts; more than there are GPUs share them",
		      "1", "1,2", "1,2,4,8,16,32,64"),
		PARAM("direction", PARAM_NAME, "", "of the writes of a pair", "one", "one,both")),
	.kpis = KPIS({"Throughput", "Gb/s", "DUT-F",
		      "payload offered at the highest rate without loss or a growing backlog, all "
		      "pairs, "
		      "both directions",
		      BETTER_HIGHER, 0},
		     {"Throughput_measured", "Gb/s", "DUT-F", "payload acknowledged at that rate",
		      BETTER_HIGHER, 0},
		     {"Efficiency", "%", "DUT-F",
		      "Throughput_measured over what headers leave of the lines", BETTER_HIGHER, 0},
		     TRAINING_LINKS, KPI_MODEL("Throughput_measured", "Gb/s")),
	.views = VIEWS(VIEW(VIEW_TABLE, "Throughput by size and QPs", "size", "qps", "strategy",
			    "Throughput", "Throughput_measured", "Efficiency",
			    "Link_utilization_max", "Link_utilization_min", "Link_utilization_mean",
			    "model", "model_ratio"),
		       {VIEW_FIELDS(VIEW_LINES, "Throughput over message size", "size", "qps",
				    "strategy", "Throughput"),
			.log_x = true, .reference = "model"}),
	.run = throughput_run,
};
