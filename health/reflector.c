/* SPDX-License-Identifier: BSD-2-Clause */
#include "reflector.h"

#include <errno.h>
#include <stdlib.h>

#include "base/token_bucket.h"
#include "health_limits.h"
#include "nonces.h"
#include "udp.h"

#define REQUIRED_RX_US 1000

struct socket {
	uint32_t gpu;
	struct in6_addr address;
	struct udp_socket *udp;
};

static const struct token_rate reply_rate = {HEALTH_REPLIES_PER_S, HEALTH_REPLIES_PER_S / 10};

struct reflector {
	const struct sub_ports *ports;
	const struct notice_keys *keys;
	const struct reflector_handlers *handlers;
	void *arg;
	struct udp *udp;
	struct reflector_counters counters;
	struct token_bucket replies;
	struct nonces nonces;
	uint64_t nonce; /* that notices to us have to repeat */
	uint64_t n_sent[SUB_PORTS_MAX_GPUS][SUB_PORTS_MAX_PLANES];
	uint32_t n_sockets;
	struct socket sockets[2 * SUB_PORTS_MAX_GPUS]; /* families */
};

static void reflector_refuse(const struct reflector *r, uint32_t gpu, const struct in6_addr *peer,
			     enum reflector_refusal why)
{
	if (r->handlers->on_refused)
		r->handlers->on_refused(r->arg, gpu, peer, why);
}

static void take_notice(struct reflector *r, uint32_t gpu, const struct in6_addr *peer,
			const struct notice_trailer *t, struct notice_trailer *reply)
{
	if (!t->authentic) {
		r->counters.forged += r->keys->own.length > 0;
		if (r->keys->own.length)
			reflector_refuse(r, gpu, peer, REFLECTOR_NOT_AUTHENTIC);
		return;
	}
	if (!t->has_receiver || t->receiver != r->nonce) {
		r->counters.replayed++; /* or the peer does not know our nonce yet */
		if (!t->has_receiver)
			reflector_refuse(r, gpu, peer, REFLECTOR_OLD_RELEASE);
		return;
	}
	r->counters.second_key += t->second_key;
	reply->has_ack = r->handlers->on_capacity(r->arg, gpu, peer, &t->capacity, &reply->ack);
}

/*
 * Where the answer leaves: by the device of arrival, or by another of the plane if that one has no
 * routes.
 */
static int reply_device(const struct reflector *r, const struct socket *s,
			const struct udp_packet *in, uint32_t plane, uint32_t sub_port)
{
	const struct sub_ports_gpu *g = &r->ports->gpus[s->gpu];
	uint32_t avoided =
		r->handlers->avoided ? r->handlers->avoided(r->arg, s->gpu, &in->from, plane) : 0;
	uint32_t others = g->live[plane] & ~avoided;

	if (!(avoided >> sub_port & 1) || !others)
		return in->ifindex;
	return g->ifindex[plane][__builtin_ctz(others)];
}

/* Fills in the answer to a probe, or says false: none is due. Ordered guards; each is counted. */
static bool reflect(struct reflector *r, const struct socket *s, const struct udp_packet *in,
		    uint64_t now, struct udp_packet *out)
{
	struct notice_ends ends = {in->from, s->address}, back = {s->address, in->from};
	struct notice_trailer t, reply = {0};
	struct sbfd_wire_error error;
	struct sbfd_packet p;
	uint32_t plane, sub_port;
	uint64_t *counter = &r->counters.malformed;

	if (sbfd_wire_decode(in->bytes, in->length, &p, &error) || !p.demand ||
	    in->from_port == SBFD_WIRE_PORT)
		goto drop;
	counter = &r->counters.hop_limit;
	if (in->hop_limit < SBFD_WIRE_TTL_MIN - (int)r->ports->more_routers)
		goto drop;
	counter = &r->counters.discriminator;
	if (p.your_discriminator != sbfd_wire_discriminator(&s->address))
		goto drop;
	counter = &r->counters.wrong_device;
	if (!sub_ports_find(r->ports, s->gpu, in->ifindex, &plane, &sub_port))
		goto drop;
	counter = &r->counters.malformed;
	if (notice_wire_decode(in->bytes, in->length, r->keys, &ends, &t, &error))
		goto drop;
	if (r->handlers->on_received)
		r->handlers->on_received(r->arg, s->gpu, &in->from, plane, &t, in->waited_ns);
	/* what a report says was sent is read by now: a flood of others' makes none missing */
	counter = &r->counters.limited;
	if (!token_bucket_take(&r->replies, reply_rate, now))
		goto drop;
	p = sbfd_wire_reflection(&p, REQUIRED_RX_US);
	sbfd_wire_encode(&p, out->bytes);
	out->length = SBFD_WIRE_BYTES;
	if (t.has_capacity)
		take_notice(r, s->gpu, &in->from, &t, &reply);
	if (t.has_stamp) {
		reply.has_stamp = reply.has_arrival = reply.has_held = true;
		reply.stamp = t.stamp;
		reply.arrival =
			(struct notice_arrival){(uint8_t)plane, (uint8_t)sub_port,
						(uint8_t)r->ports->gpus[s->gpu].n_sub_ports[plane]};
		reply.held_us = (uint32_t)(in->waited_ns / 1000);
		reply.has_receiver = r->keys->own.length > 0;
		reply.receiver = r->nonce;
		reply.has_report = t.has_report && r->handlers->report &&
				   r->handlers->report(r->arg, s->gpu, &in->from, plane, sub_port,
						       t.report.is_try, &reply.report);
		reply.has_size = t.has_size;
		reply.size.bytes = (uint16_t)in->length;
		out->length = notice_wire_encode(&reply, &r->keys->own, &back, out->bytes);
	}
	out->from = s->address;
	out->from_port = SBFD_WIRE_PORT;
	out->to = in->from;
	out->to_port = in->from_port;
	out->ifindex = reply_device(r, s, in, plane, sub_port);
	out->is_data = in->is_data;
	r->counters.answered++;
	r->n_sent[s->gpu][plane]++;
	return true;
drop:
	(*counter)++;
	return false;
}

