/* SPDX-License-Identifier: BSD-2-Clause */
#include "nccl/nccl_credits.h"

bool credits_add(struct credits *c, const struct credit *credit)
{
	unsigned place = credit->id % NCCL_REQUESTS;

	if ((uint16_t)(credit->id - c->oldest_id) >= NCCL_REQUESTS ||
	    c->states[place] != CREDIT_AWAITED)
		return false;
	c->credits[place] = *credit;
	c->states[place] = CREDIT_HERE;
	return true;
}

const struct credit *credits_find(const struct credits *c, int32_t tag)
{
	for (unsigned i = 0; i < NCCL_REQUESTS; i++) {
		unsigned place = (c->oldest_id + i) % NCCL_REQUESTS;

		/* the one that is not here may have the tag, too: nothing goes past it */
		if (c->states[place] == CREDIT_AWAITED)
			return NULL;
		if (c->states[place] == CREDIT_HERE && c->credits[place].tag == tag)
			return &c->credits[place];
	}
	return NULL;
}

void credits_use(struct credits *c, uint16_t id)
{
	c->states[id % NCCL_REQUESTS] = CREDIT_USED;
	while (c->states[c->oldest_id % NCCL_REQUESTS] == CREDIT_USED) {
		c->states[c->oldest_id % NCCL_REQUESTS] = CREDIT_AWAITED;
		c->oldest_id++;
	}
}
