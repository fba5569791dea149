/* SPDX-License-Identifier: BSD-2-Clause */
#include "control_rate.h"

#include <stddef.h>

static const struct token_rate rate = {CONTROL_RATE_PER_S, CONTROL_RATE_BURST};

/* The user's; or a free one; or the fullest, whose loss gives its user least. */
static struct control_bucket *control_rate_find(struct control_rate *r, uid_t uid, uint64_t now_ns)
{
	struct control_bucket *best = NULL;

	for (unsigned i = 0; i < CONTROL_RATE_USERS; i++) {
		struct control_bucket *b = &r->buckets[i];

		if (b->is_used && b->uid == uid)
			return b;
		token_bucket_fill(&b->bucket, rate, now_ns);
		if (!best ||
		    (best->is_used && (!b->is_used || b->bucket.spent < best->bucket.spent)))
			best = b;
	}
	*best = (struct control_bucket){.uid = uid, .is_used = true};
	return best;
}

uint64_t control_rate_take(struct control_rate *r, uid_t uid, uint64_t now_ns)
{
	return token_bucket_wait_ns(&control_rate_find(r, uid, now_ns)->bucket, rate, now_ns);
}
