/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * faults.h - breaking a lab on purpose, and putting it right again.
 *
 * Owns no state (fault_state.h has it). In: an open lab and what to break. Out: links down, daemons
 * killed, drops and other rates put into the kernel, and the fault recorded. Each call takes the
 * lab's lock for its duration. Failing what has failed and healing what is well are no errors. 0,
 * or -errno after saying why.
 *
 * A fault is recorded after the kernel has it, and what was done of one that failed half-way, too.
 * So who is killed in between leaves one that no record has. To heal it by its name mends links,
 * switches and daemons all the same; drops (gray) after they were made once more.
 */
#ifndef FAULTS_H
#define FAULTS_H

#include "lab.h"

/* n links from number first on (plan.h). The leaf's end goes down: both lose carrier. */
int faults_links(struct lab *lab, unsigned first, unsigned n, bool fail);

/*
 * A switch. SIGKILL to its FRR and every link down; back: links up as they were, FRR
 * started anew, and it forwards, whatever stopped that.
 */
int faults_switch(struct lab *lab, struct plan_host host, bool fail);

/*
 * SIGKILL to one daemon; back: started anew. Beside a zebra that was started anew bgpd is killed
 * and started, too, as watchfrr does: it does not give its routes to another zebra. -EINVAL for
 * fared in a lab that was brought up without one.
 */
int faults_daemon(struct lab *lab, struct plan_host host, enum lab_daemon daemon, bool fail);

/*
 * fared reads its configuration anew, with another bgp.stale_s than before: so it starts its route
 * sources anew. Nothing, if it does not run. -EINVAL for a leaf, or a lab without fared.
 */
int faults_reload(struct lab *lab, struct plan_host host);

/*
 * Gray failure: the leaf's end drops that share of packets (parts per million, at random,
 * independently) with carrier up; UINT_MAX leaves a direction as it is. Dropped before the shaper;
 * a super-packet counts as one. Of a leaf: all its links.
 */
int faults_gray_link(struct lab *lab, unsigned number, unsigned from_leaf_ppm,
		     unsigned to_leaf_ppm);
int faults_gray_leaf(struct lab *lab, struct plan_host leaf, unsigned from_leaf_ppm,
		     unsigned to_leaf_ppm);

/* Another rate for both ends of a link, which neither BGP nor fared is informed of; 0: unshaped. */
int faults_throttle(struct lab *lab, unsigned number, unsigned rate_mbps);
/*
 * Another speed of a sub-link, as if its ports had negotiated it: the shapers at both ends, what
 * the server announces, its fared's speed_mbps. -EINVAL where BGP does not carry rates
 * (announce_rates), or if it cannot carry that one.
 */
int faults_rate(struct lab *lab, unsigned number, unsigned rate_mbps);
/*
 * Another rate for the lab as a whole, as if its topology file had it: every link, whatever rate it
 * had; fared's speed_mbps and bandwidth_scale, with a reload; BGP where it carries rates. -EINVAL
 * where rates differ, or there are spines.
 */
int faults_rate_all(struct lab *lab, unsigned rate_mbps);

/* Another ecn_threshold_kb, as if the topology file had it; the counters begin anew. */
int faults_ecn(struct lab *lab, unsigned threshold_kb);

/* How n leaves from number first on spread what they forward, as if the topology had it. */
int faults_lb(struct lab *lab, unsigned first, unsigned n, const struct topology_lb *lb);

#endif
