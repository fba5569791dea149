/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trial_guard.h - which trials count: those during which every core had idle time.
 *
 * Owns: how many were repeated. In: what was idle during a trial; out: whether it counts. Where a
 * core had none, the machine may have been the limit rather than the strategy. Pure. Thread: any.
 */
#ifndef TRIAL_GUARD_H
#define TRIAL_GUARD_H

#include <stdbool.h>

#include "core/cpu.h"

/*
 * A core that was idle for less had no idle time as far as can be known: /proc/stat counts ticks of
 * 10 ms, two readings differ by up to one that was not, and the shortest trial lasts 0.4 s.
 */
#define TRIAL_GUARD_PERCENT  2.5
#define TRIAL_GUARD_REASON   "a core was idle for less than 2.5% of the time"
#define TRIAL_GUARD_IN_A_ROW 5 /* so often is a trial repeated, and then the machine is too busy */

struct trial_guard {
	unsigned repeated; /* trials that did not count, in all */
	unsigned in_a_row; /* of the last ones */
};

/* Had a core no idle time? */
bool trial_guard_is_busy(const struct cpu_idle *idle);
/* 0: it counts. -EAGAIN: it does not; repeat it. -EBUSY: neither did those before it; give up. */
int trial_guard_judge(struct trial_guard *guard, const struct cpu_idle *idle);

#endif
