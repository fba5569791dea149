/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strategy.h - the ways to spread traffic that are compared, all over the same transport.
 *
 * Owns: their names and what each asks of the group and of the routing. Pure. Thread: any.
 */
#ifndef STRATEGY_H
#define STRATEGY_H

#include <stdbool.h>

#include "fare.h"

enum strategy {
	STRATEGY_ECMP, /* the kernel's hash, equal weights (bgpd: bestpath bandwidth ignore) */
	STRATEGY_WECMP_KERNEL, /* the kernel's hash, FRR's weights */
	STRATEGY_FARE_FLOW,
	STRATEGY_FARE_SPRAY,
	STRATEGY_COMPARED, /* those above are compared unless others are named */
	STRATEGY_FARE_PACKET = STRATEGY_COMPARED, /* one order-free QP a plane */
	STRATEGY_COUNT
};

const char *strategy_name(enum strategy strategy);
int strategy_parse(const char *name); /* enum strategy, or -ENOENT */
enum fare_mode strategy_mode(enum strategy strategy);
/* true: the comparison holds only if the kernel's next hops have equal weights; else FRR's must be
 * there. */
bool strategy_equal_weights(enum strategy strategy);

#endif
