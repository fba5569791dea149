/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lane_ports.c - the source ports of one lane: which it needs to know of its path (port_cache.h),
 * whether they are even over the remote sub-ports, and the fewest moves that make them even.
 *
 * Path sets: the one QP of an order-free lane uses several source-port paths in turn. There are as
 * many (local sub-port, source port) pairs as the lane would have QPs in the other modes, less
 * those that would be one too many on some sub-ports. They are even over the live local sub-ports
 * and, as far as the port cache knows, over the remote ones. A path stays while its sub-port is
 * live; a sub-port that comes back gets a port anew.
 */
#include <errno.h>
#include <string.h>

#include "qp/candidates.h"
#include "qp/lane.h"
#include "qp/port_path.h"

#define TRIES	   8
#define PORT_COUNT (65536u - FARE_SOURCE_PORT_FIRST)
#define OWN_MAX	   (FARE_PLANE_QPS_MAX > QP_MAX_PATHS ? FARE_PLANE_QPS_MAX : QP_MAX_PATHS)
#define ALL_MAX	   (OWN_MAX + FARE_MAX_SUB_PORTS * FARE_SOURCE_PORTS)

int8_t lane_ports_remote(const struct lane *lane, unsigned local, uint16_t port)
{
	const struct port_slot *slot =
		lane->ports ? port_path_slot(lane->ports, local, port) : NULL;

	return slot && slot->is_known ? (int8_t)slot->remote : -1;
}

void lane_ports_use(struct lane *lane, unsigned local, uint16_t port, int by)
{
	struct port_slot *slot = lane->ports ? port_path_slot(lane->ports, local, port) : NULL;

	if (slot)
		slot->n_users = (uint16_t)(slot->n_users + by);
}

static bool is_packet(const struct lane *lane)
{
	return lane->lanes->is_packet;
}

static uint16_t bit_of(uint16_t port)
{
	unsigned p = (unsigned)port - FARE_SOURCE_PORT_FIRST;

	return p < FARE_SOURCE_PORTS ? (uint16_t)(1u << p) : 0;
}

uint16_t lane_ports_of_group(const struct lane *lane, bool own)
{
	const struct lanes *lanes = lane->lanes;
	uint16_t used = 0;

	for (unsigned l = 0; l < lanes->n; l++) {
		const struct lane *other = &lanes->lane[l];

		if (other == lane && !own)
			continue;
		for (unsigned i = 0; i < other->n_qps; i++)
			used |= other->qps[i].qp ? bit_of(other->qps[i].source_port) : 0;
		for (unsigned i = 0; i < other->n_paths; i++)
			used |= bit_of(other->path_set[i].udp_source_port);
	}
	return used;
}

bool lane_ports_can_be_uneven(const struct lane *lane)
{
	return lane->ports && (is_packet(lane) ? lane->n_paths : lane->n_qps) > 1;
}

bool lane_ports_cover(const struct lane *lane)
{
	struct port_path *path = lane->ports;
	struct port_pick pick = {.used = lane_ports_of_group(lane, false)};
	unsigned least = UINT32_MAX, most = 0;
	uint32_t remotes = port_path_remotes(path);
	unsigned n_live = (unsigned)__builtin_popcount(path->live);
	/* no port is picked twice if there are enough */
	bool distinct = is_packet(lane) || lane->n_ports <= n_live * FARE_SOURCE_PORTS;

	for (unsigned i = 0; i < lane->n_ports; i++) {
		unsigned local = group_paths_sub_port(lane->lanes->attr.paths, lane->index, i);
		const struct port_slot *slot = port_path_pick(path, &pick, local, distinct);

		if (!slot || !slot->is_known)
			return false;
	}
	for (; remotes; remotes &= remotes - 1) {
		unsigned load = pick.load[__builtin_ctz(remotes)];

		least = load < least ? load : least;
		most = load > most ? load : most;
	}
	return most - least <= 1;
}

/* ---- path sets ---- */

