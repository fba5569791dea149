/* SPDX-License-Identifier: BSD-2-Clause */
#include "sockets.h"

#include <stdlib.h>
#include <string.h>

#include "nonces.h"
#include "roce_ports.h"

#define HEADER_BYTES 28u /* IPv4 and UDP */

struct datagram {
	struct packet on; /* its bytes: of the IP packet */
	uint64_t came_ns;
	uint8_t bytes[UDP_PACKET_BYTES];
};

struct udp_socket {
	unsigned host;
	uint16_t port;
	struct packet_queue queue;
};

struct udp {
	unsigned host, n_out;
	struct udp_packet in[UDP_BATCH], out[UDP_BATCH];
	uint8_t in_bytes[UDP_BATCH][UDP_PACKET_BYTES], out_bytes[UDP_BATCH][UDP_PACKET_BYTES];
};

struct sockets sockets_all;

void sockets_init(struct net *net)
{
	sockets_all = (struct sockets){.net = net};
	net_init(net, sizeof(struct datagram));
}

int sockets_ifindex(unsigned host, unsigned plane, unsigned sub_port)
{
	return (int)(1 + (host * NET_PLANES + plane) * NET_SUB_PORTS + sub_port);
}

static void send_packet(unsigned host, const struct udp_packet *p)
{
	unsigned device = (unsigned)p->ifindex - 1, to = net_host_of(&p->to);
	uint64_t now_ns = sockets_all.net->loop.now_ns;
	struct datagram *d;

	if (to >= sockets_all.net->n_hosts || now_ns < sockets_all.lost_until_ns[host] ||
	    now_ns < sockets_all.lost_until_ns[to])
		return;
	d = (struct datagram *)net_packet(sockets_all.net);
	d->on = (struct packet){.from = (uint8_t)host,
				.to = (uint8_t)to,
				.is_data = p->is_data,
				.plane = (uint16_t)(device / NET_SUB_PORTS % NET_PLANES),
				.sub_port = (uint16_t)(device % NET_SUB_PORTS),
				.from_port = p->from_port,
				.to_port = p->to_port,
				.bytes = HEADER_BYTES + (uint32_t)p->length};
	memcpy(d->bytes, p->bytes, p->length);
	net_send(sockets_all.net, &d->on);
}

void sockets_deliver(struct packet *packet)
{
	((struct datagram *)packet)->came_ns = sockets_all.net->loop.now_ns;
	for (unsigned i = 0; i < sockets_all.n[packet->to]; i++) {
		if (sockets_all.port[packet->to][i] != packet->to_port)
			continue;
		net_queue_put(&sockets_all.socket[packet->to][i]->queue, packet);
		sockets_all.n_waiting[packet->to]++;
		return;
	}
	net_free(sockets_all.net, packet);
}

/* ---- udp.h ---------------------------------------------------------------- */

struct udp *sockets_udp(unsigned host)
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
	unsigned host = net_host_of(address);
	struct udp_socket *s = calloc(1, sizeof(*s));

	if (!s || sockets_all.n[host] == SOCKETS_MAX)
		abort();
	if (!port)
		port = (uint16_t)(FARE_PROBE_PORT_FIRST + 64 * sockets_all.n[host] +
				  prng_below(&sockets_all.net->prng, 64));
	*s = (struct udp_socket){.host = host, .port = port};
	sockets_all.port[host][sockets_all.n[host]] = port;
	sockets_all.socket[host][sockets_all.n[host]++] = s;
	*out = s;
	return 0;
}

int udp_bind(struct udp_socket *s)
{
	(void)s;
	return 0;
}

/* NULL: nothing waits there. */
static struct packet *take(struct udp_socket *s)
{
	sockets_all.n_waiting[s->host] -= s->queue.n > 0;
	return net_queue_take(&s->queue);
}

void udp_close(struct udp_socket *s)
{
	struct packet *packet;
	unsigned n = 0;

	if (!s)
		return;
	for (unsigned i = 0; i < sockets_all.n[s->host]; i++)
		if (sockets_all.socket[s->host][i] != s) {
			sockets_all.port[s->host][n] = sockets_all.port[s->host][i];
			sockets_all.socket[s->host][n++] = sockets_all.socket[s->host][i];
		}
	sockets_all.n[s->host] = n;
	while ((packet = take(s)))
		net_free(sockets_all.net, packet);
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
		readable[i] = sockets[i]->queue.n;
}

unsigned udp_receive(struct udp *u, struct udp_socket *s)
{
	uint64_t now_ns = sockets_all.net->loop.now_ns;
	struct packet *packet;
	unsigned n = 0;

	for (; n < UDP_BATCH && (packet = take(s)); n++) {
		struct datagram *d = (struct datagram *)packet;
		struct udp_packet *p = &u->in[n];

		p->length = packet->bytes - HEADER_BYTES;
		memcpy(p->bytes, d->bytes, p->length);
		p->from = net_address(packet->from);
		p->to = net_address(packet->to);
		p->from_port = packet->from_port;
		p->to_port = packet->to_port;
		p->ifindex = sockets_ifindex(packet->to, packet->plane, packet->sub_port);
		p->hop_limit = 254;
		p->is_data = packet->is_data;
		p->waited_ns = now_ns - d->came_ns;
		p->read_ns = now_ns;
		net_free(sockets_all.net, packet);
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
	u->out[u->n_out].is_data = false;
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
		send_packet(u->host, &u->out[i]);
	u->n_out = 0;
	return n;
}

uint64_t udp_refused(const struct udp *u)
{
	(void)u;
	return 0;
}

/* ---- nonces.h ------------------------------------------------------------- */

int nonces_init(struct nonces *n)
{
	n->n_ready = 0;
	n->ready[0] = prng_next(&sockets_all.net->prng);
	return 0;
}

uint64_t nonces_next(struct nonces *n)
{
	return prng_mix(n->ready[0] += UINT64_C(0x9e3779b97f4a7c15));
}
