/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * growth.h - whether the daemons of a lab grow while it is disturbed.
 *
 * Owns: a sample a second of memory and descriptors of all daemons together, GROWTH_MAX at most.
 * In: `now`. Out: slopes by least squares, as KPIs of a trial. Where a daemon was killed, memory of
 * before and after are two things: no slope is reported. Thread: one.
 */
#ifndef GROWTH_H
#define GROWTH_H

#include "fabric/topo.h"
#include "procedure/soak.h"

#define GROWTH_MAX 7200u

struct growth {
	const struct topo *topo;
	bool ended; /* a daemon that ran at first does not any more */
	uint64_t next_ns;
	unsigned n;
	double at_h[GROWTH_MAX], memory_kib[GROWTH_MAX], descriptors[GROWTH_MAX];
};

/* NULL: no memory. The topology is borrowed. */
struct growth *growth_create(const struct topo *topo);
void growth_destroy(struct growth *g);
/* Takes a sample if one is due. */
void growth_sample(struct growth *g, uint64_t now_ns);
/*
 * The KPIs "slope_fared" (KiB/h of each daemon), "slope_descriptors" (1/h of each), "fared_memory"
 * (KiB of each, at the end). The first quarter is left out: tables fill up then.
 */
void growth_add(const struct growth *g, struct trial *t);

#endif
