/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clock_sync.h - how far another host's clock is ahead, and how well that is known.
 *
 * Owns: nothing. In: times of questions and answers, as of NTP (RFC 5905, 8); out: an offset and a
 * bound of its error. Of many exchanges the one with the least delay counts: the true offset is
 * within half of its delay, however the delay is spread over the two directions. Pure. Thread: any.
 */
#ifndef CLOCK_SYNC_H
#define CLOCK_SYNC_H

#include <stdint.h>

/* One exchange, ns: asked and answered by this host's clock, taken and given by the other's. */
struct clock_exchange {
	uint64_t asked, taken, given, answered;
};

struct clock_offset {
	unsigned n;	   /* exchanges that counted; 0: nothing is known */
	int64_t offset_ns; /* the other host's clock less this one's */
	uint64_t delay_ns; /* of the exchange that it is taken from */
};

/* -EBADMSG: its times contradict each other; the exchange does not count. */
int clock_offset_add(struct clock_offset *offset, const struct clock_exchange *exchange);
/* Bound of the error, ns; infinite: nothing is known. */
double clock_offset_error_ns(const struct clock_offset *offset);
/*
 * Bound of the error while before's offset was in use, if the clocks drift apart steadily: after
 * was taken at the end.
 */
double clock_offset_drift_ns(const struct clock_offset *before, const struct clock_offset *after);

#endif
