/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ramp.h - packets that were marked by the queue that they met, against the closed form of RED.
 *
 * Owns: nothing; pure. In: packets and marked ones, all and by part of the ramp (topo.h); out: how
 * far they are from P(q) = Pmax (q - Kmin) / (Kmax - Kmin), and what chance allows. Thread: any.
 */
#ifndef RAMP_H
#define RAMP_H

#include "fabric/topo.h"

struct ramp {
	double below_packets, below_marked; /* below the threshold */
	double above_packets, above_marked; /* above the ramp */
	double met;			    /* packets within it */
	double expected;		    /* marked ones, all parts */
	/* of the part that is furthest from its closed form beyond what is allowed there; shares */
	double deviation, allowed;
};

/* Share that is marked in the middle of that part; max: at the ramp's end. */
double ramp_share(unsigned part, double max);
struct ramp ramp_of(double packets, double marked, const double part_packets[TOPO_RAMP_PARTS + 1],
		    const double part_marked[TOPO_RAMP_PARTS + 1],
		    const double part_squares[TOPO_RAMP_PARTS + 1], double max);
/* Of a threshold without a ramp, where the closed form is a step: the larger share of packets on
 * the wrong side, marked below it or unmarked above it. NaN: none met a queue above it. */
double ramp_step_deviation(const struct ramp *r);

#endif
