/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * realtime.h - who measures, and the hand that breaks things, do not wait behind the traffic that
 * they are about.
 *
 * On a busy machine a process without priority waits for a core for milliseconds, at every step:
 * times that it takes, and faults that it makes, are late by that. What runs with this priority
 * sleeps nearly always. Owns: nothing.
 */
#ifndef REALTIME_H
#define REALTIME_H

/*
 * Gives the calling process SCHED_FIFO, above fared (SCHED_RR, 10) and below the kernel's own. 0 or
 * -errno (-EPERM).
 */
int realtime_take(void);

#endif
