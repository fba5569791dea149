/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lookup_bench.h - all hash tables side by side, in turns, so that what disturbs the machine
 * disturbs all.
 *
 * Owns: keys and tables while it runs. In: sizes, peers; out: JSON entries
 * {table, entries, pattern, mode, threads, ns_per_lookup, min_ns, max_ns, n}. Thread: one, and a
 * second where asked for.
 */
#ifndef LOOKUP_BENCH_H
#define LOOKUP_BENCH_H

#include <jansson.h>
#include <stdint.h>

#include "progress.h"

struct lookup_bench {
	uint64_t entries;   /* 1 .. 16M */
	unsigned n;	    /* repetitions */
	const char *tables; /* "fare-conn,absl": only those; NULL: all */
	struct progress *progress;
};

/* Appends to the array. 0 or -errno, having said what on stderr. */
int lookup_bench_run(const struct lookup_bench *bench, json_t *out);
/* Is name in the list "a,b,c"? */
int lookup_bench_listed(const char *list, const char *name);

#endif
