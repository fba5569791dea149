/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * marking.h - ECN at a lab's leaves: every link's leaf end, at the lab's threshold (ecn.h).
 *
 * Owns nothing after it returns: the kernel does. In: a lab whose links exist. Out: programs
 * attached, at the rate that the link has now, and their counters. 0 or -errno; -EOPNOTSUPP after
 * saying so. Single-threaded programs only.
 */
#ifndef MARKING_H
#define MARKING_H

#include "ecn.h"
#include "lab.h"

/* Of all links, or of one; counters begin anew. rate_mbps: by number (plan.h). 0: none. */
int marking_apply(const struct lab *lab, const unsigned *rate_mbps);
int marking_apply_link(const struct lab *lab, unsigned number, unsigned rate_mbps);

/* Counters of all links of a leaf, by number; links without a program are left as they are. */
int marking_read(const struct lab *lab, struct plan_host leaf, struct ecn_counters *out);

#endif
