/* SPDX-License-Identifier: BSD-2-Clause */
/* ring_storm.c - see ring_storm.h */
#include "procedure/ring_storm.h"

#include <errno.h>
#include <math.h>
#include <string.h>

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
