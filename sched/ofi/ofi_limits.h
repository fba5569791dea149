/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_limits.h - what a peer may make this process keep, counted at the receiver (pure).
 *
 * Owns two counts for each peer: bytes of what it has sent and the application has not taken
 * (messages that no receive has taken; entries of a CQ that are not read and that no posted receive
 * bounds: remote CQ data, messages in a buffer for several; results of atomic operations that are
 * not sent), and answers that it is due (OFI_FIN, OFI_FOUND, OFI_RESULT). A peer that keeps to the
 * protocol stays below both limits by itself: its window (ofi_peer.h) counts the same bytes until
 * it is told that they are kept no longer, and a cookie is not used again before its answer. One
 * that does not is cut off.
 *
 * The receiver allows twice what a sender allows itself: a sender counts from 0 again when its link
 * has ended, and what came by it may still be here.
 */
#ifndef OFI_LIMITS_H
#define OFI_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "ofi/ofi_wire.h"

struct ofi_limits {
	uint64_t bytes; /* arrived, not taken: ofi_wire_cost() */
	uint32_t due;	/* answers */
};

/* Counts a record that has arrived; length: of its message's payload. False: it is beyond a limit,
 * and not counted. */
bool ofi_limits_admit(struct ofi_limits *l, uint32_t window_bytes, const struct ofi_wire *w,
		      uint64_t length);
/* So many bytes are kept no longer. */
void ofi_limits_taken(struct ofi_limits *l, uint64_t bytes);
/* An answer was given to libfare, or will never be. */
void ofi_limits_answered(struct ofi_limits *l);

#endif
