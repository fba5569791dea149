/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ring.h - routes that close a ring of three leaves and three spines of a lab's plane 0.
 *
 * Owns: those routes, until ring_open(). Flow i goes from a GPU at leaf i by spine i to leaf i + 1,
 * and by spine i + 1 to a GPU at leaf i + 2 (modulo 3): so the buffers that it fills wait for those
 * of the next. In: a lab of two tiers with IPv4; out: flows. Thread: the coordinator's.
 */
#ifndef RING_H
#define RING_H

#include "fabric/flood.h"
#include "fabric/leaf_routes.h"

#define RING_LEAVES 3

struct ring {
	const struct topo *topo;
	unsigned leaf[RING_LEAVES], spine[RING_LEAVES], gpu[RING_LEAVES]; /* indices in topo */
	unsigned spines_of_plane;
};

/* NULL: done; else why this lab cannot. */
const char *ring_find(struct ring *ring, const struct topo *topo);
void ring_flows(const struct ring *ring, struct flood_flow out[RING_LEAVES]);
int ring_close(const struct ring *ring, struct leaf_routes *routes);

/* In a switch's namespace, toward a GPU. */
struct ring_route {
	const char *netns;
	struct leaf_hop hop;
	unsigned gpu;
};
/* Number 0 to 3 * RING_LEAVES - 1. Pure. */
struct ring_route ring_route(const struct ring *ring, unsigned i);

#endif
