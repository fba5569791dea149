/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nccl_credits.h - the credits that a sending communicator holds (pure).
 *
 * Credits are messages, which may overtake one another; NCCL pairs sends and receives of one tag in
 * the order in which they were posted. So a credit is used only once all before it are here. The
 * peer has at most NCCL_REQUESTS receives waiting: ids stay within that many of the oldest.
 */
#ifndef NCCL_CREDITS_H
#define NCCL_CREDITS_H

#include <stdbool.h>

#include "nccl/nccl_wire.h"

/* outstanding per communicator and direction; NCCL has 32, and 65536 is a multiple of it */
#define NCCL_REQUESTS 64

enum credit_state { CREDIT_AWAITED, CREDIT_HERE, CREDIT_USED };

/* All zero: empty. */
struct credits {
	struct credit credits[NCCL_REQUESTS]; /* by id modulo NCCL_REQUESTS */
	enum credit_state states[NCCL_REQUESTS];
	uint16_t oldest_id;
};

/* false: its id is none that may come now; it is ignored. */
bool credits_add(struct credits *c, const struct credit *credit);
/* The oldest of that tag, or NULL: none yet. */
const struct credit *credits_find(const struct credits *c, int32_t tag);
/* That one is used up. */
void credits_use(struct credits *c, uint16_t id);

#endif
