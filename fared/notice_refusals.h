/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * notice_refusals.h - which refused capacity notices become events.
 *
 * Solely owns: when that was said last, of each pair of GPU and peer. In: refusals and acceptances.
 * Out: whether to say so. Thread: any. Pure.
 *
 * Anybody on the fabric can cause refusals, as many as it likes and in any peer's name: so one pair
 * a second is named, and the same again after ten minutes, then after twice as long each time, up
 * to a day. One that is accepted begins with ten minutes again.
 */
#ifndef NOTICE_REFUSALS_H
#define NOTICE_REFUSALS_H

#include <stdbool.h>
#include <stdint.h>

#include "fare_limits.h"

#define NOTICE_REFUSALS_PAIR_NS (600 * UINT64_C(1000000000))
#define NOTICE_REFUSALS_MAX_NS	(86400 * UINT64_C(1000000000))
#define NOTICE_REFUSALS_NS	UINT64_C(1000000000)
#define NOTICE_REFUSALS_NOW_NS                                                                     \
	(60 * UINT64_C(1000000000)) /* what is not acknowledged is repeated */

struct notice_refusals {
	uint64_t said_ns[FARE_MAX_PAIRS]; /* 0: never */
	uint8_t n_said[FARE_MAX_PAIRS];	  /* since one was accepted; 255: or more */
	uint64_t any_ns;		  /* the last one of all; 0: none yet */
	uint64_t last_ns[FARE_MAX_PAIRS]; /* said or not, and none accepted since; 0: none */
};

/* A notice of that pair was refused; true: it is to be said. */
bool notice_refusals_refused(struct notice_refusals *r, uint32_t pair, uint64_t now_ns);
/* One was accepted; true: that is to be said, because a refusal was. */
bool notice_refusals_accepted(struct notice_refusals *r, uint32_t pair);
/* The pair's are being refused, and none is accepted. */
bool notice_refusals_are_refused(const struct notice_refusals *r, uint32_t pair, uint64_t now_ns);
void notice_refusals_forget(struct notice_refusals *r, uint32_t pair);

#endif
