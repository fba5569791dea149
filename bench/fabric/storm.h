/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * storm.h - a lab whose switches' buffers wait for one another, and how it comes out of that.
 *
 * Owns: routes that close a ring (ring.h) and a watchdog, both given back however this process
 * ends. In: a lab of two tiers with PFC; out: flows that fill the ring, whether what switches hold
 * stalls, how long it takes until they hold nothing. Thread: the coordinator's.
 */
#ifndef STORM_H
#define STORM_H

#include "fabric/lab.h"
#include "fabric/pauses_guard.h"
#include "fabric/ring.h"

#define STORM_WATCHDOG_MS 200 /* that ends what stalls */
#define STORM_RESCUE_S	  20

struct storm {
	const struct lab *lab;
	struct ring ring;
	struct leaf_routes *routes;
	struct pauses_guard *guard;
	struct flood_flow flow[RING_LEAVES];
	struct flood flood; /* of those flows */
};

/* With routes that close the ring, or by those of BGP; watchdog_ms 0: none. ring: ring_find()'s.
 * storm_end() whatever comes of it. */
int storm_begin(struct storm *s, const struct lab *lab, const struct ring *ring, bool closed,
		unsigned watchdog_ms, double seconds);
/* Of a lab in which nobody sends: nothing of what switches hold left them in a second. */
int storm_stands(const struct storm *s, uint64_t *held_bytes, bool *stands);
/* Sets a watchdog if anything is held, and waits until nothing is: ms since then. NaN: nothing was
 * held. -ETIMEDOUT after STORM_RESCUE_S. */
int storm_rescue(struct storm *s, double *recovery_ms);
int storm_end(struct storm *s);

#endif
