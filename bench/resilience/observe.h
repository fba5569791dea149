/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * observe.h - what happens in a lab, and when, to a quarter of a millisecond: published weights,
 * carrier, kernel routes.
 *
 * Owns: a child process and the record it writes. In: every server's segment (by libfare) and every
 * server kernel's netlink messages. Out: the record, oldest first, and whether links and routes are
 * now as they were at the start. Thread: the coordinator's; the record is shared memory that the
 * child alone writes.
 *
 * Routes are those toward GPUs of other servers. A route is away while its next hops (devices and
 * weights) differ from those found at the start; so start this when the lab has converged.
 */
#ifndef OBSERVE_H
#define OBSERVE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "fare_limits.h"
#include "fabric/topo.h"

enum observe_kind {
	OBSERVE_WEIGHTS, /* who: src * n_gpus + dst; bps and verdict of each plane */
	OBSERVE_LINK,	 /* who: server; ifindex, up */
	OBSERVE_ROUTES,	 /* who: server; n: routes that are away there */
};

struct observe_event {
	uint64_t t_ns;
	uint16_t kind, who;
	bool up;
	uint32_t n; /* ifindex of OBSERVE_LINK, routes of OBSERVE_ROUTES */
	uint64_t bps[FARE_MAX_PLANES];
	uint8_t verdict[FARE_MAX_PLANES]; /* enum fare_verdict */
};

struct observe;

/*
 * Returns once every pair's weights were recorded (the first events). max_events bounds the record.
 * 0 or -errno.
 */
int observe_start(struct observe **out, const struct topo *topo, uint32_t max_events);
void observe_stop(struct observe *o); /* NULL is fine */

/*
 * Events so far; grows until observe_stop(). -errno of the child if it ended early (-E2BIG: the
 * record is full).
 */
int observe_n(const struct observe *o, uint32_t *n);
const struct observe_event *observe_event(const struct observe *o, uint32_t i);

/* Right now: links and routes (of all servers) that are not as they were at the start. */
unsigned observe_links_away(const struct observe *o);
unsigned observe_routes_away(const struct observe *o);

/* That pair's first OBSERVE_WEIGHTS; NULL: there is no such pair. */
const struct observe_event *observe_first(const struct observe *o, unsigned pair);

/*
 * {at_s (since begin_ns), src, dst, plane, from_bps, to_bps, verdict} of a pair's weight; NULL: no
 * memory.
 */
json_t *observe_change(const struct topo *topo, const struct observe_event *was,
		       const struct observe_event *is, unsigned plane, uint64_t begin_ns);

/* Is every pair's latest OBSERVE_WEIGHTS, in each plane, what its first was, within 2%? */
bool observe_weights_are_first(const struct observe *o, const struct topo *topo);

/*
 * When the last event of that kind before n happened; 0: none. from_ns: events before do not count.
 */
uint64_t observe_last(const struct observe *o, uint32_t n, enum observe_kind kind,
		      uint64_t from_ns);

#endif
