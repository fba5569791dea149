/* SPDX-License-Identifier: BSD-2-Clause */
/* transfer_post.c - see transfer.h: messages are cut into chunks, placed on QPs, and posted */
#include <errno.h>
#include <utlist.h>

#include "qp/failures.h"
#include "qp/lanes.h"
#include "qp/pieces.h"
#include "qp/provider.h"
#include "qp/transfer_state.h"

/* ---- posting ---- */

#define AT_ONCE 4 /* outstanding messages that are sent without waiting for others */

/*
 * The chunk of a record that is to be posted right behind its message's only chunk of data. If that
 * is not possible now (NO_CHUNK), the record follows by itself when the data is acknowledged.
 */
static uint32_t begin_pair(struct transfer *t, struct outlet *q, uint32_t data)
{
	struct message *m = message_of(t, data);
	uint32_t i;

	/* while an attempt of before may still land, no record may say that all is in place */
	if (!(m->write.flags & FARE_WRITE_NOTIFY) || m->n_cut != 1 ||
	    m->assigned < m->write.length || m->record == RECORD_DONE || m->stale_lanes ||
	    !flush_is_clean(t) || !record_has_number(t, m))
		return NO_CHUNK;
	i = chunk_alloc(&t->chunks, t->chunks.at[data].message, RING_RECORD_BYTES);
	if (i == NO_CHUNK)
		return i;
	t->chunks.at[i].is_record = true;
	t->chunks.at[i].lane = q->lane;
	t->chunks.at[i].qp = q->qp;
	return i;
}

static void end_pair(struct transfer *t, struct outlet *q, uint32_t record)
{
	if (record_post(t, q, record)) {
		chunk_free(&t->chunks, record);
		return;
	}
	message_of(t, record)->record = RECORD_PAIRED;
}

static int post_data(struct transfer *t, struct outlet *q, uint32_t i, unsigned flags)
{
	const struct chunk *c = &t->chunks.at[i];
	const struct message *m = &t->messages[c->message];
	struct qp_work work = {.op = m->is_read ? QP_OP_READ : QP_OP_WRITE,
			       .wr_id = i,
			       .lkey = m->lkey,
			       .length = c->length,
			       .remote_addr = m->write.remote_addr + c->offset,
			       .rkey = m->write.rkey,
			       .flags = m->is_read ? 0 : flags};

	work.data = m->write.n_pieces ? pieces_at(t, m, c->offset, &work.lkey)
				      : (uint8_t *)(uintptr_t)m->write.data + c->offset;
	return lanes_post(t->attr.lanes, q->lane, q->qp, &work);
}

static uint32_t take_pending(struct transfer *t, struct outlet *q)
{
	uint32_t i = chunk_take(&t->chunks, &q->pending);

	q->pending_bytes -= t->chunks.at[i].length;
	return i;
}

/*
 * The peer has no such region, or this end has not: the message fails, alone; but without its ring
 * a group is none.
 */
static void refuse_chunk(struct transfer *t, struct outlet *q, int status)
{
	uint32_t i = take_pending(t, q);

	message_of(t, i)->status = status;
	t->chunks.at[i].lane = UINT16_MAX;
	chunk_append(&t->chunks, &t->replay, i); /* where post_all() finds it */
	if (t->chunks.at[i].is_record)
		t->error = -ECANCELED;
}

/* Until an older record is done: transfer_step() queues it again. */
static void put_record_off(struct transfer *t, struct outlet *q)
{
	uint32_t i = take_pending(t, q);

	message_of(t, i)->record = RECORD_WAITS;
	t->records_wait = true;
	chunk_free(&t->chunks, i);
}

/* A record is one small packet, and its message waits for nothing else. */
static bool has_room(const struct transfer *t, const struct outlet *q)
{
	return lanes_has_room(t->attr.lanes, q->lane, q->qp,
			      t->chunks.at[q->pending.head].is_record);
}

static void posted(struct transfer *t, struct outlet *q, uint32_t i)
{
	(void)i;
	take_pending(t, q);
	t->stats.chunks_posted++;
}

