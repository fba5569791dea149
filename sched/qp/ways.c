/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ways.c - the path set of an order-free lane: the source-port paths that its one QP uses in turn.
 * There are as many (local sub-port, source port) pairs as the lane would have QPs in the other
 * modes, less those that would be one too many on some sub-ports. They are even over the live local
 * sub-ports and, as far as the port cache knows, over the remote ones.
 *
 * Owns lane.ways. A path stays while its sub-port is live; a sub-port that comes back gets a port
 * anew.
 */
#include <errno.h>
#include <string.h>

#include "qp/internal.h"

#define TRIES	   8
#define PORT_COUNT (65536u - FARE_SOURCE_PORT_FIRST)

static bool is_among(const struct qp_path *chosen, unsigned n, struct qp_path path)
{
	for (unsigned i = 0; i < n; i++)
		if (chosen[i].sub_port == path.sub_port &&
		    chosen[i].udp_source_port == path.udp_source_port)
			return true;
	return false;
}

/* A random one of n_ports ports from FARE_SOURCE_PORT_FIRST on, not among the n chosen. */
static uint16_t random_port(struct fare_group *group, uint16_t local, unsigned n_ports,
			    const struct qp_path *chosen, unsigned n)
{
	unsigned p = (unsigned)(endpoint_random(&group->domain->ep) % n_ports);
	struct qp_path path = {.sub_port = local};

	do
		path.udp_source_port = (uint16_t)(FARE_SOURCE_PORT_FIRST + p++ % n_ports);
	while (is_among(chosen, n, path));
	return path.udp_source_port;
}

/* A path in use that leaves by sub-port local and is not among the n chosen. */
static const struct qp_path *find(const struct lane *lane, uint16_t local,
				  const struct qp_path *chosen, unsigned n)
{
	for (unsigned i = 0; i < lane->n_ways; i++)
		if (lane->ways[i].sub_port == local && !is_among(chosen, n, lane->ways[i]))
			return &lane->ways[i];
	return NULL;
}

/* refused: other endpoints have ports of the first choice; all ports are drawn from then. */
static unsigned choose(struct fare_group *group, unsigned l, struct qp_path *out, bool refused)
{
	const struct lane *lane = &group->lanes[l];
	struct port_path *path = lane->path && !refused ? port_entry_path(lane->path) : NULL;
	unsigned n_ports = refused ? PORT_COUNT : FARE_SOURCE_PORTS;
	unsigned n_live = (unsigned)__builtin_popcount(group_sub_ports(group, l));
	/* the paths take turns: with as many on each sub-port, its links are even */
	unsigned n =
		n_live && n_live < lane->n_ports ? lane->n_ports / n_live * n_live : lane->n_ports;
	struct port_pick pick = {.used = ports_of_group(lane, false)};

	for (unsigned i = 0; i < n; i++) {
		uint16_t local = ports_local_sub_port(group, l, i);
		const struct qp_path *old = find(lane, local, out, i);
		const struct port_slot *slot;

		if (old) {
			out[i] = *old;
			if (path)
				port_path_note(path, &pick, local, old->udp_source_port);
			continue;
		}
		slot = path ? port_path_pick(path, &pick, local, true) : NULL;
		out[i].sub_port = local;
		out[i].udp_source_port = slot ? port_path_port(path, slot)
					      : random_port(group, local, n_ports, out, i);
	}
	return n;
}

static bool is_in_force(const struct lane *lane, const struct qp_path *ways, unsigned n)
{
	bool same = n == lane->n_ways;

	for (unsigned i = 0; same && i < n; i++)
		same = ways[i].sub_port == lane->ways[i].sub_port &&
		       ways[i].udp_source_port == lane->ways[i].udp_source_port;
	return same;
}

void ways_clear(struct lane *lane)
{
	for (unsigned i = 0; i < lane->n_ways; i++)
		ports_use(lane, lane->ways[i].sub_port, lane->ways[i].udp_source_port, -1);
	lane->n_ways = 0;
}

/* Makes the n paths the lane's path set. 0, or -errno: nothing was changed. */
static int spread(struct fare_group *group, unsigned l, const struct qp_path *ways, unsigned n)
{
	struct lane *lane = &group->lanes[l];
	int err = group->domain->ep.provider->qp_spread(lane->qps[0].qp, ways, n);

	if (err)
		return err;
	ways_clear(lane);
	memcpy(lane->ways, ways, n * sizeof(*ways));
	lane->n_ways = n;
	for (unsigned i = 0; i < n; i++)
		ports_use(lane, ways[i].sub_port, ways[i].udp_source_port, 1);
	lane->qps[0].sub_port = ways[0].sub_port;
	lane->qps[0].source_port = ways[0].udp_source_port;
	return 0;
}

int ways_replace(struct fare_group *group, unsigned l, unsigned i, uint16_t port)
{
	struct lane *lane = &group->lanes[l];
	struct qp_path ways[QP_MAX_PATHS];

	memcpy(ways, lane->ways, lane->n_ways * sizeof(*ways));
	ways[i].udp_source_port = port;
	return spread(group, l, ways, lane->n_ways);
}

int ways_set(struct fare_group *group, unsigned l)
{
	struct lane *lane = &group->lanes[l];
	struct qp_path ways[QP_MAX_PATHS];
	int err = -EADDRINUSE;

	for (unsigned i = 0; err == -EADDRINUSE && i < TRIES; i++) {
		unsigned n = choose(group, l, ways, i > 0);

		if (is_in_force(lane, ways, n))
			return 0;
		err = spread(group, l, ways, n);
	}
	return err;
}
