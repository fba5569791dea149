/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pause_depth.h - how far pauses spread from switch to switch.
 *
 * Owns: nothing; pure. In: a lab's topology, its ports' counters before and after; out: links.
 * Thread: any.
 */
#ifndef PAUSE_DEPTH_H
#define PAUSE_DEPTH_H

#include "fabric/pauses.h"

/*
 * Links from a switch that paused a neighbour to the farthest that was paused by way of others that
 * were, the shortest of ways; 0: nobody was paused. A pause that came from a switch itself paused
 * counts as spread by it. -EBADMSG: a port that the topology does not have; -ENOMEM.
 */
int pause_depth(const struct topo *topo, const struct pauses *from, const struct pauses *to,
		unsigned *hops);

#endif
