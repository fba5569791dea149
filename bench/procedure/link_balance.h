/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * link_balance.h - how evenly leaves use their uplinks, and what hashed flows are expected to do.
 *
 * Owns: nothing; pure. In: bytes of each uplink at two moments, which leaves send; out: the figures
 * of section 8 of the training draft. Where several leaves send, MMR and JFI are means of leaves,
 * each counted as often as it sent bytes: how hosts divide traffic among planes does not matter.
 * Thread: any.
 */
#ifndef LINK_BALANCE_H
#define LINK_BALANCE_H

#include <stdint.h>

#include "fabric/lab.h"

struct link_balance {
	double mmr;	       /* bytes of the busiest link over the mean of its leaf */
	double jfi;	       /* (sum x)^2 / (n sum x^2) */
	double max, min, mean; /* bytes of a link */
	unsigned n;	       /* links of leaves that sent; 0: none did, and all else is NaN */
};

/* Between two readings of n uplinks; sends[leaf]: that leaf counts. */
struct link_balance link_balance(const struct lab_uplink *from, const struct lab_uplink *to,
				 unsigned n, const bool *sends);
/* MMR and JFI to expect of so many equal flows (> 0), each on a leaf and a link of it by chance:
 * the mean of draws. With one leaf JFI is about flows / (links + flows - 1). */
struct link_balance link_balance_hashed(unsigned leaves, unsigned links, unsigned flows,
					uint64_t seed);

#endif
