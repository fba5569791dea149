/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * heap.h - counts what the code under simulation allocates, so that a schedule can see a leak.
 *
 * The linker replaces malloc() and its like in every object of the simulation (--wrap). What the
 * simulation keeps from one schedule to the next is not counted.
 */
#ifndef SIM_HEAP_H
#define SIM_HEAP_H

#include <stddef.h>

/* Blocks allocated and not freed. */
long heap_blocks(void);
/* Never NULL: without memory the program ends. */
void *heap_untracked_realloc(void *block, size_t bytes);
void heap_untracked_free(void *block);

#endif
