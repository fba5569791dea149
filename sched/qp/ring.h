/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ring.h - the ring that notifications arrive in, and why none is overwritten before it is read.
 *
 * Solely owns: how large a ring is, and which sequence numbers of it were taken. In: records that
 * the peer wrote, named by the immediates of completions. Out: each record once. Pure; the domain's
 * thread.
 *
 * Record s lies in slot s mod slots, and is read when its completion is polled. The sender has at
 * most M messages outstanding (max_messages), all their numbers within M of each other, and one is
 * done with when the transport has acknowledged its record: the receiver may not have polled it. So
 * that record s + slots never lands while s is unread:
 *
 *   Acknowledged after hearing (soft). Nothing is placed but by endpoint_progress(), which the
 *   domain calls only when nothing is left to poll: all that was placed has been read, and the
 *   sender is at most M beyond the first that was not placed. What one call places is acknowledged
 *   at the end of it. So what it places lies within M (and within 2M, if acknowledgements could
 *   overtake it), and slots is 2M or more. The same in FARE_MODE_PACKET: what arrived out of order
 *   is acknowledged for good, and told of, only when all before it is there.
 *
 *   Acknowledged by a device, whether or not anybody polls (verbs). Each record takes one of the R
 *   receives that all QPs of the group together keep posted, and those that were used up are posted
 *   again only when a look at every QP has found nothing. Let s be unread: then it was placed after
 *   the last such look began (or that look would have found it), when the sender was below s + M;
 *   and since then no more than R records were placed. For s + slots to be among them, s, those
 *   from s + M to s + slots - M, and itself have to be: slots - 2M + 3. slots is 2M + R or more. It
 *   does not matter in what order QPs are polled, nor on which the records came.
 *
 * A record that is sent again (its lane died) is the same bytes in the same slot, and while it may
 * still land its message is outstanding: so it counts as any other, and is told from the first by
 * its number. A QP that is rebuilt brings new receives; but its lane was seen quiet, and nothing
 * left to poll, before.
 */
#ifndef QP_RING_H
#define QP_RING_H

#include <stdbool.h>
#include <stdint.h>

#define RING_RECORD_BYTES 32 /* without payload */

struct ring_record {
	uint64_t seq;
	uint64_t bytes; /* of the message */
	uint32_t tag;
	bool is_void;		/* keeps the numbers without a gap, and tells of nothing */
	bool is_message;	/* bytes of payload follow; not checked */
	const uint8_t *payload; /* where, in the ring; for ring_take() to fill in */
};

/* Which numbers a receiver has taken: all below floor, and floor + i where bit i is set. */
struct ring_seen {
	uint64_t floor;
	uint64_t bits[2];
};
#define RING_SEEN_SPAN 128u /* as many messages as may be unfinished (fare_group_options) */

struct ring {
	uint32_t slots;
	uint32_t record_bytes;
	uint8_t *records; /* slots x record_bytes, written by the peer */
	uint64_t *seen;	  /* one bit a slot */
	uint64_t floor;	  /* every sequence number below was taken */
};

/* How many receives each of the group's n_qps QPs keeps posted. */
uint16_t ring_receives(uint32_t max_messages, unsigned n_qps);
/*
 * A power of two, the same at both ends, which agree in all of it. receives: those that all QPs of
 * a group together keep posted at a device; 0: soft.
 */
uint32_t ring_slots(uint32_t max_messages, uint32_t receives);
/* Of a record with room for a payload. */
uint32_t ring_record_bytes(uint32_t payload);
/* -ENOMEM: ring_fini() all the same */
int ring_init(struct ring *ring, uint32_t slots, uint32_t record_bytes);
void ring_fini(struct ring *ring);
/* What the sender writes to the slot. */
void ring_fill(uint8_t record[RING_RECORD_BYTES], const struct ring_record *in);
/*
 * The record that imm (the low bits of its number) tells of. False: it was taken before, or is
 * nonsense.
 */
bool ring_take(struct ring *ring, uint32_t imm, struct ring_record *out);
void ring_seen(const struct ring *ring, struct ring_seen *out);
bool ring_seen_has(const struct ring_seen *seen, uint64_t number);
/* What was taken stays taken: adds what another message of the peer said. */
void ring_seen_merge(struct ring_seen *seen, const struct ring_seen *more);

#endif
