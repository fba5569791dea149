/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * class_probe.h - how long small datagrams of a traffic class take across a lab.
 *
 * Owns: a thread while it runs, and its sockets in the servers' namespaces. In: pairs of GPUs, a
 * DSCP each; out: one-way delays, by the machine's one clock, until the receiver has read them.
 * They leave by the first sub-port of plane 0. Thread: the coordinator's.
 */
#ifndef CLASS_PROBE_H
#define CLASS_PROBE_H

#include "core/hist.h"
#include "fabric/topo.h"

#define CLASS_PROBE_MOST 4

struct class_probe {
	unsigned from, to; /* GPUs, of different servers */
	unsigned dscp;
	/* out: ns; without those that had not come CLASS_PROBE_GRACE_S after the end */
	struct hist delay;
	uint64_t sent, received;
};

#define CLASS_PROBE_GRACE_S 2

/* One of each every period_ns until then (monotonic). -errno, after saying why. */
int class_probe_run(const struct topo *topo, struct class_probe *probe, unsigned n,
		    uint64_t period_ns, uint64_t until_ns);

#endif
