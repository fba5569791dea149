/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pick_bench.h - what a packet's pick costs, and how far planes stray from their share, ours and
 * others'.
 *
 * Owns: nothing lasting. Out: JSON entries {method, weights, ns_per_pick, min_ns, max_ns,
 * worst_window_units, n}; the last is the largest distance between what a plane got and its share
 * over any window of a million picks. Thread: one.
 */
#ifndef PICK_BENCH_H
#define PICK_BENCH_H

#include <jansson.h>

#include "progress.h"

int pick_bench_run(unsigned n, struct progress *progress, json_t *out); /* 0 or -errno */

#endif
