/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <time.h>

#include "core/interrupt.h"
#include "core/search.h"
#include "procedure/ideal.h"
#include "suite/kpis.h"
#include "training/common.h"
#include "training/incast.h"

struct bursts {
	struct trial *t;
	struct incast in;
	unsigned repetitions;
	uint64_t sent, lost; /* datagrams, of all bursts */
	bool unsent;	     /* a trial's time did not do for a burst */
};

/* The queue's own bucket is empty when the burst before has left it. */
static void bursts_pause(const struct bursts *b)
{
	double seconds = 2 * b->in.flood.topo->bucket_bytes * 8 / b->in.bps;
	struct timespec pause = {.tv_sec = (time_t)seconds,
				 .tv_nsec = (long)(fmod(seconds, 1) * 1e9)};

	nanosleep(&pause, NULL);
}

/* Bursts of so many datagrams a sender; none is lost. */
static int bursts_try(void *arg, double datagrams, bool *held)
{
	struct bursts *b = arg;
	const uint64_t all = (uint64_t)datagrams * b->in.flood.n;
	int err = 0;

	b->in.flood.datagrams = (uint64_t)datagrams;
	*held = true;
	for (unsigned i = 0; !err && *held && i < b->repetitions && datagrams >= 1; i++) {
		bursts_pause(b);
		err = incast_flood(b->t, &b->in.flood);
		b->sent += incast_sent(&b->in);
		b->lost += incast_sent(&b->in) - incast_received(&b->in);
		if (!err && !interrupt_pending() && incast_sent(&b->in) < all)
			b->unsent = true;
		*held = incast_received(&b->in) == all;
	}
	return err;
}

static void bursts_add(struct trial *t, const struct bursts *b, double best, double model,
		       uint64_t dropped)
{
	uint64_t frames = (uint64_t)best;

	trial_value(t, "Burst_frames", (double)frames, b->repetitions);
	trial_value(t, "Burst_bytes", (double)frames * b->in.frame_bytes, b->repetitions);
	trial_value(t, "Burst_total", (double)frames * b->in.frame_bytes * b->in.flood.n,
		    b->repetitions);
	trial_model(t, "Burst_bytes", model, "");
	trial_value(t, "Lost", (double)b->lost, b->sent);
	trial_value(t, "Lost_uncounted", (double)b->lost - (double)dropped, b->sent);
}

static int bursts_search(struct trial *t, struct bursts *b)
{
	static const unsigned steps[PROFILE_COUNT] = {7, 10, 10};
	const struct topo *topo = t->fabric->topo;
	double model = ideal_burst_bytes(b->in.flood.n, (double)topo->queue_bytes,
					 (double)topo->bucket_bytes),
	       best = 0;
	struct lab_packets before, after;
	int err = lab_packets(&t->fabric->lab, &before);

	if (!err)
		err = search_highest(0, ceil(2 * model / b->in.frame_bytes), steps[t->profile],
				     bursts_try, b, &best);
	if (!err)
		err = lab_packets(&t->fabric->lab, &after);
	if (!err && b->unsent)
		trial_missing(t, NULL, "a burst takes longer than a trial's %g s: --duration",
			      t->seconds);
	else if (!err && best < 1)
		trial_missing(t, NULL, "of bursts of one frame some were lost");
	else if (!err)
		bursts_add(t, b, best, model, after.dropped - before.dropped);
	return err;
}

static int bursts_run(struct trial *t)
{
	static const unsigned repetitions[PROFILE_COUNT] = {2, 10, 50};
	struct bursts b = {.t = t, .repetitions = repetitions[t->profile]};
	int err;

	if (!fabric_cannot(t->fabric, NEED_PFC) || !t->fabric->topo->queue_bytes) {
		trial_missing(t, NULL, "%s",
			      t->fabric->topo->queue_bytes
				      ? "leaves pause who sends: no burst is lost (T7.2); those of "
					"training-burst.yaml do not"
				      : "how long the queues are is not known");
		return 0;
	}
	if (!incast_init(&b.in, t, trial_count(t, "senders"), (unsigned)trial_number(t, "size")))
		return t->err;
	err = bursts_search(t, &b);
	incast_fini(&b.in);
	return err;
}

const struct test test_t5_3 = {
	TRAINING_CLAUSE("5.3"),
	.name = "Back-to-Back Burst Absorption",
	.dut = "DUT-F",
	.summary = "Several GPUs begin at once to send datagrams to one, as fast as their links "
		   "take them, without congestion control; the longest burst of which none is "
		   "lost, by halving.",
	.needs = NEED_TWO_SERVERS,
	.no_strategies = true,
	.trials = {1, 5, 5},
	.seconds = {2, 10, 60},
	.params =
		PARAMS(PARAM("senders", PARAM_COUNT, "", "to one GPU", "2,3", NULL, "2,4,8,16,32"),
		       PARAM("size", PARAM_BYTES, "bytes", "of a datagram, each a frame", "4K",
			     "1K,4K", "64,256,1K,4K")),
	.kpis = KPIS(
		{"Burst_frames", "frames", "DUT-F", "of a sender, the longest burst that lost none",
		 BETTER_HIGHER, 0},
		{"Burst_bytes", "bytes", "DUT-F", "of a sender, with headers", BETTER_HIGHER, 0},
		{"Burst_total", "bytes", "DUT-F", "of all senders", BETTER_HIGHER, 0},
		{"Lost", "packets", "DUT-F", "of all bursts that were tried", BETTER_NONE, 0},
		{"Lost_uncounted", "packets", "DUT-F",
		 "of these, less what the lab's counters have; 0 is right", BETTER_NONE, 0},
		KPI_MODEL("Burst_bytes", "bytes")),
	.views = VIEWS(VIEW(VIEW_LINES, "Burst over the incast ratio", "senders", "size", NULL,
			    "Burst_bytes"),
		       VIEW(VIEW_TABLE, "Bursts", "senders", "size", NULL, "Burst_frames",
			    "Burst_bytes", "Burst_total", "model", "model_ratio", "Lost",
			    "Lost_uncounted")),
	.run = bursts_run,
};
