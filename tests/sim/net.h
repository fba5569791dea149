/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * net.h - the one network under all simulations: hosts, planes of leaves, links, a clock.
 *
 * Solely owns: the loop (loop.h), the links' generator, packets under way, the state of each
 * direction of each link (link.h), the leaves' hash. In: packets of hosts, faults that a schedule
 * sets. Out: the same packets, later, elsewhere, twice or never (LOOP_PACKET). A simulation's own
 * packet begins with a struct packet.
 */
#ifndef SIM_NET_H
#define SIM_NET_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "link.h"
#include "loop.h"
#include "prng.h"

#define NET_HOSTS     64
#define NET_PLANES    4
#define NET_SUB_PORTS 3

struct packet {
	struct packet *next;
	uint8_t from, to; /* hosts */
	bool is_data;	  /* waits behind queues that other packets pass (struct link's batch_ns) */
	uint16_t plane, sub_port; /* sent from, then arrived on */
	uint16_t from_port, to_port;
	uint32_t bytes; /* that links count */
};

/* Packets that have arrived and were not read. */
struct packet_queue {
	struct packet *first, *last;
	unsigned n;
};

struct port {
	struct link up, down; /* to the leaf, to the host */
	bool has_carrier;
	bool is_lingering; /* the leaf's hash counts it without a carrier */
	/* the host has no route by it; no leaf has one to it */
	bool is_unrouted_out, is_unrouted_in;
	uint32_t device_mtu; /* longer data the host's own device refuses; 0: it takes all */
};

struct net {
	struct loop loop;
	struct prng prng;
	unsigned n_hosts, n_planes, n_sub_ports;
	uint32_t salt; /* of the leaves' hash */
	size_t packet_bytes;
	struct port port[NET_HOSTS][NET_PLANES][NET_SUB_PORTS];
	struct packet *unused;
	long n_packets; /* allocated, under way or not */
};

struct in6_addr net_address(unsigned host);	      /* ::ffff:10.0.0.host */
unsigned net_host_of(const struct in6_addr *address); /* NET_HOSTS: nobody */
/*
 * Zeroed before the first time; it keeps its memory until net_fini(). It has its size: all its
 * ports have a carrier and links without delay. packet_bytes: of the simulation's packets.
 */
void net_init(struct net *net, size_t packet_bytes);
/* Packets under way, and all other events, are dropped: the schedule has ended. */
void net_drain(struct net *net);
void net_fini(struct net *net);
/* A port of those there are; NULL: there are no more. */
struct port *net_port(struct net *net, unsigned i);
/* The sub-ports with a carrier: bit s. */
uint32_t net_live(const struct net *net, unsigned host, unsigned plane);

/* As it comes: the simulation fills in all of it. */
struct packet *net_packet(struct net *net);
void net_free(struct net *net, struct packet *packet);
void net_queue_put(struct packet_queue *queue, struct packet *packet);
struct packet *net_queue_take(struct packet_queue *queue); /* NULL: it is empty */
/* Takes the packet. */
void net_send(struct net *net, struct packet *packet);
/* Where the leaf sends what has these ports: a sub-port of the receiver; -1: nowhere. */
int net_lead(const struct net *net, unsigned from, unsigned to, unsigned plane, uint16_t from_port,
	     uint16_t to_port);

#endif
