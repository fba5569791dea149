/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * faults.h - breaking a lab on purpose, and putting it right again.
 *
 * Owns no state (fault_state.h has it). In: an open lab and what to break. Out: links down, daemons
 * killed, drops and other rates put into the kernel, and the fault recorded. Each call takes the
 * lab's lock for its duration. Failing what has failed and healing what is well are no errors. 0,
 * or -errno after saying why.
 */
#ifndef FAULTS_H
#define FAULTS_H

#include "lab.h"

/* sub of FAULTS_ALL_SUBS: the GPU's whole port on that plane. The leaf's end goes down: both lose
 * carrier. */
#define FAULTS_ALL_SUBS ~0u
int faults_links(struct lab *lab, struct plan_gpu gpu, unsigned plane, unsigned sub, bool fail);

/*
 * SIGKILL to its FRR and every link down; back: links up as they were, FRR started anew, and it
 * forwards, whoever stopped that.
 */
int faults_leaf(struct lab *lab, unsigned plane, bool fail);

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
 * a super-packet counts as one.
 */
int faults_gray_link(struct lab *lab, struct plan_gpu gpu, unsigned plane, unsigned sub,
		     unsigned from_leaf_ppm, unsigned to_leaf_ppm);
int faults_gray_leaf(struct lab *lab, unsigned plane, unsigned from_leaf_ppm, unsigned to_leaf_ppm);

/* Another rate for both ends of a sub-link; 0: unshaped. */
int faults_rate(struct lab *lab, struct plan_gpu gpu, unsigned plane, unsigned sub,
		unsigned rate_mbps);
/*
 * Another rate for the lab as a whole, as if its topology file had it: every sub-link, whatever
 * rate it had; fared's speed_mbps and bandwidth_scale, with a reload. BGP's weights are ratios and
 * stay.
 */
int faults_rate_all(struct lab *lab, unsigned rate_mbps);

#endif
