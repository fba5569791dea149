/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recovery.h - what a fault did to goodput, from bytes per millisecond.
 *
 * Owns: nothing; pure. In: a recording and the moments of injection and healing; out: when goodput
 * had moved, its longest hole, and when it was back. Thread: any.
 *
 * Chunks of 60 KB make single milliseconds coarse: conditions are asked of windows, which begin at
 * every millisecond.
 */
#ifndef RECOVERY_H
#define RECOVERY_H

#include <stddef.h>
#include <stdint.h>

#define RECOVERY_BIN_NS UINT64_C(1000000)
/* moved: such a window carries RECOVERY_MOVED of what it settles at, */
#define RECOVERY_MOVE_BINS 50
#define RECOVERY_HOLD_BINS 200 /* and so does such a one */
/* restored: such a window carries RECOVERY_BACK of the healthy mean */
#define RECOVERY_BACK_BINS 200
#define RECOVERY_MOVED	   0.90
#define RECOVERY_BACK	   0.98

struct recovery {
	uint64_t from_ns; /* when the first bin begins */
	size_t n;
	const double *bytes;
};

/*
 * Bytes per millisecond of [from, to); what lies outside the recording is left out. 0: nothing lies
 * inside.
 */
double recovery_mean(const struct recovery *r, uint64_t from_ns, uint64_t to_ns);

/*
 * Milliseconds from the injection to the first window that has moved: carries RECOVERY_MOVED of the
 * mean of [settle_ns, end_ns), or as much as the worst such window of that time. Negative: none, or
 * that time is shorter than RECOVERY_HOLD_BINS, or begins before the injection.
 */
double recovery_moved_ms(const struct recovery *r, uint64_t inject_ns, uint64_t settle_ns,
			 uint64_t end_ns);

/* The longest time without a byte within [from, to), milliseconds. */
double recovery_gap_ms(const struct recovery *r, uint64_t from_ns, uint64_t to_ns);

/*
 * The start of the first window from from_ns on that carries RECOVERY_BACK of what [healthy_from,
 * healthy_to) did on average, or as much as the worst such window of that time. 0: none.
 */
uint64_t recovery_restored_ns(const struct recovery *r, uint64_t healthy_from_ns,
			      uint64_t healthy_to_ns, uint64_t from_ns);

/* Mean of n bins from number from on. */
double recovery_bins_mean(const double *bins, size_t from, size_t n);
/* Since when, after bin number at, means of smooth_ms stay within that share of steady; ms. NaN:
 * they do not. */
double recovery_settled_ms(const double *bins, size_t n, size_t at, double steady, size_t smooth_ms,
			   double within);

/* A rate that changes at bin number at (above 0): what it was and what it becomes (the last
 * quarter), bytes a bin; how long it takes to stay within that share of it (NaN: it does not); and
 * the longest time below half of it. */
struct recovery_step {
	double before, after, settled_ms, below_half_ms;
};

/*
 * When a service is in its new state: not before the last of those that change has changed, though
 * means may be near enough to what they become before. NaN: one of both was not seen.
 */
double recovery_steady_ms(double settled_ms, double changed_ms);

struct recovery_step recovery_step(const double *bins, size_t n, size_t at, size_t smooth_ms,
				   double within);

#endif
