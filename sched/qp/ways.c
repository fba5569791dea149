/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ways.c - the ways that an order-free lane's one QP leaves by: as many (local sub-port, source
 * port) pairs as the lane would have QPs in the other modes, evenly over the live local sub-ports
 * and, by what ports.c learned, the remote ones.
 *
 * Owns struct lane's ways. A way stays while its sub-port lives; when that is back, it gets the
 * same one or, if it never had one, a new port.
 */
#include <errno.h>
#include <string.h>

#include "qp/internal.h"

#define PORT_FIRST 49152u
#define PORT_COUNT 16384u
#define TRIES	   8 /* ports may be taken by others */

static uint16_t new_port(struct fare_group *group, unsigned l, unsigned i, uint16_t local)
{
	const struct candidate *c =
		group->options.random_ports ? NULL : ports_choose(group, l, i, local);

	return c ? c->port : (uint16_t)(PORT_FIRST + domain_random(group->domain) % PORT_COUNT);
}

/* One of the ways in force that leaves by local, and is not among the n chosen before. */
static const struct qp_path *find(const struct lane *lane, uint16_t local,
				  const struct qp_path *chosen, unsigned n)
{
	for (unsigned i = 0; i < lane->n_ways; i++) {
		bool taken = lane->ways[i].sub_port != local;

		for (unsigned k = 0; k < n && !taken; k++)
			taken = chosen[k].sub_port == local &&
				chosen[k].udp_source_port == lane->ways[i].udp_source_port;
		if (!taken)
			return &lane->ways[i];
	}
	return NULL;
}

static unsigned choose(struct fare_group *group, unsigned l, struct qp_path *out)
{
	const struct lane *lane = &group->lanes[l];
	unsigned n = lane->n_ports < QP_MAX_PATHS ? lane->n_ports : QP_MAX_PATHS;

	for (unsigned i = 0; i < n; i++) {
		uint16_t local = ports_local_sub_port(group, l, i);
		const struct qp_path *old = find(lane, local, out, i);

		out[i] = old ? *old : (struct qp_path){local, new_port(group, l, i, local)};
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

/* In force from now on, or nothing has changed. */
static int spread(struct fare_group *group, unsigned l, const struct qp_path *ways, unsigned n)
{
	struct lane *lane = &group->lanes[l];
	int err = group->domain->provider->qp_spread(lane->qps[0].qp, ways, n);

	if (err)
		return err;
	memcpy(lane->ways, ways, n * sizeof(*ways));
	lane->n_ways = n;
	lane->qps[0].sub_port = ways[0].sub_port;
	lane->qps[0].source_port = ways[0].udp_source_port;
	return 0;
}

int ways_replace(struct fare_group *group, unsigned l, unsigned i, uint16_t port)
{
	struct lane *lane = &group->lanes[l];
	struct qp_path ways[QP_MAX_PATHS];

	memcpy(ways, lane->ways, sizeof(ways));
	ways[i].udp_source_port = port;
	return spread(group, l, ways, lane->n_ways);
}

int ways_set(struct fare_group *group, unsigned l)
{
	struct lane *lane = &group->lanes[l];
	struct qp_path ways[QP_MAX_PATHS];
	int err = -EADDRINUSE;

	for (unsigned i = 0; err == -EADDRINUSE && i < TRIES; i++) {
		unsigned n = choose(group, l, ways);

		if (is_in_force(lane, ways, n))
			return 0;
		err = spread(group, l, ways, n);
	}
	return err;
}
