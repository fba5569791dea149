/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fare_verdict.h - the one verdict that every path carries (docs/architecture.md).
 *
 * Exactly one per path, by the first rule of fared/path_rules.c that applies; an operator reads the
 * name.
 */
#ifndef FARE_VERDICT_H
#define FARE_VERDICT_H

enum fare_verdict {
	FARE_VERDICT_NO_ROUTE = 0,   /* BGP has no route to the peer over that plane */
	FARE_VERDICT_OK,	     /* usable at min(local, advertised) */
	FARE_VERDICT_ZERO_BANDWIDTH, /* advertised bandwidth is zero */
	FARE_VERDICT_LOCAL_DOWN,     /* no live local sub-port toward that plane */
	FARE_VERDICT_PROBE_DOWN,     /* probes across the plane fail */
	FARE_VERDICT_DRAINED,	     /* an operator took it out */
	FARE_VERDICT_RAMPING,	     /* recovering: usable at a fraction */
	FARE_VERDICT_STALE,	     /* usable, but its route source is away */
	FARE_VERDICT_NOT_INSTALLED,  /* BGP has it but zebra has not installed it */
	FARE_VERDICT_MTU,	     /* it passes only smaller packets than other planes do */
	FARE_VERDICT_COUNT
};

/* The verdict's name as operators see it ("no-route"); never NULL. */
const char *fare_verdict_name(enum fare_verdict verdict);

#endif
