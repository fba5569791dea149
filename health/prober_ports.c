/* SPDX-License-Identifier: BSD-2-Clause */
/* prober_ports.c - see prober_internal.h: where the data's source ports lead */
#include "prober_internal.h"

#include "roce_ports.h"

static bool is_due(const struct prober_path *path)
{
	return path->wanted && (path->fsm.state == PROBE_UP || path->fsm.state == PROBE_SUSPECT) &&
	       !path->third_party;
}

/* Data goes by no other: ports that lead out by what passes nothing would be tried for ever. */
static uint32_t in_use(const struct sub_ports_gpu *g, const struct prober_path *path,
		       uint32_t plane, uint64_t now)
{
	uint32_t out = path->gray.mask[GRAY_LOCAL] | mtu_small(&path->mtu, GRAY_LOCAL) |
		       path->returning | prober_unrouted(path, now);

	return prober_without(g->live[plane], out);
}

static bool send_one(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now)
{
	bool v6 = !IN6_IS_ADDR_V4MAPPED(&peer->address);
	const struct sub_ports_gpu *g = &p->ports->gpus[peer->gpu];
	const struct prober_socket *s = &p->sockets[peer->gpu][v6][0];
	struct prober_path *path = &peer->paths[plane];
	struct notice_trailer t = {.has_stamp = true, .has_return = true, .back = {s->port}};
	uint64_t nonce = nonces_next(&p->nonces);
	struct notice_ends ends = {s->address, peer->address};
	struct sbfd_packet bfd = {
		.state = SBFD_UP,
		.demand = true,
		.detect_multiplier = (uint8_t)p->times.detect_multiplier,
		.my_discriminator = path->discriminator,
		.your_discriminator = sbfd_wire_discriminator(&peer->address),
		.desired_min_tx_us = (uint32_t)(p->times.interval_ns / 1000),
	};
	struct port_map_probe probe;
	struct udp_packet *out;

	if (!s->port || !port_map_next(&path->map, now, in_use(g, path, plane, now), nonce, &probe))
		return false;
	t.stamp = (struct notice_stamp){probe.slot, nonce};
	out = udp_next(p->udp);
	sbfd_wire_encode(&bfd, out->bytes);
	out->length = notice_wire_encode(&t, &p->keys->own, &ends, out->bytes);
	out->from = s->address;
	out->from_port = probe.port;
	out->to = peer->address;
	out->to_port = ROCE_UDP_PORT;
	out->ifindex = g->ifindex[plane][probe.local];
	p->planes[peer->gpu][plane].n_sent++;
	p->counters.ports_sent++;
	return true;
}

/* Tries what is known again, peer by peer. */
static void watch(struct prober *p, uint64_t now)
{
	unsigned n_sent = 0;

	if (now < p->ports_watched_ns + HEALTH_WATCH_NS)
		return;
	p->ports_watched_ns = now;
	for (uint32_t i = 0; i < p->n_peers && i < HEALTH_SCAN_PEERS && n_sent < HEALTH_WATCH_BURST;
	     i++) {
		struct prober_peer *peer = p->peers[p->ports_watch_turn++ % p->n_peers];

		for (uint32_t plane = 0; plane < peer->n_planes; plane++)
			if (is_due(&peer->paths[plane]) &&
			    port_map_is_settled(&peer->paths[plane].map))
				n_sent += send_one(p, peer, plane, now);
	}
}

/* Tries what is not known yet; true: there is such, and soon to be tried again. */
static bool learn(struct prober *p, uint64_t now)
{
	bool learning = false;
	unsigned n_sent = 0;

	for (uint32_t i = 0; i < p->n_peers && i < HEALTH_SCAN_PEERS && n_sent < HEALTH_LEARN_BURST;
	     i++) {
		struct prober_peer *peer = p->peers[p->ports_turn++ % p->n_peers];

		for (uint32_t plane = 0; plane < peer->n_planes; plane++) {
			const struct port_map *map = &peer->paths[plane].map;

			if (port_map_is_settled(map) || !is_due(&peer->paths[plane]))
				continue;
			n_sent += send_one(p, peer, plane, now);
			learning |= map->next_ns < now + HEALTH_WATCH_NS;
		}
	}
	return learning;
}

uint64_t prober_ports_run(struct prober *p, uint64_t now)
{
	watch(p, now);
	return now + (learn(p, now) ? HEALTH_LEARN_NS : HEALTH_WATCH_NS);
}

void prober_ports_arrived(struct prober *p, struct prober_peer *peer, uint32_t plane,
			  const struct notice_trailer *t, uint64_t now)
{
	struct prober_path *path = &peer->paths[plane];
	struct port_map_entry entries[PORT_MAP_SLOTS];
	bool rehashed;
	uint32_t n;

	if (!t->has_arrival || t->arrival.plane != plane ||
	    !port_map_arrived(&path->map, now, t->stamp.sequence, t->stamp.nonce,
			      t->arrival.sub_port, t->arrival.n_sub_ports)) {
		p->counters.unknown++;
		return;
	}
	p->counters.ports_answered++;
	if (port_map_news(&path->map, entries, &n, &rehashed) && p->handlers->on_ports)
		p->handlers->on_ports(p->arg, peer->gpu, &peer->address, plane, entries, n,
				      rehashed);
}
