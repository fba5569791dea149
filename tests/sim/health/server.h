/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * server.h - one server: the real prober, reflector and path table, wired as the daemon wires them,
 * in a process that is scheduled late.
 *
 * Solely owns: all of them, when the process runs next, what its peers told it, what survives its
 * restart. In: events of the network, and of its route sources (bgp.h). Out: verdicts, to the
 * schedule's checks.
 */
#ifndef SIM_HEALTH_SERVER_H
#define SIM_HEALTH_SERVER_H

#include "bgp.h"
#include "prober.h"
#include "reflector.h"
#include "sockets.h"

#define SERVER_MTU 4200u /* of servers and leaves */

struct server {
	struct net *net;
	unsigned index;
	bool runs;
	struct udp *udp;
	struct sub_ports ports;
	struct prober *prober;
	struct reflector *reflector;
	struct path_table *table;
	bool is_said;	      /* to the table, since it was evaluated last */
	uint64_t evaluate_ns; /* then something is due; 0: nothing */
	struct bgp *bgp;      /* the schedule's */
	struct bgp_feed feeds[PATH_SOURCE_COUNT];
	struct path_probe probe[NET_HOSTS][NET_PLANES]; /* as the table was told */
	/* what a former incarnation published; 0: nothing usable */
	uint64_t adopted_bps[NET_HOSTS][NET_PLANES];
	enum fare_verdict adopted_verdict[NET_HOSTS][NET_PLANES];
	bool has_segment;
	uint64_t wake_ns;    /* pending; 0: none */
	uint64_t blocked_ns; /* it gets no CPU time until then */
	uint64_t started_ns;
	int64_t clock_ns; /* its clock is ahead of the network's by so much */
	uint32_t max_loss_ppm, multiplier;
	uint64_t queue_max_ns; /* 0: the class of probes passes before data */
	uint64_t interval_ns;  /* of probes */
	struct notice_ack held[NET_HOSTS];
	uint64_t held_bps[NET_HOSTS][NET_PLANES], held_till_ns[NET_HOSTS];
	/* the schedule's */
	void *arg;
	void (*on_change)(void *arg, unsigned from, unsigned to, unsigned plane,
			  const struct probe_fsm_change *change);
	void (*on_gray)(void *arg, unsigned from, unsigned to, unsigned plane);
	/* a path, or a sub-port of it, is taken for one that carries only smaller packets */
	void (*on_mtu)(void *arg, unsigned from, unsigned to, unsigned plane);
	/* a path is probed from now on, or no longer */
	void (*on_route)(void *arg, unsigned from, unsigned to, unsigned plane, bool routed);
	/* the table has been evaluated, and this path published anew */
	void (*on_publish)(void *arg, unsigned from, unsigned to, unsigned plane);
};

void server_start(struct server *s);
void server_stop(struct server *s);
/* Time has passed for its route sources, and its table is evaluated. */
void server_step(struct server *s);
void server_wake(struct server *s, uint64_t at_ns);
/* Its process runs. */
void server_run(struct server *s);
/* Its sub-ports are as the network has them; peers are told. */
void server_links(struct server *s, unsigned plane, unsigned sub_port);
/* The kernel has routes by all sub-ports of the plane but those (bit s). */
void server_routes(struct server *s, unsigned plane, uint32_t without);
/*
 * All of its bandwidth is usable, but for sub-ports that are gray still: that may take 41 s; or
 * what has carried only smaller packets.
 */
bool server_is_whole(const struct server *s, unsigned to, unsigned plane);
enum probe_state server_state(const struct server *s, unsigned to, unsigned plane);

#endif
