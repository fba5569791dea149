/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * messages.c - messages over lanes: cut into chunks, placed by the mode in force, completed exactly
 * once.
 *
 * Life of a message: queued by fare_group_write(); cut into chunks; each chunk is assigned to a QP
 * (connection table, spray schedule, or round-robin in kernel mode), waits in that QP's short
 * pending list, is posted, and comes back acknowledged or flushed. Flushed chunks go to `replay`
 * and are placed again before anything new; their message remembers the lane as a ghost until the
 * lane's old QPs are known to be gone at both ends. When all bytes are acknowledged and no ghost is
 * left, the notification (RDMA WRITE with immediate of a 32-byte record, immediate = low bits of
 * its sequence number) is posted if asked for; then the message completes.
 *
 * The receiver de-duplicates notifications by sequence number: one may be replayed, too.
 */
#include <errno.h>
#include <string.h>

#include "qp/internal.h"

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

static uint32_t chunk_alloc(struct fare_group *group)
{
	uint32_t i = group->free_chunk;

	if (i != NO_CHUNK)
		group->free_chunk = group->chunks[i].next;
	return i;
}

static void chunk_free(struct fare_group *group, uint32_t i)
{
	group->chunks[i].next = group->free_chunk;
	group->free_chunk = i;
}

static struct message *message_of(struct fare_group *group, uint64_t seq)
{
	return &group->messages[seq % group->options.max_messages];
}

/* ---- placing chunks ---- */

void messages_recall(struct fare_group *group, struct lane_qp *q)
{
	uint32_t i, first = NO_CHUNK;

	/* keeps their order at the head of the replay list: reverse twice */
	while ((i = list_take(group, &q->pending)) != NO_CHUNK) {
		group->chunks[i].next = first;
		group->chunks[i].lane = UINT16_MAX;
		first = i;
	}
	while (first != NO_CHUNK) {
		i = first;
		first = group->chunks[i].next;
		list_prepend(group, &group->replay, i);
	}
}

/* Whose turn it is, of those that are bound; until all are, each time one more. */
static uint64_t next_flow(struct fare_group *group, uint32_t bytes)
{
	uint64_t flow = group->flow_turn % group->options.flows;
	struct flow_table_stats stats;
	struct flow_slot slot;

	flow_table_stats(group->flows, &stats);
	if (stats.in_use < group->options.flows &&
	    !flow_table_pick(group->flows, flow, group->domain->now_ns, &slot))
		group->flow_turn++;
	(void)flow_table_turn(group->flows, bytes, &flow); /* none is bound: that one it is */
	return flow;
}

static bool choose_flow(struct fare_group *group, struct chunk *c)
{
	struct flow_slot slot;

	if (c->flow == UINT64_MAX)
		c->flow = next_flow(group, c->length);
	if (flow_table_pick(group->flows, c->flow, group->domain->now_ns, &slot) ||
	    !group->weights.w[slot.plane])
		return false;
	c->lane = slot.plane;
	c->qp = slot.index;
	return true;
}

/* How many parts of the schedule's unit, a whole chunk, this one is. */
static unsigned parts_of(const struct fare_group *group, const struct chunk *c)
{
	uint64_t parts = ((uint64_t)c->length * SPRAY_FLY_UNIT + group->options.chunk_bytes - 1) /
			 group->options.chunk_bytes;

	return parts < 1 ? 1 : parts > SPRAY_FLY_UNIT ? SPRAY_FLY_UNIT : (unsigned)parts;
}

/* By bytes, too: of two sizes in turn, a lane's two QPs would else get one each. */
static struct lane_qp *least_sprayed(struct lane *lane)
{
	struct lane_qp *least = lane->qps;

	for (unsigned i = 1; i < lane->n_qps; i++)
		if (lane->qps[i].sprayed_bytes < least->sprayed_bytes)
			least = &lane->qps[i];
	return least;
}

static bool choose_spray(struct fare_group *group, struct chunk *c)
{
	int plane = spray_fly_next_part(&group->spray, parts_of(group, c));
	struct lane_qp *q;

	if (plane < 0)
		return false;
	q = least_sprayed(&group->lanes[plane]);
	q->sprayed_bytes += c->length;
	c->lane = q->lane;
	c->qp = q->index;
	return true;
}

