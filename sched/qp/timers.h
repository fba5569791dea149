/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timers.h - deadlines of many QPs, groups or paths in one heap.
 *
 * Owns the order of deadlines. In: deadlines that mostly move later (each acknowledgement restarts
 * one). Out: the earliest, and the timers that expired. Pure; one thread.
 *
 * Moving a deadline later costs one store: the heap keeps the earlier time and looks again when
 * that one comes.
 */
#ifndef QP_TIMERS_H
#define QP_TIMERS_H

#include <stddef.h>
#include <stdint.h>

struct timer {
	uint64_t when_ns;   /* 0: not wanted */
	uint64_t queued_ns; /* where it stands in the heap; <= when_ns, unless when_ns is 0 */
	size_t place;	    /* 1-based in the heap; 0: not in it */
};

struct timers {
	struct timer **heap; /* 1-based */
	size_t n, room;
};

void timers_init(struct timers *timers);
void timers_fini(struct timers *timers);
/* Makes room for n timers in all, so that setting one never fails. -ENOMEM. */
int timers_reserve(struct timers *timers, size_t n);

/* when_ns 0: off. The timer is borrowed until timers_remove(). Room must be reserved. */
void timers_set(struct timers *timers, struct timer *timer, uint64_t when_ns);
void timers_remove(struct timers *timers, struct timer *timer);

/* Takes one expired timer out, or NULL. It is off then. */
struct timer *timers_expire(struct timers *timers, uint64_t now_ns);
/* When to look again; 0: never. May be earlier than any real deadline. */
uint64_t timers_next(const struct timers *timers);

#endif
