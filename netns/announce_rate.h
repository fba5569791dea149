/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * announce_rate.h - a speed that changed, announced to BGP and fared.
 *
 * Owns nothing. In: a lab under its lock, and the rate that each link now is said to have. Out: the
 * servers' bgpd.conf and running bgpds, where BGP carries rates; their fared.yaml, and a reload of
 * each fared that runs. Single-threaded programs only.
 */
#ifndef ANNOUNCE_RATE_H
#define ANNOUNCE_RATE_H

#include "lab.h"

/* announced_mbps: of every link, by its number (plan.h). One sub-link. 0 or -errno. */
int announce_rate_of(const struct lab *lab, unsigned number, const unsigned *announced_mbps);
/* All sub-links. */
int announce_rate_all(const struct lab *lab, const unsigned *announced_mbps);

#endif
