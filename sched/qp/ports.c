/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ports.c - which UDP source port leads to which remote sub-port (DESIGN: entropy, the far half of
 * the path).
 *
 * The leaf hashes (addresses, ports) over its links to the peer. Candidate source ports are those
 * that the daemon's probes have learned (fare_pair_ports); where they are not enough for all of a
 * lane's QPs, random ones. Before the QPs are made, echoes go out from the candidates over each
 * live local sub-port; the peer says on which of its sub-ports each arrived. QP ports are then
 * chosen so that the lane covers the remote sub-ports evenly. An echo that comes back also proves
 * that the plane carries packets both ways: a lane is not built on a plane that answers nothing. So
 * with known ports one answer is enough, and what an answer says counts for more than what was
 * learned before.
 *
 * Once the lane is up, rehash.c asks again in the same way, for its own ports first.
 */
#include "qp/internal.h"

#include <string.h>

#define PORT_FIRST		49152u /* RoCEv2 source ports: annex A17, 17.9.2 */
#define PORT_COUNT		16384u
#define CANDIDATES_PER_SUB_PORT 8u

uint16_t ports_local_sub_port(const struct fare_group *group, unsigned lane, unsigned i)
{
	uint32_t live = group->paths.path[lane].live_sub_ports;
	unsigned n = (unsigned)__builtin_popcount(live);

	if (!n)
		return 0;
	for (i %= n; i; i--)
		live &= live - 1;
	return (uint16_t)__builtin_ctz(live);
}

static bool port_taken(const struct fare_group *group, uint16_t port)
{
	bool taken = false;

	for (const struct fare_group *g = group->domain->groups; g && !taken; g = g->next) {
		for (unsigned l = 0; l < g->n_lanes && !taken; l++) {
			const struct lane *lane = &g->lanes[l];

			for (unsigned i = 0; i < lane->n_qps && !taken; i++)
				taken = lane->qps[i].qp && lane->qps[i].source_port == port;
			for (unsigned i = 0; i < lane->n_ways && !taken; i++)
				taken = lane->qps[0].qp && lane->ways[i].udp_source_port == port;
		}
	}
	return taken;
}

/* The i-th distinct remote sub-port that replies named; how many there are. */
static int remotes_of(const struct learning *learning, int *remotes)
{
	int n = 0;

	for (int r = 0; r < FARE_MAX_SUB_PORTS; r++)
		for (unsigned k = 0; k < learning->n; k++)
			if (learning->candidates[k].remote_sub_port == r) {
				remotes[n++] = r;
				break;
			}
	return n;
}

/*
 * The candidate for QP i: of those that leave by its local sub-port, one to the remote sub-port
 * that has the fewest QPs so far; among equals diagonally, so that (local, remote) pairs are even,
 * too. NULL: none is left.
 */
static struct candidate *take(struct learning *learning, unsigned i, uint16_t local, unsigned live)
{
	int remotes[FARE_MAX_SUB_PORTS], n = remotes_of(learning, remotes);
	unsigned load[FARE_MAX_SUB_PORTS] = {0}, rank[FARE_MAX_SUB_PORTS] = {0};
	struct candidate *best = NULL;

	for (int r = 0; r < n; r++)
		rank[remotes[(i + i / live + (unsigned)r) % (unsigned)n]] = (unsigned)r;
	for (unsigned k = 0; k < learning->n; k++)
		if (learning->candidates[k].used && learning->candidates[k].remote_sub_port >= 0)
			load[learning->candidates[k].remote_sub_port]++;
	for (unsigned k = 0; k < learning->n; k++) {
		struct candidate *c = &learning->candidates[k];
		int r = c->remote_sub_port, b = best ? best->remote_sub_port : 0;

		if (c->used || c->local_sub_port != local || r < 0)
			continue;
		if (!best || load[r] < load[b] || (load[r] == load[b] && rank[r] < rank[b]))
			best = c;
	}
	if (best)
		best->used = true;
	return best;
}

/*
 * Whether what is known would give every QP a port, and every remote sub-port as many QPs as any
 * other, or one more.
 */
static bool covers(const struct fare_group *group, unsigned l)
{
	struct learning trial = group->lanes[l].learning;
	unsigned live = (unsigned)__builtin_popcount(group->paths.path[l].live_sub_ports);
	unsigned load[FARE_MAX_SUB_PORTS] = {0}, least = UINT32_MAX, most = 0;
	int remotes[FARE_MAX_SUB_PORTS], n = remotes_of(&trial, remotes);

	for (unsigned i = 0; i < group->lanes[l].n_ports; i++) {
		const struct candidate *c =
			live ? take(&trial, i, ports_local_sub_port(group, l, i), live) : NULL;

		if (!c)
			return false;
		load[c->remote_sub_port]++;
	}
	for (int r = 0; r < n; r++) {
		least = load[remotes[r]] < least ? load[remotes[r]] : least;
		most = load[remotes[r]] > most ? load[remotes[r]] : most;
	}
	return most - least <= 1;
}

static void add(struct learning *learning, uint16_t port, uint16_t local, int16_t remote)
{
	learning->candidates[learning->n++] = (struct candidate){
		.port = port, .local_sub_port = local, .remote_sub_port = remote};
}

