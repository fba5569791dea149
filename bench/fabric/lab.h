/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lab.h - the lab as the benchmark drives it: farelab's commands, and the kernel's routes as proof.
 *
 * Owns: the lab's name and the path of farelab ($FARELAB, or next to this program, or PATH). In:
 * farelab's JSON and `ip -j route`; out: the topology as it is now, faults, routing modes that are
 * known to be in force. Every wait is for a condition and has an end. Thread: one (it runs
 * commands).
 */
#ifndef LAB_H
#define LAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/topo.h"

#define LAB_MAX_ARGS 16

struct lab {
	char name[TOPO_NAME_MAX];
	char farelab[512];
	char farectl[512];
};

void lab_init(struct lab *lab, const char *name);

/* wait_s > 0: only once converged. The topology is the caller's. -errno, after saying what failed.
 */
int lab_status(const struct lab *lab, unsigned wait_s, struct topo **out);

/* The JSON of `farelab counters`, for the caller to free. */
int lab_counters(const struct lab *lab, char **text);
/* BGP sessions of all leaves that have ended since their daemons began. -errno. */
int lab_sessions_dropped(const struct lab *lab, const struct topo *topo, uint64_t *n);
/* Adds those of one bgpd's "show bgp summary json". -EBADMSG. */
int lab_sessions_parse(const char *text, uint64_t *n);

/* What the lab counted so far: packets that servers sent, and that any queue,
 * gray link or device dropped. */
struct lab_packets {
	uint64_t sent, dropped;
};
int lab_packets(const struct lab *lab, struct lab_packets *out);

/* Where a lab dropped packets so far: full queues, gray links, headroom that ran out; devices (of a
 * link that is down, say); and switches that had no route. */
struct lab_drops {
	uint64_t queue, device, route;
};
/* -errno. The second is the pure half, of what `farelab counters --json` printed: -EBADMSG. */
int lab_drops(const struct lab *lab, struct lab_drops *out);
int lab_drops_parse(const char *text, struct lab_drops *out);

/* What the leaf's end of a link to a spine has sent. */
struct lab_uplink {
	unsigned leaf; /* index in topo.leaves */
	uint64_t tx_bytes;
};
/* All uplinks, topo->n_uplinks of them, always in one order; *at_ns (monotonic) when. -EBADMSG: the
 * text has others. The second is the pure half, of what `farelab counters --json` printed. */
int lab_uplinks(const struct lab *lab, const struct topo *topo, struct lab_uplink *out,
		uint64_t *at_ns);
int lab_uplinks_parse(const struct topo *topo, const char *text, struct lab_uplink *out,
		      uint64_t *at_ns);

/* `farelab VERB NAME ARGS...`; args end with NULL. */
int lab_do(const struct lab *lab, const char *verb, const char *const *args);

/*
 * The same, of what a lab or a kernel may not be able to do. -EOPNOTSUPP: farelab refused, and
 * why[] has what it said.
 */
int lab_try(const struct lab *lab, const char *verb, const char *const *args, char *why,
	    size_t size);

/* The words of "subport s1/g0 0 1" as arguments of lab_do(). */
int lab_do_text(const struct lab *lab, const char *verb, const char *text);

/*
 * Tells bgpd on all servers to ignore bandwidth (equal weights), or to use it, and waits until the
 * kernel's next hops show it on every server. -ETIMEDOUT, after saying which route is not so.
 */
int lab_weights(const struct lab *lab, const struct topo *topo, bool equal);

/* Pure half of the above: does `ip -j route` text show, toward gpu, weights that are equal (or as
 * live capacity)? */
int lab_check_routes(const struct topo *topo, unsigned server, const char *text, bool equal,
		     char *reason, size_t reason_size);

/* Every BGP session of the lab ends, and begins anew: one end of each is a leaf. */
int lab_clear_sessions(const struct lab *lab, const struct topo *topo);

/* What `farectl why PEER PLANE -j` says on the server of gpu src about its path: verdict into out
 * (""), text too. */
int lab_why(const struct lab *lab, const struct topo *topo, unsigned src, unsigned dst,
	    unsigned plane, char *verdict, size_t verdict_size, char **text);

/* The calling thread enters a network namespace, by its name, for good. 0 or -errno. */
int lab_enter(const char *netns);

#endif
