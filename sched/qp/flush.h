/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flush.h - no record tells of bytes that the peer cannot see yet (pure).
 *
 * Where the provider's completion of a WRITE says only that the responder has taken it
 * (qp_provider.notify_per_qp), its bytes are sure to be visible to the peer's application once
 * something later on the same QP was (IBTA volume 1, 9.5, o9-20): an immediate, or a READ, which
 * the responder answers only after all WRITEs before it. Nothing orders one QP against another.
 *
 * A QP is dirty from the acknowledgement of data until a READ of FLUSH_BYTES from the peer's ring
 * came back over it, or until the lane is known to be quiet at both ends. Data that has its record
 * right behind it on the same QP (a pair) makes it not dirty. A record leaves only when every QP
 * that was dirty when its message was ready has been flushed; so what an application wrote before,
 * and saw completed, is visible, too, when the peer hears of the message. One round of READs serves
 * all messages that wait for it: it costs a message of several chunks one round trip.
 *
 * Where completions say that bytes are visible (soft), nothing here does anything.
 *
 * Solely owns: which QPs are dirty, the round under way. The domain's thread.
 */
#ifndef QP_FLUSH_H
#define QP_FLUSH_H

#include <stdbool.h>
#include <stdint.h>

#define FLUSH_BYTES 8u

struct fare_group;
struct lane_qp;
struct message;

/* Data that no record follows on that QP was acknowledged there. */
void flush_data_placed(struct fare_group *group, struct lane_qp *q);
/* Whether a record may be posted behind data on a QP: nothing is dirty. */
bool flush_is_clean(const struct fare_group *group);
/* Whether the message's record may leave. If not, flush_step() brings that about. */
bool flush_allows(struct fare_group *group, struct message *m);
/* Posts what is due. True: messages that waited may go on. */
bool flush_step(struct fare_group *group);
/* A READ of flush_step() came back, or was flushed. True: messages that waited may go on. */
bool flush_on_read(struct fare_group *group, struct lane_qp *q, bool success);
/* Its QPs are about to go: what was not flushed is visible when the lane is quiet. */
void flush_lane_dies(struct fare_group *group, unsigned lane);
/* It is quiet at both ends. True: messages that waited may go on. */
bool flush_lane_quiet(struct fare_group *group, unsigned lane);

#endif
