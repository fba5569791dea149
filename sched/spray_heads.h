/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spray_heads.h - the heads of all sprays of one struct fare, side by side (private to libfare).
 *
 * Owns: blocks of heads (fare_spray_inline.h), which go back to the system only as a whole, at the
 * end. What is looked at for every packet must not be spread over the heap. Thread: that of struct
 * fare; heads of two of them are never in one cache line.
 */
#ifndef SPRAY_HEADS_H
#define SPRAY_HEADS_H

#include "fare_spray_inline.h"

struct spray_heads_block;

struct spray_heads { /* all zero: none yet */
	struct spray_heads_block *blocks;
	struct fare_spray_head *vacant; /* each one's body points to the next */
};

void spray_heads_fini(struct spray_heads *heads);		     /* and all heads with it */
struct fare_spray_head *spray_heads_take(struct spray_heads *heads); /* zeroed; NULL: no memory */
void spray_heads_give(struct spray_heads *heads, struct fare_spray_head *head);

#endif