static void add_own(struct fare_group *group, unsigned l)
{
	struct lane *lane = &group->lanes[l];
	struct learning *learning = &lane->learning;

	if (group->options.mode == FARE_MODE_PACKET)
		for (unsigned i = 0; i < lane->n_ways; i++)
			add(learning, lane->ways[i].udp_source_port, lane->ways[i].sub_port, -1);
	else
		for (unsigned i = 0; i < lane->n_qps; i++)
			add(learning, lane->qps[i].source_port, lane->qps[i].sub_port, -1);
	learning->n_own = learning->n;
	for (unsigned i = 0; i < learning->n; i++)
		learning->candidates[i].used = true;
}

static void add_known(struct fare_group *group, unsigned l)
{
	struct learning *learning = &group->lanes[l].learning;
	struct fare_port known[FARE_PORTS_MAX];
	int n = fare_pair_ports(group->pair, l, known, FARE_PORTS_MAX);

	for (int i = 0; i < n; i++)
		if (group->paths.path[l].live_sub_ports >> known[i].local_sub_port & 1 &&
		    !port_taken(group, known[i].port))
			add(learning, known[i].port, known[i].local_sub_port,
			    known[i].remote_sub_port);
}

static void add_random(struct fare_group *group, unsigned l)
{
	struct learning *learning = &group->lanes[l].learning;
	unsigned live = (unsigned)__builtin_popcount(group->paths.path[l].live_sub_ports);
	unsigned per_qp = live ? (group->lanes[l].n_ports + live - 1) / live : 0;
	unsigned wanted = CANDIDATES_PER_SUB_PORT + 3 * per_qp, base = learning->n,
		 room = MAX_CANDIDATES - base;

	for (unsigned s = 0; s < live; s++) {
		for (unsigned k = 0; k < wanted && learning->n < base + room / live * (s + 1);
		     k++) {
			uint16_t port =
				(uint16_t)(PORT_FIRST + domain_random(group->domain) % PORT_COUNT);

			if (!port_taken(group, port))
				add(learning, port, ports_local_sub_port(group, l, s), -1);
		}
	}
}

void ports_start(struct fare_group *group, unsigned l)
{
	struct learning *learning = &group->lanes[l].learning;

	memset(learning, 0, sizeof(*learning));
	learning->nonce = domain_random(group->domain);
	add_known(group, l);
	learning->known = covers(group, l);
	if (!learning->known)
		add_random(group, l);
}

void ports_start_own(struct fare_group *group, unsigned l, bool wide)
{
	struct learning *learning = &group->lanes[l].learning;

	memset(learning, 0, sizeof(*learning));
	learning->nonce = domain_random(group->domain);
	add_own(group, l);
	if (!wide)
		return;
	add_known(group, l);
	add_random(group, l);
}

void ports_send(struct fare_group *group, unsigned l)
{
	struct learning *learning = &group->lanes[l].learning;
	struct control_message m = {.type = CONTROL_ECHO,
				    .source_group = group->id,
				    .destination = group->peer_incarnation};

	for (unsigned i = 0; i < learning->n; i++) {
		struct candidate *c = &learning->candidates[i];

		if (c->answered)
			continue;
		m.echo.nonce = learning->nonce;
		m.echo.candidate = (uint16_t)i;
		engine_send(group->domain, &group->peer, &m, (uint16_t)l, c->local_sub_port,
			    c->port);
	}
	learning->sends++;
}

void ports_on_reply(struct fare_group *group, const struct control_message *m)
{
	for (unsigned l = 0; l < group->n_lanes; l++) {
		struct learning *learning = &group->lanes[l].learning;
		struct candidate *c = &learning->candidates[m->echo.candidate % MAX_CANDIDATES];

		if (!learning->nonce || learning->nonce != m->echo.nonce ||
		    m->echo.candidate >= learning->n)
			continue;
		/*
		 * the echo of one plane must have arrived on that plane of the peer, or the planes
		 * are miswired
		 */
		if (m->echo.plane != l || m->echo.sub_port >= FARE_MAX_SUB_PORTS || c->answered)
			return;
		c->answered = true;
		c->remote_sub_port = (int16_t)m->echo.sub_port;
		learning->replies++;
		return;
	}
}

struct candidate *ports_choose(struct fare_group *group, unsigned l, unsigned i,
			       uint16_t local_sub_port)
{
	unsigned live = (unsigned)__builtin_popcount(group->paths.path[l].live_sub_ports);

	return live ? take(&group->lanes[l].learning, i, local_sub_port, live) : NULL;
}

void ports_refuse(struct candidate *c)
{
	c->used = false;
	c->remote_sub_port = -1; /* never chosen again, and no load */
}

/* All replies are in, or enough for every QP to get the remote sub-port it should. */
bool ports_learned(const struct fare_group *group, unsigned l)
{
	const struct learning *learning = &group->lanes[l].learning;

	if (learning->replies == learning->n)
		return learning->n > 0;
	/*
	 * with replies outstanding a remote sub-port may still show itself: trust half of them to
	 * have met all
	 */
	return learning->replies >= (learning->known ? 1 : learning->n / 2) && covers(group, l);
}
