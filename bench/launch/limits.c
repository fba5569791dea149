/* SPDX-License-Identifier: BSD-2-Clause */
#include "launch/limits.h"

#include <errno.h>

#include "base/address.h"

static const char *const limits_benchmark[] = {"198.18.0.0/15", "2001:db8::/32"};

static bool limits_holds(const struct limits_range *range, const struct in6_addr *address)
{
	for (unsigned bit = 0; bit < range->length; bit++) {
		unsigned mask = 0x80u >> bit % 8;

		if ((range->address.s6_addr[bit / 8] ^ address->s6_addr[bit / 8]) & mask)
			return false;
	}
	return true;
}

int limits_add_range(struct limits *limits, const char *text)
{
	struct limits_range range;

	if (address_prefix_parse(text, &range.address, &range.length))
		return -EINVAL;
	if (limits->n_ranges == LIMITS_MAX_RANGES)
		return -E2BIG;
	limits->range[limits->n_ranges++] = range;
	return 0;
}

bool limits_allow(const struct limits *limits, const struct in6_addr *address)
{
	struct limits_range range;

	for (unsigned i = 0; i < 2; i++)
		if (!address_prefix_parse(limits_benchmark[i], &range.address, &range.length) &&
		    limits_holds(&range, address))
			return true;
	for (unsigned i = 0; i < limits->n_ranges; i++)
		if (limits_holds(&limits->range[i], address))
			return true;
	return false;
}

uint64_t limits_wait_ns(const struct limits *limits, const struct limits_meter *meter,
			uint64_t now_ns)
{
	if (!limits->max_bps || meter->across_ns <= now_ns + LIMITS_BURST_NS)
		return 0;
	return meter->across_ns - LIMITS_BURST_NS;
}

void limits_sent(const struct limits *limits, struct limits_meter *meter, uint64_t now_ns,
		 uint64_t bytes)
{
	if (!limits->max_bps)
		return;
	if (meter->across_ns < now_ns)
		meter->across_ns = now_ns;
	meter->across_ns += (uint64_t)((double)bytes * 8e9 / (double)limits->max_bps);
}

bool limits_is_over(const struct limits *limits, uint64_t start_ns, uint64_t now_ns)
{
	return limits->max_run_ns && now_ns > start_ns && now_ns - start_ns > limits->max_run_ns;
}
