/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * heap.h - counts what the code under simulation allocates, so that a schedule can see a leak.
 *
 * The linker replaces malloc() and its like in every object of the simulation (--wrap).
 */
#ifndef SIM_HEAP_H
#define SIM_HEAP_H

#include <stddef.h>

/* Blocks allocated and not freed. */
long heap_blocks(void);

#endif
