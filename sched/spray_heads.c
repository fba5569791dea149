/* SPDX-License-Identifier: BSD-2-Clause */
#include "spray_heads.h"

#include <stdlib.h>

#define BLOCK_BYTES 32768u
#define BLOCK_ALIGN 4096u

struct spray_heads_block {
	struct spray_heads_block *next;
	uint64_t pad[7];
	struct fare_spray_head head[(BLOCK_BYTES - 64) / sizeof(struct fare_spray_head)];
};

_Static_assert(sizeof(struct fare_spray_head) == 32, "two to a cache line");
_Static_assert(sizeof(struct spray_heads_block) == BLOCK_BYTES, "whole pages");

static int grow(struct spray_heads *heads)
{
	struct spray_heads_block *block;
	void *memory;

	if (posix_memalign(&memory, BLOCK_ALIGN, BLOCK_BYTES))
		return -1;
	block = memory;
	block->next = heads->blocks;
	heads->blocks = block;
	for (size_t i = sizeof(block->head) / sizeof(block->head[0]); i-- > 0;)
		spray_heads_give(heads, &block->head[i]);
	return 0;
}

void spray_heads_fini(struct spray_heads *heads)
{
	while (heads->blocks) {
		struct spray_heads_block *block = heads->blocks;

		heads->blocks = block->next;
		free(block);
	}
	heads->vacant = NULL;
}

struct fare_spray_head *spray_heads_take(struct spray_heads *heads)
{
	struct fare_spray_head *head;

	if (!heads->vacant && grow(heads))
		return NULL;
	head = heads->vacant;
	heads->vacant = (struct fare_spray_head *)(void *)head->body;
	*head = (struct fare_spray_head){0};
	return head;
}

void spray_heads_give(struct spray_heads *heads, struct fare_spray_head *head)
{
	head->body = (struct fare_spray_body *)(void *)heads->vacant;
	heads->vacant = head;
}
