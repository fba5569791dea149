/* SPDX-License-Identifier: BSD-2-Clause */
#include "training/ramp.h"

#include <math.h>

#define PARTS_Z 2.73 /* 0.95^(1/8) of a part: 95% that all eight are within */

double ramp_share(unsigned part, double max)
{
	return part < TOPO_RAMP_PARTS ? max * (part + .5) / TOPO_RAMP_PARTS : 1;
}

struct ramp ramp_of(double packets, double marked, const double part_packets[TOPO_RAMP_PARTS + 1],
		    const double part_marked[TOPO_RAMP_PARTS + 1],
		    const double part_squares[TOPO_RAMP_PARTS + 1], double max)
{
	struct ramp r = {.below_packets = packets,
			 .below_marked = marked,
			 .above_packets = part_packets[TOPO_RAMP_PARTS],
			 .above_marked = part_marked[TOPO_RAMP_PARTS]};
	double worst = -INFINITY;

	for (unsigned i = 0; i <= TOPO_RAMP_PARTS; i++) {
		double n = part_packets[i], p = ramp_share(i, max), draws, off, allowed;

		r.below_packets -= n;
		r.below_marked -= part_marked[i];
		r.expected += n * p;
		if (n == 0 || i == TOPO_RAMP_PARTS)
			continue;
		r.met += n;
		off = fabs(part_marked[i] / n - p);
		draws = n * n / part_squares[i];
		allowed = max / (2 * TOPO_RAMP_PARTS) + PARTS_Z * sqrt(p * (1 - p) / draws);
		if (off - allowed <= worst)
			continue;
		worst = off - allowed;
		r.deviation = off;
		r.allowed = allowed;
	}
	return r;
}

double ramp_step_deviation(const struct ramp *r)
{
	if (r->above_packets == 0)
		return NAN;
	return fmax(r->below_packets > 0 ? r->below_marked / r->below_packets : 0,
		    1 - r->above_marked / r->above_packets);
}
