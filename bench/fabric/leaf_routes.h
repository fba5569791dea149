/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * leaf_routes.h - which uplinks of a lab's leaves carry what goes to a GPU.
 *
 * Owns: routes beside BGP's, preferred by their metric, in the leaves' namespaces; and a guard that
 * removes them however this process ends. In: GPUs, a range of uplinks; out: routes by those alone.
 * BGP's own routes stay as they are. Thread: the coordinator's.
 */
#ifndef LEAF_ROUTES_H
#define LEAF_ROUTES_H

#include "fabric/topo.h"

#define LEAF_ROUTES_MAX_HOPS 16

struct leaf_routes;

struct leaf_hop {
	char dev[16], via[64];
};

/* The topology is borrowed. */
int leaf_routes_create(struct leaf_routes **out, const struct topo *topo);
/* What the leaves of GPU `from` send to GPU `to` goes by n uplinks, from number first on, in every
 * plane. -errno after saying why. */
int leaf_routes_pin(struct leaf_routes *routes, unsigned from, unsigned to, unsigned first,
		    unsigned n);
/* What namespace netns sends to that address goes by these hops. -errno after saying why. */
int leaf_routes_set(struct leaf_routes *routes, const char *netns, const char *to,
		    const struct leaf_hop *hop, unsigned n);
/* Removes all of them. NULL is fine. */
int leaf_routes_destroy(struct leaf_routes *routes);

/* Routes of both families in the main table of the leaf or spine that has most. -errno after saying
 * why. */
int leaf_routes_most(const struct topo *topo, unsigned *most);

/* Pure: the hops up<first> .. up<first + n - 1> of what `ip -j route show` says. -ENOENT: they are
 * not all there. */
int leaf_routes_pick(const char *text, unsigned first, unsigned n, struct leaf_hop *out);

#endif
