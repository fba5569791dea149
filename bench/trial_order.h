/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trial_order.h - in which order the trials of a scenario are made.
 *
 * Owns: nothing. In: strategies, repetitions, a seed's state; out: trials in random order, so that
 * what drifts on the machine meets all strategies alike. Pure. Thread: any.
 *
 * The kernel's next hops have either equal weights or FRR's, and to change them takes bgpd a while:
 * trials come in two halves, one per kind of weights, with one change between them. A strategy that
 * needs a kind has all its trials in that half; every other strategy has every second trial there.
 */
#ifndef TRIAL_ORDER_H
#define TRIAL_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/strategy.h"

#define TRIAL_ORDER_TESTS 2

struct trial_order {
	enum strategy strategy;
	unsigned test; /* below TRIAL_ORDER_TESTS */
	unsigned repetition;
};

/*
 * Fills out, which has room for STRATEGY_COUNT * TRIAL_ORDER_TESTS * n, and returns how many there
 * are. equal_first: which half comes first. *random is changed.
 */
unsigned trial_order_draw(const bool wanted[STRATEGY_COUNT], unsigned n, bool equal_first,
			  uint64_t *random, struct trial_order *out);

#endif
