/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * limits.h - where benchmark traffic may go, how fast, and for how long (section 15 of the draft).
 *
 * Owns: nothing. In: what the operator of this host allows; out: verdicts. A sender asks by
 * himself, whatever the coordinator says. Pure. Thread: any.
 */
#ifndef LIMITS_H
#define LIMITS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#define LIMITS_MAX_RANGES 16
#define LIMITS_BURST_NS	  UINT64_C(10000000) /* that may be sent at once after a pause */

struct limits_range {
	struct in6_addr address; /* IPv4 as ::ffff:a.b.c.d; length then counts from 96 */
	uint8_t length;
};

struct limits {
	/* beside the ranges for benchmarks: 198.18.0.0/15 (RFC 2544) and 2001:db8::/32 (RFC 3849)
	 */
	struct limits_range range[LIMITS_MAX_RANGES];
	unsigned n_ranges;
	uint64_t max_bps;    /* payload that a GPU sends; 0: no limit */
	uint64_t max_run_ns; /* of traffic, from its start; 0: no limit */
};

/* "10.1.0.0/16"; -EINVAL: no prefix; -E2BIG: too many. */
int limits_add_range(struct limits *limits, const char *text);
bool limits_allow(const struct limits *limits, const struct in6_addr *address);

/* When a GPU may send again: the time at which what it has sent so far would be across. */
struct limits_meter {
	uint64_t across_ns;
};

/* 0: it may send now; else the time at which it may. */
uint64_t limits_wait_ns(const struct limits *limits, const struct limits_meter *meter,
			uint64_t now_ns);
void limits_sent(const struct limits *limits, struct limits_meter *meter, uint64_t now_ns,
		 uint64_t bytes);
/* Has traffic that began at start_ns run for longer than is allowed? */
bool limits_is_over(const struct limits *limits, uint64_t start_ns, uint64_t now_ns);

#endif
