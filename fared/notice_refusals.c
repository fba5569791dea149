/* SPDX-License-Identifier: BSD-2-Clause */
#include "notice_refusals.h"

static uint64_t notice_refusals_pause_ns(unsigned n_said)
{
	uint64_t ns = NOTICE_REFUSALS_PAIR_NS;

	for (; n_said > 1 && ns < NOTICE_REFUSALS_MAX_NS; n_said--)
		ns *= 2;
	return ns < NOTICE_REFUSALS_MAX_NS ? ns : NOTICE_REFUSALS_MAX_NS;
}

bool notice_refusals_refused(struct notice_refusals *r, uint32_t pair, uint64_t now_ns)
{
	r->last_ns[pair] = now_ns;
	if (r->said_ns[pair] &&
	    now_ns < r->said_ns[pair] + notice_refusals_pause_ns(r->n_said[pair]))
		return false;
	if (r->any_ns && now_ns < r->any_ns + NOTICE_REFUSALS_NS)
		return false;
	r->said_ns[pair] = r->any_ns = now_ns;
	r->n_said[pair] += r->n_said[pair] < UINT8_MAX;
	return true;
}

bool notice_refusals_accepted(struct notice_refusals *r, uint32_t pair)
{
	bool was_said = r->n_said[pair];

	r->n_said[pair] = 0;
	r->last_ns[pair] = 0;
	return was_said;
}

bool notice_refusals_are_refused(const struct notice_refusals *r, uint32_t pair, uint64_t now_ns)
{
	return r->last_ns[pair] && now_ns < r->last_ns[pair] + NOTICE_REFUSALS_NOW_NS;
}

void notice_refusals_forget(struct notice_refusals *r, uint32_t pair)
{
	r->said_ns[pair] = r->last_ns[pair] = 0;
	r->n_said[pair] = 0;
}
