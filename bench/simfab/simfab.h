/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * simfab.h - collectives on a simulated fabric: the same figures as measured ones have.
 *
 * Owns: nothing; pure. In: a fabric by its numbers (clos.h), a collective; out: its time, BusBW,
 * JCT ratio, balance of uplinks. A collective is what its algorithm sends in all, at once: rounds
 * do not wait for each other, and computing takes no time. Thread: any.
 */
#ifndef SIMFAB_H
#define SIMFAB_H

#include "simfab/clos.h"
#include "workload/collective.h"

struct simfab_result {
	double seconds, busbw_bps;
	double jct_ratio; /* over the time of its bytes at line_bps */
	struct clos_uplinks uplinks;
};

/* All of a rank's ports. */
double simfab_line_bps(const struct clos *clos);
/* line_bps: on the wire, where plane_bps is that of payload. -errno as clos_load_create(). */
int simfab_collective(const struct clos *clos, enum collective c, uint64_t bytes, double line_bps,
		      struct simfab_result *out);

/* `farebench simulate` (simulate.c): tables or JSON in which every row says "simulated". */
int simulate_main(int argc, char **argv);

#endif