static bool choose_kernel(struct fare_group *group, struct chunk *c)
{
	unsigned per_lane = group->lanes[0].n_qps, total = per_lane * group->n_lanes;

	for (unsigned k = 0; k < total; k++) {
		unsigned i = group->kernel_turn++ % total;

		if (!group->weights.w[i / per_lane])
			continue;
		c->lane = (uint16_t)(i / per_lane);
		c->qp = (uint16_t)(i % per_lane);
		return true;
	}
	return false;
}

static bool choose(struct fare_group *group, struct chunk *c)
{
	if (!group->weights.sum)
		return false;
	if (c->notify) { /* the shortest queue of any lane: it is one small packet */
		struct lane_qp *best = NULL;

		for (unsigned l = 0; l < group->n_lanes; l++)
			for (unsigned i = 0; group->weights.w[l] && i < group->lanes[l].n_qps; i++)
				if (!best ||
				    group->lanes[l].qps[i].posted_bytes < best->posted_bytes)
					best = &group->lanes[l].qps[i];
		if (!best)
			return false;
		c->lane = best->lane;
		c->qp = best->index;
		return true;
	}
	if (group->options.mode == FARE_MODE_FLOW)
		return choose_flow(group, c);
	return group->options.mode == FARE_MODE_KERNEL ? choose_kernel(group, c)
						       : choose_spray(group, c);
}

/* Where a message's record lies in the ring, here and at the peer. */
static size_t record_at(const struct fare_group *group, const struct message *m)
{
	return m->notify_seq % group->ring.slots * RING_RECORD_BYTES;
}

static int post_chunk(struct fare_group *group, struct lane_qp *q, uint32_t i)
{
	struct chunk *c = &group->chunks[i];
	struct message *m = &group->messages[c->message];
	struct qp_write w = {.wr_id = i};

	if (c->notify) {
		size_t at = record_at(group, m);

		w.data = group->tx_records + at;
		w.lkey = group->tx_mr.lkey;
		w.length = RING_RECORD_BYTES;
		w.remote_addr = group->peer_ring_addr + at;
		w.rkey = group->peer_ring_rkey;
		w.imm = (uint32_t)m->notify_seq;
		w.flags = QP_WR_IMM;
	} else {
		w.data = (const uint8_t *)m->write.data + c->offset;
		w.lkey = m->lkey;
		w.length = c->length;
		w.remote_addr = m->write.remote_addr + c->offset;
		w.rkey = m->write.rkey;
	}
	return group->domain->provider->post_write(q->qp, &w);
}

/*
 * The peer has no such region, or we have not: its message fails, alone; but without its ring a
 * group is none.
 */
static void refuse_chunk(struct fare_group *group, struct lane_qp *q, int status)
{
	uint32_t i = list_take(group, &q->pending);

	group->messages[group->chunks[i].message].status = status;
	group->chunks[i].lane = UINT16_MAX;
	list_append(group, &group->replay, i); /* where pump() finds it */
	if (group->chunks[i].notify)
		group_closed(group, -ECANCELED);
}

static void queue_notification(struct fare_group *group, struct message *m)
{
	uint32_t i = chunk_alloc(group);
	const struct ring_record record = {.seq = m->notify_seq,
					   .bytes = m->write.length,
					   .tag = m->write.tag,
					   .is_void = m->status != 0};

	if (i == NO_CHUNK) {
		group->is_stalled = true;
		return;
	}
	m->notifying = true;
	m->open_chunks++;
	ring_fill(group->tx_records + record_at(group, m), &record);
	group->chunks[i] = (struct chunk){.next = NO_CHUNK,
					  .lane = UINT16_MAX,
					  .flow = UINT64_MAX,
					  .notify = true,
					  .message = (uint32_t)(m - group->messages),
					  .length = RING_RECORD_BYTES};
	list_prepend(group, &group->replay, i);
}

static void message_advance(struct fare_group *group, struct message *m)
{
	struct fare_event e = {.kind = FARE_EVENT_COMPLETED,
			       .group = group,
			       .context = m->write.context,
			       .status = m->status};

	if (m->late)
		e.kind = FARE_EVENT_RELEASED;
	if (!m->in_use || m->ghosts || m->open_chunks || (!m->status && m->acked < m->write.length))
		return;
	if (m->write.flags & FARE_WRITE_NOTIFY && !m->notified) {
		if (!m->notifying)
			queue_notification(group, m);
		return;
	}
	if (group->writing)
		return; /* messages_step() goes on */
	m->in_use = false;
	group->n_messages--;
	group->n_deadlines -= m->write.deadline_ns != 0;
	if (!m->status) {
		group->stats.messages_completed++;
		group->stats.bytes_completed += m->write.length;
	}
	engine_event(group->domain, &e);
}

