/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ring.h - the ring that records arrive in, and why no record is overwritten before it is read.
 *
 * Solely owns: the size of a ring, and which record numbers were taken from it. In: records that
 * the peer wrote, named by the immediates of completions. Out: each record once. Pure; the domain's
 * thread.
 *
 * Record s lies in slot s mod slots. It is read when its completion is polled. The sender has at
 * most M messages outstanding (max_messages), and all their numbers lie within M of each other. A
 * number is free again when the transport has acknowledged its record, which the receiver may not
 * have polled yet. It must be shown that record s + slots never arrives while s is unread.
 *
 *   The software acknowledges (soft). Only endpoint_progress() places anything. The domain calls it
 *   only when nothing is left to poll, so everything that was placed has been read, and the sender
 *   is at most M beyond the first record that was not placed. What one call places is acknowledged
 *   at the end of the call. So all that one call places lies within M (within 2M, if
 *   acknowledgements could overtake it). slots is 2M or more. The same holds in FARE_MODE_PACKET:
 *   what arrived out of order is acknowledged for good, and completed, only when everything before
 *   it has arrived.
 *
 *   The device acknowledges, whether or not the application polls (verbs). Each record uses one of
 *   the R receives that all QPs of the group together keep posted. Used receives are posted again
 *   only when a poll of every QP has found nothing. Let s be unread. Then s was placed after the
 *   last such poll began, because that poll would have found it. At that time the sender was below
 *   s + M. Since then at most R records were placed. If s + slots were among them, so would be s,
 *   all from s + M to s + slots - M, and s + slots itself: slots - 2M + 3 records. slots is 2M + R
 *   or more, so this is more than R. The order in which QPs are polled, and the QP on which a
 *   record arrived, do not matter.
 *
 * A record that is sent again because its lane died has the same bytes and the same slot. While it
 * may still arrive, its message is outstanding. So it counts as any other record, and the receiver
 * recognises it by its number. A QP that is rebuilt has new receives; before that its lane was
 * quiet and nothing was left to poll.
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
	bool is_void;		/* of a message that failed: only keeps the numbers without a gap */
	bool is_message;	/* the message follows as payload; its length is not checked */
	const uint8_t *payload; /* set by ring_take(): its place in the ring */
};

/* Numbers that a receiver has taken: all below floor, and floor + i for each bit i that is set. */
struct ring_seen {
	uint64_t floor;
	uint64_t bits[2];
};
#define RING_SEEN_SPAN 128u /* FARE_MESSAGES_MAX */

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
 * Slots of a ring: a power of two. Both ends have the same arguments, so the same result. receives:
 * how many all QPs of the group together keep posted at a device; 0: soft.
 */
uint32_t ring_slots(uint32_t max_messages, uint32_t receives);
/* Bytes of a record with room for that payload. */
uint32_t ring_record_bytes(uint32_t payload);
/* -ENOMEM: ring_fini() all the same */
int ring_init(struct ring *ring, uint32_t slots, uint32_t record_bytes);
void ring_fini(struct ring *ring);
/* What the sender writes to the slot. */
void ring_fill(uint8_t record[RING_RECORD_BYTES], const struct ring_record *in);
/*
 * Takes the record whose number has the low bits imm. False: it was taken before, or it is not
 * valid.
 */
bool ring_take(struct ring *ring, uint32_t imm, struct ring_record *out);
void ring_seen(const struct ring *ring, struct ring_seen *out);
bool ring_seen_has(const struct ring_seen *seen, uint64_t number);
/* Adds what a later control message of the peer said. An older one changes nothing. */
void ring_seen_merge(struct ring_seen *seen, const struct ring_seen *more);

#endif
