/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flood.h - datagrams as fast as links of a lab take them, without congestion control.
 *
 * Owns: a thread at both ends of each flow, in the servers' namespaces, while it runs. In: GPUs,
 * how much, how long; out: what was sent and what arrived. A sender waits for room in its own
 * device's queue and for nothing else. Flows leave by the first sub-port of plane 0. Thread: the
 * coordinator's.
 */
#ifndef FLOOD_H
#define FLOOD_H

#include "fabric/topo.h"

#define FLOOD_MOST_FLOW 256

struct flood_flow {
	unsigned from, to; /* GPUs, of different servers */
	/* out: datagrams, and when the first and the last arrived; the longest time without one
	 * from the first sent to the last */
	uint64_t sent, received, first_ns, last_ns, gap_ns;
};

struct flood {
	const struct topo *topo;
	struct flood_flow *flow;
	unsigned n;
	unsigned bytes;	    /* of a datagram's payload */
	uint64_t datagrams; /* of each flow, all begin at once; 0: for so many seconds */
	double seconds;	    /* no flow sends for longer */
	/* all is sent, and nothing of any flow came for so long: the rest is lost */
	double quiet_s;
};

/* -errno, after saying why; -EINTR: the program is to end. */
int flood_run(struct flood *flood);
/* What queues count of a datagram. */
unsigned flood_frame_bytes(const struct topo *topo, unsigned bytes);
/* The longest datagram that is one frame. */
unsigned flood_most_bytes(const struct topo *topo);

#endif
