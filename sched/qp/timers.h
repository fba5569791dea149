/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timers.h - deadlines of many QPs, groups or paths in one heap.
 *
 * Owns the order of deadlines; zeroed: none. In: deadlines, which mostly move later, because each
 * acknowledgement restarts one. Out: the earliest one, and the timers that expired. Pure; one
 * thread.
 *
 * Moving a deadline later costs one store: the timer keeps its place in the heap, and is moved when
 * its earlier time has come.
 */
#ifndef QP_TIMERS_H
#define QP_TIMERS_H

#include <stddef.h>
#include <stdint.h>

struct timer {
	uint64_t when_ns;   /* 0: off */
	uint64_t queued_ns; /* key of its place in the heap; <= when_ns, unless when_ns is 0 */
	size_t place;	    /* index in the heap, from 1; 0: not in the heap */
};

struct timers {
	struct timer **heap; /* indices from 1 */
	size_t n, room;
};

void timers_fini(struct timers *timers);
/* Makes room for n timers in all, so that timers_set() cannot fail. 0 or -ENOMEM. */
int timers_reserve(struct timers *timers, size_t n);

/* when_ns 0: off. The timer is borrowed until timers_remove(). Room must be reserved. */
void timers_set(struct timers *timers, struct timer *timer, uint64_t when_ns);
void timers_remove(struct timers *timers, struct timer *timer);

/* Removes one expired timer and returns it; it is off then. NULL: none has expired. */
struct timer *timers_expire(struct timers *timers, uint64_t now_ns);
/* When to call timers_expire() again; 0: never. May be earlier than the earliest deadline. */
uint64_t timers_next(const struct timers *timers);

#endif
