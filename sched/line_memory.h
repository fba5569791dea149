/*
 * line_memory.h - memory for the lines of a table (private to sched/).
 *
 * Owns: nothing. Zeroed, aligned to a line; in huge pages where it is large and the kernel gives them: without them a
 * large table misses the TLB too. Thread: any.
 */
#ifndef LINE_MEMORY_H
#define LINE_MEMORY_H

#include <stddef.h>

void *line_memory_take(size_t bytes); /* a multiple of 64; NULL: there is none */
void line_memory_give(void *memory, size_t bytes); /* as many as were taken; NULL is fine */

#endif
