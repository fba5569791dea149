/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * uplinks.h - what the links of a lab's leaves to their spines carried while a trial measured.
 *
 * Owns: two readings of their counters. In: a fabric of two tiers; out: how evenly leaves used
 * them. Thread: the coordinator's.
 */
#ifndef UPLINKS_H
#define UPLINKS_H

#include <stdint.h>

#include "fabric/fabric.h"
#include "fabric/lab.h"

/* ---- the figures of section 8 of the training draft, and what hashed flows are expected to do.
 * Where several leaves send, MMR and JFI are means of leaves, each counted as often as it sent
 * bytes: how hosts divide traffic among planes does not matter. Pure. ---- */

struct link_balance {
	double mmr;	       /* bytes of the busiest link over the mean of its leaf */
	double jfi;	       /* (sum x)^2 / (n sum x^2) */
	double max, min, mean; /* bytes of a link */
	unsigned n;	       /* links of leaves that sent; 0: none did, and all else is NaN */
};

/* Between two readings of n uplinks; sends[leaf]: that leaf counts; NULL: all do. */
struct link_balance link_balance(const struct lab_uplink *from, const struct lab_uplink *to,
				 unsigned n, const bool *sends);
/* MMR and JFI to expect of so many equal flows (> 0), each on a leaf and a link of it by chance:
 * the mean of draws. With one leaf JFI is about flows / (links + flows - 1). */
struct link_balance link_balance_hashed(unsigned leaves, unsigned links, unsigned flows,
					uint64_t seed);

struct uplinks {
	const struct fabric *fabric;
	struct lab_uplink *from, *to;
	uint64_t from_ns, to_ns;
};

/* -ENOMEM; the caller calls uplinks_fini() whatever it returns. */
int uplinks_init(struct uplinks *u, const struct fabric *fabric);
void uplinks_fini(struct uplinks *u);
/* meanwhile of trial_measure(); arg: the struct uplinks. */
int uplinks_meanwhile(void *arg, uint64_t from_ns, uint64_t to_ns);

/* Bytes that a link carries between the readings, at most. */
double uplinks_full_bytes(const struct uplinks *u);
/* Of the leaves of which sends[leaf] is true. */
struct link_balance uplinks_balance(const struct uplinks *u, const bool *sends);
/* Of those that sent so much of what their links carry at least: who only receives sends
 * acknowledgements. n is 0: none did, or there is no memory. */
struct link_balance uplinks_balance_busy(const struct uplinks *u, double share);

#endif
