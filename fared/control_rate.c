/* SPDX-License-Identifier: BSD-2-Clause */
/* control_rate.c - see control_rate.h */
#include "control_rate.h"

#include <stddef.h>

#define NS_PER_TOKEN (1e9 / CONTROL_RATE_PER_S)

static void fill(struct control_bucket *b, uint64_t now_ns)
{
	if (now_ns <= b->filled_ns)
		return;
	b->tokens += (double)(now_ns - b->filled_ns) / NS_PER_TOKEN;
	if (b->tokens > CONTROL_RATE_BURST)
		b->tokens = CONTROL_RATE_BURST;
	b->filled_ns = now_ns;
}

/* The user's; or a free one; or the fullest, whose loss gives its user least. */
static struct control_bucket *find(struct control_rate *r, uid_t uid, uint64_t now_ns)
{
	struct control_bucket *best = NULL;

	for (unsigned i = 0; i < CONTROL_RATE_USERS; i++) {
		struct control_bucket *b = &r->buckets[i];

		if (b->filled_ns && b->uid == uid)
			return b;
		if (b->filled_ns)
			fill(b, now_ns);
		else
			b->tokens = CONTROL_RATE_BURST;
		if (!best || b->tokens > best->tokens)
			best = b;
	}
	*best = (struct control_bucket){uid, CONTROL_RATE_BURST, now_ns ? now_ns : 1};
	return best;
}

uint64_t control_rate_take(struct control_rate *r, uid_t uid, uint64_t now_ns)
{
	struct control_bucket *b = find(r, uid, now_ns);

	fill(b, now_ns);
	if (b->tokens < 1)
		return (uint64_t)((1 - b->tokens) * NS_PER_TOKEN) + 1;
	b->tokens--;
	return 0;
}
