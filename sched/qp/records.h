/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * records.h - records of messages: numbered, posted, received, and told of exactly once (pure).
 *
 * A record is an RDMA WRITE with immediate into the peer's ring (ring.h). It says that a message is
 * in place, or carries a whole one of fare_group_send(). Records are numbered when they are made,
 * without a gap; the receiver takes each number once, so a record may be replayed. All numbers of
 * unfinished messages lie within max_messages of each other.
 *
 * Where the group delivers in order, a message has its number from the moment that it is queued,
 * and the receiver keeps records that came early until those before them are there.
 *
 * Solely owns: the numbers in use; records that wait for their turn. The domain's thread.
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
/* Whether it has one, now. */
bool record_has_number(struct fare_group *group, struct message *m);
void record_free_number(struct fare_group *group, struct message *m);

/* The payload of a message to be sent is kept until its number is free again. */
void record_keep(struct fare_group *group, const struct message *m, const void *data);
/* Bytes of the message's record on the wire. */
uint32_t record_bytes(const struct message *m);
/* Posts the record of chunk i's message, which has a number. What post_write() returns. */
int record_post(struct fare_group *group, struct lane_qp *q, uint32_t i);

/* An immediate came: what it tells of goes to the application, in its turn. */
void record_deliver(struct fare_group *group, uint32_t imm);

#endif
