/* SPDX-License-Identifier: BSD-2-Clause */
/* pause_depth.c - see pause_depth.h */
#include "fabric/pause_depth.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Leaves, spines, servers, in that order. */
static unsigned depth_nodes(const struct topo *topo)
{
	return topo->n_leaves + topo->n_spines + topo->n_servers;
}

static const char *depth_name(const struct topo *topo, unsigned node)
{
	if (node < topo->n_leaves)
		return topo->leaves[node].name;
	node -= topo->n_leaves;
	return node < topo->n_spines ? topo->spines[node].name
				     : topo->servers[node - topo->n_spines].name;
}

static int depth_find(const struct topo *topo, const char *name, size_t length)
{
	for (unsigned i = 0; i < depth_nodes(topo); i++)
		if (strlen(depth_name(topo, i)) == length &&
		    strncmp(depth_name(topo, i), name, length) == 0)
			return (int)i;
	return -EBADMSG;
}

/* The leaf at the other end of a server's device. */
static int depth_leaf_of(const struct topo *topo, unsigned server, const char *dev)
{
	unsigned plane, sub_port;
	int gpu = topo_find_sub_port(topo, server, dev, &plane, &sub_port);

	return gpu < 0 ? -EBADMSG : (int)topo->gpus[gpu].plane[plane].leaf;
}

/* The spine at the other end of a leaf's device "up<number>". */
static int depth_spine_of(const struct topo *topo, unsigned leaf, const char *dev)
{
	unsigned number;

	if (sscanf(dev, "up%u", &number) != 1)
		return -EBADMSG;
	for (unsigned i = 0; i < topo->n_uplinks; i++)
		if (topo->uplinks[i].leaf == leaf && number-- == 0)
			return (int)(topo->n_leaves + topo->uplinks[i].spine);
	return -EBADMSG;
}

/* Who paused the port "l0/up1": its neighbour; *port_of: whose port it is. */
static int depth_neighbour(const struct topo *topo, const char *port, int *port_of)
{
	const char *dev = strchr(port, '/');

	*port_of = dev ? depth_find(topo, port, (size_t)(dev++ - port)) : -EBADMSG;
	if (*port_of < 0)
		return -EBADMSG;
	if ((unsigned)*port_of < topo->n_leaves)
		return depth_spine_of(topo, (unsigned)*port_of, dev);
	if ((unsigned)*port_of < topo->n_leaves + topo->n_spines)
		return depth_find(topo, dev, strlen(dev));
	return depth_leaf_of(topo, (unsigned)*port_of - topo->n_leaves - topo->n_spines, dev);
}

/* Of the nodes that pauses reach from one, the farthest. */
static unsigned depth_farthest(const bool *pauses, unsigned n, unsigned from, unsigned *links)
{
	unsigned farthest = 0;

	for (unsigned i = 0; i < n; i++)
		links[i] = i == from ? 0 : n;
	for (unsigned at = 0; at < n; at++) /* those that are so many links away */
		for (unsigned a = 0; a < n; a++)
			for (unsigned b = 0; links[a] == at && b < n; b++)
				if (pauses[a * n + b] && links[b] > at + 1)
					links[b] = farthest = at + 1;
	return farthest;
}

int pause_depth(const struct topo *topo, const struct pauses *from, const struct pauses *to,
		unsigned *hops)
{
	const unsigned n = depth_nodes(topo);
	bool *pauses = calloc((size_t)n * n, sizeof(*pauses)); /* [who][receiver] */
	unsigned *links = calloc(n, sizeof(*links));
	int err = pauses && links ? 0 : -ENOMEM;

	*hops = 0;
	for (unsigned i = 0; !err && i < to->n; i++) {
		int receiver, who;

		if (to->port[i].paused_s <= from->port[i].paused_s)
			continue;
		who = depth_neighbour(topo, to->port[i].name, &receiver);
		if (who < 0)
			err = who;
		else
			pauses[(unsigned)who * n + (unsigned)receiver] = true;
	}
	for (unsigned i = 0; !err && i < n; i++) {
		unsigned far = depth_farthest(pauses, n, i, links);

		*hops = far > *hops ? far : *hops;
	}
	free(pauses);
	free(links);
	return err;
}
