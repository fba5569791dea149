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
 * transfer_deliver() (transfer.h) is in here, too.
 *
 * Solely owns: the numbers in use; received records that wait for those before them. The domain's
 * thread.
 */
#ifndef QP_RECORDS_H
#define QP_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "qp/provider.h"
#include "qp/ring.h"

struct early_record;
struct message;
struct outlet;
struct transfer;

/*
 * Own records are sent from tx to the peer's ring, which has the layout of ring. The peer's records
 * arrive in ring.
 */
struct records {
	uint64_t next, floor;	    /* numbers: all below the floor are done */
	bool *in_use;		    /* number modulo max_messages */
	struct ring_seen peer_seen; /* records that the peer has taken, as it said */
	uint8_t *tx;
	size_t tx_bytes;
	struct qp_mr tx_mr, rx_mr;
	uint64_t peer_addr; /* of the peer's ring */
	uint32_t peer_rkey;
	struct ring ring;
	struct early_record *early; /* in_order: number modulo the ring's slots */
	uint64_t next_delivered;    /* in_order: number of the next record to deliver */
};

/* Makes and registers the memory. -errno: records_fini() all the same. */
int records_init(struct transfer *t, uint32_t slots);
void records_fini(struct transfer *t);

bool record_number_is_free(const struct transfer *t);
void record_take_number(struct transfer *t, struct message *m);
/* Gives the message a number, if it has none and one is free. True: it has a number. */
bool record_has_number(struct transfer *t, struct message *m);
/*
 * Takes back the number that was given last, of which nothing was sent: a message that is late
 * would have to send its record before it is released, because numbers may not be missing.
 */
void record_return_number(struct transfer *t, struct message *m);
void record_free_number(struct transfer *t, struct message *m);

/* Copies the bytes of a message to be sent; they are kept until the message completes. */
void record_keep(struct transfer *t, const struct message *m, const void *data);
/* Bytes of the message's record on the wire. */
uint32_t record_bytes(const struct message *m);
/* Posts the record of chunk i's message, which has a number. Returns what lanes_post() does. */
int record_post(struct transfer *t, const struct outlet *q, uint32_t i);

#endif
