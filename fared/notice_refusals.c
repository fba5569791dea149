/* SPDX-License-Identifier: BSD-2-Clause */
/* notice_refusals.c - see notice_refusals.h */
#include "notice_refusals.h"

bool notice_refusals_refused(struct notice_refusals *r, uint32_t pair, uint64_t now_ns)
{
	if (r->said_ns[pair] && now_ns < r->said_ns[pair] + NOTICE_REFUSALS_PAIR_NS)
		return false;
	if (r->any_ns && now_ns < r->any_ns + NOTICE_REFUSALS_NS)
		return false;
	r->said_ns[pair] = r->any_ns = now_ns;
	r->open[pair] = true;
	return true;
}

bool notice_refusals_accepted(struct notice_refusals *r, uint32_t pair)
{
	bool was_open = r->open[pair];

	r->open[pair] = false;
	return was_open;
}

void notice_refusals_forget(struct notice_refusals *r, uint32_t pair)
{
	r->said_ns[pair] = 0;
	r->open[pair] = false;
}
