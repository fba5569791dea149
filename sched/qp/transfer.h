/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * transfer.h - messages of a group over its lanes: cut into chunks, placed, replayed, completed
 * exactly once (pure).
 *
 * Solely owns: the group's messages, chunks, records and ring. In: checked operations of the
 * application, completions of the provider, weights in force, ends of lanes, `now` (the
 * endpoint's). Out: work requests through lanes.h, events. It calls lanes.h and never the group:
 * what the group has to act on, it returns, or says in transfer_error(). The domain's thread.
 *
 * Life of a message: queued; cut into chunks; each chunk is given to a QP (placement.h), waits in
 * that QP's short list, is posted, and comes back acknowledged or flushed. Flushed chunks are
 * replayed elsewhere before anything new. Their message remembers the lane as stale until the
 * lane's old QPs are known to be gone at both ends: until then a packet of the old attempt may
 * land. When all bytes are placed and no lane is stale, the message completes; if it notifies,
 * after its record was placed.
 *
 * Records are records.h's. A message of fare_group_send() is nothing but its record.
 *
 * A message of one chunk has its record posted right behind the chunk, on the same QP (a pair): one
 * round trip instead of two. An RC QP places the record after the data (IBTA o9-20), so the record
 * tells the truth. (Where bytes may be acknowledged before they can be seen, flush.h says when a
 * record may leave.) But if the lane then dies, the sender cannot know whether the receiver took
 * the record and uses the memory again; a replay of the data would overwrite that. So a pair is not
 * replayed before the peer has said which records it took (control_wire.h, `seen`): if this one,
 * the message is done; if not, it never will be, and both are replayed.
 *
 * Behind it: transfer_message.c (a message's states), transfer_post.c (cutting, placing, posting),
 * transfer.c (what arrives, and what is due), which call each other in the opposite order only.
 */
#ifndef QP_TRANSFER_H
#define QP_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>

#include "fare.h"
#include "qp/failures.h"
#include "weights.h"

struct conn_segment;
struct endpoint;
struct event_queue;
struct group_paths;
struct lanes;
struct qp_wc;
struct ring;
struct ring_record;
struct ring_seen;
struct run_item;
struct transfer;

struct transfer_attr {
	const struct endpoint *ep;
	const struct group_paths *paths;
	struct lanes *lanes;
	struct event_queue *events;
	struct run_item *run;	  /* the group's */
	struct fare_group *group; /* that events name */
	const struct fare_group_options *options;
	struct conn_segment *segment; /* where the table of flows is exported */
	unsigned n_lanes, n_qps;      /* of the group; of a lane */
	uint32_t qp_window_bytes;
};

/* All of it is borrowed. 0, or -errno of the provider, of flow_table_create(), -ENOMEM. */
int transfer_create(struct transfer **out, const struct transfer_attr *attr);
/* Its lanes are destroyed, so that no device uses its memory. NULL is fine. */
void transfer_destroy(struct transfer *t);

/* ---- the peer ---- */

/* Where the peer writes its records: goes into GROUP_OPEN and GROUP_ACCEPT. */
const struct ring *transfer_ring(const struct transfer *t);
uint32_t transfer_ring_rkey(const struct transfer *t);
/* The peer's ring is known: operations may leave. */
void transfer_open(struct transfer *t, uint64_t ring_addr, uint32_t ring_rkey);
/* The peer says which records it has taken. */
void transfer_peer_has_seen(struct transfer *t, const struct ring_seen *seen);
/* Most bytes of a chunk that is written, and of one that is read. */
void transfer_set_units(struct transfer *t, uint32_t bytes, uint32_t read_bytes);

/* ---- operations ---- */

/* What an application asks for, in one form. */
struct operation {
	struct fare_write write;
	bool is_read;
	bool is_send; /* of send_bytes at send_data */
	bool is_followed;
	const void *send_data;
	uint32_t send_bytes;
};

/*
 * The operation was checked. 0, -ENOBUFS, -ENOMEM. Nothing completes in here, as the queue of
 * events has no room for what an application that does not poll would pile up.
 */
int transfer_queue(struct transfer *t, const struct operation *op);
/* What was queued begins. */
void transfer_go(struct transfer *t);
void transfer_step(struct transfer *t);
void transfer_check_deadlines(struct transfer *t);
/* The earliest deadline; ENDPOINT_NEVER: there is none. */
uint64_t transfer_deadline_ns(const struct transfer *t);
/* A chunk could not be posted although there is room: no completion will retry it. */
bool transfer_is_stalled(const struct transfer *t);
/* -errno: the peer refuses what a group cannot be without, so that the group is to end. */
int transfer_error(const struct transfer *t);
/* The group ends: nothing is completed any more before transfer_cancel(). */
void transfer_stop(struct transfer *t);
/* All QPs of the group are quiet: all messages complete with -ECANCELED. */
void transfer_cancel(struct transfer *t);

/* ---- completions ---- */

/* Of a work request that was posted on that QP. FAILURE_NONE: there is nothing for lanes to do. */
enum failure transfer_on_completion(struct transfer *t, unsigned lane, unsigned qp,
				    const struct qp_wc *wc);
/* An immediate arrived. False: its record was taken before, or is none. */
bool transfer_take_record(struct transfer *t, uint32_t imm, struct ring_record *out);
/*
 * Queues the event of a record that was taken; in order, if the group has in_order. -errno: the
 * record is lost, and was acknowledged, so that the group is to end.
 */
int transfer_deliver(struct transfer *t, const struct ring_record *record);

/* ---- lanes ---- */

/* The weights in force, of usable planes whose lane is up. */
const struct weights *transfer_weights(const struct transfer *t);
/* bps has n_lanes entries. Chunks that were not posted are assigned again, if weights differ. */
void transfer_reweight(struct transfer *t, const uint64_t *bps, const struct weights *weights);
void transfer_lane_dies(struct transfer *t, unsigned lane);
/* A lane's old QPs are gone at both ends: messages that waited for that may complete. */
void transfer_lane_confirmed(struct transfer *t, unsigned lane);

/* ---- figures ---- */

unsigned transfer_n_messages(const struct transfer *t); /* outstanding */
/* Events that may come up without a poll: of unfinished messages, of records kept for later. */
uint32_t transfer_most_events(const struct transfer *t);
void transfer_stats(const struct transfer *t, struct fare_group_stats *out);
void transfer_dump(const struct transfer *t, int fd); /* a line of totals, one for each message */

#endif
