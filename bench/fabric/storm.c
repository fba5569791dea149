/* SPDX-License-Identifier: BSD-2-Clause */
/* storm.c - see storm.h */
#include "fabric/storm.h"

#include <errno.h>
#include <math.h>
#include <time.h>

#include "base/clock.h"
#include "fabric/pauses.h"

#define STORM_QUIET_S 1.5 /* several of any watchdog that is tried here */

static void storm_sleep(double seconds)
{
	struct timespec time = {.tv_sec = (time_t)seconds,
				.tv_nsec = (long)(fmod(seconds, 1) * 1e9)};

	nanosleep(&time, NULL);
}

int storm_begin(struct storm *s, const struct lab *lab, const struct ring *ring, bool closed,
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

int storm_stands(const struct storm *s, uint64_t *held_bytes, bool *stands)
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
	storm_sleep(1);
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

int storm_rescue(struct storm *s, double *recovery_ms)
{
	const uint64_t from_ns = clock_now_ns();
	bool held = false;
	int err = s->guard ? storm_held(s, &held) : 0;

	*recovery_ms = NAN;
	if (err || !held)
		return err;
	err = pauses_guard_set(s->guard, PAUSES_WATCHDOG, STORM_WATCHDOG_MS);
	while (!err && held) {
		storm_sleep(0.05);
		err = storm_held(s, &held);
		*recovery_ms = (double)(clock_now_ns() - from_ns) / 1e6;
		if (!err && held && *recovery_ms > STORM_RESCUE_S * 1e3)
			err = -ETIMEDOUT;
	}
	return err;
}

int storm_end(struct storm *s)
{
	int err = leaf_routes_destroy(s->routes), undone = pauses_guard_destroy(s->guard);

	return err ? err : undone;
}
