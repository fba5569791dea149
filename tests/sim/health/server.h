/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * server.h - one server: the real prober and reflector, and a process that is scheduled late.
 *
 * Solely owns: both of them, when the process runs next, what its peers told it. In: events of the
 * network. Out: verdicts, to the schedule's checks.
 */
#ifndef SIM_HEALTH_SERVER_H
#define SIM_HEALTH_SERVER_H

#include "net.h"
#include "prober.h"
#include "reflector.h"

struct server {
	struct net *net;
	unsigned index;
	bool runs;
	struct udp *udp;
	struct sub_ports ports;
	struct prober *prober;
	struct reflector *reflector;
	uint64_t wake_ns;    /* pending; 0: none */
	uint64_t blocked_ns; /* it gets no CPU time until then */
	uint64_t boot;	     /* when it started, too */
	struct notice_ack held[NET_HOSTS];
	uint64_t held_bps[NET_HOSTS][NET_PLANES];
	/* the schedule's */
	void *arg;
	void (*on_change)(void *arg, unsigned from, unsigned to, unsigned plane,
			  const struct probe_fsm_change *change);
	void (*on_gray)(void *arg, unsigned from, unsigned to, unsigned plane);
};

void server_start(struct server *s);
void server_stop(struct server *s);
void server_wake(struct server *s, uint64_t at_ns);
/* Its process runs. */
void server_run(struct server *s);
/* Its sub-ports are as the network has them; peers are told. */
void server_links(struct server *s, unsigned plane, unsigned sub_port);
enum probe_state server_state(const struct server *s, unsigned to, unsigned plane);

#endif
