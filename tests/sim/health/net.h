/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * net.h - servers, planes, a clock: what the prober and reflector of each server see.
 *
 * Solely owns: the loop, packets under way, queues and faults of each link, sockets. It stands in
 * for udp.c, device_count.c and nonces.c. In: packets; faults of the schedule. Out: packets in
 * sockets, and which server is to be woken when. A seed decides everything.
 */
#ifndef SIM_HEALTH_NET_H
#define SIM_HEALTH_NET_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "link.h"
#include "loop.h"
#include "prng.h"
#include "udp.h"

#define NET_HOSTS      64
#define NET_HOSTS_FEW  6 /* most schedules have no more */
#define NET_HOSTS_TICK 8 /* so many replies that the prober reads them by its tick */
#define NET_PLANES     4
#define NET_SUB_PORTS  2
#define NET_SOCKETS    24
#define NET_MTU	       4200u /* of servers and leaves */
#define NET_US	       UINT64_C(1000)
#define NET_MS	       UINT64_C(1000000)
#define NET_S	       UINT64_C(1000000000)

struct port {
	struct link up, down; /* lengths are of IP packets */
	bool has_carrier;
	uint64_t n_received;
};

struct packet {
	struct packet *next;
	struct in6_addr from, to;
	uint16_t from_port, to_port;
	unsigned host, plane, sub_port; /* where it goes */
	uint64_t came_ns;
	size_t length;
	uint8_t bytes[UDP_PACKET_BYTES];
};

struct net {
	struct loop loop;
	uint64_t now_ns; /* the loop's */
	struct prng prng;
	unsigned n_hosts, n_planes, n_sub_ports;
	uint32_t salt; /* of the leaves' hash */
	/* data comes in at that server, or acknowledgements of what it sends */
	uint64_t busy_until_ns[NET_HOSTS][NET_PLANES];
	uint64_t deaf_until_ns[NET_HOSTS]; /* what it sends, and is sent, is lost until then */
	struct port port[NET_HOSTS][NET_PLANES][NET_SUB_PORTS];
	unsigned n_sockets[NET_HOSTS];
	unsigned n_waiting[NET_HOSTS]; /* packets in them */
	struct udp_socket *sockets[NET_HOSTS][NET_SOCKETS];
	struct packet *unused;
};

/* The one network of this process: sockets are opened without being told of it. */
extern struct net *net_current;

struct in6_addr net_address(unsigned host);
int net_ifindex(unsigned host, unsigned plane, unsigned sub_port);
/* n_hosts: 0: as the seed has it. */
void net_init(struct net *net, uint64_t seed, unsigned n_hosts);
void net_fini(struct net *net);
/* The next event; the clock moves to it. False: there is none. */
bool net_next(struct net *net, struct loop_event *out);
/* By which sub-port of the receiver a packet arrives. */
unsigned net_lead(const struct net *net, unsigned from, unsigned to, unsigned plane,
		  uint16_t from_port, uint16_t to_port);
/* Into the socket that it is for. */
void net_deliver(struct net *net, struct packet *packet);
struct udp *net_udp(unsigned host);

#endif