static void chunk_done(struct fare_group *group, uint32_t i)
{
	struct message *m = &group->messages[group->chunks[i].message];

	chunk_free(group, i);
	m->open_chunks--;
	message_advance(group, m);
}

/* A chunk of a message that failed, is late or was closed is not placed any more. */
static bool wanted(const struct fare_group *group, uint32_t i)
{
	const struct message *m = &group->messages[group->chunks[i].message];

	return m->in_use && (!m->status || group->chunks[i].notify);
}

/* A notification is one small packet, and its message waits for nothing else. */
static bool has_room(const struct fare_group *group, const struct lane_qp *q)
{
	return group->chunks[q->pending.head].notify ||
	       (q->posted_bytes < group->qp_room_bytes &&
		group->lanes[q->lane].posted_bytes < group->lane_room_bytes);
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
			chunk_done(group, list_take(group, &q->pending));
			continue;
		}
		err = post_chunk(group, q, i);
		if (err == -EACCES || err == -EINVAL) {
			refuse_chunk(group, q, err);
			continue;
		}
		/* full, asking for a key, or no longer connected: messages_step() tries again */
		if (err) {
			group->is_stalled = true;
			return false;
		}
		list_take(group, &q->pending);
		q->posted++;
		q->posted_bytes += group->chunks[i].length;
		group->lanes[q->lane].posted_bytes += group->chunks[i].length;
		group->stats.chunks_posted++;
		shown_posted(group, q->lane);
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

/* Assigns chunk i to a QP. false: no QP can take it now; it stays with the caller. */
static bool assign(struct fare_group *group, uint32_t i)
{
	struct chunk *c = &group->chunks[i];
	struct lane_qp *q;

	if (c->lane == UINT16_MAX && !choose(group, c))
		return false;
	q = &group->lanes[c->lane].qps[c->qp];
	/* a choice once made stands until the weights change: another would bend the proportions */
	if (q->pending.n >= PENDING_PER_QP && !c->notify)
		return false;
	if (c->notify)
		list_prepend(group, &q->pending, i);
	else
		list_append(group, &q->pending, i);
	post_next(group, q);
	return true;
}

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

static uint32_t cut_next(struct fare_group *group)
{
	while (group->cut_seq < group->next_seq) {
		struct message *m = message_of(group, group->cut_seq);
		uint32_t i;

		if (!m->in_use || m->status || m->assigned == m->write.length) {
			group->cut_seq++;
			continue;
		}
		i = chunk_alloc(group);
		if (i == NO_CHUNK)
			return NO_CHUNK;
		group->chunks[i] = (struct chunk){.next = NO_CHUNK,
						  .lane = UINT16_MAX,
						  .flow = UINT64_MAX,
						  .message = (uint32_t)(m - group->messages),
						  .offset = m->assigned,
						  .length = cut_length(group, m)};
		m->assigned += group->chunks[i].length;
		m->n_cut++;
		m->open_chunks++;
		return i;
	}
	return NO_CHUNK;
}

static void pump(struct fare_group *group)
{
	if (!group->weights.sum)
		return;
	for (;;) {
		uint32_t i = list_take(group, &group->replay);

		if (i == NO_CHUNK)
			i = cut_next(group);
		if (i == NO_CHUNK)
			return;
		if (!wanted(group, i)) {
			chunk_done(group, i);
			continue;
		}
		if (!assign(group, i)) {
			list_prepend(group, &group->replay, i);
			return;
		}
	}
}

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
	group_announce(group); /* its data may overtake the last word of the handshake */
	e.bytes = record.bytes;
	e.tag = record.tag;
	if (!record.is_void)
		engine_event(group->domain, &e);
}

/* ---- completing ---- */

static void on_placed(struct fare_group *group, struct lane_qp *q, uint32_t i)
{
	struct chunk *c = &group->chunks[i];
	struct message *m = &group->messages[c->message];

	shown_acked(group, q, c->length);
	if (c->notify) {
		m->notified = true;
	} else {
		m->acked += c->length;
		group->stats.plane_bytes[q->lane] += c->length;
		if (group->flows)
			flow_table_account(group->flows, c->flow, c->length, q->source_port);
	}
	chunk_done(group, i);
}

