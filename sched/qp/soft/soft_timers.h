/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft_timers.h - deadlines of many QPs in one heap.
 *
 * Owns the order of deadlines. In: deadlines that mostly move later (each acknowledgement restarts
 * one). Out: the earliest, and the timers that expired. Pure; the endpoint's thread.
 *
 * Moving a deadline later costs one store: the heap keeps the earlier time and looks again when
 * that one comes.
 */
#ifndef SOFT_TIMERS_H
#define SOFT_TIMERS_H

#include <stddef.h>
#include <stdint.h>

struct soft_timer {
	uint64_t when_ns;   /* 0: not wanted */
	uint64_t queued_ns; /* where it stands in the heap; <= when_ns, unless when_ns is 0 */
	size_t place;	    /* 1-based in the heap; 0: not in it */
};

struct soft_timers {
	struct soft_timer **heap; /* 1-based */
	size_t n, room;
};

void soft_timers_init(struct soft_timers *timers);
void soft_timers_fini(struct soft_timers *timers);
/* Makes room for n timers in all, so that setting one never fails. -ENOMEM. */
int soft_timers_reserve(struct soft_timers *timers, size_t n);

/* when_ns 0: off. The timer is borrowed until soft_timers_remove(). Room must be reserved. */
void soft_timers_set(struct soft_timers *timers, struct soft_timer *timer, uint64_t when_ns);
void soft_timers_remove(struct soft_timers *timers, struct soft_timer *timer);

/* Takes one expired timer out, or NULL. It is off then. */
struct soft_timer *soft_timers_expire(struct soft_timers *timers, uint64_t now_ns);
/* When to look again; 0: never. May be earlier than any real deadline. */
uint64_t soft_timers_next(const struct soft_timers *timers);

#endif
