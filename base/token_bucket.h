/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * token_bucket.h - how often something may happen (pure).
 *
 * Owns nothing; embedded in its user, zeroed: full. In: the rate and the time. Out: whether it may.
 * One thread. The time need not advance, and a bucket of all zeros that is asked at time 0 is full,
 * too.
 */
#ifndef TOKEN_BUCKET_H
#define TOKEN_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

struct token_rate {
	double per_s, burst; /* burst >= 1: as many at once after a pause */
};

struct token_bucket {
	double spent; /* of the burst */
	uint64_t filled_ns;
};

static inline void token_bucket_fill(struct token_bucket *b, struct token_rate rate,
				     uint64_t now_ns)
{
	if (now_ns <= b->filled_ns)
		return;
	b->spent -= (double)(now_ns - b->filled_ns) * rate.per_s / 1e9;
	if (b->spent < 0)
		b->spent = 0;
	b->filled_ns = now_ns;
}

/* 0, and a token is gone; or in how many nanoseconds there will be one. */
static inline uint64_t token_bucket_wait_ns(struct token_bucket *b, struct token_rate rate,
					    uint64_t now_ns)
{
	token_bucket_fill(b, rate, now_ns);
	if (b->spent + 1 > rate.burst)
		return (uint64_t)((b->spent + 1 - rate.burst) * 1e9 / rate.per_s) + 1;
	b->spent++;
	return 0;
}

static inline bool token_bucket_take(struct token_bucket *b, struct token_rate rate,
				     uint64_t now_ns)
{
	return !token_bucket_wait_ns(b, rate, now_ns);
}

#endif