/*
 * One message alone is sent at once. Of many, each would leave in a datagram of its own where its
 * QP happens to have nothing else to do: they leave together at the next poll.
 */
static unsigned haste(const struct transfer *t)
{
	return t->n_messages > AT_ONCE ? QP_WR_LATER : 0;
}

static int post_chunk(struct transfer *t, struct outlet *q, uint32_t i)
{
	struct message *m = message_of(t, i);
	bool had_number = m->has_number;
	uint32_t record;
	int err;

	if (t->chunks.at[i].is_record) {
		err = record_post(t, q, i);
		if (!err)
			posted(t, q, i);
		return err;
	}
	record = begin_pair(t, q, i);
	err = post_data(t, q, i, (record == NO_CHUNK ? 0 : QP_WR_MORE) | haste(t));
	if (!err)
		posted(t, q, i);
	else if (!had_number && m->has_number)
		record_return_number(t, m);
	if (record == NO_CHUNK)
		return err;
	if (err)
		chunk_free(&t->chunks, record);
	else
		end_pair(t, q, record);
	return err;
}

/*
 * Posts the QP's next chunk. False: it has none, there is no room, or the provider does not take it
 * now.
 */
static bool post_next(struct transfer *t, struct outlet *q)
{
	while (q->pending.n && has_room(t, q)) {
		uint32_t i = q->pending.head;
		int err;

		if (!message_wants(t, i)) {
			message_chunk_done(t, take_pending(t, q));
			continue;
		}
		if (t->chunks.at[i].is_record && !record_has_number(t, message_of(t, i))) {
			put_record_off(t, q);
			continue;
		}
		err = post_chunk(t, q, i);
		switch (failure_of_post(err)) {
		case FAILURE_NONE:
			return true;
		case FAILURE_MESSAGE:
			refuse_chunk(t, q, err);
			continue;
		case FAILURE_PATH:
			lanes_refuse_posts(t->attr.lanes, q->lane, err);
			return false;
		default:
			t->is_stalled |= !lanes_qp_posted(t->attr.lanes, q->lane, q->qp);
			return false;
		}
	}
	return false;
}

/* The lane's QPs post in turn, a chunk each, for as long as there is room. */
void post_lane(struct transfer *t, unsigned lane)
{
	unsigned idle = 0;

	while (idle < t->attr.n_qps && lanes_lane_has_room(t->attr.lanes, lane)) {
		unsigned qp = t->post_turn[lane]++ % t->attr.n_qps;

		idle = post_next(t, outlet_of(t, lane, qp)) ? 0 : idle + 1;
	}
}

/* Gives chunk i to a QP. False: none can take it now; it stays with the caller. */
static bool assign(struct transfer *t, uint32_t i)
{
	struct chunk *c = &t->chunks.at[i];
	struct outlet *q;

	if (!t->weights.sum || t->error)
		return false;
	if (c->lane == UINT16_MAX &&
	    !(c->is_record ? placement_record(t, c) : t->placement.kind->choose(t, c)))
		return false;
	q = outlet_of(t, c->lane, c->qp);
	/* a choice once made stands until the weights change: another would bend the proportions */
	if (q->pending.n >= PENDING_PER_QP && !c->is_record)
		return false;
	q->pending_bytes += c->length;
	if (c->is_record)
		chunk_prepend(&t->chunks, &q->pending, i);
	else
		chunk_append(&t->chunks, &q->pending, i);
	post_next(t, q);
	return true;
}

/* ---- cutting ---- */

/*
 * Length of the chunk that begins at m->assigned. A message is cut into as few chunks as the unit
 * allows, all of the same number of packets or one more: a short tail would count as a whole unit
 * with the schedule and starve whichever planes it always falls on.
 */
