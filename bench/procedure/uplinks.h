/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * uplinks.h - what the links of a lab's leaves to their spines carried while a trial measured.
 *
 * Owns: two readings of their counters. In: a fabric of two tiers; out: how evenly leaves used
 * them. Thread: the coordinator's.
 */
#ifndef UPLINKS_H
#define UPLINKS_H

#include "fabric/fabric.h"
#include "procedure/link_balance.h"

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
