/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fare_spray_inline.h - the pick of fare.h without a call: for loops that send a packet every few
 * nanoseconds.
 *
 * Owns: nothing. struct fare_spray is a head of 32 bytes, which only libfare writes but for `at`. A
 * pick is one load of a shared immutable schedule, whose units are slots as the caller gets them,
 * and one load of the word by which the daemon says that the pair's paths changed: all that it
 * touches of a destination are its head and its word. The heads of a struct fare lie side by side,
 * and so do the words of all pairs, so that thousands of destinations stay in the nearest caches.
 * Thread: as for struct fare_spray, one at a time.
 */
#ifndef FARE_SPRAY_INLINE_H
#define FARE_SPRAY_INLINE_H

#include "fare.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FARE_SPRAY_END 0xffff /* no plane: the schedule's end */

struct fare_spray_body; /* libfare's */

struct fare_spray_head {
	const struct fare_slot *at; /* units to come; plane FARE_SPRAY_END after the last */
	const uint64_t *word;	    /* in the daemon's segment */
	uint64_t seen;		    /* its value when the units were made */
	struct fare_spray_body *body;
};

/*
 * fare_spray_next(), by this layout of the head. A release with another layout has no such symbol:
 * a program built with this header is not loaded with it, instead of reading what is not there.
 */
int fare_spray_next_1(struct fare_spray *spray, struct fare_slot *out);

/*
 * Exactly fare_spray_next(); but in a child of fork() it goes on to the schedule's end, as it
 * touches nothing that others see.
 */
static inline int fare_spray_pick(struct fare_spray *spray, struct fare_slot *out)
{
	struct fare_spray_head *head = (struct fare_spray_head *)(void *)spray;
	const struct fare_slot *at = head->at;
	const struct fare_slot slot = *at;

	if (__builtin_expect(__atomic_load_n(head->word, __ATOMIC_ACQUIRE) != head->seen, 0) ||
	    __builtin_expect(slot.plane == FARE_SPRAY_END, 0))
		return fare_spray_next_1(spray, out);
	head->at = at + 1;
	*out = slot;
	return 0;
}

#ifdef __cplusplus
}
#endif

#endif
