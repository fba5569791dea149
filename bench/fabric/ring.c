/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/ring.h"

#include <stdio.h>

#define RING_ROUTES (3 * RING_LEAVES)

/* The spines of plane 0, in the order of their numbers; how many. */
static unsigned ring_spines(const struct topo *topo, unsigned leaf, unsigned *out, unsigned most)
{
	unsigned n = 0;

	for (unsigned i = 0; i < topo->n_uplinks; i++) {
		if (topo->uplinks[i].leaf != leaf)
			continue;
		if (n < most)
			out[n] = topo->uplinks[i].spine;
		n++;
	}
	return n;
}

const char *ring_find(struct ring *ring, const struct topo *topo)
{
	unsigned n = 0;

	*ring = (struct ring){.topo = topo};
	for (unsigned gpu = 0; n < RING_LEAVES && gpu < topo->n_gpus; gpu++) {
		bool is_new = true;

		for (unsigned i = 0; i < n; i++)
			is_new &= topo->gpus[gpu].plane[0].leaf != ring->leaf[i];
		if (!is_new)
			continue;
		ring->leaf[n] = topo->gpus[gpu].plane[0].leaf;
		ring->gpu[n++] = gpu;
	}
	if (n < RING_LEAVES)
		return "a ring needs servers at three leaves of a plane (pfc-ring.yaml)";
	ring->spines_of_plane = ring_spines(topo, ring->leaf[0], ring->spine, RING_LEAVES);
	if (ring->spines_of_plane < RING_LEAVES)
		return "a ring needs three spines (pfc-ring.yaml)";
	return topo->gpus[0].ipv4[0] ? NULL : "its routes have IPv4 addresses";
}

void ring_flows(const struct ring *ring, struct flood_flow out[RING_LEAVES])
{
	for (unsigned i = 0; i < RING_LEAVES; i++)
		out[i] = (struct flood_flow){.from = ring->gpu[i],
					     .to = ring->gpu[(i + 2) % RING_LEAVES]};
}

/* An end of a link between leaf and spine: farelab(8), ADDRESSES. */
static void ring_address(const struct ring *ring, unsigned leaf, unsigned spine, bool spine_end,
			 struct leaf_hop *out)
{
	unsigned n = 2 * (leaf * ring->spines_of_plane + spine) + spine_end;

	snprintf(out->via, sizeof(out->via), "198.19.%u.%u", (128 + n / 256) & 255, n % 256);
}

struct ring_route ring_route(const struct ring *ring, unsigned i)
{
	unsigned flow = i / 3, next = (flow + 1) % RING_LEAVES;
	/* at its leaf, at its spine, at the leaf after that */
	unsigned leaf = ring->leaf[i % 3 ? next : flow], spine = i % 3 == 2 ? next : flow;
	struct ring_route r = {.gpu = ring->gpu[(flow + 2) % RING_LEAVES]};
	bool at_spine = i % 3 == 1;

	r.netns = at_spine ? ring->topo->spines[ring->spine[spine]].netns
			   : ring->topo->leaves[leaf].netns;
	if (at_spine)
		snprintf(r.hop.dev, sizeof(r.hop.dev), "%.15s", ring->topo->leaves[leaf].name);
	else
		snprintf(r.hop.dev, sizeof(r.hop.dev), "up%u", spine);
	ring_address(ring, leaf, spine, !at_spine, &r.hop);
	return r;
}

int ring_close(const struct ring *ring, struct leaf_routes *routes)
{
	int err = 0;

	for (unsigned i = 0; !err && i < RING_ROUTES; i++) {
		struct ring_route r = ring_route(ring, i);

		err = leaf_routes_set(routes, r.netns, topo_gpu_address(ring->topo, r.gpu), &r.hop,
				      1);
	}
	return err;
}
