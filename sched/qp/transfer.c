/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * transfer.c - messages over lanes: cut into chunks, placed, replayed, completed exactly once.
 *
 * Solely owns: a group's messages, its chunks and their lists, the numbers of its records. In:
 * operations of the application, completions of the provider, confirmed ends of lanes, `now` (the
 * domain's). Out: work requests, events. Pure; the domain's thread.
 *
 * Life of a message: queued by fare_group_write() or fare_group_read(); cut into chunks; each chunk
 * is given to a QP (placement.h), waits in that QP's short list, is posted, and comes back
 * acknowledged or flushed. Flushed chunks are replayed elsewhere before anything new. Their message
 * remembers the lane as stale until the lane's old QPs are known to be gone at both ends: until
 * then a packet of the old attempt may land. When all bytes are placed and no lane is stale, the
 * message completes; if it notifies, after its record was placed.
 *
 * A record is an RDMA WRITE with immediate into the peer's ring (ring.h). Records are numbered when
 * they are made, without a gap; the receiver takes each number once, so a record may be replayed.
 * At most max_messages are unfinished, all numbers within max_messages of each other.
 *
 * A message of one chunk has its record posted right behind the chunk, on the same QP (a pair): one
 * round trip instead of two. An RC QP places the record after the data (IBTA o9-20), so the record
 * tells the truth. But if the lane then dies, the sender cannot know whether the receiver was told
 * and uses the memory again; a replay of the data would overwrite that. So a pair is not replayed
 * before the peer has said which records it took (control_wire.h, `seen`): if this one, the message
 * is done; if not, it never will be, and both are replayed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "qp/internal.h"
#include "qp/placement.h"
#include "qp/planted.h"

/* ---- chunk lists ---- */

static void list_append(struct fare_group *group, struct chunk_list *list, uint32_t i)
{
	group->chunks[i].next = NO_CHUNK;
	if (list->n++)
		group->chunks[list->tail].next = i;
	else
		list->head = i;
	list->tail = i;
}

static void list_prepend(struct fare_group *group, struct chunk_list *list, uint32_t i)
{
	group->chunks[i].next = list->n ? list->head : NO_CHUNK;
	if (!list->n++)
		list->tail = i;
	list->head = i;
}

static uint32_t list_take(struct fare_group *group, struct chunk_list *list)
{
	uint32_t i = list->head;

	if (!list->n)
		return NO_CHUNK;
	list->head = group->chunks[i].next;
	list->n--;
	return i;
}

/* Room for chunks grows with what is used; indices stay. -ENOMEM, -ENOBUFS: no more. */
static int grow_chunks(struct fare_group *group)
{
	uint32_t n = group->n_chunks ? 2 * group->n_chunks : 16;
	struct chunk *chunks;

	if (group->n_chunks == group->max_chunks)
		return -ENOBUFS;
	if (n > group->max_chunks)
		n = group->max_chunks;
	chunks = realloc(group->chunks, n * sizeof(*chunks));
	if (!chunks)
		return -ENOMEM;
	group->chunks = chunks;
	for (uint32_t i = group->n_chunks; i < n; i++)
		chunks[i].next = i + 1 < n ? i + 1 : NO_CHUNK;
	group->free_chunk = group->n_chunks;
	group->n_chunks = n;
	return 0;
}

static uint32_t chunk_alloc(struct fare_group *group, uint32_t message, uint32_t length)
{
	uint32_t i;

	if (group->free_chunk == NO_CHUNK && grow_chunks(group))
		return NO_CHUNK;
	i = group->free_chunk;
	group->free_chunk = group->chunks[i].next;
	group->chunks[i] = (struct chunk){.next = NO_CHUNK,
					  .lane = UINT16_MAX,
					  .flow = UINT64_MAX,
					  .message = message,
					  .length = length};
	return i;
}

static void chunk_free(struct fare_group *group, uint32_t i)
{
	group->chunks[i].next = group->free_chunk;
	group->free_chunk = i;
}

static struct message *message_of(struct fare_group *group, uint32_t chunk)
{
	return &group->messages[group->chunks[chunk].message];
}

void transfer_recall(struct fare_group *group, struct lane_qp *q)
{
	uint32_t i, first = NO_CHUNK;

	/* keeps their order at the head of the replay list: reversed twice */
	while ((i = list_take(group, &q->pending)) != NO_CHUNK && !PLANTED(recalled_lost)) {
		group->chunks[i].next = first;
		group->chunks[i].lane = UINT16_MAX;
		first = i;
	}
	q->pending_bytes = 0;
	while (first != NO_CHUNK) {
		i = first;
		first = group->chunks[i].next;
		list_prepend(group, &group->replay, i);
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

/* ---- records ---- */

/* Numbers in use stay within max_messages of each other. */
static bool number_is_free(const struct fare_group *group)
{
	return group->next_record - group->record_floor < group->options.max_messages;
}

static void take_number(struct fare_group *group, struct message *m)
{
	m->record_number = group->next_record++;
	m->has_number = true;
	group->records[m->record_number % group->options.max_messages] = true;
}

static void free_number(struct fare_group *group, struct message *m)
{
	uint32_t max = group->options.max_messages;

	group->records[m->record_number % max] = false;
	while (group->record_floor < group->next_record &&
	       !group->records[group->record_floor % max])
		group->record_floor++;
}

/* Where a record lies here, and in the peer's ring. */
static size_t record_here(const struct fare_group *group, const struct message *m)
{
	return m->record_number % group->options.max_messages * RING_RECORD_BYTES;
}

static size_t record_there(const struct fare_group *group, const struct message *m)
{
	return m->record_number % group->ring.slots * RING_RECORD_BYTES;
}

static int post_record(struct fare_group *group, struct lane_qp *q, uint32_t i)
{
	struct message *m = message_of(group, i);
	const struct ring_record record = {.seq = m->record_number,
					   .bytes = m->write.length,
					   .tag = m->write.tag,
					   .is_void = m->status != 0};
	struct qp_write w = {.wr_id = i,
			     .data = group->tx_records + record_here(group, m),
			     .lkey = group->tx_mr.lkey,
			     .length = RING_RECORD_BYTES,
			     .remote_addr = group->peer_ring_addr + record_there(group, m),
			     .rkey = group->peer_ring_rkey,
			     .imm = (uint32_t)m->record_number,
			     .flags = QP_WR_IMM};

	ring_fill(group->tx_records + record_here(group, m), &record);
	return group->domain->provider->post_write(q->qp, &w);
}

/* Its record is to be placed, by whichever QP has least to do. */
static void queue_record(struct fare_group *group, struct message *m)
{
	uint32_t i;

	i = chunk_alloc(group, (uint32_t)(m - group->messages), RING_RECORD_BYTES);
	if (i == NO_CHUNK) {
		m->record = RECORD_WAITS;
		group->records_wait = true;
		return;
	}
	m->record = RECORD_OUT;
	group->chunks[i].is_record = true;
	list_prepend(group, &group->replay, i);
}

/* ---- completing ---- */

static void finish(struct fare_group *group, struct message *m)
{
	struct fare_event e = {.kind = m->late ? FARE_EVENT_RELEASED : FARE_EVENT_COMPLETED,
			       .group = group,
			       .context = m->write.context,
			       .status = m->status};

	if (m->has_number)
		free_number(group, m);
	cut_remove(group, m);
	m->in_use = PLANTED(completed_twice) && m->write.deadline_ns && !m->status;
	group->n_messages--;
	group->n_deadlines -= m->write.deadline_ns != 0;
	if (!m->status) {
		group->stats.messages_completed++;
		group->stats.bytes_completed += m->write.length;
	}
	engine_event(group->domain, &e);
}

/* A number that was taken has to arrive, even if it tells of nothing (is_void). */
static bool wants_record(const struct message *m)
{
	return m->record != RECORD_DONE &&
	       (m->has_number || (!m->status && m->write.flags & FARE_WRITE_NOTIFY));
}

/* Completes a message that is at its end; or queues its record, if that is what is left. */
static void advance(struct fare_group *group, struct message *m)
{
	if (!m->in_use || (m->open_chunks && !PLANTED(notified_early)) || m->stale_lanes ||
	    m->record == RECORD_OUT || m->record == RECORD_PAIRED ||
	    (!m->status && m->placed < m->write.length && !PLANTED(notified_early)))
		return;
	if (wants_record(m))
		queue_record(group, m);
	else if (group->posting)
		group->ends_wait = true; /* transfer_step() completes it */
	else
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

	while ((i = list_take(group, list)) != NO_CHUNK)
		list_append(group, wanted(group, i) ? &kept : &gone, i);
	*list = kept;
	while ((i = list_take(group, &gone)) != NO_CHUNK) {
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

/*
 * Posts the record of a message right behind its only chunk. If that does not work out now, the
 * record follows by itself when the chunk is acknowledged.
 */
static void pair_record(struct fare_group *group, struct lane_qp *q, uint32_t data)
{
	struct message *m = message_of(group, data);
	bool had_number = m->has_number;
	uint32_t i;

	/* while an attempt of before may still land, nobody may be told that all is in place */
	if (!(m->write.flags & FARE_WRITE_NOTIFY) || m->n_cut != 1 ||
	    m->assigned < m->write.length || m->record == RECORD_DONE || m->stale_lanes)
		return;
	if (!had_number && !number_is_free(group))
		return;
	i = chunk_alloc(group, group->chunks[data].message, RING_RECORD_BYTES);
	if (i == NO_CHUNK)
		return;
	if (!had_number)
		take_number(group, m);
	group->chunks[i].is_record = true;
	group->chunks[i].lane = q->lane;
	group->chunks[i].qp = q->index;
	if (post_record(group, q, i)) {
		chunk_free(group, i);
		m->record = had_number ? m->record : RECORD_NONE;
		return; /* the number stays the message's */
	}
	m->record = RECORD_PAIRED;
	q->posted++;
	q->posted_bytes += RING_RECORD_BYTES;
	group->lanes[q->lane].posted_bytes += RING_RECORD_BYTES;
}

static int post_data(struct fare_group *group, struct lane_qp *q, uint32_t i)
{
	const struct qp_provider *provider = group->domain->provider;
	struct chunk *c = &group->chunks[i];
	struct message *m = &group->messages[c->message];

	if (m->is_read) {
		struct qp_read r = {.wr_id = i,
				    .data = (uint8_t *)(uintptr_t)m->write.data + c->offset,
				    .lkey = m->lkey,
				    .length = c->length,
				    .remote_addr = m->write.remote_addr + c->offset,
				    .rkey = m->write.rkey};

		return provider->post_read(q->qp, &r);
	}
	struct qp_write w = {.wr_id = i,
			     .data = (const uint8_t *)m->write.data + c->offset,
			     .lkey = m->lkey,
			     .length = c->length,
			     .remote_addr = m->write.remote_addr + c->offset,
			     .rkey = m->write.rkey};

	return provider->post_write(q->qp, &w);
}

static uint32_t take_pending(struct fare_group *group, struct lane_qp *q)
{
	uint32_t i = list_take(group, &q->pending);

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
	list_append(group, &group->replay, i); /* where pump() finds it */
	if (group->chunks[i].is_record)
		group_closed(group, -ECANCELED);
}

static bool has_number(struct fare_group *group, uint32_t i)
{
	struct message *m = message_of(group, i);

	if (!m->has_number && number_is_free(group))
		take_number(group, m);
	return m->has_number;
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
	return group->chunks[q->pending.head].is_record ||
	       (q->posted_bytes < group->qp_room_bytes &&
		group->lanes[q->lane].posted_bytes < group->lane_room_bytes);
}

static void posted(struct fare_group *group, struct lane_qp *q, uint32_t i)
{
	take_pending(group, q);
	q->posted++;
	q->posted_bytes += group->chunks[i].length;
	group->lanes[q->lane].posted_bytes += group->chunks[i].length;
	group->stats.chunks_posted++;
	shown_posted(group, q->lane);
	if (!group->chunks[i].is_record)
		pair_record(group, q, i);
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
		if (group->chunks[i].is_record && !has_number(group, i)) {
			put_record_off(group, q);
			continue;
		}
		err = group->chunks[i].is_record ? post_record(group, q, i)
						 : post_data(group, q, i);
		if (err == -EACCES || err == -EINVAL) {
			refuse_chunk(group, q, err);
			continue;
		}
		if (err) { /* full, asking for a key, or no longer connected */
			group->is_stalled |= !q->posted;
			return false;
		}
		posted(group, q, i);
		return true;
	}
	return false;
}

/* The lane's QPs post in turn, a chunk each, for as long as there is room. */
static void drain(struct fare_group *group, struct lane *lane)
{
	unsigned idle = 0;

	while (idle < lane->n_qps && lane->posted_bytes < group->lane_room_bytes)
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
	    !(c->is_record ? placement_shortest(group, c) : group->placement->choose(group, c)))
		return false;
	q = &group->lanes[c->lane].qps[c->qp];
	/* a choice once made stands until the weights change: another would bend the proportions */
	if (q->pending.n >= PENDING_PER_QP && !c->is_record)
		return false;
	q->pending_bytes += c->length;
	if (c->is_record)
		list_prepend(group, &q->pending, i);
	else
		list_append(group, &q->pending, i);
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
	uint64_t mtu = group->domain->attr.path_mtu, left = m->write.length - m->assigned;
	uint64_t packets = (m->write.length + mtu - 1) / mtu,
		 unit = group->options.chunk_bytes / mtu;
	uint64_t chunks, end;

	unit = unit ? unit : 1;
	chunks = (packets + unit - 1) / unit;
	/* chunk i covers packets [i * packets / chunks, (i + 1) * packets / chunks) */
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

/* Cuts and places a message as far as QPs take it. False: one does not. */
static bool place_message(struct fare_group *group, struct message *m)
{
	if (!place_parked(group, m))
		return false;
	while (m->in_use && !m->status && m->assigned < m->write.length) {
		uint32_t i = cut(group, m);

		if (i == NO_CHUNK)
			return false;
		if (!assign(group, i)) {
			m->parked = i;
			return false;
		}
	}
	return true;
}

/* New messages in their order. One that has to wait makes the others wait, or is passed over. */
static void place_new(struct fare_group *group)
{
	struct message *m, *next;

	DL_FOREACH_SAFE2(group->cut, m, next, cut_next)
	{
		if (place_message(group, m))
			cut_remove(group, m);
		else if (!group->placement->independent)
			return;
	}
}

static void pump(struct fare_group *group)
{
	uint32_t i;

	while ((i = list_take(group, &group->replay)) != NO_CHUNK) {
		if (!wanted(group, i)) {
			chunk_done(group, i);
		} else if (!assign(group, i)) {
			list_prepend(group, &group->replay, i);
			return;
		}
	}
	place_new(group);
}

/* ---- what arrives ---- */

static void deliver(struct fare_group *group, uint32_t imm)
{
	struct fare_event e = {.kind = FARE_EVENT_RECEIVED, .group = group};
	struct ring_record record;

	if (group->state != GROUP_OPEN)
		return;
	if (!ring_take(&group->ring, imm, &record)) {
		group->stats.duplicate_notifications++;
		return;
	}
	group_announce(group); /* its data may overtake the last message of the handshake */
	e.bytes = record.bytes;
	e.tag = record.tag;
	if (!record.is_void)
		engine_event(group->domain, &e);
}

static void on_placed(struct fare_group *group, struct lane_qp *q, uint32_t i)
{
	struct chunk *c = &group->chunks[i];
	struct message *m = &group->messages[c->message];

	shown_acked(group, q, c->length);
	if (c->is_record) {
		m->record = RECORD_DONE;
	} else {
		m->placed += c->length;
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
			list_append(group, &group->replay, i);
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
		list_append(group, &group->replay, i);
	}
}

void transfer_lane_confirmed(struct fare_group *group, unsigned lane)
{
	for (uint32_t i = 0; i < group->options.max_messages; i++) {
		struct message *m = &group->messages[i];

		if (!m->in_use || !(m->stale_lanes >> lane & 1))
			continue;
		m->stale_lanes &= ~(1u << lane);
		if (m->record == RECORD_UNKNOWN || m->held != NO_CHUNK)
			resolve_pair(group, m);
		advance(group, m);
	}
	engine_wake(group);
}

/* A failure that would come again on any other lane: the message's status. 0: it would not. */
static int status_of(enum qp_wc_status status)
{
	switch (status) {
	case QP_WC_REM_ACCESS_ERR: /* bad rkey, or out of bounds */
	case QP_WC_REM_INV_REQ_ERR:
		return -EACCES;
	case QP_WC_LOC_LEN_ERR:
	case QP_WC_LOC_PROT_ERR: /* the region here is not what it was */
		return -EINVAL;
	default:
		return 0;
	}
}

void transfer_on_completion(struct fare_group *group, const struct qp_wc *wc)
{
	struct lane_qp *q = wc->context;
	uint32_t i = (uint32_t)wc->wr_id;

	if (wc->is_receive) {
		if (wc->status == QP_WC_SUCCESS && wc->has_imm)
			deliver(group, wc->imm);
		return;
	}
	if (i >= group->n_chunks || !q->posted)
		return;
	q->posted--;
	q->posted_bytes -= group->chunks[i].length;
	group->lanes[q->lane].posted_bytes -= group->chunks[i].length;
	if (wc->status == QP_WC_SUCCESS) {
		on_placed(group, q, i);
		drain(group, &group->lanes[q->lane]);
		return;
	}
	if (status_of(wc->status))
		message_of(group, i)->status = status_of(wc->status);
	on_flushed(group, q, i);
	if (wc->status == QP_WC_FLUSH_ERR)
		lane_refused(group, q->lane);
	else
		lane_kill(group, q->lane);
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
	engine_event(group->domain, &e);
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
		    group->domain->now_ns >= m->write.deadline_ns)
			expire(group, m);
	}
}

/*
 * Messages that nothing else brings on: at their end when they were queued, or without a record's
 * number or chunk.
 */
static void advance_waiting(struct fare_group *group)
{
	if (!group->ends_wait && !group->records_wait)
		return;
	group->ends_wait = group->records_wait = false;
	for (uint32_t i = 0; i < group->options.max_messages; i++)
		advance(group, &group->messages[i]);
}

void transfer_step(struct fare_group *group)
{
	group->is_stalled = false;
	advance_waiting(group);
	transfer_check_deadlines(group);
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
		engine_event(group->domain, &e);
	}
}

/* ---- operations ---- */

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

static int queue(struct fare_group *group, const struct fare_write *write, bool is_read)
{
	struct message *m;

	if (group->state == GROUP_CLOSED)
		return -ENOTCONN;
	if (write->length &&
	    (!write->data || !write->mr ||
	     !domain_mr_holds(group->domain, write->mr, write->data, write->length)))
		return -EINVAL;
	if (group->n_messages == group->options.max_messages)
		return -ENOBUFS;
	m = message_alloc(group);
	*m = (struct message){.in_use = true,
			      .is_read = is_read,
			      .write = *write,
			      .number = group->next_number++,
			      .kernel_qp = UINT32_MAX,
			      .parked = NO_CHUNK,
			      .held = NO_CHUNK,
			      .lkey = write->length ? domain_mr_lkey(write->mr) : 0};
	group->n_messages++;
	group->n_deadlines += write->deadline_ns != 0;
	/*
	 * Nothing completes in here, as the queue of events has no room for what an application
	 * that does not poll would pile up.
	 */
	group->posting = true;
	if (write->length)
		cut_append(group, m);
	else
		advance(group, m);
	if (group->state == GROUP_OPEN)
		pump(group);
	group->posting = false;
	engine_wake(group);
	return 0;
}

int fare_group_write(struct fare_group *group, const struct fare_write *write)
{
	return queue(group, write, false);
}

int fare_group_read(struct fare_group *group, const struct fare_read *read)
{
	const struct fare_write as_write = {.data = read->data,
					    .mr = read->mr,
					    .length = read->length,
					    .remote_addr = read->remote_addr,
					    .rkey = read->rkey,
					    .context = read->context,
					    .deadline_ns = read->deadline_ns};

	return queue(group, &as_write, true);
}

int transfer_init(struct fare_group *group)
{
	uint32_t max = group->options.max_messages;
	unsigned n_qps = group->n_lanes * group->lanes[0].n_qps;

	group->replay = (struct chunk_list){NO_CHUNK, NO_CHUNK, 0};
	group->free_chunk = NO_CHUNK;
	/* of each QP: what is pending, and what is on the wire at most; a record of each message */
	group->max_chunks =
		n_qps * (PENDING_PER_QP + group->qp_window_bytes / group->options.chunk_bytes + 4) +
		2 * max;
	group->placement = placement_of(group);
	group->messages = calloc(max, sizeof(*group->messages));
	group->records = calloc(max, sizeof(*group->records));
	group->tx_records = calloc(max, RING_RECORD_BYTES);
	if (ring_init(&group->ring, ring_slots(max, n_qps)) || !group->messages ||
	    !group->records || !group->tx_records)
		return -ENOMEM;
	return 0;
}

void transfer_fini(struct fare_group *group)
{
	free(group->messages);
	free(group->records);
	free(group->chunks);
	free(group->tx_records);
	ring_fini(&group->ring);
}
