/* SPDX-License-Identifier: BSD-2-Clause */
#include "procedure/ring_storm.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "fabric/pauses.h"

#define STORM_QUIET_S 1.5 /* several of any watchdog that is tried here */

/* With routes that close the ring, or by those of BGP; watchdog_ms 0: none. ring: ring_find()'s.
 * storm_end() whatever comes of it. */
static int storm_begin(struct storm *s, const struct lab *lab, const struct ring *ring, bool closed,
		       unsigned watchdog_ms, double seconds)
{
	const struct topo *topo = ring->topo;
	int err;

	*s = (struct storm){.lab = lab, .ring = *ring};
	s->flood = (struct flood){.topo = topo,
				  .flow = s->flow,
				  .n = RING_LEAVES,
				  .bytes = flood_most_bytes(topo),
				  .seconds = seconds,
				  .quiet_s = STORM_QUIET_S};
	ring_flows(ring, s->flow);
	err = leaf_routes_create(&s->routes, topo);
	if (!err)
		err = pauses_guard_create(&s->guard, lab, &topo->pfc);
	if (!err)
		err = pauses_guard_set(s->guard, PAUSES_WATCHDOG, watchdog_ms);
	if (!err && closed)
		err = ring_close(&s->ring, s->routes);
	return err;
}

/* Of a lab in which nobody sends: nothing of what switches hold left them in a second. */
static int storm_stands(const struct storm *s, uint64_t *held_bytes, bool *stands)
{
	struct pauses first, then;
	int err = pauses_read(&first, s->lab);

	if (err)
		return err;
	*held_bytes = first.held_bytes;
	*stands = first.held_bytes > 0 && first.paused > 0;
	pauses_fini(&first);
	if (!*stands)
		return 0;
	clock_pause_ns(CLOCK_S);
	err = pauses_read(&then, s->lab);
	if (err)
		return err;
	*stands = then.held_bytes == *held_bytes;
	pauses_fini(&then);
	return 0;
}

static int storm_held(const struct storm *s, bool *held)
{
	struct pauses now;
	int err = pauses_read(&now, s->lab);

	if (err)
		return err;
	*held = now.held_bytes > 0;
	pauses_fini(&now);
	return 0;
}

/* Sets a watchdog if anything is held, and waits until nothing is: ms since then. NaN: nothing was
 * held. -ETIMEDOUT after STORM_RESCUE_S. */
static int storm_rescue(struct storm *s, double *recovery_ms)
{
	const uint64_t from_ns = clock_now_ns();
	bool held = false;
	int err = s->guard ? storm_held(s, &held) : 0;

	*recovery_ms = NAN;
	if (err || !held)
		return err;
	err = pauses_guard_set(s->guard, PAUSES_WATCHDOG, STORM_WATCHDOG_MS);
	while (!err && held) {
		clock_pause_ns(50 * CLOCK_MS);
		err = storm_held(s, &held);
		*recovery_ms = (double)(clock_now_ns() - from_ns) / 1e6;
		if (!err && held && *recovery_ms > STORM_RESCUE_S * 1e3)
			err = -ETIMEDOUT;
	}
	return err;
}

static int storm_end(struct storm *s)
{
	int err = leaf_routes_destroy(s->routes), undone = pauses_guard_destroy(s->guard);

	return err ? err : undone;
}

static int ring_storm_rescue(struct ring_storm *s)
{
	int err = storm_rescue(&s->storm, &s->recovery_ms);

	if (err != -ETIMEDOUT)
		return err;
	s->recovery_ms = INFINITY;
	return 0;
}

int ring_storm_judge(struct ring_storm *s)
{
	int err = pauses_read(&s->to, s->storm.lab);

	if (!err && s->to.n != s->from.n)
		err = -EBADMSG; /* the lab's ports have changed */
	if (!err)
		err = storm_stands(&s->storm, &s->held_bytes, &s->stands);
	for (unsigned i = 0; i < s->storm.flood.n; i++) {
		const struct flood_flow *flow = &s->storm.flow[i];

		s->gap_ns = flow->gap_ns > s->gap_ns ? flow->gap_ns : s->gap_ns;
		s->sent += flow->sent;
		s->received += flow->received;
	}
	if (!err)
		err = ring_storm_rescue(s);
	s->is_judged = !err;
	return err;
}

void ring_storm_add(struct trial *t, const struct ring_storm *s, const char *stands,
		    const char *can_stand, const char *recovery)
{
	trial_value(t, stands, s->stands, 1);
	trial_value(t, can_stand, s->can_stand, 1);
	trial_value(t, "PFC_storms", (double)(s->to.storms - s->from.storms), 1);
	trial_value(t, "Held", (double)s->held_bytes, 1);
	trial_value(t, "No_headroom", (double)(s->to.dropped - s->from.dropped), s->sent);
	trial_value(t, "Arrived", s->sent ? (double)s->received / (double)s->sent * 100 : 0,
		    s->sent);
	if (isinf(s->recovery_ms))
		trial_missing(t, recovery, "not in %d s", STORM_RESCUE_S);
	else if (isnan(s->recovery_ms))
		trial_missing(t, recovery, "nothing stalled");
	else
		trial_value(t, recovery, s->recovery_ms, 1);
}

int ring_storm_run(struct trial *t, double seconds,
		   int (*measure)(struct trial *t, struct ring_storm *s))
{
	bool is_ring = strcmp(trial_text(t, "routes"), "ring") == 0;
	unsigned watchdog_ms = trial_count(t, "watchdog");
	struct ring_storm s = {.can_stand = is_ring && !watchdog_ms};
	struct ring ring;
	const char *why = ring_find(&ring, t->fabric->topo);
	int err, undone;

	if (why) {
		trial_missing(t, NULL, "%s", why);
		return 0;
	}
	err = storm_begin(&s.storm, &t->fabric->lab, &ring, is_ring, watchdog_ms, seconds);
	if (!err)
		err = measure(t, &s);
	if (!s.is_judged) /* an error: what stands is in the way of what comes next */
		ring_storm_rescue(&s);
	undone = storm_end(&s.storm);
	pauses_fini(&s.from);
	pauses_fini(&s.to);
	return err ? err : undone;
}
