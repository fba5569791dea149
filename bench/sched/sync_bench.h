/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sync_bench.h - what it costs a pick that weights may change under it: ours, and the usual ways to
 * share state.
 *
 * Owns: nothing lasting. Picks go to one destination, or to random ones of 4,096, from one thread
 * and from two, each with cursors of its own; a writer changes one of them every 100 us. Out: JSON
 * entries {method, destinations, threads, ns_per_pick, min_ns, max_ns, n}, of two threads the
 * slower's; those of method "rwlock" also {of_pick, of_unsynchronised, of_pick_needed}. Threads:
 * one, a second that picks, and the writer.
 *
 * Twice the same question. "fare-inline" and "fare-unsynchronised" are the library's own objects
 * and segment, with and without the look at the daemon's word. The others are packed as tightly as
 * each can be, down to one word per destination, so that only the way to share differs: none, word,
 * seqlock, double-buffer, rwlock, mutex.
 */
#ifndef SYNC_BENCH_H
#define SYNC_BENCH_H

#include <jansson.h>

#include "progress.h"

int sync_bench_run(unsigned n, struct progress *progress, json_t *out); /* 0 or -errno */

#endif
