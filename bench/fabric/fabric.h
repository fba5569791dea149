/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fabric.h - the fabric under test, a lab or hosts: who is there, what it can carry, what it
 * can do.
 *
 * Owns: the lab's state as it was read last, or the agents of the hosts, and the workers on it. In:
 * a lab's name, or an inventory; out: a topology, a cluster with memory enough, the kernel's
 * weights as a strategy wants them, faults that begin at a known time and are healed whatever
 * happens. Tests do not see which of both it is. Thread: the coordinator's.
 */
#ifndef FABRIC_H
#define FABRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/cluster.h"
#include "engine/strategy.h"
#include "fabric/lab.h"
#include "launch/hosts.h"
#include "fabric/topo.h"

/* A sub-port taken for gray comes back that late when nothing is sent. */
#define FABRIC_PATHS_MS 180000

#define FABRIC_HOST_MEMORY "host memory" /* as workers call it (memory.c) */

struct fabric_fault {
	char spec[96];
};

struct fabric {
	struct lab lab;
	struct hosts *hosts;	 /* NULL: it is a lab */
	struct topo *topo;	 /* of hosts: the inventory's, less what this run has cut */
	struct cluster *cluster; /* NULL: none was wanted yet */
	uint64_t arena_bytes;
	struct memory_pair memory;	       /* of the workers */
	char memory_text[CLUSTER_MEMORY_MAX];  /* what that is */
	char memory_lacks[CLUSTER_MEMORY_MAX]; /* why kinds that were wanted last are not there */
	const char *store; /* of a lab: where workers have files; NULL: nowhere. Borrowed */
	int weights;	   /* -1: unknown; 0: FRR's; 1: equal */
	bool refused;	   /* hosts: a mode was waited for, and is not available */
	unsigned can;	   /* enum need (suite/test.h) that it has */
	struct fabric_fault *fault; /* in force, in the order in which they were made */
	unsigned n_faults;
	uint64_t fault_ns;	     /* when the first of them was made */
	uint64_t ecn_kb, ecn_lab_kb; /* threshold in force, and the lab's own */
	uint64_t pauses;	     /* frames of all ports at load_marks_begin() */
	char lb_lab[16];	     /* the leaves' own mode while they have another; else "" */
	/* of the workers' groups, in all that trials measured */
	struct {
		uint64_t deaths, rebuilds;
		unsigned runs;
	} paths;
	char why[256]; /* fabric_cannot_spread()'s answer, or fabric_balance()'s */
};

/* Waits until the lab has converged. -errno, after saying why. */
int fabric_open(struct fabric *fabric, const char *lab);
/* Waits until the agents of all hosts are there. */
int fabric_open_hosts(struct fabric *fabric, const struct launch_options *options);
void fabric_close(struct fabric *fabric); /* heals, ends the workers, gives FRR's weights back */

/* NULL: it can; else why not. */
const char *fabric_cannot(const struct fabric *fabric, unsigned need);
/* Of what fabric_cannot() said of a lab: what to do about it. NULL: nothing is known. */
const char *fabric_remedy(const char *reason);
/* What no test can measure, by what the fabric is. */
enum fabric_part {
	FABRIC_GPU_MEMORY,
	FABRIC_NIC_ENGINES,
	FABRIC_FEC,
	FABRIC_CRC,
	FABRIC_PCIE,
	FABRIC_BUFFERS,
	FABRIC_PARTS
};

/* Why. */
const char *fabric_lacks(const struct fabric *fabric, enum fabric_part part);
/* NULL: it can spread traffic so, or have these faults (fabric_fail()); else why not. */
const char *fabric_cannot_spread(struct fabric *fabric, enum strategy strategy);
const char *fabric_cannot_fail(const struct fabric *fabric, const char *spec);
/* The longest run of traffic that is allowed, s. */
double fabric_max_run_s(const struct fabric *fabric);

