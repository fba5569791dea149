/* SPDX-License-Identifier: BSD-2-Clause */
/* reflector.c - see reflector.h */
#include "reflector.h"

#include <errno.h>
#include <ev.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "roce_ports.h"
#include "udp.h"

#define MIN_HOP_LIMIT  254
#define RATE_PER_S     200000.
#define BURST	       20000.
#define REQUIRED_RX_US 1000
#define BY_TICK_MIN    16u   /* probes within a tick: so many that they are answered at its end */
#define TICK_S	       0.003 /* unless somebody drains it sooner */
#define ROUNDS	       8     /* batches taken from one socket before others get their turn */

struct socket {
	struct reflector *reflector;
	uint32_t gpu;
	struct in6_addr address;
	struct udp_socket *own, *beside; /* UDP 7784; the data's port */
	ev_io io, beside_io;
	unsigned n_burst; /* probes since burst_s */
	ev_tstamp burst_s;
	ev_timer tick; /* instead of io, while many come */
};

struct reflector {
	struct ev_loop *loop;
	const struct sub_ports *ports;
	const struct notice_key *key;
	const struct reflector_handlers *handlers;
	void *arg;
	struct udp *udp;
	struct reflector_counters counters;
	double tokens, filled_s;
	uint32_t n_sockets;
	struct socket sockets[2 * SUB_PORTS_MAX_GPUS];
};

static bool may_answer(struct reflector *r)
{
	struct timespec ts;
	double now_s;

	if (r->tokens < 1) {
		clock_gettime(CLOCK_MONOTONIC, &ts);
		now_s = (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
		r->tokens += (now_s - r->filled_s) * RATE_PER_S;
		if (r->tokens > BURST)
			r->tokens = BURST;
		r->filled_s = now_s;
		if (r->tokens < 1)
			return false;
	}
	r->tokens--;
	return true;
}

static void heed(struct reflector *r, uint32_t gpu, const struct in6_addr *peer,
		 const struct notice_trailer *t, struct notice_trailer *reply)
{
	if (!t->authentic) {
		r->counters.forged += r->key->length > 0;
		return;
	}
	reply->has_ack = r->handlers->on_capacity(r->arg, gpu, peer, &t->capacity, &reply->ack);
}

/*
 * Where the answer leaves: by the device of arrival, or by another of the plane if that one has no
 * routes.
 */
static int way_back(const struct socket *s, const struct udp_packet *in, uint32_t plane,
		    uint32_t sub_port)
{
	const struct reflector *r = s->reflector;
	const struct sub_ports_gpu *g = &r->ports->gpus[s->gpu];
	uint32_t avoided =
		r->handlers->avoided ? r->handlers->avoided(r->arg, s->gpu, &in->from, plane) : 0;
	uint32_t others = g->live[plane] & ~avoided;

	if (!(avoided >> sub_port & 1) || !others)
		return in->ifindex;
	return g->ifindex[plane][__builtin_ctz(others)];
}

/*
 * Fills in the answer to a probe, or says false: none is due. Ordered guards; each is counted.
 * as_data: it came to the data's port, and says where the answer is to go.
 */
static bool reflect(struct socket *s, const struct udp_packet *in, bool as_data,
		    struct udp_packet *out)
{
	struct reflector *r = s->reflector;
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
	if (in->hop_limit < MIN_HOP_LIMIT)
		goto drop;
	counter = &r->counters.discriminator;
	if (p.your_discriminator != sbfd_wire_discriminator(&s->address))
		goto drop;
	counter = &r->counters.wrong_device;
	if (!sub_ports_find(r->ports, s->gpu, in->ifindex, &plane, &sub_port))
		goto drop;
	counter = &r->counters.limited;
	if (!may_answer(r))
		goto drop;
	counter = &r->counters.malformed;
	if (notice_wire_decode(in->bytes, in->length, r->key, &ends, &t, &error) ||
	    as_data != t.has_return ||
	    (as_data && (t.has_capacity || t.back.port < ROCE_SOURCE_PORT_FIRST)))
		goto drop;
	if (r->handlers->on_heard)
		r->handlers->on_heard(r->arg, s->gpu, &in->from, plane, t.has_heard);
	p = sbfd_wire_reflection(&p, false, REQUIRED_RX_US);
	sbfd_wire_encode(&p, out->bytes);
	out->length = SBFD_WIRE_BYTES;
	if (t.has_capacity)
		heed(r, s->gpu, &in->from, &t, &reply);
	if (t.has_stamp) {
		reply.has_stamp = reply.has_arrival = true;
		reply.stamp = t.stamp;
		reply.arrival =
			(struct notice_arrival){(uint8_t)plane, (uint8_t)sub_port,
						(uint8_t)r->ports->gpus[s->gpu].n_sub_ports[plane]};
		reply.has_return = as_data;
		reply.back = t.back;
		out->length = notice_wire_encode(&reply, r->key, &back, out->bytes);
	}
	out->from = s->address;
	out->from_port = SBFD_WIRE_PORT;
	out->to = in->from;
	out->to_port = as_data ? t.back.port : in->from_port;
	out->ifindex = way_back(s, in, plane, sub_port);
	r->counters.answered++;
	r->counters.as_data += as_data;
	return true;
drop:
	(*counter)++;
	return false;
}

static unsigned answer_batch(struct socket *s, struct udp_socket *from, bool as_data)
{
	struct udp *udp = s->reflector->udp;
	unsigned n = udp_receive(udp, from);

	for (unsigned i = 0; i < n; i++)
		if (!reflect(s, udp_received(udp, i), as_data, udp_next(udp)))
			udp_put_back(udp);
	udp_send(udp);
	return n;
}

static unsigned answer_all(struct socket *s)
{
	unsigned sum = 0, n = UDP_BATCH;

	for (int round = 0; round < ROUNDS && n == UDP_BATCH; round++)
		sum += n = answer_batch(s, s->own, false);
	return sum;
}

/*
 * The first of a burst is answered at once; those within a tick after it, if they are many,
 * together.
 */
static void on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
	struct socket *s = w->data;
	ev_tstamp now = ev_now(loop);

	(void)revents;
	s->n_burst = now < s->burst_s + TICK_S ? s->n_burst : 0;
	s->burst_s = s->n_burst ? s->burst_s : now;
	s->n_burst += answer_all(s);
	if (s->n_burst < BY_TICK_MIN)
		return;
	ev_io_stop(loop, &s->io);
	ev_timer_again(loop, &s->tick);
}

