/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory_floor.h - what memory itself costs in this run: no table can be faster.
 *
 * Owns: nothing. Thread: any.
 */
#ifndef MEMORY_FLOOR_H
#define MEMORY_FLOOR_H

#include <stddef.h>

#include "micro/sched/lookup_peer.h"

#define MEMORY_FLOOR_LOADS 2000000u

/* ns per load when each load's address comes from the one before, over so many bytes. < 0: no
 * memory. */
double memory_floor_dependent_ns(size_t bytes);

/*
 * As if it were a table: one independent load per key, at a random line of as many lines as
 * fare-conn has for n keys. No table that keeps its keys in memory can look them up in fewer
 * misses.
 */
extern const struct lookup_peer memory_floor_gather;

#endif
