/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flush.h - a record leaves only when the bytes that it announces are visible to the peer (pure).
 *
 * With some providers (qp_provider.notify_per_qp) the completion of a WRITE says only that the
 * responder has taken it. Its bytes are visible to the peer's application for certain once
 * something later on the same QP was executed (IBTA volume 1, 9.5, o9-20): a WRITE with immediate,
 * or a READ, which the responder answers only after all WRITEs before it. Nothing orders one QP
 * against another.
 *
 * A QP is dirty from the acknowledgement of data until a READ of FLUSH_BYTES from the peer's ring
 * has come back over it, or until the lane is known to be quiet at both ends. Data whose record was
 * posted right behind it on the same QP (a pair) does not make the QP dirty. A record leaves only
 * when every QP that was dirty when its message was ready has been flushed. So writes that the
 * application saw completed before are visible too when the peer takes the record. One round of
 * READs serves all messages that wait for it. A message of several chunks takes one round trip
 * longer.
 *
 * With other providers (soft) completions say that bytes are visible; then nothing is ever dirty.
 *
 * Solely owns: which QPs are dirty, the round under way. The domain's thread.
 */
#ifndef QP_FLUSH_H
#define QP_FLUSH_H

#include <stdbool.h>
#include <stdint.h>

#define FLUSH_BYTES 8u

struct message;
struct outlet;
struct transfer;

struct flush {
	unsigned n_dirty, n_flushing;
	uint64_t rounds, wanted;  /* rounds done; last round that is waited for */
	uint32_t unflushed_lanes; /* bit l: not flushed until lane l is quiet at both ends */
};

/* Data was acknowledged on the QP, and its record does not follow on the same QP. */
void flush_data_placed(struct transfer *t, struct outlet *q);
/* True: nothing is dirty, so a record may be posted right behind its data. */
bool flush_is_clean(const struct transfer *t);
/* True: the message's record may leave. If not, flush_step() will flush what it waits for. */
bool flush_allows(struct transfer *t, struct message *m);
/* Posts the READs that are due. transfer_error() if the peer refuses them. */
void flush_step(struct transfer *t);
/* A READ of flush_step() completed. The group is woken if messages may go on. */
void flush_on_read(struct transfer *t, struct outlet *q, bool success);
/* The lane ends: what was not flushed is visible once the lane is quiet at both ends. */
void flush_lane_dies(struct transfer *t, unsigned lane);
/* The lane is quiet at both ends. */
void flush_lane_quiet(struct transfer *t, unsigned lane);

#endif
