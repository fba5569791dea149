/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ports.c - the source ports of one lane: which it needs to know of its path (port_cache.h),
 * whether they are even over the remote sub-ports, and the fewest moves that make them even.
 */
#include <errno.h>

#include "qp/internal.h"

#define OWN_MAX (CONTROL_MAX_QPS > QP_MAX_PATHS ? CONTROL_MAX_QPS : QP_MAX_PATHS)
#define ALL_MAX (OWN_MAX + FARE_MAX_SUB_PORTS * FARE_SOURCE_PORTS)

uint16_t ports_local_sub_port(const struct fare_group *group, unsigned lane, unsigned i)
{
	uint32_t live = group_sub_ports(group, lane);
	unsigned n = (unsigned)__builtin_popcount(live);

	if (!n)
		return 0;
	for (i %= n; i; i--)
		live &= live - 1;
	return (uint16_t)__builtin_ctz(live);
}

int8_t ports_remote(const struct lane *lane, unsigned local, uint16_t port)
{
	const struct port_slot *slot =
		lane->path ? port_path_slot(port_entry_path(lane->path), local, port) : NULL;

	return slot && slot->is_known ? (int8_t)slot->remote : -1;
}

void ports_use(struct lane *lane, unsigned local, uint16_t port, int by)
{
	struct port_slot *slot =
		lane->path ? port_path_slot(port_entry_path(lane->path), local, port) : NULL;

	if (slot)
		slot->n_users = (uint16_t)(slot->n_users + by);
}

static bool is_packet(const struct lane *lane)
{
	return lane->group->options.mode == FARE_MODE_PACKET;
}

static uint16_t bit_of(uint16_t port)
{
	unsigned p = (unsigned)port - FARE_SOURCE_PORT_FIRST;

	return p < FARE_SOURCE_PORTS ? (uint16_t)(1u << p) : 0;
}

uint16_t ports_of_group(const struct lane *lane, bool own)
{
	const struct fare_group *group = lane->group;
	uint16_t used = 0;

	for (unsigned l = 0; l < group->n_lanes; l++) {
		const struct lane *other = &group->lanes[l];

		if (other == lane && !own)
			continue;
		for (unsigned i = 0; i < other->n_qps; i++)
			used |= other->qps[i].qp ? bit_of(other->qps[i].source_port) : 0;
		for (unsigned i = 0; i < other->n_ways; i++)
			used |= bit_of(other->ways[i].udp_source_port);
	}
	return used;
}

bool ports_can_be_uneven(const struct lane *lane)
{
	return lane->path && (is_packet(lane) ? lane->n_ways : lane->n_qps) > 1;
}

bool ports_cover(const struct lane *lane)
{
	struct port_path *path = port_entry_path(lane->path);
	struct port_pick pick = {.used = ports_of_group(lane, false)};
	unsigned least = UINT32_MAX, most = 0;
	uint32_t remotes = port_path_remotes(path);
	unsigned n_live = (unsigned)__builtin_popcount(path->live);
	/* no port is picked twice if there are enough */
	bool distinct = is_packet(lane) || lane->n_ports <= n_live * FARE_SOURCE_PORTS;

	for (unsigned i = 0; i < lane->n_ports; i++) {
		unsigned local = ports_local_sub_port(lane->group, lane->index, i);
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

/* ---- evenness ---- */

static struct candidate candidate(const struct lane *lane, unsigned local, uint16_t port, bool used)
{
	int8_t remote = ports_remote(lane, local, port);

	return (struct candidate){.port = port,
				  .local_sub_port = (uint16_t)local,
				  .remote_sub_port = remote,
				  .answered = remote >= 0,
				  .used = used};
}

static unsigned list_own(const struct lane *lane, struct candidate *c)
{
	unsigned n = is_packet(lane) ? lane->n_ways : lane->n_qps;

	for (unsigned i = 0; i < n; i++)
		c[i] = is_packet(lane) ? candidate(lane, lane->ways[i].sub_port,
						   lane->ways[i].udp_source_port, true)
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
	struct port_path *path = port_entry_path(lane->path);
	uint16_t used = ports_of_group(lane, true);
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

bool ports_are_even(const struct lane *lane, uint32_t remotes)
{
	struct candidate c[OWN_MAX];
	unsigned n = list_own(lane, c);

	return candidates_are_even(c, n, remotes);
}

/* QP or source-port path i gets another source port. 0 or -errno. */
static int move(struct lane *lane, unsigned i, uint16_t port)
{
	struct fare_group *group = lane->group;
	struct lane_qp *q = &lane->qps[i];
	int err;

	if (is_packet(lane))
		return ways_replace(group, lane->index, i, port);
	err = group->domain->ep.provider->qp_move(q->qp, q->sub_port, port);
	if (err)
		return err;
	ports_use(lane, q->sub_port, q->source_port, -1);
	q->source_port = port;
	ports_use(lane, q->sub_port, q->source_port, 1);
	return 0;
}

bool ports_even_out(struct lane *lane)
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
