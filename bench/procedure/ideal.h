/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ideal.h - what must come out of a test on a fabric that is as fast as its links, from the same
 * parameters: arithmetic, queues, fluids (docs/methodology.md, "The oracle").
 *
 * Owns: nothing; pure. In: parameters; out: seconds, rates, shares. Thread: any.
 */
#ifndef IDEAL_H
#define IDEAL_H

/* Bytes over a line, less what its token buckets pass at once after a pause; s. */
double ideal_transfer_s(double bytes, double bps, double bucket_bytes);
/* Transfers without pause between pairs that are spread evenly over sources and sinks of one line
 * each: pairs x line until they share one. */
double ideal_pairs_bps(unsigned pairs, unsigned sources, unsigned sinks, double line_bps);
/*
 * Mean time in the queue of `servers` workers by Poisson arrivals (Erlang's C, Kingman's factor for
 * the times of service). use: share of their time, below 1; else infinite.
 */
double ideal_wait_s(unsigned servers, double use, double service_s, double service_cv);
/* From arrival to the first token: half a step passes before a batch takes the request, and then
 * a step. */
double ideal_ttft_s(double wait_s, double prefill_s, double transfer_s, double step_s);
/* Tokens of a decode worker whose batch is refilled when all its requests, of min to max tokens
 * each, have ended, over those of one that is refilled at every step. */
double ideal_static_share(unsigned batch, unsigned min, unsigned max);
/* Look-ups that hit where each of so many prefixes is missed once. */
double ideal_hit_share(double lookups, unsigned prefixes);

#endif
