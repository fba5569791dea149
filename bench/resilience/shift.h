/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shift.h - how long traffic took to find its feet after a fault, from the times messages were
 * verified.
 *
 * Owns: nothing; pure. In: times of equal messages at the receiver, when the fault was injected;
 * out: time to shift, longest gap, what it settled at. Thread: any.
 *
 * Goodput is looked at in bins of 10 ms from the injection on, a message under way counting in
 * part. Settled is the mean over the last settle_ns of the recording. Shifted is the start of the
 * first bin from which both the next five bins and the next thirty carry at least 90% of settled
 * (or as much as the worst five and thirty of the settled time). Thirty, so that a good moment
 * before the dip does not count; not for ever, so that a chance dip long after is not taken for the
 * fault's.
 */
#ifndef SHIFT_H
#define SHIFT_H

#include <stddef.h>
#include <stdint.h>

#define SHIFT_BIN_NS   10000000u
#define SHIFT_WINDOW   5  /* bins */
#define SHIFT_HOLD     30 /* bins */
#define SHIFT_FRACTION 0.9

struct shift {
	double shift_ms;       /* negative: not within the recording */
	double longest_gap_ms; /* between verified messages, from just before the injection to the
				  end */
	double settled_bps;
};

/* -EINVAL: fewer than two messages, the recording does not hold injection and settling, or times
 * fall. */
int shift_analyse(const uint64_t *times_ns, size_t n, uint64_t message_bytes, uint64_t inject_ns,
		  uint64_t end_ns, uint64_t settle_ns, struct shift *out);

/* Longest time without a message between from and to; the edges count as messages. */
double shift_longest_gap_ms(const uint64_t *times_ns, size_t n, uint64_t from_ns, uint64_t to_ns);

#endif
