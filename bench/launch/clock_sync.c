/* SPDX-License-Identifier: BSD-2-Clause */
#include "launch/clock_sync.h"

#include <errno.h>
#include <math.h>

#define CLOCK_MAX_NS (UINT64_C(1) << 62) /* so that differences fit, whatever was received */

int clock_offset_add(struct clock_offset *offset, const struct clock_exchange *e)
{
	uint64_t away, delay;

	if (e->asked > CLOCK_MAX_NS || e->taken > CLOCK_MAX_NS || e->given > CLOCK_MAX_NS ||
	    e->answered > CLOCK_MAX_NS || e->answered < e->asked || e->given < e->taken)
		return -EBADMSG;
	away = e->answered - e->asked;
	if (e->given - e->taken > away)
		return -EBADMSG;
	delay = away - (e->given - e->taken);
	if (offset->n == 0 || delay < offset->delay_ns) {
		offset->delay_ns = delay;
		/* halves first: the sum of both could be too large */
		offset->offset_ns = ((int64_t)e->taken - (int64_t)e->asked) / 2 +
				    ((int64_t)e->given - (int64_t)e->answered) / 2;
	}
	offset->n++;
	return 0;
}

double clock_offset_error_ns(const struct clock_offset *offset)
{
	return offset->n ? (double)offset->delay_ns / 2 + 1 : INFINITY;
}

double clock_offset_drift_ns(const struct clock_offset *before, const struct clock_offset *after)
{
	double first = clock_offset_error_ns(before), last = clock_offset_error_ns(after);
	double moved = fabs((double)after->offset_ns - (double)before->offset_ns);

	return fmax(first, last + moved);
}
