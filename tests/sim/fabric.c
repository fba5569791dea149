/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric.h"

#include <string.h>

#include "heap.h"

static void link_init(struct prng *prng, struct link *link)
{
	link->packet_ns = prng_between(prng, 20, 400);
	link->delay_ns = prng_between(prng, 500, 8000);
}

void fabric_init(struct sim *sim)
{
	struct fabric *f = sim->fabric;

	memset(f->port, 0, sizeof(f->port));
	f->prng.state = prng_next(&sim->prng);
	f->salt = (uint32_t)prng_next(&f->prng);
	f->is_recording = false;
	f->n_recorded = 0;
	for (unsigned h = 0; h < sim->config.n_hosts; h++)
		for (unsigned p = 0; p < sim->config.n_planes; p++)
			for (unsigned s = 0; s < sim->config.n_sub_ports[p]; s++) {
				struct port *port = &f->port[h][p][s];

				port->has_carrier = port->is_routed = true;
				port->device_mtu = SIM_MTU;
				for (unsigned d = 0; d < DIRECTIONS; d++)
					link_init(&f->prng, &port->link[d]);
			}
}

void fabric_heal(struct sim *sim)
{
	struct fabric *f = sim->fabric;

	for (unsigned h = 0; h < sim->config.n_hosts; h++)
		for (unsigned p = 0; p < sim->config.n_planes; p++)
			for (unsigned s = 0; s < sim->config.n_sub_ports[p]; s++) {
				struct port *port = &f->port[h][p][s];

				port->has_carrier = port->is_routed = true;
				port->device_mtu = SIM_MTU;
				for (unsigned d = 0; d < DIRECTIONS; d++) {
					struct link *link = &port->link[d];

					*link = (struct link){.packet_ns = link->packet_ns,
							      .delay_ns = link->delay_ns,
							      .free_ns = link->free_ns};
				}
			}
}

struct packet *fabric_packet(struct sim *sim)
{
	struct packet *p = sim->fabric->unused;

	if (p)
		sim->fabric->unused = p->next;
	else
		p = heap_untracked_realloc(NULL, sizeof(*p));
	memset(p, 0, offsetof(struct packet, data));
	return p;
}

void fabric_free(struct sim *sim, struct packet *packet)
{
	packet->next = sim->fabric->unused;
	sim->fabric->unused = packet;
}

void fabric_drain(struct sim *sim)
{
	struct loop_event e;

	while (loop_next(&sim->loop, &e))
		if (e.kind == LOOP_PACKET)
			fabric_free(sim, e.object);
}

void fabric_fini(struct sim *sim)
{
	while (sim->fabric->unused) {
		struct packet *p = sim->fabric->unused;

		sim->fabric->unused = p->next;
		heap_untracked_free(p);
	}
}

int fabric_leads_to(const struct sim *sim, unsigned from, unsigned to, unsigned plane,
		    uint16_t source_port)
{
	unsigned candidates[SIM_SUB_PORTS], n = 0;

	for (unsigned s = 0; s < sim->config.n_sub_ports[plane]; s++)
		if (sim->fabric->port[to][plane][s].is_routed)
			candidates[n++] = s;
	if (!n)
		return -1;
	return (int)candidates[prng_mix((uint64_t)sim->fabric->salt << 32 | source_port << 8 |
					from << 4 | to) %
			       n];
}

bool fabric_fits(const struct sim *sim, unsigned host, const struct packet *p)
{
	return p->is_control || p->plane == QP_ANY_PLANE ||
	       p->length <= sim->fabric->port[host][p->plane][p->sub_port].device_mtu;
}

static void deliver(struct sim *sim, struct packet *packet, struct port *out, unsigned to_sub_port)
{
	struct fabric *f = sim->fabric;
	struct port *in = &f->port[packet->to][packet->plane][to_sub_port];
	uint32_t bytes = packet->is_control ? 0 : packet->length;
	uint64_t at = in->has_carrier
			      ? link_through(&out->link[TO_LEAF], &f->prng, bytes, sim_now_ns(sim))
			      : 0;
	struct packet *copy;
	uint64_t late;

	if (at)
		at = link_through(&in->link[TO_HOST], &f->prng, bytes, at);
	if (!at) {
		fabric_free(sim, packet);
		return;
	}
	packet->sub_port = (uint16_t)to_sub_port;
	if (out->link[TO_LEAF].copy_per_mille &&
	    prng_chance(&f->prng, out->link[TO_LEAF].copy_per_mille)) {
		copy = fabric_packet(sim);
		memcpy(copy, packet, offsetof(struct packet, data) + packet->length);
		copy->roce.payload = copy->data;
		late = prng_below(&f->prng, out->link[TO_LEAF].copy_late_ns + 1);
		loop_add(&sim->loop, at + late, LOOP_PACKET, copy->to, 0, copy);
	}
	loop_add(&sim->loop, at, LOOP_PACKET, packet->to, 0, packet);
}

/* The kernel's multipath hash: any port with a carrier. False: there is none. */
static bool choose_port(struct sim *sim, struct packet *packet)
{
	unsigned n = 0, turn;
	bool pick = false;

	for (;;) {
		turn = 0;
		for (uint16_t p = 0; p < sim->config.n_planes; p++)
			for (uint16_t s = 0; s < sim->config.n_sub_ports[p]; s++) {
				if (!sim->fabric->port[packet->from][p][s].has_carrier)
					continue;
				if (pick && turn == prng_mix(packet->source_port) % n) {
					packet->plane = p;
					packet->sub_port = s;
					return true;
				}
				turn++;
			}
		n = turn;
		if (!n)
			return false;
		pick = true;
	}
}

static void record(struct fabric *f, const struct packet *packet)
{
	memcpy(&f->records[f->n_recorded++ % FABRIC_RECORDS], packet,
	       offsetof(struct packet, data) + packet->length);
}

void fabric_replay(struct sim *sim)
{
	struct fabric *f = sim->fabric;
	unsigned n = f->n_recorded < FABRIC_RECORDS ? f->n_recorded : FABRIC_RECORDS;
	const struct packet *old = &f->records[n ? prng_below(&f->prng, n) : 0];
	struct packet *packet;

	if (!n)
		return;
	packet = fabric_packet(sim);
	memcpy(packet, old, offsetof(struct packet, data) + old->length);
	packet->roce.payload = packet->data;
	packet->sub_port = 0;
	loop_add(&sim->loop, sim_now_ns(sim) + 1000, LOOP_PACKET, packet->to, 0, packet);
}

void fabric_send(struct sim *sim, struct packet *packet)
{
	struct port *out;
	int to;

	packet->roce.payload = packet->data;
	if (packet->to >= sim->config.n_hosts ||
	    (packet->plane == QP_ANY_PLANE && !choose_port(sim, packet))) {
		fabric_free(sim, packet);
		return;
	}
	out = &sim->fabric->port[packet->from][packet->plane][packet->sub_port];
	to = fabric_leads_to(sim, packet->from, packet->to, packet->plane, packet->source_port);
	if (packet->is_control && sim->fabric->is_recording)
		record(sim->fabric, packet);
	if (!out->has_carrier || to < 0) {
		fabric_free(sim, packet);
		return;
	}
	deliver(sim, packet, out, (unsigned)to);
}
