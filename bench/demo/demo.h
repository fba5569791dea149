/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo.h - the demonstration: what its tests share, and the command.
 *
 * Owns: nothing. In: a topology; out: who suffers by which fault, the traffic. Thread: the
 * coordinator's.
 */
#ifndef DEMO_H
#define DEMO_H

#include <jansson.h>

#include "engine/ep.h"
#include "suite/trial.h"

#define DEMO_PLANE     1 /* the one that suffers */
#define DEMO_EXIT_BUSY 3 /* the machine is too slow or too busy: there are no figures */
#define DEMO_FAULTS    "sub-port-lost,plane-lost,leaf-dead"

/* Receives the KV transfer, and suffers: the first GPU of another server than GPU 0's. */
unsigned demo_victim(const struct topo *topo);
/* `farelab fail|heal LAB ...`; "" if the scenario is a healthy fabric. */
void demo_spec(const struct topo *topo, const char *scenario, char *out, size_t size);

/* Adds KV transfers of small messages to the plan, many under way: what a fault does is seen at
 * once. */
void demo_kv(const struct trial *t, struct plan *plan);
/* All-to-all of a size that rounds take as long at any rate. */
struct ep_options demo_ep(const struct topo *topo, enum strategy strategy);
/* A cluster whose memory suffices for all of the demonstration. */
int demo_cluster(struct fabric *fabric);

/*
 * Finds the rate at which this machine has time to spare and puts it in force. *out: {"given_mbps",
 * "sub_port_mbps", ..., "steps": [...]}. -EBUSY, after saying why: there is none (even_busy: the
 * slowest then). The caller gives the lab back what it came with: demo_rate_restore().
 */
int demo_rate(const char *lab, const bool *wanted, bool even_busy, json_t **out);
int demo_rate_restore(const char *lab, const json_t *rate);

/* `farebench demo ...` */
int demo_main(int argc, char **argv);

/* ---- at which link rate this machine has time to spare. Every next rate is lower, so the search
 * ends. Pure. ---- */

/*
 * The cost of traffic is taken as proportional to what arrives: true of copies, checksums and
 * interrupts, too high where probes give way to data. A rate that follows from it is measured again
 * before it holds.
 */

#define RATE_SEARCH_IDLE_PERCENT 30. /* of the machine: what a rate must leave */
#define RATE_SEARCH_AIM_PERCENT	 35. /* what the next one is to: readings differ by a few percent */

struct rate_step {
	unsigned mbps;	     /* of a sub-port */
	double idle_percent; /* of the machine, under the heaviest traffic at that rate */
	double core_percent; /* idle share of the busiest core meanwhile */
	double of_optimum;   /* what arrived of what the links carry at that rate, 0..1 */
};

enum rate_verdict {
	RATE_HOLDS,
	RATE_LOWER,    /* *next_mbps is to be tried */
	RATE_TOO_SLOW, /* not even the slowest useful rate holds */
};

/*
 * The slowest useful rate of a sub-port, where as many peers send to one GPU at once. Below it the
 * windows of all of them take longer than 100 ms in the leaf's queue: 192 KiB a sub-port and peer
 * (fare.h), against the most that fared's prober grants to queues. Full queues would be taken for
 * faults. The probes themselves (0.29 Mb/s a sub-port and peer at 10 ms and two sub-ports) then
 * take 2% of the link, half of what spray may miss of the optimum.
 */
unsigned rate_search_slowest_mbps(unsigned peers);

/* unloaded_percent: what is idle without traffic. */
enum rate_verdict rate_search_next(const struct rate_step *step, double unloaded_percent,
				   unsigned slowest_mbps, unsigned *next_mbps);

#endif
