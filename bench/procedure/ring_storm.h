/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ring_storm.h - a trial of 8.4, or of T7.4: a flood by a ring of buffers or by a tree, with a
 * watchdog or without, and the way out of what it leaves.
 *
 * Owns: while the trial runs, routes that close a ring (ring.h) and a watchdog, both given back
 * however this process ends. In: a trial with RING_STORM_PARAMS; out: what the flood did, whether
 * what switches hold stalls, and the rows that both tests have. Thread: the coordinator's.
 */
#ifndef RING_STORM_H
#define RING_STORM_H

#include "fabric/pauses.h"
#include "fabric/ring.h"
#include "suite/kpis.h"
#include "suite/trial.h"

#define RING_STORM_PARAMS                                                                          \
	PARAM("routes", PARAM_NAME, "",                                                            \
	      "ring: three flows, each by two spines and the leaf between them; tree: BGP's",      \
	      "ring,tree"),                                                                        \
		PARAM("watchdog", PARAM_COUNT, "ms", "a pause of that length is a storm; 0: none", \
		      "0,200")

#define RING_STORM_KPIS                                                                            \
	KPI_STORMS, {"Held", "bytes", "DUT-S", "by switches after the flood", BETTER_LOWER, 0},    \
		{"No_headroom", "packets", "DUT-S", "that switches dropped during the flood",      \
		 BETTER_LOWER,	0},                                                                \
	{                                                                                          \
		"Arrived", "%", "DUT-F", "of the flood's datagrams", BETTER_HIGHER, 0              \
	}

#define STORM_WATCHDOG_MS 200 /* that ends what stalls */
#define STORM_RESCUE_S	  20

struct storm {
	const struct lab *lab;
	struct ring ring;
	struct leaf_routes *routes;
	struct pauses_guard *guard;
	struct flood_flow flow[RING_LEAVES];
	struct flood flood; /* of those flows */
};

struct ring_storm {
	struct storm storm;
	struct pauses from, to;	 /* before the flood, and after it */
	uint64_t sent, received; /* datagrams */
	uint64_t gap_ns;	 /* longest time in which a flow got nothing */
	uint64_t held_bytes;	 /* by switches after the flood */
	bool can_stand;		 /* buffers can wait for one another, and no watchdog ends that */
	bool stands, is_judged;
	double recovery_ms; /* NaN: nothing stood; infinite: not in STORM_RESCUE_S */
};

/* Calls measure between begin and end of a storm; the rows say what the fabric lacks. measure reads
 * from, runs storm.flood, and judges. */
int ring_storm_run(struct trial *t, double seconds,
		   int (*measure)(struct trial *t, struct ring_storm *s));
/* What the flood did; what it left is brought to an end. */
int ring_storm_judge(struct ring_storm *s);
/* RING_STORM_KPIS, and three whose names each draft has its own way. */
void ring_storm_add(struct trial *t, const struct ring_storm *s, const char *stands,
		    const char *can_stand, const char *recovery);

#endif
