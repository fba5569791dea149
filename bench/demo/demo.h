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

#endif
