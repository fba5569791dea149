/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/strategy.h"

#include <errno.h>
#include <string.h>

static const char *const strategy_names[STRATEGY_COUNT] = {
	[STRATEGY_ECMP] = "ecmp-stripe",	[STRATEGY_WECMP_KERNEL] = "wecmp-stripe",
	[STRATEGY_FARE_FLOW] = "fare-flow",	[STRATEGY_FARE_SPRAY] = "fare-spray",
	[STRATEGY_FARE_PACKET] = "fare-packet", [STRATEGY_ECMP_FLOW] = "ecmp-flow",
	[STRATEGY_ECMP_PULL] = "ecmp-pull",	[STRATEGY_WECMP_FLOW] = "wecmp-flow",
	[STRATEGY_WECMP_PULL] = "wecmp-pull",
};

const char *strategy_name(enum strategy strategy)
{
	return strategy < STRATEGY_COUNT ? strategy_names[strategy] : "?";
}

const char *strategy_what(enum strategy strategy)
{
	static const char *const what[STRATEGY_COUNT] = {
		[STRATEGY_ECMP] = ("each message cut evenly over QPs that the kernel's hash "
				   "places, as is usual"),
		[STRATEGY_WECMP_KERNEL] = "the same, planes weighted by BGP's bandwidth",
		[STRATEGY_FARE_FLOW] = "FARE: each message goes whole to the plane that is due",
		[STRATEGY_FARE_SPRAY] = "FARE: messages are cut, and the parts spread over planes",
		[STRATEGY_FARE_PACKET] = "FARE: one QP a plane, packets in any order",
		[STRATEGY_ECMP_FLOW] = "each message goes to one QP, by a hash",
		[STRATEGY_ECMP_PULL] = "each message goes to the QP with the least under way",
		[STRATEGY_WECMP_FLOW] = "as ecmp-flow, planes weighted by BGP's bandwidth",
		[STRATEGY_WECMP_PULL] = "as ecmp-pull, planes weighted by BGP's bandwidth",
	};

	return strategy < STRATEGY_COUNT ? what[strategy] : "?";
}

int strategy_parse(const char *name)
{
	for (int i = 0; i < STRATEGY_COUNT; i++)
		if (strcmp(strategy_names[i], name) == 0)
			return i;
	return -ENOENT;
}

enum fare_mode strategy_mode(enum strategy strategy)
{
	return strategy == STRATEGY_FARE_PACKET	 ? FARE_MODE_PACKET
	       : strategy == STRATEGY_FARE_SPRAY ? FARE_MODE_SPRAY
	       : strategy == STRATEGY_FARE_FLOW	 ? FARE_MODE_FLOW
						 : FARE_MODE_KERNEL;
}

enum fare_kernel_placement strategy_placement(enum strategy strategy)
{
	return strategy == STRATEGY_ECMP_FLOW || strategy == STRATEGY_WECMP_FLOW ? FARE_KERNEL_HASH
	       : strategy == STRATEGY_ECMP_PULL || strategy == STRATEGY_WECMP_PULL
		       ? FARE_KERNEL_LEAST
		       : FARE_KERNEL_STRIPE;
}

bool strategy_equal_weights(enum strategy strategy)
{
	return strategy == STRATEGY_ECMP || strategy == STRATEGY_ECMP_FLOW ||
	       strategy == STRATEGY_ECMP_PULL;
}
