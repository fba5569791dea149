/* SPDX-License-Identifier: BSD-2-Clause */
#include "fare_verdict.h"

const char *fare_verdict_name(enum fare_verdict verdict)
{
	switch (verdict) {
	case FARE_VERDICT_NO_ROUTE:
		return "no-route";
	case FARE_VERDICT_OK:
		return "ok";
	case FARE_VERDICT_ZERO_BANDWIDTH:
		return "zero-bandwidth";
	case FARE_VERDICT_LOCAL_DOWN:
		return "local-down";
	case FARE_VERDICT_PROBE_DOWN:
		return "probe-down";
	case FARE_VERDICT_DRAINED:
		return "drained";
	case FARE_VERDICT_RAMPING:
		return "ramping";
	case FARE_VERDICT_STALE:
		return "stale";
	case FARE_VERDICT_NOT_INSTALLED:
		return "not-installed";
	case FARE_VERDICT_MTU:
		return "mtu";
	case FARE_VERDICT_COUNT:
		break;
	}
	return "unknown"; /* an index read from shared memory may be anything */
}
