/* SPDX-License-Identifier: BSD-2-Clause */
#include "suite/trial_guard.h"

#include <errno.h>

bool trial_guard_is_busy(const struct cpu_idle *idle)
{
	return idle->busiest_core_percent < TRIAL_GUARD_PERCENT;
}

int trial_guard_judge(struct trial_guard *guard, const struct cpu_idle *idle)
{
	if (!trial_guard_is_busy(idle)) {
		guard->in_a_row = 0;
		return 0;
	}
	if (guard->in_a_row == TRIAL_GUARD_IN_A_ROW)
		return -EBUSY;
	guard->in_a_row++;
	guard->repeated++;
	return -EAGAIN;
}
