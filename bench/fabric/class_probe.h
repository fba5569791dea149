/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * class_probe.h - how long small datagrams of a traffic class take across a lab, and when they are
 * lost.
 *
 * Owns: a thread while it runs, and its sockets in the servers' namespaces. In: pairs of GPUs, a
 * DSCP each; out: one-way delays, by the machine's one clock, until the receiver has read them.
 * They leave by the first sub-port of plane 0, or as the kernel's routes have it. Thread: any.
 */
#ifndef CLASS_PROBE_H
#define CLASS_PROBE_H

#include <pthread.h>

#include "core/hist.h"
#include "fabric/topo.h"

#define CLASS_PROBE_MOST 32

struct class_probe {
	unsigned from, to; /* GPUs, of different servers */
	unsigned dscp;
	bool routed; /* by the kernel's routes: each probe is a flow of its own to their hashes */
	/* out: ns; without those that had not come CLASS_PROBE_GRACE_S after the end */
	struct hist delay;
	uint64_t sent, received;
	/* from the first that was lost until one came again and no more were lost; a probe's period
	 * exact. 0: none was lost */
	uint64_t lossy_ns;
	/* its own: the number that is due, when the one before it was sent, around losses */
	uint64_t next, newest_ns, lossy_from_ns, lossy_to_ns;
};

#define CLASS_PROBE_GRACE_S 2

/* One of each every period_ns until then (monotonic). -errno, after saying why. */
int class_probe_run(const struct topo *topo, struct class_probe *probe, unsigned n,
		    uint64_t period_ns, uint64_t until_ns);

/* The same beside what the caller does meanwhile. */
struct class_probes {
	const struct topo *topo;
	struct class_probe probe[CLASS_PROBE_MOST];
	unsigned n;
	uint64_t period_ns, until_ns;
	pthread_t thread;
	bool started;
	int err;
};

/* n routed flows between two GPUs, half each way. NULL: no memory; free() when they are joined. */
struct class_probes *class_probes_create(const struct topo *topo, unsigned a, unsigned b,
					 unsigned n, unsigned dscp, uint64_t period_ns);
int class_probes_start(struct class_probes *probes, uint64_t until_ns);
/* Waits for their end, if they were started; as class_probe_run(). */
int class_probes_join(struct class_probes *probes);

/* Pure halves of the above: the probe of that number came, sent then; the last of n is sent. */
void class_probe_came(struct class_probe *probe, uint64_t number, uint64_t sent_ns,
		      uint64_t now_ns);
void class_probe_ended(struct class_probe *probe, uint64_t n, uint64_t period_ns,
		       uint64_t until_ns);

#endif
