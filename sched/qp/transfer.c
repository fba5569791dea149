/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * transfer.c - messages over lanes: cut into chunks, placed, replayed, completed exactly once.
 *
 * Solely owns: a group's messages, and which list a chunk is in. In: operations of the application
 * (operations.c), completions of the provider, confirmed ends of lanes, `now` (the domain's). Out:
 * work requests, events. Pure; the domain's thread.
 *
 * Life of a message: queued; cut into chunks; each chunk
 * is given to a QP (placement.h), waits in that QP's short list, is posted, and comes back
 * acknowledged or flushed. Flushed chunks are replayed elsewhere before anything new. Their message
 * remembers the lane as stale until the lane's old QPs are known to be gone at both ends: until
 * then a packet of the old attempt may land. When all bytes are placed and no lane is stale, the
 * message completes; if it notifies, after its record was placed.
 *
 * Records are records.h's. A message of fare_group_send() is nothing but its record.
 *
 * A message of one chunk has its record posted right behind the chunk, on the same QP (a pair): one
 * round trip instead of two. An RC QP places the record after the data (IBTA o9-20), so the record
 * tells the truth. (Where bytes may be acknowledged before they can be seen, flush.h says when a
 * record may leave.) But if the lane then dies, the sender cannot know whether the receiver was
 * told and uses the memory again; a replay of the data would overwrite that. So a pair is not
 * replayed before the peer has said which records it took (control_wire.h, `seen`): if this one,
 * the message is done; if not, it never will be, and both are replayed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "qp/chunks.h"
#include "qp/flush.h"
#include "qp/group_shape.h"
#include "qp/internal.h"
#include "qp/pieces.h"
#include "qp/placement.h"
#include "qp/planted.h"
#include "qp/records.h"

static struct message *message_of(struct fare_group *group, uint32_t chunk)
{
	return &group->messages[group->chunks[chunk].message];
}

void transfer_recall(struct fare_group *group, struct lane_qp *q)
{
	uint32_t i, first = NO_CHUNK;

	/* keeps their order at the head of the replay list: reversed twice */
	while ((i = chunk_take(group, &q->pending)) != NO_CHUNK && !PLANTED(recalled_lost)) {
		group->chunks[i].next = first;
		group->chunks[i].lane = UINT16_MAX;
		first = i;
	}
	q->pending_bytes = 0;
	while (first != NO_CHUNK) {
		i = first;
		first = group->chunks[i].next;
		chunk_prepend(group, &group->replay, i);
	}
}

void transfer_place_anew(struct fare_group *group)
{
	struct message *m;
	uint32_t i;

	for (unsigned l = 0; l < group->n_lanes; l++)
		for (unsigned k = 0; k < group->lanes[l].n_qps; k++)
			transfer_recall(group, &group->lanes[l].qps[k]);
	i = group->replay.head;
	for (uint32_t n = group->replay.n; n; n--, i = group->chunks[i].next)
		group->chunks[i].lane = UINT16_MAX;
	DL_FOREACH2 (group->cut, m, cut_next)
		if (m->parked != NO_CHUNK)
			group->chunks[m->parked].lane = UINT16_MAX;
}

/* ---- messages not wholly cut, in their order ---- */

static void cut_append(struct fare_group *group, struct message *m)
{
	m->is_queued = true;
	DL_APPEND2(group->cut, m, cut_prev, cut_next);
}

static void cut_remove(struct fare_group *group, struct message *m)
{
	if (m->is_queued)
		DL_DELETE2(group->cut, m, cut_prev, cut_next);
	m->is_queued = false;
}

/* ---- completing ---- */

/* One that tells of nothing need not wait for what cannot be seen yet. */
static bool may_tell(struct fare_group *group, struct message *m)
{
	return m->status || flush_allows(group, m);
}

/* Its record is to be placed, by whichever QP has least to do. */
static void queue_record(struct fare_group *group, struct message *m)
{
	uint32_t i;

	i = may_tell(group, m)
		    ? chunk_alloc(group, (uint32_t)(m - group->messages), record_bytes(m))
		    : NO_CHUNK;
	if (i == NO_CHUNK) {
		m->record = RECORD_WAITS;
		group->records_wait = true;
		return;
	}
	m->record = RECORD_OUT;
	group->chunks[i].is_record = true;
	chunk_prepend(group, &group->replay, i);
}

static void finish(struct fare_group *group, struct message *m)
{
	struct fare_event e = {.kind = m->late ? FARE_EVENT_RELEASED : FARE_EVENT_COMPLETED,
			       .group = group,
			       .context = m->write.context,
			       .status = m->status};

	if (m->has_number) {
		record_free_number(group, m);
		group->ends_wait |= group->options.in_order; /* those behind it */
	}
	cut_remove(group, m);
	m->in_use = PLANTED(completed_twice) && m->write.deadline_ns && !m->status;
	group->n_messages--;
	group->n_deadlines -= m->write.deadline_ns != 0;
	if (!m->status) {
		group->stats.messages_completed++;
		group->stats.bytes_completed += m->write.length + m->send_bytes;
	}
	event_queue_add(&group->domain->events, &e);
}

/* A number that was taken has to arrive, even if it tells of nothing (is_void). */
static bool wants_record(const struct message *m)
{
	return m->record != RECORD_DONE &&
	       (m->has_number || (!m->status && (m->write.flags & FARE_WRITE_NOTIFY)));
}

/*
 * Completions are in order, too. If a later message completed first and the group closed then, the
 * receiver would never deliver it, because those in front of it are missing.
 */
static bool is_next(const struct fare_group *group, const struct message *m)
{
	return !group->options.in_order || !m->has_number ||
	       m->record_number == group->record_floor;
}

/* Completes a message that is at its end; or queues its record, if that is what is left. */
static void advance(struct fare_group *group, struct message *m)
{
	/* once it is over the peer tells its application of nothing more: transfer_cancel() */
	if (!m->in_use || group_is_over(group) || (m->open_chunks && !PLANTED(notified_early)) ||
	    m->stale_lanes || m->record == RECORD_OUT || m->record == RECORD_PAIRED ||
	    (!m->status && m->placed < m->write.length && !PLANTED(notified_early)))
		return;
	if (wants_record(m))
		queue_record(group, m);
	else if (group->posting)
		group->ends_wait = true; /* transfer_step() completes it */
	else if (is_next(group, m))
		finish(group, m);
}

static void chunk_done(struct fare_group *group, uint32_t i)
{
	struct message *m = message_of(group, i);

	if (!group->chunks[i].is_record)
		m->open_chunks--;
	else if (m->record == RECORD_OUT)
		m->record = RECORD_WAITS; /* it was not wanted any more */
	chunk_free(group, i);
	advance(group, m);
}

/*
 * A chunk of a message that failed, is late or was closed is not placed any more; nor its record,
 * unless that has a number.
 */
static bool wanted(struct fare_group *group, uint32_t i)
{
	const struct message *m = message_of(group, i);

	return m->in_use && (!m->status || (group->chunks[i].is_record && m->has_number));
}

/* Takes what is not wanted any more out of a list, in which it may wait for a plane for ever. */
static void sweep(struct fare_group *group, struct chunk_list *list, uint64_t *bytes)
{
	struct chunk_list kept = {NO_CHUNK, NO_CHUNK, 0}, gone = kept;
	uint32_t i;

	while ((i = chunk_take(group, list)) != NO_CHUNK)
		chunk_append(group, wanted(group, i) ? &kept : &gone, i);
	*list = kept;
	while ((i = chunk_take(group, &gone)) != NO_CHUNK) {
		*bytes -= group->chunks[i].length;
		chunk_done(group, i);
	}
}

static void sweep_all(struct fare_group *group)
{
	uint64_t unused = UINT64_MAX;

	sweep(group, &group->replay, &unused);
	for (unsigned l = 0; l < group->n_lanes; l++)
		for (unsigned k = 0; k < group->lanes[l].n_qps; k++)
			sweep(group, &group->lanes[l].qps[k].pending,
			      &group->lanes[l].qps[k].pending_bytes);
}

/* ---- posting ---- */

#define AT_ONCE 4 /* outstanding messages that are sent without waiting for others */

/*
 * The chunk of a record that is to be posted right behind its message's only chunk of data. If that
 * is not possible now (NO_CHUNK), the record follows by itself when the data is acknowledged.
 */
static uint32_t begin_pair(struct fare_group *group, struct lane_qp *q, uint32_t data)
{
	struct message *m = message_of(group, data);
	uint32_t i;

	/* while an attempt of before may still land, nobody may be told that all is in place */
	if (!(m->write.flags & FARE_WRITE_NOTIFY) || m->n_cut != 1 ||
	    m->assigned < m->write.length || m->record == RECORD_DONE || m->stale_lanes ||
	    !flush_is_clean(group) || !record_has_number(group, m))
		return NO_CHUNK;
	i = chunk_alloc(group, group->chunks[data].message, RING_RECORD_BYTES);
	if (i == NO_CHUNK)
		return i;
	group->chunks[i].is_record = true;
	group->chunks[i].lane = q->lane;
	group->chunks[i].qp = q->index;
	return i;
}

static void end_pair(struct fare_group *group, struct lane_qp *q, uint32_t record)
{
	if (record_post(group, q, record)) {
		chunk_free(group, record);
		return;
	}
	message_of(group, record)->record = RECORD_PAIRED;
	lane_qps_on_post(group, q, RING_RECORD_BYTES);
}

static int post_data(struct fare_group *group, struct lane_qp *q, uint32_t i, unsigned flags)
{
	const struct qp_provider *provider = group->domain->ep.provider;
	const struct chunk *c = &group->chunks[i];
	const struct message *m = &group->messages[c->message];
	uint64_t remote_addr = m->write.remote_addr + c->offset;
	uint32_t lkey = m->lkey;
	uint8_t *data = m->write.n_pieces ? pieces_at(group, m, c->offset, &lkey)
					  : (uint8_t *)(uintptr_t)m->write.data + c->offset;

	if (m->is_read)
		return provider->post_read(q->qp, &(struct qp_read){.wr_id = i,
								    .data = data,
								    .lkey = lkey,
								    .length = c->length,
								    .remote_addr = remote_addr,
								    .rkey = m->write.rkey});
	return provider->post_write(q->qp, &(struct qp_write){.wr_id = i,
							      .data = data,
							      .lkey = lkey,
							      .length = c->length,
							      .remote_addr = remote_addr,
							      .rkey = m->write.rkey,
							      .flags = flags});
}

static uint32_t take_pending(struct fare_group *group, struct lane_qp *q)
{
	uint32_t i = chunk_take(group, &q->pending);

	q->pending_bytes -= group->chunks[i].length;
	return i;
}

/*
 * The peer has no such region, or this end has not: the message fails, alone; but without its ring
 * a group is none.
 */
static void refuse_chunk(struct fare_group *group, struct lane_qp *q, int status)
{
	uint32_t i = take_pending(group, q);

	message_of(group, i)->status = status;
	group->chunks[i].lane = UINT16_MAX;
	chunk_append(group, &group->replay, i); /* where pump() finds it */
	if (group->chunks[i].is_record)
		group_end(group, -ECANCELED);
}

/* Until an older record is done: transfer_step() queues it again. */
static void put_record_off(struct fare_group *group, struct lane_qp *q)
{
	uint32_t i = take_pending(group, q);

	message_of(group, i)->record = RECORD_WAITS;
	group->records_wait = true;
	chunk_free(group, i);
}

/* A record is one small packet, and its message waits for nothing else. */
static bool has_room(const struct fare_group *group, const struct lane_qp *q)
{
	const struct lane *lane = &group->lanes[q->lane];

	if (group->domain->ep.now_ns < lane->post_ns)
		return false;
	return group->chunks[q->pending.head].is_record ||
	       (q->posted_bytes < lane->qp_room_bytes && lane->posted_bytes < lane->room_bytes);
}

static void posted(struct fare_group *group, struct lane_qp *q, uint32_t i)
{
	take_pending(group, q);
	lane_qps_on_post(group, q, group->chunks[i].length);
	group->stats.chunks_posted++;
	shown_posted(group, q->lane);
}

/*
 * One message alone is sent at once. Of many, each would leave in a datagram of its own where its
 * QP happens to have nothing else to do: they leave together at the next poll.
 */
static unsigned haste(const struct fare_group *group)
{
	return group->n_messages > AT_ONCE ? QP_WR_LATER : 0;
}

static int post_chunk(struct fare_group *group, struct lane_qp *q, uint32_t i)
{
	struct message *m = message_of(group, i);
	bool had_number = m->has_number;
	uint32_t record;
	int err;

	if (group->chunks[i].is_record) {
		err = record_post(group, q, i);
		if (!err)
			posted(group, q, i);
		return err;
	}
	record = begin_pair(group, q, i);
	err = post_data(group, q, i, (record == NO_CHUNK ? 0 : QP_WR_MORE) | haste(group));
	if (!err)
		posted(group, q, i);
	else if (!had_number && m->has_number)
		record_return_number(group, m);
	if (record == NO_CHUNK)
		return err;
	if (err)
		chunk_free(group, record);
	else
		end_pair(group, q, record);
	return err;
}

/*
 * Posts the QP's next chunk. False: it has none, there is no room, or the provider does not take it
 * now.
 */
static bool post_next(struct fare_group *group, struct lane_qp *q)
{
	while (q->pending.n && has_room(group, q)) {
		uint32_t i = q->pending.head;
		int err;

		if (!wanted(group, i)) {
			chunk_done(group, take_pending(group, q));
			continue;
		}
		if (group->chunks[i].is_record && !record_has_number(group, message_of(group, i))) {
			put_record_off(group, q);
			continue;
		}
		err = post_chunk(group, q, i);
		switch (failure_of_post(err)) {
		case FAILURE_NONE:
			return true;
		case FAILURE_MESSAGE:
			refuse_chunk(group, q, err);
			continue;
		case FAILURE_PATH:
			lane_refuses_posts(group, q->lane, err);
			return false;
		default:
			group->is_stalled |= !q->posted;
			return false;
		}
	}
	return false;
}

/* The lane's QPs post in turn, a chunk each, for as long as there is room. */
static void drain(struct fare_group *group, struct lane *lane)
{
	unsigned idle = 0;

	while (idle < lane->n_qps && lane->posted_bytes < lane->room_bytes)
		idle = post_next(group, &lane->qps[lane->post_turn++ % lane->n_qps]) ? 0 : idle + 1;
}

/* Gives chunk i to a QP. False: none can take it now; it stays with the caller. */
static bool assign(struct fare_group *group, uint32_t i)
{
	struct chunk *c = &group->chunks[i];
	struct lane_qp *q;

	if (!group->weights.sum)
		return false;
	if (c->lane == UINT16_MAX &&
	    !(c->is_record ? placement_record(group, c) : group->placement->choose(group, c)))
		return false;
	q = &group->lanes[c->lane].qps[c->qp];
	/* a choice once made stands until the weights change: another would bend the proportions */
	if (q->pending.n >= PENDING_PER_QP && !c->is_record)
		return false;
	q->pending_bytes += c->length;
	if (c->is_record)
		chunk_prepend(group, &q->pending, i);
	else
		chunk_append(group, &q->pending, i);
	post_next(group, q);
	return true;
}

/* ---- cutting ---- */

/*
 * Length of the chunk that begins at m->assigned. A message is cut into as few chunks as the unit
 * allows, all of the same number of packets or one more: a short tail would count as a whole unit
 * with the schedule and starve whichever planes it always falls on.
 */
static uint32_t cut_length(const struct fare_group *group, const struct message *m)
{
	uint64_t mtu = group->path_mtu, left = m->write.length - m->assigned;
	uint64_t packets = (m->write.length + mtu - 1) / mtu,
		 unit = shape_unit_bytes(group, m) / mtu;
	uint64_t chunks, end;

	unit = unit ? unit : 1;
	chunks = (packets + unit - 1) / unit;
	/* chunk i covers packets [i * packets / chunks, (i + 1) * packets / chunks) */
	if (m->write.n_pieces) { /* a work request names one piece of memory */
		left = pieces_left(group, m, m->assigned);
		return (uint32_t)(unit * mtu < left ? unit * mtu : left);
	}
	end = (m->n_cut + 1) * packets / chunks * mtu - m->assigned;
	return (uint32_t)(end < left ? end : left);
}

static uint32_t cut(struct fare_group *group, struct message *m)
{
	uint32_t i = chunk_alloc(group, (uint32_t)(m - group->messages), cut_length(group, m));

	if (i == NO_CHUNK)
		return i;
	group->chunks[i].offset = m->assigned;
	m->assigned += group->chunks[i].length;
	m->n_cut++;
	m->open_chunks++;
	return i;
}

/*
 * A wrong key costs the lane that meets it, as a responder ends the QP. So the first chunk by a key
 * that is not known to be good, nor said to be, goes alone: were all of a long message sent at
 * once, it would end every lane.
 */
static uint64_t *key_place(struct fare_group *group, const struct message *m, uint64_t *key)
{
	*key = (uint64_t)m->write.rkey << 2 | (uint64_t)m->is_read << 1 | 1;
	return &group->known_keys[*key * UINT64_C(0x9e3779b97f4a7c15) >> 58];
}
_Static_assert(KNOWN_KEYS == 1 << (64 - 58), "the hash's bits");

static bool key_is_known(struct fare_group *group, const struct message *m)
{
	uint64_t key;

	return m->write.flags & FARE_KEY_IS_GOOD || *key_place(group, m, &key) == key;
}

static void key_is(struct fare_group *group, const struct message *m, bool good)
{
	uint64_t key, *place = key_place(group, m, &key);

	if (good)
		*place = key;
	else if (*place == key)
		*place = 0;
}

/* The chunk that found no QP before. False: it finds none now. */
static bool place_parked(struct fare_group *group, struct message *m)
{
	uint32_t i = m->parked;

	if (i == NO_CHUNK)
		return true;
	if (wanted(group, i) && !assign(group, i))
		return false;
	m->parked = NO_CHUNK;
	if (!wanted(group, i))
		chunk_done(group, i);
	return true;
}

enum placing {
	PLACED_ALL,
	PLACING_FULL,  /* the QP that is next takes no more, or there are no more chunks */
	PLACING_WAITS, /* for its first chunk to come back */
};

/* Cuts and places a message as far as QPs take it. */
static enum placing place_message(struct fare_group *group, struct message *m)
{
	if (!place_parked(group, m))
		return PLACING_FULL;
	while (m->in_use && !m->status && m->assigned < m->write.length) {
		uint32_t i;

		if (m->n_cut && !m->placed && !key_is_known(group, m))
			return PLACING_WAITS;
		i = cut(group, m);
		if (i == NO_CHUNK)
			return PLACING_FULL;
		if (!assign(group, i)) {
			m->parked = i;
			return PLACING_FULL;
		}
	}
	return PLACED_ALL;
}

/* New messages in their order. One that has to wait makes the others wait, or is passed over. */
static void place_new(struct fare_group *group)
{
	struct message *m, *next;

	DL_FOREACH_SAFE2(group->cut, m, next, cut_next)
	{
		enum placing how = place_message(group, m);

		if (how == PLACED_ALL)
			cut_remove(group, m);
		else if (how == PLACING_FULL && !group->placement->independent)
			return;
	}
}

static void pump(struct fare_group *group)
{
	uint32_t i;

	while ((i = chunk_take(group, &group->replay)) != NO_CHUNK) {
		if (!wanted(group, i)) {
			chunk_done(group, i);
		} else if (!assign(group, i)) {
			chunk_prepend(group, &group->replay, i);
			return;
		}
	}
	place_new(group);
}

/* ---- what arrives ---- */

static void on_placed(struct fare_group *group, struct lane_qp *q, uint32_t i)
{
	struct chunk *c = &group->chunks[i];
	struct message *m = &group->messages[c->message];

	shown_acked(group, q, c->length);
	if (c->is_record) {
		m->record = RECORD_DONE;
	} else {
		m->placed += c->length;
		key_is(group, m, true);
		if (m->record != RECORD_PAIRED && !m->is_read)
			flush_data_placed(group, q);
		group->stats.plane_bytes[q->lane] += c->length;
		if (group->flows)
			flow_table_account(group->flows, c->flow, c->length, q->source_port);
	}
	chunk_done(group, i);
}

/*
 * Not known to be placed. A chunk is replayed elsewhere at once, and its message waits until this
 * attempt cannot land any more. The data of a pair waits, too (on top of this file).
 */
static void on_flushed(struct fare_group *group, struct lane_qp *q, uint32_t i)
{
	struct lane *lane = &group->lanes[q->lane];
	struct message *m = message_of(group, i);
	bool is_pair = m->record == RECORD_PAIRED;

	if ((is_pair || !(lane->state == LANE_RESETTING && lane->confirmed)) &&
	    !PLANTED(stale_writes))
		m->stale_lanes |= 1u << q->lane;
	group->chunks[i].lane = UINT16_MAX;
	group->stats.chunks_replayed++;
	if (!is_pair || PLANTED(pair_replayed)) {
		if (!PLANTED(replay_lost))
			chunk_append(group, &group->replay, i);
		return;
	}
	if (group->chunks[i].is_record) {
		m->record = m->placed == m->write.length ? RECORD_WAITS : RECORD_UNKNOWN;
		chunk_free(group, i);
	} else {
		m->held = i;
	}
}

/* The lane is gone at both ends, and the peer has said which records it took. */
static void resolve_pair(struct fare_group *group, struct message *m)
{
	uint32_t i = m->held;

	m->held = NO_CHUNK;
	m->record = RECORD_WAITS;
	if (i != NO_CHUNK &&
	    (ring_seen_has(&group->peer_seen, m->record_number) || PLANTED(pair_assumed))) {
		m->record = RECORD_DONE;
		m->placed += group->chunks[i].length;
		m->open_chunks--;
		chunk_free(group, i);
	} else if (i != NO_CHUNK) {
		chunk_append(group, &group->replay, i);
	}
}

void transfer_lane_confirmed(struct fare_group *group, unsigned lane)
{
	flush_lane_quiet(group, lane);
	for (uint32_t i = 0; i < group->options.max_messages; i++) {
		struct message *m = &group->messages[i];

		if (!m->in_use || !(m->stale_lanes >> lane & 1))
			continue;
		m->stale_lanes &= ~(1u << lane);
		if (m->record == RECORD_UNKNOWN || m->held != NO_CHUNK)
			resolve_pair(group, m);
		advance(group, m);
	}
	run_queue_add(&group->run);
}

/* A failure that would come again on any other lane. */
static void refused(struct fare_group *group, struct message *m, int status)
{
	m->status = status;
	key_is(group, m, false);
}

void transfer_on_completion(struct fare_group *group, const struct qp_wc *wc)
{
	struct lane_qp *q = wc->context;
	uint32_t i = (uint32_t)wc->wr_id;
	enum failure failure;
	int error;

	if (wc->is_receive) {
		if (wc->status == QP_WC_SUCCESS && wc->has_imm)
			record_deliver(group, wc->imm);
		return;
	}
	if (i >= group->n_chunks || !q->posted)
		return;
	lane_qps_on_completion(group, q, group->chunks[i].length);
	failure = failure_of_completion(wc->status, &error);
	if (PLANTED(narrow_final) && wc->status == QP_WC_LOC_LEN_ERR) {
		failure = FAILURE_MESSAGE;
		error = -EINVAL;
	}
	if (group->chunks[i].message == NO_MESSAGE) {
		flush_on_read(group, q, failure == FAILURE_NONE);
		chunk_free(group, i);
	} else if (failure == FAILURE_NONE) {
		on_placed(group, q, i);
	} else {
		if (failure == FAILURE_MESSAGE)
			refused(group, message_of(group, i), error);
		on_flushed(group, q, i);
	}
	if (failure == FAILURE_NONE) {
		drain(group, &group->lanes[q->lane]);
		return;
	}
	lane_on_failure(group, q->lane, failure);
	lane_drained(group, q->lane);
}

/* ---- the turn ---- */

/*
 * Reports that a message is late; what is out of it is awaited as if it had failed, then its memory
 * is free.
 */
static void expire(struct fare_group *group, struct message *m)
{
	struct fare_event e = {.kind = FARE_EVENT_COMPLETED,
			       .group = group,
			       .context = m->write.context,
			       .status = -ETIMEDOUT};

	m->late = true;
	m->status = -ETIMEDOUT;
	event_queue_add(&group->domain->events, &e);
	if (PLANTED(released_early))
		m->stale_lanes = m->open_chunks = 0;
	sweep_all(group);
	if (m->parked != NO_CHUNK)
		place_parked(group, m);
	advance(group, m);
}

void transfer_check_deadlines(struct fare_group *group)
{
	for (uint32_t i = 0; group->n_deadlines && i < group->options.max_messages; i++) {
		struct message *m = &group->messages[i];

		if (m->in_use && m->write.deadline_ns && !m->late &&
		    group->domain->ep.now_ns >= m->write.deadline_ns)
			expire(group, m);
	}
}

/*
 * Messages that nothing else brings on: at their end when they were queued, or without a record's
 * number or chunk.
 */
static void advance_waiting(struct fare_group *group)
{
	bool again = group->ends_wait || group->records_wait;

	while (again) {
		group->ends_wait = group->records_wait = false;
		for (uint32_t i = 0; i < group->options.max_messages; i++)
			advance(group, &group->messages[i]);
		again = group->ends_wait;
	}
}

void transfer_step(struct fare_group *group)
{
	group->is_stalled = false;
	advance_waiting(group);
	transfer_check_deadlines(group);
	flush_step(group);
	pump(group);
	for (unsigned l = 0; group->n_messages && l < group->n_lanes; l++)
		if (group->lanes[l].state == LANE_UP)
			drain(group, &group->lanes[l]);
}

void transfer_cancel(struct fare_group *group)
{
	for (uint32_t i = 0; i < group->options.max_messages; i++) {
		struct message *m = &group->messages[i];
		struct fare_event e = {.kind = FARE_EVENT_COMPLETED,
				       .group = group,
				       .context = m->write.context,
				       .status = -ECANCELED};

		if (!m->in_use)
			continue;
		if (m->late)
			e.kind = FARE_EVENT_RELEASED;
		m->in_use = false;
		group->n_messages--;
		group->n_deadlines -= m->write.deadline_ns != 0;
		event_queue_add(&group->domain->events, &e);
	}
}

/* ---- what is asked for ---- */

static struct message *message_alloc(struct fare_group *group)
{
	for (uint32_t k = 0; k < group->options.max_messages; k++) {
		uint32_t i = (group->message_turn + k) % group->options.max_messages;

		if (!group->messages[i].in_use) {
			group->message_turn = i + 1;
			return &group->messages[i];
		}
	}
	return NULL;
}

static bool tells_peer(const struct operation *op)
{
	return op->is_send || op->write.flags & FARE_WRITE_NOTIFY;
}

/*
 * Nothing completes in here, as the queue of events has no room for what an application that does
 * not poll would pile up.
 */
int transfer_queue(struct fare_group *group, const struct operation *op)
{
	const struct fare_write *w = &op->write;
	/* then nothing of it leaves: transfer_check_deadlines() says that it is late */
	bool is_late = w->deadline_ns && group->domain->ep.now_ns >= w->deadline_ns;
	struct message *m;
	int err = 0;

	if (group->n_messages == group->options.max_messages ||
	    (group->options.in_order && tells_peer(op) && !record_number_is_free(group)))
		return -ENOBUFS;
	if (w->n_pieces)
		err = pieces_reserve(group);
	if (err)
		return err;
	m = message_alloc(group);
	*m = (struct message){.in_use = true,
			      .is_read = op->is_read,
			      .is_send = op->is_send,
			      .is_followed = op->is_followed,
			      .send_bytes = op->send_bytes,
			      .write = *w,
			      .number = group->next_number++,
			      .kernel_qp = UINT32_MAX,
			      .parked = NO_CHUNK,
			      .held = NO_CHUNK,
			      .lkey = w->length && !w->n_pieces ? domain_mr_lkey(w->mr) : 0};
	if (op->is_send)
		m->write.flags |= FARE_WRITE_NOTIFY;
	if (w->n_pieces)
		m->write.length = pieces_keep(group, m, w);
	record_keep(group, m, op->send_data);
	if (group->options.in_order && tells_peer(op))
		record_take_number(group, m);
	group->n_messages++;
	group->n_deadlines += w->deadline_ns != 0;
	group->posting = true;
	if (m->write.length && !is_late)
		cut_append(group, m);
	else if (!is_late)
		advance(group, m);
	group->posting = false;
	return 0;
}

void transfer_go(struct fare_group *group)
{
	domain_has_work(group->domain);
	/* an application that was idle may not have looked for a while */
	if (group_paths_changed(group) && event_queue_has_room(&group->domain->events))
		group_follow_paths(group);
	group->posting = true;
	if (group->state == GROUP_OPEN)
		pump(group);
	group->posting = false;
	run_queue_add(&group->run);
}

int transfer_init(struct fare_group *group)
{
	uint32_t max = group->options.max_messages;
	unsigned n_qps = group->n_lanes * group->lanes[0].n_qps;
	uint32_t most = group->qp_window_bytes / group->options.chunk_bytes;

	group->replay = (struct chunk_list){NO_CHUNK, NO_CHUNK, 0};
	group->free_chunk = NO_CHUNK;
	/* of each QP: what is pending, and what is on the wire at most; a record of each message */
	group->max_chunks =
		n_qps * (PENDING_PER_QP + (most > WINDOW_UNITS ? most : WINDOW_UNITS) + 4) +
		2 * max;
	group->placement = placement_of(group);
	group->messages = calloc(max, sizeof(*group->messages));
	if (!group->messages)
		return -ENOMEM;
	return records_init(group, ring_slots(max, group->domain->ep.provider->notify_per_qp
							   ? n_qps * ring_receives(max, n_qps)
							   : 0));
}

void transfer_fini(struct fare_group *group)
{
	free(group->messages);
	free(group->pieces);
	free(group->chunks);
	records_fini(group);
}
