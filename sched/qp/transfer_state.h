/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * transfer_state.h - inside of struct transfer, for the files behind transfer.h alone.
 */
#ifndef QP_TRANSFER_STATE_H
#define QP_TRANSFER_STATE_H

#include "qp/chunks.h"
#include "qp/endpoint.h"
#include "qp/flush.h"
#include "qp/group_paths.h"
#include "qp/placement.h"
#include "qp/records.h"
#include "qp/transfer.h"

#define PENDING_PER_QP 16	  /* chunks assigned to a QP and not yet posted */
#define NO_MESSAGE     UINT32_MAX /* chunk.message of the READ of a flush (flush.h) */
#define KNOWN_KEYS     64

/* What waits to be posted on a QP of a lane. */
struct outlet {
	uint16_t lane, qp;
	struct chunk_list pending;
	uint64_t pending_bytes;
	uint64_t sprayed_bytes;	     /* placement.c */
	bool is_dirty, is_flush_due; /* flush.c */
};

enum record_state {
	RECORD_NONE,
	RECORD_WAITS,	/* for a number, for a chunk, or for a flush (flush.h) */
	RECORD_OUT,	/* a chunk of its own carries it */
	RECORD_PAIRED,	/* posted right behind the data, on the same QP */
	RECORD_UNKNOWN, /* the pair was flushed; the peer will say whether it took the record */
	RECORD_DONE,	/* acknowledged, or taken by the peer */
};

struct message {
	struct message *cut_prev, *cut_next;
	struct fare_write write; /* its mr is not used: it may be deregistered meanwhile */
	uint64_t number;	 /* counts the group's messages */
	uint64_t assigned;	 /* bytes that were cut into n_cut chunks */
	uint64_t n_cut;
	uint64_t placed;	/* bytes */
	uint64_t record_number; /* if has_number */
	uint32_t lkey;
	uint32_t open_chunks; /* chunks of data that were cut and are not placed yet */
	uint32_t stale_lanes; /* bit l: packets of an attempt on lane l may still arrive */
	uint32_t parked;      /* the chunk that was cut last, if no QP could take it */
	uint32_t held;	      /* the data chunk of a pair that was flushed */
	uint32_t kernel_qp;   /* placements hash and least: its QP */
	uint32_t send_bytes;  /* fare_group_send(): bytes of the message */
	uint64_t flush_round; /* number of the flush that its record waits for; 0: none */
	/* first error: no more chunks are posted, and those that were posted are awaited */
	int status;
	enum record_state record;
	bool in_use, is_read, is_send, is_queued, has_number;
	bool is_followed; /* FARE_SEND_MORE */
	bool late;	  /* its deadline passed and -ETIMEDOUT was reported */
};

struct transfer {
	struct transfer_attr attr;
	bool is_open, is_over;
	int error; /* transfer_error() */
	bool is_stalled;
	bool posting; /* within an operation of the application: nothing completes */
	uint32_t unit_bytes, read_unit_bytes; /* size of a chunk now: written, read */

	struct message *messages; /* options->max_messages of them */
	struct message *cut;	  /* messages that are not wholly cut into chunks, in order */
	unsigned message_turn;
	uint64_t next_number;
	unsigned n_messages, n_deadlines; /* outstanding; with a deadline */
	bool ends_wait;			  /* a message is done and has not completed yet */
	bool records_wait;		  /* a record waits for a number, a chunk or a flush */
	uint64_t known_keys[KNOWN_KEYS];  /* a chunk with this key was placed; a hash table */

	struct chunk_store chunks;
	struct chunk_list replay; /* chunks to be placed before new ones */
	unsigned n_outlets;
	struct outlet *outlets;		     /* n_lanes x n_qps */
	unsigned post_turn[FARE_MAX_PLANES]; /* of a lane: QP that may post next */

	struct weights weights;
	struct placement placement;
	struct kept_piece *pieces; /* pieces.c */
	struct records records;
	struct flush flush;
	struct fare_group_stats stats;
};

static inline struct outlet *outlet_of(const struct transfer *t, unsigned lane, unsigned qp)
{
	return &t->outlets[lane * t->attr.n_qps + qp];
}

static inline struct message *message_of(const struct transfer *t, uint32_t chunk)
{
	return &t->messages[t->chunks.at[chunk].message];
}

/* How long a chunk of the message is at most. */
static inline uint32_t unit_bytes_of(const struct transfer *t, const struct message *m)
{
	return m->is_read ? t->read_unit_bytes : t->unit_bytes;
}

/* ---- transfer_message.c ---- */

/* A message that is not in use. There is one (n_messages). */
struct message *message_alloc(struct transfer *t);
/* Its bytes are to be cut: it joins those that are not wholly cut yet. */
void message_queue(struct transfer *t, struct message *m);
void message_unqueue(struct transfer *t, struct message *m);
/* Completes a message that is at its end; or queues its record, if that is what is left. */
void message_advance(struct transfer *t, struct message *m);
/* A chunk is placed, or not wanted any more. */
void message_chunk_done(struct transfer *t, uint32_t chunk);
/*
 * A chunk of a message that failed, is late or was closed is not placed any more; nor its record,
 * unless that has a number.
 */
bool message_wants(const struct transfer *t, uint32_t chunk);

/* ---- transfer_post.c ---- */

/* Places what is to be replayed, then new messages in their order, as far as QPs take it. */
void post_all(struct transfer *t);
/* The lane's QPs post in turn, a chunk each, for as long as there is room. */
void post_lane(struct transfer *t, unsigned lane);
/* Places the chunk that found no QP before. False: it finds none now. */
bool post_parked(struct transfer *t, struct message *m);
/* The message's key is known to be good; or it is not, after all. */
void post_key_is(struct transfer *t, const struct message *m, bool good);

#endif
