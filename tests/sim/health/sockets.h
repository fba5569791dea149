/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sockets.h - what the prober and reflector of each server see of the network (net.h).
 *
 * Solely owns: sockets, and packets that wait in them. It stands in for udp.c and nonces.c. In:
 * packets that arrive. Out: packets of servers.
 */
#ifndef SIM_HEALTH_SOCKETS_H
#define SIM_HEALTH_SOCKETS_H

#include "net.h"
#include "udp.h"

#define SOCKETS_MAX 24 /* of a server */

struct sockets {
	struct net *net;
	unsigned n[NET_HOSTS];
	unsigned n_waiting[NET_HOSTS];	   /* packets in them */
	uint64_t lost_until_ns[NET_HOSTS]; /* what it sends, and is sent, is lost until then */
	struct udp_socket *socket[NET_HOSTS][SOCKETS_MAX];
	uint16_t port[NET_HOSTS][SOCKETS_MAX]; /* theirs: each packet is looked up */
};

/* The process has one network: no argument of udp_open() could name another. */
extern struct sockets sockets_all;

void sockets_init(struct net *net);
int sockets_ifindex(unsigned host, unsigned plane, unsigned sub_port);
/* LOOP_PACKET: into the socket that it is for. */
void sockets_deliver(struct packet *packet);
struct udp *sockets_udp(unsigned host);

#endif