static bool is_path_among(const struct qp_path *chosen, unsigned n, struct qp_path path)
{
	for (unsigned i = 0; i < n; i++)
		if (chosen[i].sub_port == path.sub_port &&
		    chosen[i].udp_source_port == path.udp_source_port)
			return true;
	return false;
}

/* A random one of n_ports ports from FARE_SOURCE_PORT_FIRST on, not among the n chosen. */
static uint16_t random_port(const struct lane *lane, uint16_t local, unsigned n_ports,
			    const struct qp_path *chosen, unsigned n)
{
	unsigned p = (unsigned)(endpoint_random(lane_ep(lane)) % n_ports);
	struct qp_path path = {.sub_port = local};

	do
		path.udp_source_port = (uint16_t)(FARE_SOURCE_PORT_FIRST + p++ % n_ports);
	while (is_path_among(chosen, n, path));
	return path.udp_source_port;
}

/* A path in use that leaves by sub-port local and is not among the n chosen. */
static const struct qp_path *path_by(const struct lane *lane, uint16_t local,
				     const struct qp_path *chosen, unsigned n)
{
	for (unsigned i = 0; i < lane->n_paths; i++)
		if (lane->path_set[i].sub_port == local &&
		    !is_path_among(chosen, n, lane->path_set[i]))
			return &lane->path_set[i];
	return NULL;
}

/* refused: other endpoints have ports of the first choice; all ports are drawn from then. */
static unsigned lane_ports_choose(struct lane *lane, struct qp_path *out, bool refused)
{
	struct port_path *path = lane->ports && !refused ? lane->ports : NULL;
	unsigned n_ports = refused ? PORT_COUNT : FARE_SOURCE_PORTS;
	unsigned n_live = (unsigned)__builtin_popcount(
		group_paths_sub_ports(lane->lanes->attr.paths, lane->index));
	/* the paths take turns: with as many on each sub-port, its links are even */
	unsigned n =
		n_live && n_live < lane->n_ports ? lane->n_ports / n_live * n_live : lane->n_ports;
	struct port_pick pick = {.used = lane_ports_of_group(lane, false)};

	for (unsigned i = 0; i < n; i++) {
		uint16_t local = group_paths_sub_port(lane->lanes->attr.paths, lane->index, i);
		const struct qp_path *old = path_by(lane, local, out, i);
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
					      : random_port(lane, local, n_ports, out, i);
	}
	return n;
}

static bool is_in_force(const struct lane *lane, const struct qp_path *set, unsigned n)
{
	bool same = n == lane->n_paths;

	for (unsigned i = 0; same && i < n; i++)
		same = set[i].sub_port == lane->path_set[i].sub_port &&
		       set[i].udp_source_port == lane->path_set[i].udp_source_port;
	return same;
}

void lane_ports_clear_paths(struct lane *lane)
{
	for (unsigned i = 0; i < lane->n_paths; i++)
		lane_ports_use(lane, lane->path_set[i].sub_port, lane->path_set[i].udp_source_port,
			       -1);
	lane->n_paths = 0;
}

/* Makes the n paths the lane's path set. 0, or -errno: nothing was changed. */
static int spread(struct lane *lane, const struct qp_path *set, unsigned n)
{
	int err = lane_ep(lane)->provider->qp_spread(lane->qps[0].qp, set, n);

	if (err)
		return err;
	lane_ports_clear_paths(lane);
	memcpy(lane->path_set, set, n * sizeof(*set));
	lane->n_paths = n;
	for (unsigned i = 0; i < n; i++)
		lane_ports_use(lane, set[i].sub_port, set[i].udp_source_port, 1);
	lane->qps[0].sub_port = set[0].sub_port;
	lane->qps[0].source_port = set[0].udp_source_port;
	return 0;
}

static int replace_path(struct lane *lane, unsigned i, uint16_t port)
{
	struct qp_path set[QP_MAX_PATHS];

	memcpy(set, lane->path_set, lane->n_paths * sizeof(*set));
	set[i].udp_source_port = port;
	return spread(lane, set, lane->n_paths);
}