/* A worker for every GPU, with arenas of arena_bytes at least, in host memory. */
int fabric_cluster(struct fabric *fabric, uint64_t arena_bytes);
/* The same, with memory of these kinds: fabric->memory_text says what it is. -EOPNOTSUPP: there is
 * none, and fabric->memory_lacks says why; it is the hosts' then. */
int fabric_cluster_of(struct fabric *fabric, uint64_t arena_bytes, const struct memory_pair *kinds);
/* Ends them: nothing is attached to the daemons. */
void fabric_no_cluster(struct fabric *fabric);
/* Makes the kernel's next hops what the strategy needs, and waits until all see the fabric as it
 * is. */
int fabric_prepare(struct fabric *fabric, enum strategy strategy);

/*
 * Around a run: makes the workers' clocks one, and says how far times of two servers can be wrong
 * against each other, ns, at most. 0 where all share a clock.
 */
int fabric_clocks_begin(struct fabric *fabric);
int fabric_clocks_end(struct fabric *fabric, double *error_ns);
/* How far a server's clock is ahead of this process's, since fabric_clocks_begin(). */
int64_t fabric_clock_ahead_ns(const struct fabric *fabric, unsigned server);

/* lab_packets(); of hosts what their interfaces in the inventory have sent and dropped. */
int fabric_packets(struct fabric *fabric, struct lab_packets *out);

/*
 * `farelab fail NAME WORDS`, or the inventory's command for that; *at_ns (monotonic) just before it
 * took effect. Several can be in force at once, one after the other made, or with one call: commas
 * between them. -EBUSY: this one is.
 */
int fabric_fail(struct fabric *fabric, const char *spec, uint64_t *at_ns);
/* All that are in force, the last first; *at_ns before the first of them. 0 as well if none is. */
int fabric_heal(struct fabric *fabric, uint64_t *at_ns);
/*
 * Waits until all workers see the fabric as the topology says but for the GPUs that are absent,
 * which nobody reaches (NULL: none). -ETIMEDOUT after saying which path differs.
 */
int fabric_await_members(struct fabric *fabric, const bool *absent, int timeout_ms);
/*
 * Leaves mark at another threshold, in KiB, from now on; counters (topo.h) begin anew. The lab's
 * own is given back by fabric_close().
 */
int fabric_mark_at(struct fabric *fabric, uint64_t kb);
/*
 * All leaves of a lab spread so from now on ("spray"; farelab(8), lb); gap_us: of flowlets, else 0;
 * seed: of ecmp and bth each leaf has one drawn from it, else and with 0 the topology's.
 * -EOPNOTSUPP: the lab or its kernel cannot; fabric->why has farelab's words.
 */
int fabric_balance(struct fabric *fabric, const char *mode, unsigned gap_us, uint64_t seed);
/* The mode that the first leaf had before; fabric_close() does it, too. */
int fabric_balance_back(struct fabric *fabric);
/* Reads the lab's state anew, counters included, converged or not. */
int fabric_check(struct fabric *fabric);
/* All BGP sessions of a lab end at once; *seconds from then until it has converged anew. -ETIMEDOUT
 * after saying so: no route went, or some did not come back. */
int fabric_clear_sessions(struct fabric *fabric, double *seconds);
/* Until the topology, the routes and what workers see agree with each other; reads it anew. */
int fabric_settle(struct fabric *fabric);
/* Heals what is in force, and waits until all see it. */
int fabric_restore(struct fabric *fabric);
/* Waits until the lab has converged, and reads anew which daemons run there; the topology stays. */
int fabric_daemons(struct fabric *fabric);

/* Payload that a GPU can send or receive at once over all its live sub-ports, bit/s. */
double fabric_line_bps(const struct fabric *fabric, unsigned gpu);
/* The same between two GPUs: the sum over planes of the smaller. */
double fabric_pair_bps(const struct fabric *fabric, unsigned src, unsigned dst);

#endif
