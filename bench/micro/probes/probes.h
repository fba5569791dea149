/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probes.h - what probing costs: the real prober and reflector in one namespace, their peers in
 * another, joined by a veth for each sub-port of each plane; and FRR's bfdd with as many sessions.
 *
 * Owns: the namespaces, and the processes in them, of this run. In: how many peers; out: CPU
 * shares, counters, and how long a plane that falls silent goes unnoticed. Thread: the process has
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

#define PROBES_PLANES	 4u
#define PROBES_SUB_PORTS 2u

struct sub_ports;

/* ---- how long it took to find that a plane had fallen silent, path by path ---- */

#define PROBES_MAX_PEERS 4000u
#define PROBES_FOUND_MS	 3000. /* what is not found by then is not found */

/*
 * A path that was not declared down while it was waited for counts as long as that: no figure
 * passes by a miss.
 */
struct probes_found {
	uint32_t n, n_paths;	     /* found, of so many */
	double ms[PROBES_MAX_PEERS]; /* of all n_paths */
};

/*
 * down_ns[i]: when the path of peer i went down last; 0, or before silent_ns: it has not since. At
 * most PROBES_MAX_PEERS of them.
 */
void probes_found_set(struct probes_found *found, const uint64_t *down_ns, uint32_t n,
		      uint64_t silent_ns);

#define PROBES_INTERVAL_MS 10u

#define PROBES_REAL                                                                                \
	"Real: fared's prober and reflector, FRR's bfdd, the kernel's UDP. Emulated: the fabric "  \
	"(a veth pair for each sub-port; delivering a packet is charged to who sends it) and the " \
	"peers (one process on the other core). Not there: BGP, the path table."

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

/* What the prober under test has to do. */
struct probes_load {
	uint32_t n_peers, n_active; /* active ones every PROBES_INTERVAL_MS, others once a second */
	double window_s;	    /* that CPU time is taken over */
};
#define PROBES_SILENT SIGUSR1 /* tells the peers to be silent over plane 0 from now on */
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
		    struct probes_sample *sample, struct probes_found *found);

/* probes_load.c: all of it once, from the namespaces on; -errno, after saying why. */
int probes_load_run(const struct probes_load *load, struct probes_sample *sample,
		    struct probes_found *found);

/* probes_bfdd.c: one bfdd at either end, with sessions between them. */
struct probes_bfdd;
struct probes_bfdd_sample {
	double cpu_percent;   /* of the near one, of one core */
	double packets_per_s; /* it sends */
	uint32_t n_up;	      /* sessions, at the end */
};
/* -ENOENT: no bfdd on this machine. -errno, after saying why. */
int probes_bfdd_open(struct probes_bfdd **out, uint32_t n_sessions);
void probes_bfdd_measure(const struct probes_bfdd *bfdd, double window_s,
			 struct probes_bfdd_sample *out);
void probes_bfdd_close(struct probes_bfdd *bfdd); /* NULL is fine */

#endif
