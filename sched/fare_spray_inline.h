/*
 * fare_spray_inline.h - the pick of fare.h without a call: for loops that send a packet every few
 * nanoseconds.
 *
 * Owns: nothing. struct fare_spray begins with struct fare_spray_head, which only libfare writes
 * but for `at`. A pick is one load of a shared immutable schedule, and one load of the word by
 * which the daemon says that the pair's paths changed. Thread: as for struct fare_spray, one at a
 * time.
 */
#ifndef FARE_SPRAY_INLINE_H
#define FARE_SPRAY_INLINE_H

#include "fare.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fare_spray_head {
	const uint8_t *at, *end; /* units to come: plane << 3 | sub-port */
	const uint64_t *word;	 /* in the daemon's segment */
	uint64_t seen;		 /* its value when the units were made */
};

/* Exactly fare_spray_next(). */
static inline int fare_spray_pick(struct fare_spray *spray, struct fare_slot *out)
{
	struct fare_spray_head *head = (struct fare_spray_head *)(void *)spray;

	if (__builtin_expect(head->at != head->end &&
				     __atomic_load_n(head->word, __ATOMIC_ACQUIRE) == head->seen,
			     1)) {
		uint8_t unit = *head->at++;

		out->plane = unit >> 3;
		out->sub_port = unit & 7;
		return 0;
	}
	return fare_spray_next(spray, out);
}

#ifdef __cplusplus
}
#endif

#endif