static unsigned answer_batch(struct reflector *r, const struct socket *s, uint64_t now)
{
	unsigned n = udp_receive(r->udp, s->udp);

	for (unsigned i = 0; i < n; i++)
		if (!reflect(r, s, udp_received(r->udp, i), now, udp_next(r->udp)))
			udp_put_back(r->udp);
	udp_send(r->udp);
	return n;
}

unsigned reflector_read(struct reflector *r, uint32_t i, uint64_t now)
{
	unsigned sum = 0, n = UDP_BATCH;

	for (int round = 0; round < UDP_ROUNDS && n == UDP_BATCH; round++)
		sum += n = answer_batch(r, &r->sockets[i], now);
	return sum;
}

void reflector_forgot(struct reflector *r)
{
	r->nonce = nonces_next(&r->nonces) | 1; /* 0: not known */
}

const struct in6_addr *reflector_take_ports(struct reflector *r)
{
	const struct in6_addr *without = NULL;

	for (uint32_t i = 0; i < r->n_sockets; i++) {
		struct socket *s = &r->sockets[i];

		if (!udp_port(s->udp) && udp_bind(s->udp))
			without = &s->address;
	}
	return without;
}

uint32_t reflector_n_sockets(const struct reflector *r)
{
	return r->n_sockets;
}

int reflector_fd(const struct reflector *r, uint32_t i)
{
	return udp_fd(r->sockets[i].udp);
}

static int open_socket(struct reflector *r, uint32_t gpu, const struct in6_addr *address)
{
	struct socket *s = &r->sockets[r->n_sockets];
	int rc = udp_open(&s->udp, address, SBFD_WIRE_PORT);

	if (rc)
		return rc;
	r->n_sockets++;
	s->gpu = gpu;
	s->address = *address;
	return 0;
}

int reflector_create(struct reflector **out, struct udp *udp, const struct sub_ports *ports,
		     const struct notice_keys *keys, const struct reflector_handlers *handlers,
		     void *arg)
{
	struct reflector *r = calloc(1, sizeof(*r));
	int rc = r ? 0 : -ENOMEM;

	*out = NULL;
	if (!rc)
		rc = nonces_init(&r->nonces);
	if (rc) {
		free(r);
		return rc;
	}
	reflector_forgot(r);
	r->udp = udp;
	r->ports = ports;
	r->keys = keys;
	r->handlers = handlers;
	r->arg = arg;
	for (uint32_t g = 0; g < ports->n_gpus; g++)
		for (int family = 0; family < 2; family++) {
			const struct in6_addr *address = &ports->gpus[g].address[family];

			if (IN6_IS_ADDR_UNSPECIFIED(address))
				continue;
			rc = open_socket(r, g, address);
			if (rc) {
				reflector_destroy(r);
				return rc;
			}
		}
	*out = r;
	return 0;
}

void reflector_destroy(struct reflector *r)
{
	if (!r)
		return;
	for (uint32_t i = 0; i < r->n_sockets; i++)
		udp_close(r->sockets[i].udp);
	free(r);
}

uint64_t reflector_sent(const struct reflector *r, uint32_t gpu, uint32_t plane)
{
	return r->n_sent[gpu][plane];
}

void reflector_counters(const struct reflector *r, struct reflector_counters *out)
{
	*out = r->counters;
}
