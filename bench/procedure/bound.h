/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bound.h - objectives of a service: whether a run met them, what kept it, and the rate up to which
 * runs do (test 11.1).
 *
 * Owns: nothing; pure. In: what a run of a service measured, rows of 11.1; out: words and rates.
 * Thread: the coordinator's.
 */
#ifndef BOUND_H
#define BOUND_H

#include "core/rows.h"
#include "workload/serving.h"

#define BOUND_TTFT_MS  500 /* the draft's objectives, of P99 */
#define BOUND_ITL_MS   50
#define BOUND_REQUESTS 20 /* that a run has to have at least, to be judged */

/* ttft, itl: a P99 was more than its objective, by more than the histogram's bucket can hide. */
struct bound_judged {
	bool enough, ttft, itl, tokenless;
};

/* The P99 that is judged, ms; of fewer than 300 it is next to the largest. */
double bound_p99_ms(const struct hist *h);
struct bound_judged bound_judge(const struct serving_result *r, double ttft_ms, double itl_ms);
bool bound_is_met(struct bound_judged judged);
/* "met", "TTFT exceeded", ... */
const char *bound_text(struct bound_judged judged);
/*
 * The part that was the largest of what exceeded its objective: of TTFT by the means of prefill
 * (with its queue), transfer and the wait for a step; of ITL by the P99 of dispatch and
 * combine, half of it or more. "": nothing exceeded, or nothing was measured.
 */
const char *bound_limit(const struct serving_result *r, struct bound_judged judged);

/* The rate from which on a run of so many seconds has twice BOUND_REQUESTS on the mean: Poisson
 * arrivals then bring fewer than BOUND_REQUESTS in less than one run of a thousand. */
double bound_floor(double seconds);

/*
 * One load for all strategies, so that they can be compared: the least of the bounds that 11.1
 * found by each strategy that has one, or the largest. False: none has one, in these rows.
 */
bool bound_common(const struct rows *rows, bool largest, double *per_s);

#endif
