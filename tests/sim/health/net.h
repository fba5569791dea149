/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * net.h - servers, planes, a clock: what the prober and reflector of each server see.
 *
 * Solely owns: the clock and the events by it, packets under way, queues and faults of each link,
 * sockets. It stands in for udp.c, device_count.c and nonces.c. In: packets; faults of the
 * schedule. Out: packets in sockets, and which server is to be woken when. A seed decides
 * everything.
 */
#ifndef SIM_HEALTH_NET_H
#define SIM_HEALTH_NET_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

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

/* One direction of a server's sub-port. */
struct link {
	uint64_t delay_ns;
	uint32_t loss_per_mille;
	uint32_t most_bytes; /* of an IP packet; 0: all pass */
	bool is_black;
	/* a queue fills, stands for a while, dropping what does not fit, and drains */
	uint64_t queue_from_ns, queue_full_ns, queue_to_ns, queue_ns;
	uint32_t drop_per_mille;
	uint64_t saw_ns; /* 0: it stands; or its senders slow down and speed up so often */
};

struct port {
	struct link up, down;
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

enum event_kind { EVENT_PACKET, EVENT_WAKE, EVENT_STEP };

struct event {
	uint64_t at_ns, sequence;
	enum event_kind kind;
	unsigned index;
	struct packet *packet;
};

struct net {
	uint64_t now_ns, sequence;
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
	size_t n, room;
	struct event *heap;
	struct packet *unused;
};

/* The one network of this process: sockets are opened without being told of it. */
extern struct net *net_current;

struct in6_addr net_address(unsigned host);
int net_ifindex(unsigned host, unsigned plane, unsigned sub_port);
/* n_hosts: 0: as the seed has it. */
void net_init(struct net *net, uint64_t seed, unsigned n_hosts);
void net_fini(struct net *net);
void net_add(struct net *net, uint64_t at_ns, enum event_kind kind, unsigned index,
	     struct packet *packet);
/* The clock moves to it. */
struct event net_next(struct net *net);
/* By which sub-port of the receiver a packet arrives. */
unsigned net_lead(const struct net *net, unsigned from, unsigned to, unsigned plane,
		  uint16_t from_port, uint16_t to_port);
/* Into the socket that it is for. */
void net_deliver(struct net *net, struct packet *packet);
struct udp *net_udp(unsigned host);

#endif
