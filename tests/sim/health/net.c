/* SPDX-License-Identifier: BSD-2-Clause */
#include "net.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device_count.h"
#include "nonces.h"
#include "roce_ports.h"

struct udp_socket {
	unsigned host;
	uint16_t port;
	struct packet *first, *last;
};

struct udp {
	unsigned host, n_out;
	struct udp_packet in[UDP_BATCH], out[UDP_BATCH];
	uint8_t in_bytes[UDP_BATCH][UDP_PACKET_BYTES], out_bytes[UDP_BATCH][UDP_PACKET_BYTES];
};

struct net *net_current;

struct in6_addr net_address(unsigned host)
{
	struct in6_addr a = {.s6_addr = {[10] = 0xff, 0xff, 10, 0, 0, (uint8_t)(host + 1)}};

	return a;
}

static unsigned host_of(const struct in6_addr *a)
{
	return a->s6_addr[15] - 1u;
}

int net_ifindex(unsigned host, unsigned plane, unsigned sub_port)
{
	return (int)(1 + (host * NET_PLANES + plane) * NET_SUB_PORTS + sub_port);
}

bool net_next(struct net *net, struct loop_event *out)
{
	bool any = loop_next(&net->loop, out);

	net->now_ns = net->loop.now_ns;
	return any;
}

/* ---- life ---------------------------------------------------------------- */

static unsigned n_hosts_of(uint64_t seed, struct prng *prng)
{
	unsigned few = (unsigned)prng_between(prng, 2, NET_HOSTS_FEW);

	if (seed % 200 == 101) /* more paths than the budget of probes pays for, in most cases */
		return NET_HOSTS_TICK + 1 +
		       (unsigned)(prng_mix(seed) % (NET_HOSTS - NET_HOSTS_TICK));
	return seed % 20 == 0 ? NET_HOSTS_TICK : few;
}

void net_init(struct net *net, uint64_t seed, unsigned n_hosts)
{
	unsigned drawn;

	memset(net, 0, sizeof(*net));
	net_current = net;
	net->prng.state = prng_mix(seed);
	net->now_ns = 1000 * NET_S;
	loop_init(&net->loop, net->now_ns);
	drawn = n_hosts_of(seed, &net->prng);
	net->n_hosts = n_hosts ? n_hosts : drawn;
	net->n_planes = (unsigned)prng_between(&net->prng, 2, NET_PLANES);
	if (net->n_hosts >= NET_HOSTS_TICK)
		net->n_planes = NET_PLANES;
	net->n_sub_ports = (unsigned)prng_between(&net->prng, 1, NET_SUB_PORTS);
	net->salt = (uint32_t)prng_next(&net->prng);
	for (unsigned h = 0; h < NET_HOSTS_TICK || h < net->n_hosts; h++)
		for (unsigned p = 0; p < NET_PLANES; p++)
			for (unsigned s = 0; s < NET_SUB_PORTS; s++) {
				struct port *port = &net->port[h][p][s];

				port->has_carrier = true;
				port->up.delay_ns = prng_between(&net->prng, 1, 8) * NET_US;
				port->down.delay_ns = prng_between(&net->prng, 1, 8) * NET_US;
			}
}

static void recycle(struct net *net, struct packet *packet)
{
	packet->next = net->unused;
	net->unused = packet;
}

void net_fini(struct net *net)
{
	struct loop_event e;

	while (net_next(net, &e))
		if (e.object)
			recycle(net, e.object);
	while (net->unused) {
		struct packet *packet = net->unused;

		net->unused = packet->next;
		free(packet);
	}
	loop_fini(&net->loop);
	net_current = NULL;
}

/* ---- links --------------------------------------------------------------- */

/* The leaf's hash counts what has carrier. */
unsigned net_lead(const struct net *net, unsigned from, unsigned to, unsigned plane,
		  uint16_t from_port, uint16_t to_port)
{
	uint64_t ports = prng_mix(net->salt + ((uint64_t)from_port << 16) + to_port);
	unsigned sub_port =
		(unsigned)(prng_mix(ports + from * 256 + to * 16 + plane) % net->n_sub_ports);

	return net->port[to][plane][sub_port].has_carrier ? sub_port
							  : (sub_port + 1) % net->n_sub_ports;
}

static void send_packet(struct net *net, unsigned host, const struct udp_packet *p)
{
	unsigned device = (unsigned)p->ifindex - 1, to = host_of(&p->to), sub_port;
	unsigned plane = device / NET_SUB_PORTS % NET_PLANES;
	struct port *out = &net->port[host][plane][device % NET_SUB_PORTS], *in;
	struct packet *packet = net->unused;
	uint32_t bytes = 28 + (uint32_t)p->length; /* IPv4 and UDP */
	uint64_t at;

	if (to >= net->n_hosts || !out->has_carrier || net->now_ns < net->deaf_until_ns[host] ||
	    net->now_ns < net->deaf_until_ns[to])
		return;
	sub_port = net_lead(net, host, to, plane, p->from_port, p->to_port);
	in = &net->port[to][plane][sub_port];
	at = in->has_carrier ? link_through(&out->up, &net->prng, bytes, net->now_ns) : 0;
	at = at ? link_through(&in->down, &net->prng, bytes, at) : 0;
	if (!at)
		return;
	if (packet)
		net->unused = packet->next;
	else if (!(packet = malloc(sizeof(*packet))))
		abort();
	packet->from = p->from;
	packet->to = p->to;
	packet->from_port = p->from_port;
	packet->to_port = p->to_port;
	packet->host = to;
	packet->plane = plane;
	packet->sub_port = sub_port;
	packet->length = p->length;
	memcpy(packet->bytes, p->bytes, p->length);
	loop_add(&net->loop, at, LOOP_PACKET, to, 0, packet);
}

