/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric.h"

#include <string.h>

void fabric_init(struct sim *sim)
{
	struct prng *prng = &sim->net.prng;
	struct port *port;

	prng->state = prng_next(&sim->prng);
	sim->net.salt = (uint32_t)prng_next(prng);
	sim->fabric->is_recording = false;
	sim->fabric->n_recorded = 0;
	for (unsigned i = 0; (port = net_port(&sim->net, i)); i++) {
		port->device_mtu = SIM_MTU;
		for (unsigned d = 0; d < FABRIC_DIRECTIONS; d++) {
			struct link *link = fabric_link(port, d);

			link->packet_ns = prng_between(prng, 20, 400);
			link->delay_ns = prng_between(prng, 500, 8000);
		}
	}
}

static void heal_link(struct link *link)
{
	*link = (struct link){
		.packet_ns = link->packet_ns, .delay_ns = link->delay_ns, .free_ns = link->free_ns};
}

void fabric_heal(struct sim *sim)
{
	struct port *port;

	for (unsigned i = 0; (port = net_port(&sim->net, i)); i++) {
		port->has_carrier = true;
		port->is_lingering = false;
		port->device_mtu = SIM_MTU;
		heal_link(&port->up);
		heal_link(&port->down);
	}
}

struct fabric_packet *fabric_packet(struct sim *sim, unsigned from, unsigned to)
{
	struct fabric_packet *p = (struct fabric_packet *)net_packet(&sim->net);

	memset(p, 0, offsetof(struct fabric_packet, data));
	p->on.from = (uint8_t)from;
	p->on.to = (uint8_t)to;
	return p;
}

bool fabric_fits(const struct sim *sim, const struct fabric_packet *p)
{
	return p->on.plane == QP_ANY_PLANE ||
	       p->length <= sim->net.port[p->on.from][p->on.plane][p->on.sub_port].device_mtu;
}

/* The kernel's multipath hash: any port with a carrier. False: there is none. */
static bool choose_port(struct sim *sim, struct packet *packet)
{
	unsigned n_sub_ports = sim->net.n_sub_ports, n = 0, chosen;
	uint16_t live[NET_PLANES * NET_SUB_PORTS];

	for (unsigned i = 0; i < sim->net.n_planes * n_sub_ports; i++)
		if (sim->net.port[packet->from][i / n_sub_ports][i % n_sub_ports].has_carrier)
			live[n++] = (uint16_t)i;
	if (!n)
		return false;
	chosen = live[prng_mix(packet->from_port) % n];
	packet->plane = (uint16_t)(chosen / n_sub_ports);
	packet->sub_port = (uint16_t)(chosen % n_sub_ports);
	return true;
}

void fabric_replay(struct sim *sim)
{
	struct fabric *f = sim->fabric;
	unsigned n = f->n_recorded < FABRIC_RECORDS ? f->n_recorded : FABRIC_RECORDS;
	struct fabric_packet *packet;

	if (!n)
		return;
	packet = (struct fabric_packet *)net_packet(&sim->net);
	*packet = f->records[prng_below(&sim->net.prng, n)];
	packet->on.sub_port = 0;
	loop_add(&sim->net.loop, sim_now_ns(sim) + 1000, LOOP_PACKET, packet->on.to, 0, packet);
}

void fabric_send(struct sim *sim, struct fabric_packet *packet)
{
	struct fabric *f = sim->fabric;

	packet->on.bytes = packet->is_control ? 0 : packet->length;
	if (packet->on.to >= sim->net.n_hosts ||
	    (packet->on.plane == QP_ANY_PLANE && !choose_port(sim, &packet->on))) {
		net_free(&sim->net, &packet->on);
		return;
	}
	if (packet->is_control && f->is_recording)
		f->records[f->n_recorded++ % FABRIC_RECORDS] = *packet;
	net_send(&sim->net, &packet->on);
}
