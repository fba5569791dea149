/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "procedure/ring_storm.h"
#include "training/common.h"
#include "training/incast.h"

/* What kept this fabric from a deadlock, or did not; the draft asks for the mechanism observed. */
static const char *storm_mechanism(const struct trial *t, const struct ring_storm *s)
{
	if (s->stands)
		return "none: a deadlock, until a watchdog was set";
	if (s->to.storms != s->from.storms)
		return "PFC watchdog (emulated): it ended pauses and dropped packets";
	if (strcmp(trial_text(t, "routes"), "ring") != 0)
		return "routes: no buffers wait for one another in a ring";
	return "none seen: the buffers of the ring were never all full at once";
}

static int storm_measure(struct trial *t, struct ring_storm *s)
{
	int err = pauses_read(&s->from, s->storm.lab);

	if (!err)
		err = incast_flood(t, &s->storm.flood);
	if (!err)
		err = ring_storm_judge(s);
	if (err)
		return err;
	ring_storm_add(t, s, "Deadlock", "Deadlock_expected", "Recovery");
	trial_set_text(t, "Mechanism", storm_mechanism(t, s));
	trial_value(t, "PFC_pause_count", (double)(s->to.sent - s->from.sent) / t->seconds,
		    s->to.sent - s->from.sent);
	trial_value(t, "Ports_paused", s->to.paused, s->to.n);
	trial_value(t, "Zero_throughput", (double)s->gap_ns / 1e6, s->received);
	return 0;
}

static int storm_run(struct trial *t)
{
	return ring_storm_run(t, t->seconds, storm_measure);
}

const struct test test_t7_4 = {
	TRAINING_CLAUSE("7.4"),
	.name = "PFC Storm and Deadlock Resilience",
	.dut = "DUT-S",
	.summary = "Three flows of datagrams without congestion control over three leaves and "
		   "spines that pause senders (emulated), by a tree and by a ring, with a watchdog "
		   "and without.",
	.needs = NEED_TWO_SERVERS | NEED_PFC | NEED_SPINES,
	.no_strategies = true,
	.trials = {1, 3, 3},
	.seconds = {4, 10, 300},
	.params = PARAMS(RING_STORM_PARAMS),
	.kpis = KPIS({"Deadlock", "", "DUT-S",
		      "1: when nobody sent any more, what switches held did not move for a second",
		      BETTER_LOWER, 0},
		     {"Deadlock_expected", "", "",
		      "1: buffers wait for one another, and there is no watchdog", BETTER_NONE, 0},
		     {"Mechanism", "", "DUT-S", "that kept it from a deadlock", BETTER_NONE, 0},
		     {"PFC_pause_count", "frames/s", "DUT-S",
		      "pause frames of all ports; XON is none", BETTER_LOWER, 0},
		     {"Ports_paused", "", "DUT-S", "when nobody sent any more", BETTER_LOWER, 0},
		     {"Zero_throughput", "ms", "DUT-F", "longest time in which a flow got nothing",
		      BETTER_LOWER, 0},
		     {"Recovery", "ms", "DUT-F",
		      "from setting a watchdog of 200 ms until switches held nothing", BETTER_LOWER,
		      0},
		     RING_STORM_KPIS),
	.views = VIEWS(VIEW(VIEW_TABLE, "Storms", "routes", "watchdog", NULL, "Deadlock",
			    "Deadlock_expected", "PFC_storms", "PFC_pause_count", "Ports_paused",
			    "Held", "No_headroom", "Arrived", "Zero_throughput", "Recovery"),
		       VIEW(VIEW_TABLE, "Mechanisms", "routes", "watchdog", NULL, "Mechanism")),
	.run = storm_run,
};
