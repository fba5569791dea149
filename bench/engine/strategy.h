/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strategy.h - the ways to spread traffic that are compared, all over the same transport.
 *
 * Owns: their names and what each asks of the group and of the routing. Pure. Thread: any.
 */
#ifndef STRATEGY_H
#define STRATEGY_H

#include <stdbool.h>

#include "qp/baseline.h"

enum strategy {
	/* the kernel's hash, equal weights (bgpd: bestpath bandwidth ignore); each message is cut
	 * evenly over all QPs, as NCCL does */
	STRATEGY_ECMP,
	STRATEGY_WECMP_KERNEL, /* the same, with FRR's weights */
	STRATEGY_FARE_FLOW,
	STRATEGY_FARE_SPRAY,
	STRATEGY_COMPARED, /* those above are compared unless others are named */
	STRATEGY_FARE_PACKET = STRATEGY_COMPARED, /* one order-free QP a plane */
	STRATEGY_ECMP_FLOW, /* each message goes to one QP, by a hash: independent flows */
	STRATEGY_ECMP_PULL, /* each message goes to the QP with the least outstanding */
	STRATEGY_WECMP_FLOW,
	STRATEGY_WECMP_PULL,
	STRATEGY_COUNT
};

const char *strategy_name(enum strategy strategy);
/* In a few words, for people. */
const char *strategy_what(enum strategy strategy);
int strategy_parse(const char *name); /* enum strategy, or -ENOENT */
enum fare_mode strategy_mode(enum strategy strategy);
enum fare_kernel_placement strategy_placement(enum strategy strategy);
/* true: the comparison holds only if the kernel's next hops have equal weights; else FRR's must be
 * there. */
bool strategy_equal_weights(enum strategy strategy);

#endif
