/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_limits.h - what a peer may make this process keep, counted at the receiver (pure).
 *
 * Owns two counts for each peer: bytes of eager messages that no receive has taken, and answers
 * (OFI_FIN, OFI_FOUND) that it is due. A peer that keeps to the protocol stays below both limits by
 * itself: its window (ofi_peer.h) counts the same bytes until it is told that they were taken, and
 * a cookie is not used again before its answer. One that does not is cut off.
 */
#ifndef OFI_LIMITS_H
#define OFI_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "ofi/ofi_wire.h"

struct ofi_limits {
	uint64_t eager_bytes; /* arrived, not taken */
	uint32_t due;	      /* answers */
	bool is_relinked;     /* what came by an earlier link may still be here: twice the window */
};

/* Counts a message that has arrived; length: of its payload. False: it is beyond a limit, and not
 * counted. */
bool ofi_limits_admit(struct ofi_limits *l, uint32_t window_bytes, const struct ofi_wire *w,
		      uint64_t length);
/* A receive has taken so many bytes (ofi_eager_cost()), or they were discarded. */
void ofi_limits_taken(struct ofi_limits *l, uint64_t bytes);
/* An answer was given to libfare, or will never be. */
void ofi_limits_answered(struct ofi_limits *l);
/* The peer's link has ended; it counts its window from 0 again. */
void ofi_limits_relinked(struct ofi_limits *l);

#endif
