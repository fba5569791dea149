/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tell_rate.h - a speed that changed, told to those whom a port's speed concerns.
 *
 * Owns nothing. In: a lab under its lock, and the rate that each link now is said to have. Out: the
 * servers' bgpd.conf and running bgpds, where BGP carries rates; their fared.yaml, and a reload of
 * each fared that runs. Single-threaded programs only.
 */
#ifndef TELL_RATE_H
#define TELL_RATE_H

#include "lab.h"

/* told_mbps: of every link, by its number (plan.h). One sub-link. 0 or -errno. */
int tell_rate_of(const struct lab *lab, unsigned number, const unsigned *told_mbps);
/* All sub-links. */
int tell_rate_all(const struct lab *lab, const unsigned *told_mbps);

#endif
