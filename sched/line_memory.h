/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * line_memory.h - memory for the lines of a table (private to sched/).
 *
 * Owns: nothing. Zeroed, aligned to a line; in huge pages where it is large and the kernel gives
 * them: without them a large table misses the TLB too. Thread: any.
 */
#ifndef LINE_MEMORY_H
#define LINE_MEMORY_H

#include <stddef.h>

void *line_memory_take(size_t bytes);		   /* a multiple of 64; NULL: there is none */
void line_memory_give(void *memory, size_t bytes); /* as many as were taken; NULL is fine */

/*
 * Asks for a line that will be read soon, one of many. Into the second-level cache: what is wanted
 * in the first one holds a place among the few misses that it can have under way until memory
 * answers, and those places are what bounds a batch.
 */
static inline void line_memory_ask(const void *line)
{
	__builtin_prefetch(line, 0, 2);
}

#endif