static void answer_burst(struct socket *s)
{
	struct ev_loop *loop = s->reflector->loop;

	if (answer_all(s) >= BY_TICK_MIN) {
		ev_timer_again(loop, &s->tick);
		return;
	}
	s->n_burst = 0;
	ev_timer_stop(loop, &s->tick);
	ev_io_start(loop, &s->io);
}

static void on_tick(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)loop;
	(void)revents;
	answer_burst(w->data);
}

void reflector_drain(struct reflector *r)
{
	for (uint32_t i = 0; i < r->n_sockets; i++)
		if (ev_is_active(&r->sockets[i].tick))
			answer_burst(&r->sockets[i]);
		else
			answer_all(&r->sockets[i]);
}

/* They are few. */
static void on_data_readable(struct ev_loop *loop, ev_io *w, int revents)
{
	struct socket *s = w->data;

	(void)loop;
	(void)revents;
	answer_batch(s, s->beside, true);
}

static int open_socket(struct reflector *r, uint32_t gpu, const struct in6_addr *address)
{
	struct socket *s = &r->sockets[r->n_sockets];
	int rc = udp_open(&s->own, address, SBFD_WIRE_PORT);

	if (rc)
		return rc;
	r->n_sockets++;
	s->reflector = r;
	s->gpu = gpu;
	s->address = *address;
	ev_io_init(&s->io, on_readable, udp_fd(s->own), EV_READ);
	ev_timer_init(&s->tick, on_tick, 0., TICK_S);
	ev_init(&s->beside_io, on_data_readable);
	s->io.data = s->tick.data = s->beside_io.data = s;
	ev_io_start(r->loop, &s->io);
	rc = udp_open_beside(&s->beside, address);
	if (rc)
		return rc;
	ev_io_set(&s->beside_io, udp_fd(s->beside), EV_READ);
	ev_io_start(r->loop, &s->beside_io);
	return 0;
}

int reflector_create(struct reflector **out, struct ev_loop *loop, struct udp *udp,
		     const struct sub_ports *ports, const struct notice_key *key,
		     const struct reflector_handlers *handlers, void *arg)
{
	struct reflector *r = calloc(1, sizeof(*r));
	int rc = r ? 0 : -ENOMEM;

	*out = NULL;
	if (rc)
		return rc;
	r->loop = loop;
	r->udp = udp;
	r->ports = ports;
	r->key = key;
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
	for (uint32_t i = 0; i < r->n_sockets; i++) {
		ev_io_stop(r->loop, &r->sockets[i].io);
		ev_timer_stop(r->loop, &r->sockets[i].tick);
		ev_io_stop(r->loop, &r->sockets[i].beside_io);
		udp_close(r->sockets[i].beside);
		udp_close(r->sockets[i].own);
	}
	free(r);
}

void reflector_counters(const struct reflector *r, struct reflector_counters *out)
{
	*out = r->counters;
}
