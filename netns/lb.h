/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lb.h - how each leaf of a lab spreads what it forwards over equal next hops: its uplinks, and the
 * sub-ports of a server.
 *
 * Owns two numbers for each leaf in lab.json (lab_record.h), where a leaf is not as the topology
 * has it. In: a lab whose links exist. Out: programs at the ingress of every link of every leaf
 * (lb_program.h), or none if all leaves have the kernel's own hash: a hash that one leaf sets stays
 * with the packet, so the next one needs a program as well. 0 or -errno; -EOPNOTSUPP after saying
 * so. Single-threaded programs only.
 */
#ifndef LB_H
#define LB_H

#include "fault_state.h"
#include "lab.h"

/* A leaf's, whatever set it; the seed is never TOPOLOGY_EVERY. */
struct topology_lb lb_of(const struct lab *lab, unsigned leaf);
/* In force with the next lb_apply(). */
int lb_record(const struct lab *lab, unsigned leaf, const struct topology_lb *lb);
/*
 * As recorded. adaptive has the rates that the links have now; what comes by a link that drops
 * (gray) it sprays, for the packets that it places itself pass no further program.
 */
int lb_apply(const struct lab *lab, const struct fault_state *state);

#endif
