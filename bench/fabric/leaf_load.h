/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * leaf_load.h - what the daemons of a lab's leaf switches use of the machine: table 6 of the
 * inference draft.
 *
 * Owns: nothing. In: /proc, the names of the leaves' network namespaces; out: processor time and
 * memory of the processes that are in each. Thread: any.
 */
#ifndef LEAF_LOAD_H
#define LEAF_LOAD_H

#include "fabric/topo.h"

struct leaf_load {
	uint64_t at_ns;
	uint64_t *cpu_ns, *rss_bytes; /* of each leaf */
};

/* -errno: a namespace, or /proc, cannot be read. On success the caller calls leaf_load_fini(). */
int leaf_load_read(struct leaf_load *load, const struct topo *topo);
void leaf_load_fini(struct leaf_load *load);

/* Of the busiest leaf between two readings, in percent of one core; of the largest one. */
double leaf_load_cpu_percent(const struct leaf_load *from, const struct leaf_load *to,
			     unsigned n_leaves);
double leaf_load_rss_bytes(const struct leaf_load *load, unsigned n_leaves);

#endif
