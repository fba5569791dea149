/* SPDX-License-Identifier: BSD-2-Clause */
#include "heap.h"

#include <stdlib.h>

/* names that the linker gives: --wrap=malloc and so on */
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
void *__real_aligned_alloc(size_t align, size_t bytes);
void __real_free(void *block);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);
void *__wrap_aligned_alloc(size_t align, size_t bytes);
void __wrap_free(void *block);

static long blocks; /* one process, one heap */

long heap_blocks(void)
{
	return blocks;
}

void *__wrap_malloc(size_t bytes)
{
	void *block = __real_malloc(bytes);

	blocks += block != NULL;
	return block;
}

void *__wrap_calloc(size_t n, size_t bytes)
{
	void *block = __real_calloc(n, bytes);

	blocks += block != NULL;
	return block;
}

void *__wrap_realloc(void *block, size_t bytes)
{
	void *moved = __real_realloc(block, bytes);

	blocks += moved && !block;
	return moved;
}

void *__wrap_aligned_alloc(size_t align, size_t bytes)
{
	void *block = __real_aligned_alloc(align, bytes);

	blocks += block != NULL;
	return block;
}

void __wrap_free(void *block)
{
	blocks -= block != NULL;
	__real_free(block);
}
