/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fluid.h - a fabric as fluid: flows share links max-min fairly, and finish.
 *
 * Owns: the links and flows given to it. In: capacities (bit/s), flows (weight, bytes, links
 * crossed); out: rates and finishing times. Pure: no clock, no randomness; time here is the fluid's
 * own. Thread: one per solver.
 *
 * Rates come from progressive filling: all unfrozen flows rise together, each at its weight's pace;
 * the link that fills first freezes the flows that cross it; repeat. Whenever a flow finishes,
 * rates are solved anew: exactly, but no more of them than can change, and only among flows that
 * share links, directly or through others.
 */
#ifndef FLUID_H
#define FLUID_H

#include <stddef.h>

struct fluid;

int fluid_create(struct fluid **out);	 /* -ENOMEM */
void fluid_destroy(struct fluid *fluid); /* NULL is fine */

/* Both return the new index (>= 0), -EINVAL (negative or non-finite number, unknown link, no link),
 * -E2BIG (more than 2^31 of a kind) or -ENOMEM. */
int fluid_add_link(struct fluid *fluid, double capacity_bps);
/* links: n_links indices, copied. weight > 0. bytes >= 0; a flow of 0 bytes is finished at
 * 0. */
int fluid_add_flow(struct fluid *fluid, double weight, double bytes, const int *links,
		   size_t n_links);

/*
 * Flows that end within ppm (millionths of the time since the start) after the next one to end keep
 * their rates until the last of them has ended: fewer events, and never a flow too early, but late
 * ones. On one link of k equal flows the end is late by no more than ppm (1 + ln k): while e of the
 * k that are left end together, at most e / k of the link stands idle for that long, and the sum of
 * 1/k, 1/(k-1), ... is below 1 + ln k. Over several links there is no such proof, but the man
 * page's measurements. 0, the default, is exact. -EINVAL: not within 0..1,000,000.
 */
int fluid_merge_ppm(struct fluid *fluid, double ppm);

/* Sets the max-min rates of all flows that still have bytes. -ENOMEM. */
int fluid_solve(struct fluid *fluid);

/* Lets everything finish. *finish_s: when the last flow did. -ENETUNREACH: a flow crosses a link of
 * capacity 0. -ENOMEM. */
int fluid_run(struct fluid *fluid, double *finish_s);

double fluid_rate_bps(const struct fluid *fluid, int flow); /* once solved */
double fluid_finish_s(const struct fluid *fluid, int flow); /* negative while unfinished */
/* How many times fluid_run() has solved rates anew because flows ended. */
size_t fluid_events(const struct fluid *fluid);

#endif