/*
 * Not known to be placed: again, elsewhere; and the message waits until this attempt cannot land
 * any more.
 */
static void on_flushed(struct fare_group *group, struct lane_qp *q, uint32_t i)
{
	struct lane *lane = &group->lanes[q->lane];
	struct chunk *c = &group->chunks[i];
	struct message *m = &group->messages[c->message];

	if (!(lane->state == LANE_RESETTING && lane->confirmed))
		m->ghosts |= 1u << q->lane;
	c->lane = UINT16_MAX;
	list_append(group, &group->replay, i);
	group->stats.chunks_replayed++;
}

/* What the message alone is to blame for, so that to send it again would fail again. 0: nothing. */
static int blame(enum qp_wc_status status)
{
	switch (status) {
	case QP_WC_REM_ACCESS_ERR: /* bad rkey, or out of bounds */
	case QP_WC_REM_INV_REQ_ERR:
		return -EACCES;
	case QP_WC_LOC_LEN_ERR:
	case QP_WC_LOC_PROT_ERR: /* our own region is not what it was */
		return -EINVAL;
	default:
		return 0;
	}
}

void messages_on_completion(struct fare_group *group, const struct qp_wc *wc)
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
	if (blame(wc->status))
		group->messages[group->chunks[i].message].status = blame(wc->status);
	on_flushed(group, q, i);
	lane_kill(group, q->lane);
	lane_drained(group, q->lane);
}

void messages_lane_confirmed(struct fare_group *group, unsigned lane)
{
	for (uint32_t i = 0; i < group->options.max_messages; i++) {
		if (!(group->messages[i].ghosts >> lane & 1))
			continue;
		group->messages[i].ghosts &= ~(1u << lane);
		message_advance(group, &group->messages[i]);
	}
}

/*
 * Says that a message is late; what is out of it is awaited as if it had failed, then its memory is
 * free.
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
	message_advance(group, m);
}

static void check_deadlines(struct fare_group *group)
{
	for (uint32_t i = 0; i < group->options.max_messages; i++) {
		struct message *m = &group->messages[i];

		if (m->in_use && m->write.deadline_ns && !m->late &&
		    group->domain->now_ns >= m->write.deadline_ns)
			expire(group, m);
	}
}

/*
 * Gives every message its due: a notification without a free chunk, chunks without room, an end
 * that came at once.
 */
void messages_step(struct fare_group *group)
{
	group->is_stalled = false;
	for (uint32_t i = 0; group->n_messages && i < group->options.max_messages; i++) {
		struct message *m = &group->messages[i];

		if (m->in_use && !m->open_chunks && !m->notifying)
			message_advance(group, m);
	}
	if (group->n_deadlines)
		check_deadlines(group);
	pump(group);
	/* chunks that a QP would not take and that no completion will bring back to mind */
	for (unsigned l = 0; group->n_messages && l < group->n_lanes; l++)
		if (group->lanes[l].state == LANE_UP)
			drain(group, &group->lanes[l]);
}

int fare_group_write(struct fare_group *group, const struct fare_write *write)
{
	struct message *m = message_of(group, group->next_seq);

	if (group->state == GROUP_CLOSED)
		return -ENOTCONN;
	if (write->length &&
	    (!write->data || !write->mr ||
	     !domain_mr_holds(group->domain, write->mr, write->data, write->length)))
		return -EINVAL;
	/*
	 * in use by the message max_messages ago: numbers stay within the window that the peer
	 * checks
	 */
	if (m->in_use)
		return -ENOBUFS;
	*m = (struct message){.in_use = true,
			      .write = *write,
			      .lkey = write->length ? domain_mr_lkey(write->mr) : 0};
	group->next_seq++;
	if (write->flags & FARE_WRITE_NOTIFY)
		m->notify_seq = group->next_notify_seq++;
	group->n_messages++;
	group->n_deadlines += write->deadline_ns != 0;
	/*
	 * what is at an end at once (nothing to place, or refused when posted) keeps its place
	 * until the next poll
	 */
	group->writing = true;
	if (write->length == 0)
		message_advance(group, m);
	if (group->state == GROUP_OPEN)
		pump(group);
	group->writing = false;
	engine_wake(group);
	return 0;
}