int lane_ports_set_paths(struct lane *lane)
{
	struct qp_path set[QP_MAX_PATHS];
	int err = -EADDRINUSE;

	for (unsigned i = 0; err == -EADDRINUSE && i < TRIES; i++) {
		unsigned n = lane_ports_choose(lane, set, i > 0);

		if (is_in_force(lane, set, n))
			return 0;
		err = spread(lane, set, n);
	}
	return err;
}

/* ---- evenness ---- */

static struct candidate candidate(const struct lane *lane, unsigned local, uint16_t port, bool used)
{
	return (struct candidate){.port = port,
				  .local_sub_port = (uint16_t)local,
				  .remote_sub_port = lane_ports_remote(lane, local, port),
				  .used = used};
}

static unsigned list_own(const struct lane *lane, struct candidate *c)
{
	unsigned n = is_packet(lane) ? lane->n_paths : lane->n_qps;

	for (unsigned i = 0; i < n; i++)
		c[i] = is_packet(lane) ? candidate(lane, lane->path_set[i].sub_port,
						   lane->path_set[i].udp_source_port, true)
				       : candidate(lane, lane->qps[i].sub_port,
						   lane->qps[i].source_port, true);
	return n;
}

static bool is_among(const struct candidate *c, unsigned n, unsigned local, uint16_t port)
{
	for (unsigned i = 0; i < n; i++)
		if (c[i].local_sub_port == local && c[i].port == port)
			return true;
	return false;
}

/* Appends ports that the lane does not use: those that no QP of the group has, and those with the
 * fewest users first. */
static unsigned list_others(const struct lane *lane, struct candidate *c, unsigned n_own)
{
	struct port_path *path = lane->ports;
	uint16_t used = lane_ports_of_group(lane, true);
	unsigned n = n_own, users[ALL_MAX];

	for (unsigned s = 0; s < path->n_sub_ports; s++) {
		for (unsigned p = 0; p < FARE_SOURCE_PORTS; p++) {
			uint16_t port = (uint16_t)(FARE_SOURCE_PORT_FIRST + p);
			unsigned n_users = port_path_slot(path, s, port)->n_users | (used >> p & 1u)
											    << 16,
				 at = n;

			if (!(path->live >> s & 1) || is_among(c, n_own, s, port))
				continue;
			for (; at > n_own && users[at - 1] > n_users; at--) {
				c[at] = c[at - 1];
				users[at] = users[at - 1];
			}
			c[at] = candidate(lane, s, port, false);
			users[at] = n_users;
			n++;
		}
	}
	return n;
}

bool lane_ports_are_even(const struct lane *lane, uint32_t remotes)
{
	struct candidate c[OWN_MAX];
	unsigned n = list_own(lane, c);

	return candidates_are_even(c, n, remotes);
}

/* QP or source-port path i gets another source port. 0 or -errno. */
static int move(struct lane *lane, unsigned i, uint16_t port)
{
	struct lane_qp *q = &lane->qps[i];
	int err;

	if (is_packet(lane))
		return replace_path(lane, i, port);
	err = lane_ep(lane)->provider->qp_move(q->qp, q->sub_port, port);
	if (err)
		return err;
	lane_ports_use(lane, q->sub_port, q->source_port, -1);
	q->source_port = port;
	lane_ports_use(lane, q->sub_port, q->source_port, 1);
	return 0;
}

bool lane_ports_even_out(struct lane *lane)
{
	struct candidate c[ALL_MAX];
	unsigned n_own = list_own(lane, c), n = list_others(lane, c, n_own), from, to;
	bool moved = false;

	while (candidates_improve(c, n_own, n, &from, &to)) {
		c[to].used = true; /* by this lane now, or by another process */
		if (move(lane, from, c[to].port))
			continue;
		c[from] = c[to];
		moved = true;
	}
	return moved;
}
