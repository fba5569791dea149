/* SPDX-License-Identifier: BSD-2-Clause */
/* dcqcn_model.h - what DCQCN settles at by its authors' fluid model. Pure. */
#ifndef DCQCN_MODEL_H
#define DCQCN_MODEL_H

#include <math.h>

#include "qp/soft/dcqcn.h"

/*
 * The share of packets that is marked at the fixed point of n flows, by Zhu et al. (CoNEXT 2016):
 * of the three equations for alpha, target and rate at rate C/n, which p solves them. For small p
 * it is the cube root of Rai n^2 / (t' C^2) (1/B + n/(TC))^2.
 */
static inline double dcqcn_model_marked(double line_bps, double packet_bytes, unsigned n)
{
	const struct dcqcn_config c = dcqcn_published(line_bps);
	double rate = line_bps / 8 / packet_bytes / n, rai = c.rai_bps / 8 / packet_bytes;
	double low = 1e-6, high = 0.5;
	double t = c.timer_ns / 1e9, b = c.bytes / packet_bytes, np = c.cnp_ns / 1e9;

	for (unsigned i = 0; i < 100; i++) {
		double p = sqrt(low * high), keep = 1 - p;
		double alpha = 1 - pow(keep, c.alpha_ns / 1e9 * rate);
		double cut = 1 - pow(keep, np * rate);
		double by_bytes = p / (pow(keep, -b) - 1), by_time = p / (pow(keep, -t * rate) - 1);
		double add = rai * rate *
			     (pow(keep, c.f * b) * by_bytes + pow(keep, c.f * t * rate) * by_time);
		double above = add * np / cut; /* target - rate */

		if (above / 2 * rate * (by_bytes + by_time) > rate * alpha / (2 * np) * cut)
			low = p;
		else
			high = p;
	}
	return low;
}

#endif
