/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stalls.h - when a core of this machine stalled.
 *
 * A process on every core, of a real-time priority that nothing else has, asks to be woken every 2
 * ms and notes when that was late. What kept it waiting kept everybody waiting: a hypervisor that
 * ran somebody else, or a kernel with its interrupts off. Load does not: it has a lower priority.
 * So times that software takes are separate from times that the machine took.
 *
 * Owns: the processes, and the logs that they write and one process reads. In: two moments. Out:
 * the longest stall between them. Moments are CLOCK_MONOTONIC nanoseconds. Thread: any, one at a
 * time. stalls_note() and stalls_longest_in() are pure.
 */
#ifndef STALLS_H
#define STALLS_H

#include <stdatomic.h>
#include <stdint.h>

#define STALLS_PERIOD_NS UINT64_C(2000000)
#define STALLS_LEAST_NS	 UINT64_C(1000000) /* shorter ones are not noted */
#define STALLS_KEPT	 16384		   /* of a core: half a minute's, were they ever so many */

struct stalls;

/* *out NULL on error: -EPERM (no privilege for real-time priority), -EAGAIN, -ENOMEM. */
int stalls_create(struct stalls **out);
void stalls_destroy(struct stalls *s); /* NULL is fine */

/*
 * How long a core stalled at most, of what lies between the moments; 0: none did. A stall is
 * known when it is over: a few milliseconds after to_ns is the time to ask.
 */
uint64_t stalls_longest_ns(const struct stalls *s, uint64_t from_ns, uint64_t to_ns);

struct stalls_log {
	_Atomic uint64_t n; /* ever */
	struct {
		uint64_t from_ns, to_ns;
	} stall[STALLS_KEPT];
};

void stalls_note(struct stalls_log *log, uint64_t due_ns, uint64_t now_ns);
uint64_t stalls_longest_in(const struct stalls_log *log, uint64_t from_ns, uint64_t to_ns);

#endif
