/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * control_rate.h - how many requests of each user the daemon answers in a second (pure).
 *
 * Solely owns: a token bucket for each user that has asked of late. In: who asks, and `now`. Out:
 * whether that is answered, or how long it waits. Thread: any, one at a time. A user's bucket
 * outlives its connections: another one does not fill it.
 */
#ifndef CONTROL_RATE_H
#define CONTROL_RATE_H

#include <stdint.h>
#include <sys/types.h>

#include "base/token_bucket.h"

/*
 * A request takes the loop a millisecond at most (a page of rows): 300 a second are less than a
 * third of its time. The burst is all pages of 4,096 peers on four planes, twice.
 */
#define CONTROL_RATE_PER_S 300u
#define CONTROL_RATE_BURST 600u
#define CONTROL_RATE_USERS 128u /* as many as there may be clients */

struct control_rate {
	struct control_bucket {
		uid_t uid;
		bool is_used;
		struct token_bucket bucket;
	} buckets[CONTROL_RATE_USERS];
};

/* Takes a token and returns 0; or returns in how many nanoseconds there will be one. */
uint64_t control_rate_take(struct control_rate *r, uid_t uid, uint64_t now_ns);

#endif
