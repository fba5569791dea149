/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probes.h - what probing costs: the real prober and reflector in one namespace, their peers in
 * another, joined by a veth for each sub-port of each plane; and FRR's bfdd with as many sessions,
 * in the same run.
 *
 * Owns: the namespaces, and the processes in them, of this run. In: how many peers; out: CPU
 * shares, a table, and in the document of result.h "probes" and "bfdd". Thread: the process has
 * one; each measured thing is a child of it.
 *
 * Real: the prober and reflector of health/, an event loop, the kernel's UDP. Not there: BGP, the
 * path table, leaves (a veth is the whole fabric). The peers are played by one process that answers
 * and asks for all of them with the same wire format.
 */
#ifndef PROBES_H
#define PROBES_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "probes_found.h"

#define PROBES_PLANES	 4u
#define PROBES_SUB_PORTS 2u

struct sub_ports;

/* `farebench probes ...` */
int probes_main(int argc, char **argv);

/*
 * probes_net.c: two namespaces, "near" and "far", unlike any other process's; n_peers addresses in
 * the far one.
 */
struct probes_net {
	char near[32], far[32];
	uint32_t n_peers;
};
int probes_net_up(struct probes_net *net, uint32_t n_peers);
void probes_net_down(const struct probes_net *net);
int probes_net_enter(const char *name); /* the calling process; -errno after saying so */
struct in6_addr probes_net_near_address(void);
struct in6_addr probes_net_peer(uint32_t i);
uint32_t probes_net_index(const struct in6_addr *peer);
/* Which device is which sub-port; in the near namespace. */
void probes_net_ports(struct sub_ports *out);
void probes_net_pin(unsigned core); /* the calling process; as far as there are cores */

/* What one run of the prober under test has shown, per window. */
struct probes_load {
	uint32_t n_peers, n_active; /* active ones every interval_ms, the others once a second */
	uint32_t interval_ms;
	double window_s;
	unsigned n; /* windows */
};
#define PROBES_MAX_WINDOWS 20
#define PROBES_SILENT	   SIGUSR1 /* tells the peers to be silent over plane 0 from now on */
struct probes_sample {
	double cpu_percent; /* user + system of the process, of one core */
	double sent_per_s, answered_per_s, reflected_per_s;
	uint64_t lost, late, downs;
};
/* probes_peers.c: plays all peers until it is killed; a child process. -errno. */
pid_t probes_peers_start(const struct probes_net *net, const struct probes_load *load);
/*
 * probes_unit.c: measures the prober and reflector under that load, then silences a plane of the
 * peers'. 0 or -errno.
 */
int probes_unit_run(const struct probes_net *net, const struct probes_load *load, pid_t peers,
		    struct probes_sample samples[PROBES_MAX_WINDOWS], struct probes_found *found);

/* probes_bfdd.c: one bfdd at either end, n_sessions between them at that interval. */
struct probes_bfdd {
	uint32_t n_sessions, n_up;
	double cpu_percent[PROBES_MAX_WINDOWS]; /* of the near one */
	double packets_per_s;			/* it sends */
};
/* -ENOENT: no bfdd on this machine. */
int probes_bfdd_run(const struct probes_net *net, uint32_t n_sessions, uint32_t interval_ms,
		    double window_s, unsigned n, struct probes_bfdd *out);

/*
 * probes_calm.c: a lab that is up, all cores busy, traffic from all to all: paths that went down
 * though nothing was broken.
 */
struct probes_calm {
	double seconds;
	uint64_t probes, lost, downs, runs;	     /* runs: of the all-to-all traffic */
	double idle_percent, rtt_p50_ms, rtt_p99_ms; /* of the worst path */
};
int probes_calm_run(const char *lab, double seconds, struct probes_calm *out);

#endif
