/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * records.h - records of messages: numbered, posted, received, and delivered exactly once (pure).
 *
 * A record is an RDMA WRITE with immediate into the peer's ring (ring.h). It says that a message is
 * placed, or carries a whole message of fare_group_send(). Records are numbered without a gap when
 * they are first to be posted. The receiver takes each number once, so a record may be replayed.
 * All numbers of unfinished messages lie within max_messages of each other.
 *
 * In a group with in_order, a message has its number from the moment that it is queued. The
 * receiver keeps records that arrived early until those before them have arrived.
 *
 * Solely owns: the numbers in use; received records that wait for those before them. The domain's
 * thread.
 */
#ifndef QP_RECORDS_H
#define QP_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

struct fare_group;
struct lane_qp;
struct message;

int records_init(struct fare_group *group,
		 uint32_t slots); /* -ENOMEM: records_fini() all the same */
void records_fini(struct fare_group *group);

bool record_number_is_free(const struct fare_group *group);
void record_take_number(struct fare_group *group, struct message *m);
/* Gives the message a number, if it has none and one is free. True: it has a number. */
bool record_has_number(struct fare_group *group, struct message *m);
/*
 * Takes back the number that was given last, of which nothing was sent: a message that is late
 * would have to send its record before it is released, because numbers may not be missing.
 */
void record_return_number(struct fare_group *group, struct message *m);
void record_free_number(struct fare_group *group, struct message *m);

/* Copies the bytes of a message to be sent; they are kept until the message completes. */
void record_keep(struct fare_group *group, const struct message *m, const void *data);
/* Bytes of the message's record on the wire. */
uint32_t record_bytes(const struct message *m);
/* Posts the record of chunk i's message, which has a number. Returns what post_write() does. */
int record_post(struct fare_group *group, struct lane_qp *q, uint32_t i);

/* An immediate arrived: queues the event of its record, in order if the group has in_order. */
void record_deliver(struct fare_group *group, uint32_t imm);

#endif
