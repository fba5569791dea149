/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * leaf_load.h - what the daemons of a lab's switches use and lose: table 6 of the inference draft,
 * table 7 of the training draft.
 *
 * Owns: nothing. In: what `farelab counters` and bgpd say (JSON, every member checked); out: time
 * and memory of each switch's daemons, sessions that ended. Thread: any that may run commands.
 */
#ifndef LEAF_LOAD_H
#define LEAF_LOAD_H

#include "fabric/lab.h"

struct leaf_load {
	uint64_t at_ns;
	uint64_t *cpu_ns, *rss_bytes; /* of each leaf, then each spine, then each superspine */
	bool knows_sessions;
	uint64_t dropped; /* BGP sessions of all leaves that ended, since their daemons began */
};

/* -errno; on success the caller calls leaf_load_fini(). */
int leaf_load_read(struct leaf_load *load, const struct topo *topo, const struct lab *lab);
/* The same of a text that is there. -EBADMSG. */
int leaf_load_parse(struct leaf_load *load, const struct topo *topo, const char *counters);
void leaf_load_fini(struct leaf_load *load);

/* So many switches there are. */
unsigned leaf_load_switches(const struct topo *topo);
/* Of the busiest of the first n between two readings, in percent of one core; of the largest. */
double leaf_load_cpu_percent(const struct leaf_load *from, const struct leaf_load *to, unsigned n);
double leaf_load_rss_bytes(const struct leaf_load *load, unsigned n);

#endif
