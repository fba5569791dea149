/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * expect.h - what a lab's BGP and kernels should say, given the faults in force.
 *
 * Owns nothing. In: faults. Out: ranges, because a gray link may or may not hold its BGP session.
 * Pure; any thread.
 */
#ifndef EXPECT_H
#define EXPECT_H

#include "fault_state.h"

struct expect_range {
	unsigned least, most;
};

/* Live sub-links of a GPU on a plane. */
struct expect_range expect_sub_links(const struct fault_state *f, struct plan_gpu gpu,
				     unsigned plane);
/*
 * Mbit/s that the leaf of a server announces to it for a peer on another server; most 0: no route.
 * With spines, what the peer's leaf announces to one, for each spine that both leaves reach.
 */
struct expect_range expect_announced(const struct fault_state *f, unsigned server,
				     struct plan_gpu peer, unsigned plane);

#endif
