/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lb_program.h - the BPF program by which a switch spreads what it forwards over equal next hops.
 *
 * Owns nothing. In: a mode, its seed or gap, a map of LB_SLOTS. Out: a loaded program for the
 * ingress of each of the switch's devices (tcx.h). It sets the packet's hash, and the kernel's own
 * multipath (policy 1) follows that; adaptive looks several next hops up and sends by the one whose
 * queue is shortest. What is no IPv4 or IPv6 is left to the kernel, as is what is for the switch
 * itself. A super-packet is one packet.
 */
#ifndef LB_PROGRAM_H
#define LB_PROGRAM_H

#include <stdint.h>

#include "topology.h"

#define LB_PROGRAM_SLOTS 4096 /* a power of two: flows by hash, or devices by index */

struct lb_program_slot {
	uint64_t time_ns; /* CLOCK_MONOTONIC: flowlet: last packet; adaptive: queue is empty then */
	uint64_t value; /* flowlet: its hash; adaptive: the device's rate in Mbit/s, 0: no queue */
};

/* map: LB_PROGRAM_SLOTS of struct lb_program_slot. A descriptor or -errno. */
int lb_program_load(const char *name, const struct topology_lb *lb, int map);

#endif
