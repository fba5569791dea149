/* SPDX-License-Identifier: BSD-2-Clause */
#include "net.h"

#include <stdlib.h>
#include <string.h>

struct in6_addr net_address(unsigned host)
{
	struct in6_addr a = {.s6_addr = {[10] = 0xff, 0xff, 10, 0, 0, (uint8_t)(host + 1)}};

	return a;
}

unsigned net_host_of(const struct in6_addr *a)
{
	return a->s6_addr[15] && a->s6_addr[15] <= NET_HOSTS ? a->s6_addr[15] - 1u : NET_HOSTS;
}

void net_init(struct net *net, size_t packet_bytes)
{
	net->packet_bytes = packet_bytes;
	loop_init(&net->loop);
	for (unsigned h = 0; h < net->n_hosts; h++) {
		memset(net->port[h], 0, sizeof(net->port[h]));
		for (unsigned p = 0; p < net->n_planes; p++)
			for (unsigned s = 0; s < net->n_sub_ports; s++)
				net->port[h][p][s].has_carrier = true;
	}
}

void net_drain(struct net *net)
{
	struct loop_event e;

	while (loop_next(&net->loop, &e))
		if (e.kind == LOOP_PACKET)
			net_free(net, e.object);
}

void net_fini(struct net *net)
{
	net_drain(net);
	while (net->unused) {
		struct packet *packet = net->unused;

		net->unused = packet->next;
		free(packet);
	}
	loop_fini(&net->loop);
}

struct port *net_port(struct net *net, unsigned i)
{
	unsigned plane = i / net->n_sub_ports, host = plane / net->n_planes;

	return host < net->n_hosts ? &net->port[host][plane % net->n_planes][i % net->n_sub_ports]
				   : NULL;
}

uint32_t net_live(const struct net *net, unsigned host, unsigned plane)
{
	uint32_t live = 0;

	for (unsigned s = 0; s < net->n_sub_ports; s++)
		live |= (uint32_t)net->port[host][plane][s].has_carrier << s;
	return live;
}

struct packet *net_packet(struct net *net)
{
	struct packet *packet = net->unused;

	if (packet) {
		net->unused = packet->next;
		return packet;
	}
	packet = malloc(net->packet_bytes);
	if (!packet)
		abort();
	net->n_packets++;
	return packet;
}

void net_free(struct net *net, struct packet *packet)
{
	packet->next = net->unused;
	net->unused = packet;
}

void net_queue_put(struct packet_queue *queue, struct packet *packet)
{
	packet->next = NULL;
	*(queue->n++ ? &queue->last->next : &queue->first) = packet;
	queue->last = packet;
}

struct packet *net_queue_take(struct packet_queue *queue)
{
	struct packet *packet = queue->n ? queue->first : NULL;

	if (packet) {
		queue->first = packet->next;
		queue->n--;
	}
	return packet;
}

int net_lead(const struct net *net, unsigned from, unsigned to, unsigned plane, uint16_t from_port,
	     uint16_t to_port)
{
	const struct port *port = net->port[to][plane];
	int candidates[NET_SUB_PORTS];
	unsigned n = 0;
	uint64_t ports;

	for (unsigned s = 0; s < net->n_sub_ports; s++)
		if ((port[s].has_carrier || port[s].is_lingering) && !port[s].is_unrouted_in)
			candidates[n++] = (int)s;
	if (n < 2)
		return n ? candidates[0] : -1;
	ports = prng_mix(net->salt + ((uint64_t)from_port << 16) + to_port);
	return candidates[prng_mix(ports + from * 256 + to * 16 + plane) % n];
}

static uint64_t through(struct net *net, struct link *link, const struct packet *packet,
			uint64_t now_ns)
{
	return link_through(link, &net->prng, packet->bytes, packet->is_data, now_ns);
}

void net_send(struct net *net, struct packet *packet)
{
	struct port *out, *in;
	uint64_t at_ns = 0;
	int sub_port = -1;

	out = &net->port[packet->from][packet->plane][packet->sub_port];
	if (packet->to < net->n_hosts && out->has_carrier && !out->is_unrouted_out)
		sub_port = net_lead(net, packet->from, packet->to, packet->plane, packet->from_port,
				    packet->to_port);
	if (sub_port >= 0) {
		in = &net->port[packet->to][packet->plane][sub_port];
		if (in->has_carrier)
			at_ns = through(net, &out->up, packet, net->loop.now_ns);
		if (at_ns)
			at_ns = through(net, &in->down, packet, at_ns);
	}
	if (!at_ns) {
		net_free(net, packet);
		return;
	}
	packet->sub_port = (uint16_t)sub_port;
	if (out->up.copy_per_mille && prng_chance(&net->prng, out->up.copy_per_mille)) {
		struct packet *copy = net_packet(net);

		memcpy(copy, packet, net->packet_bytes);
		loop_add(&net->loop, at_ns + prng_below(&net->prng, out->up.copy_late_ns + 1),
			 LOOP_PACKET, copy->to, 0, copy);
	}
	loop_add(&net->loop, at_ns, LOOP_PACKET, packet->to, 0, packet);
}