static uint32_t cut_length(const struct transfer *t, const struct message *m)
{
	uint64_t mtu = t->attr.paths->path_mtu, left = m->write.length - m->assigned;
	uint64_t packets = (m->write.length + mtu - 1) / mtu, unit = unit_bytes_of(t, m) / mtu;
	uint64_t chunks, end;

	unit = unit ? unit : 1;
	chunks = (packets + unit - 1) / unit;
	/* chunk i covers packets [i * packets / chunks, (i + 1) * packets / chunks) */
	if (m->write.n_pieces) { /* a work request names one piece of memory */
		left = pieces_left(t, m, m->assigned);
		return (uint32_t)(unit * mtu < left ? unit * mtu : left);
	}
	end = (m->n_cut + 1) * packets / chunks * mtu - m->assigned;
	return (uint32_t)(end < left ? end : left);
}

static uint32_t cut(struct transfer *t, struct message *m)
{
	uint32_t i = chunk_alloc(&t->chunks, (uint32_t)(m - t->messages), cut_length(t, m));

	if (i == NO_CHUNK)
		return i;
	t->chunks.at[i].offset = m->assigned;
	m->assigned += t->chunks.at[i].length;
	m->n_cut++;
	m->open_chunks++;
	return i;
}

/*
 * A wrong key costs the lane that meets it, as a responder ends the QP. So the first chunk by a key
 * that is not known to be good, nor said to be, goes alone: were all of a long message sent at
 * once, it would end every lane.
 */
static uint64_t *key_place(struct transfer *t, const struct message *m, uint64_t *key)
{
	*key = (uint64_t)m->write.rkey << 2 | (uint64_t)m->is_read << 1 | 1;
	return &t->known_keys[*key * UINT64_C(0x9e3779b97f4a7c15) >> 58];
}
_Static_assert(KNOWN_KEYS == 1 << (64 - 58), "the hash's bits");

static bool key_is_known(struct transfer *t, const struct message *m)
{
	uint64_t key;

	return m->write.flags & FARE_KEY_IS_GOOD || *key_place(t, m, &key) == key;
}

void post_key_is(struct transfer *t, const struct message *m, bool good)
{
	uint64_t key, *place = key_place(t, m, &key);

	if (good)
		*place = key;
	else if (*place == key)
		*place = 0;
}

/* The chunk that found no QP before. False: it finds none now. */
bool post_parked(struct transfer *t, struct message *m)
{
	uint32_t i = m->parked;

	if (i == NO_CHUNK)
		return true;
	if (message_wants(t, i) && !assign(t, i))
		return false;
	m->parked = NO_CHUNK;
	if (!message_wants(t, i))
		message_chunk_done(t, i);
	return true;
}

enum placing {
	PLACED_ALL,
	PLACING_FULL,  /* the QP that is next takes no more, or there are no more chunks */
	PLACING_WAITS, /* for its first chunk to come back */
};

/* Cuts and places a message as far as QPs take it. */
static enum placing place_message(struct transfer *t, struct message *m)
{
	if (!post_parked(t, m))
		return PLACING_FULL;
	while (m->in_use && !m->status && m->assigned < m->write.length) {
		uint32_t i;

		if (m->n_cut && !m->placed && !key_is_known(t, m))
			return PLACING_WAITS;
		i = cut(t, m);
		if (i == NO_CHUNK)
			return PLACING_FULL;
		if (!assign(t, i)) {
			m->parked = i;
			return PLACING_FULL;
		}
	}
	return PLACED_ALL;
}

/* New messages in their order. One that has to wait makes the others wait, or is passed over. */
static void place_new(struct transfer *t)
{
	struct message *m, *next;

	DL_FOREACH_SAFE2(t->cut, m, next, cut_next)
	{
		enum placing how = place_message(t, m);

		if (how == PLACED_ALL)
			message_unqueue(t, m);
		else if (how == PLACING_FULL && !t->placement.kind->independent)
			return;
	}
}

void post_all(struct transfer *t)
{
	uint32_t i;

	while ((i = chunk_take(&t->chunks, &t->replay)) != NO_CHUNK) {
		if (!message_wants(t, i)) {
			message_chunk_done(t, i);
		} else if (!assign(t, i)) {
			chunk_prepend(&t->chunks, &t->replay, i);
			return;
		}
	}
	place_new(t);
}
