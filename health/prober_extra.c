/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * prober_extra.c - see prober_internal.h: probes that are in no count, and of these the pairs that
 * tell how probes are queued beside data (queue_class.h)
 */
#include "prober_internal.h"

void prober_extra_send(struct prober *p, const struct prober_peer *peer, uint32_t plane,
		       const struct prober_extra *e)
{
	const struct prober_socket *s =
		&p->sockets[peer->gpu][!IN6_IS_ADDR_V4MAPPED(&peer->address)][e->port];
	struct notice_trailer t = {.has_stamp = true, .has_size = e->is_sized, .stamp = e->stamp};
	struct notice_ends ends = {s->address, peer->address};
	struct sbfd_packet bfd = {
		.state = SBFD_UP,
		.demand = true,
		.detect_multiplier = (uint8_t)p->times.detect_multiplier,
		.my_discriminator = peer->paths[plane].discriminator,
		.your_discriminator = sbfd_wire_discriminator(&peer->address),
		.desired_min_tx_us = (uint32_t)(p->times.interval_ns / 1000),
	};
	struct udp_packet *out = udp_next(p->udp);

	sbfd_wire_encode(&bfd, out->bytes);
	out->length = notice_wire_encode(&t, &p->keys->own, &ends, out->bytes);
	if (e->bytes)
		out->length = notice_wire_pad(out->bytes, out->length, e->bytes);
	out->from = s->address;
	out->from_port = s->port;
	out->to = peer->address;
	out->to_port = SBFD_WIRE_PORT;
	out->ifindex = p->ports->gpus[peer->gpu].ifindex[plane][e->local];
	out->is_data = e->is_data;
	p->planes[peer->gpu][plane].n_sent++;
}

/* ---- pairs --------------------------------------------------------------- */

void prober_extra_want_pair(struct prober *p, const struct prober_peer *peer, uint32_t plane,
			    uint64_t interval_ns, uint64_t now)
{
	const struct prober_path *path = &peer->paths[plane];
	struct prober_plane *on = &p->planes[peer->gpu][plane];

	if (p->pair_at || now < on->pair_ns || path->fsm.state != PROBE_UP || path->third_party ||
	    interval_ns >= p->options.slow_interval_ns)
		return;
	p->pair_at = prober_place(peer, plane) + 1;
	on->pair_ns = now + HEALTH_DOUBTFUL_NS;
}

/* By the cables that the newest answer came by: they pass packets. */
static void send_pair(struct prober *p, const struct prober_peer *peer, uint32_t plane,
		      uint64_t now)
{
	const struct loss_rtt *l = &peer->paths[plane].loss;
	const struct loss_rtt_probe *probe = &l->ring[l->newest_answered % LOSS_RTT_WINDOW];
	struct prober_extra e = {.local = probe->local_sub_port,
				 .port = probe->port,
				 .stamp = {.nonce = nonces_next(&p->nonces)}};

	if (!probe->answered || p->ports->gpus[peer->gpu].ifindex[plane][e.local] <= 0 ||
	    !p->sockets[peer->gpu][!IN6_IS_ADDR_V4MAPPED(&peer->address)][e.port].port)
		return;
	e.stamp.sequence =
		queue_class_sent(&p->planes[peer->gpu][plane].queued, e.stamp.nonce, now);
	for (int kind = 0; kind < QUEUE_CLASS_KINDS; kind++, e.stamp.sequence++) {
		e.is_data = kind == QUEUE_CLASS_DATA;
		prober_extra_send(p, peer, plane, &e);
		p->counters.class_sent++;
	}
	udp_send(p->udp);
}

void prober_extra_send_pair(struct prober *p, uint64_t now)
{
	uint32_t at = p->pair_at - 1, plane = at % SUB_PORTS_MAX_PLANES;
	const struct prober_peer *peer = p->pair_at ? p->places[at / SUB_PORTS_MAX_PLANES] : NULL;

	p->pair_at = 0;
	if (peer && plane < peer->n_planes && peer->paths[plane].wanted)
		send_pair(p, peer, plane, now);
}

bool prober_extra_is_of_pair(struct prober *p, const struct prober_peer *peer, uint32_t plane,
			     const struct notice_trailer *t, const struct udp_packet *in)
{
	uint64_t came_ns = in->read_ns - in->waited_ns - t->held_us * UINT64_C(1000);

	if (!t->has_stamp || !queue_class_answered(&p->planes[peer->gpu][plane].queued,
						   t->stamp.sequence, t->stamp.nonce, came_ns,
						   p->ports->gpus[peer->gpu].burst_ns[plane]))
		return false;
	p->counters.class_answered++;
	return true;
}

const struct queue_class *prober_queue_class(const struct prober *p, uint32_t gpu, uint32_t plane)
{
	return &p->planes[gpu][plane].queued;
}
