/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ideal.h - what must come out of a test on a fabric that is as fast as its links, from the same
 * parameters: arithmetic, queues, fluids (docs/methodology.md, "The oracle").
 *
 * Owns: nothing; pure. In: parameters; out: seconds, rates, shares. Thread: any.
 */
#ifndef IDEAL_H
#define IDEAL_H

#include <stdbool.h>

/* Bytes over a line, less what its token buckets pass at once after a pause; s. */
double ideal_transfer_s(double bytes, double bps, double bucket_bytes);
/* Transfers without pause between pairs that are spread evenly over sources and sinks of one line
 * each: pairs x line until they share one. */
double ideal_pairs_bps(unsigned pairs, unsigned sources, unsigned sinks, double line_bps);
/* From arrival to the first token: half a step passes before a batch takes the request, and then
 * a step. */
double ideal_ttft_s(double wait_s, double prefill_s, double transfer_s, double step_s);
/* The same of a request that comes when a step ends and is alone: it waits for the end of the step
 * in which its cache arrives. */
double ideal_ttft_alone_s(double prefill_s, double transfer_s, double step_s);

/*
 * A request whose cache is at its decode worker, s since the first step began; tokens it asks
 * for.
 */
struct ideal_request {
	double ready_s;
	unsigned worker, output;
};

/*
 * Tokens of these requests (sorted here) between two times, by decode workers that step together: a
 * batch takes so many, refilled at every step, or, if static, when all of it have ended. -1: no
 * memory.
 */
double ideal_tokens(struct ideal_request *request, unsigned n, unsigned batch, bool is_static,
		    double step_s, double from_s, double to_s);
/*
 * What each of n senders (2 or more) may send at once to one receiver: the queue before it takes
 * what its line does not. All lines are equal, and pass a bucket at once after a pause.
 */
double ideal_burst_bytes(unsigned n, double queue_bytes, double bucket_bytes);

/*
 * The share of the time that a burst needs, in which each of n senders is paused that send so many
 * bytes each to one link of the speed of theirs: 1 - 1/n while they send; when the last is sent, a
 * switch holds so much of each. 0 where that is all of it.
 */
double ideal_paused(unsigned n, double bytes, double held_bytes);

#endif