void net_deliver(struct net *net, struct packet *packet)
{
	struct port *port = &net->port[packet->host][packet->plane][packet->sub_port];

	port->n_received++;
	packet->came_ns = net->now_ns;
	for (unsigned i = 0; i < net->n_sockets[packet->host]; i++) {
		struct udp_socket *s = net->sockets[packet->host][i];

		if (s->port != packet->to_port)
			continue;
		packet->next = NULL;
		*(s->first ? &s->last->next : &s->first) = packet;
		s->last = packet;
		net->n_waiting[packet->host]++;
		return;
	}
	recycle(net, packet);
}

/* ---- udp.h ---------------------------------------------------------------- */

struct udp *net_udp(unsigned host)
{
	struct udp *u = calloc(1, sizeof(*u));

	if (!u)
		abort();
	u->host = host;
	for (unsigned i = 0; i < UDP_BATCH; i++) {
		u->in[i].bytes = u->in_bytes[i];
		u->out[i].bytes = u->out_bytes[i];
	}
	return u;
}

void udp_destroy(struct udp *u)
{
	free(u);
}

int udp_open(struct udp_socket **out, const struct in6_addr *address, uint16_t port)
{
	struct net *net = net_current;
	unsigned host = host_of(address);
	struct udp_socket *s = calloc(1, sizeof(*s));

	if (!s || net->n_sockets[host] == NET_SOCKETS)
		abort();
	if (!port)
		port = (uint16_t)(FARE_PROBE_PORT_FIRST + 64 * net->n_sockets[host] +
				  prng_below(&net->prng, 64));
	*s = (struct udp_socket){.host = host, .port = port};
	net->sockets[host][net->n_sockets[host]++] = s;
	*out = s;
	return 0;
}

int udp_bind(struct udp_socket *s)
{
	(void)s;
	return 0;
}

void udp_close(struct udp_socket *s)
{
	struct net *net = net_current;
	unsigned n = 0;

	if (!s)
		return;
	for (unsigned i = 0; i < net->n_sockets[s->host]; i++)
		if (net->sockets[s->host][i] != s)
			net->sockets[s->host][n++] = net->sockets[s->host][i];
	net->n_sockets[s->host] = n;
	while (s->first) {
		struct packet *packet = s->first;

		s->first = packet->next;
		net->n_waiting[s->host]--;
		recycle(net, packet);
	}
	free(s);
}

int udp_fd(const struct udp_socket *s)
{
	(void)s;
	return -1;
}

uint16_t udp_port(const struct udp_socket *s)
{
	return s->port;
}

void udp_poll(struct udp_socket *const *sockets, unsigned n, bool *readable)
{
	for (unsigned i = 0; i < n; i++)
		readable[i] = sockets[i]->first;
}

unsigned udp_receive(struct udp *u, struct udp_socket *s)
{
	unsigned n = 0;

	for (; n < UDP_BATCH && s->first; n++) {
		struct packet *packet = s->first;
		struct udp_packet *p = &u->in[n];

		s->first = packet->next;
		net_current->n_waiting[s->host]--;
		memcpy(p->bytes, packet->bytes, packet->length);
		p->length = packet->length;
		p->from = packet->from;
		p->to = packet->to;
		p->from_port = packet->from_port;
		p->to_port = packet->to_port;
		p->ifindex = net_ifindex(packet->host, packet->plane, packet->sub_port);
		p->hop_limit = 254;
		p->waited_ns = net_current->now_ns - packet->came_ns;
		recycle(net_current, packet);
	}
	return n;
}

const struct udp_packet *udp_received(const struct udp *u, unsigned i)
{
	return &u->in[i];
}

struct udp_packet *udp_next(struct udp *u)
{
	if (u->n_out == UDP_BATCH)
		udp_send(u);
	return &u->out[u->n_out++];
}

void udp_put_back(struct udp *u)
{
	u->n_out--;
}

unsigned udp_send(struct udp *u)
{
	unsigned n = u->n_out;

	for (unsigned i = 0; i < n; i++)
		send_packet(net_current, u->host, &u->out[i]);
	u->n_out = 0;
	return n;
}

uint64_t udp_refused(const struct udp *u)
{
	(void)u;
	return 0;
}

/* ---- device_count.h, nonces.h --------------------------------------------- */

int device_count_follow(struct device_count *c, int ifindex, enum device_count_of what, uint64_t *n)
{
	const struct net *net = net_current;
	unsigned device = (unsigned)ifindex - 1, sub_port = device % NET_SUB_PORTS;
	unsigned plane = device / NET_SUB_PORTS % NET_PLANES;
	unsigned host = device / NET_SUB_PORTS / NET_PLANES;

	(void)c;
	if (ifindex <= 0 || what != DEVICE_COUNT_RX_PACKETS)
		return -ENODEV;
	*n = net->port[host][plane][sub_port].n_received;
	if (net->port[host][plane][sub_port].has_carrier &&
	    net->now_ns < net->busy_until_ns[host][plane])
		*n += net->now_ns / (100 * NET_US);
	return 0;
}

void device_count_close(struct device_count *c)
{
	*c = (struct device_count){0};
}

int nonces_init(struct nonces *n)
{
	n->n_ready = 0;
	n->ready[0] = prng_next(&net_current->prng);
	return 0;
}

uint64_t nonces_next(struct nonces *n)
{
	return prng_mix(n->ready[0] += UINT64_C(0x9e3779b97f4a7c15));
}
