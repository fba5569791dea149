/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/realtime.h"

#include <errno.h>
#include <sched.h>

#define PRIORITY 50 /* the kernel's threads that keep time have more */

int realtime_take(void)
{
	const struct sched_param priority = {.sched_priority = PRIORITY};

	return sched_setscheduler(0, SCHED_FIFO, &priority) ? -errno : 0;
}
