/* SPDX-License-Identifier: BSD-2-Clause */
/* transfer.c - see transfer.h: what arrives, what is due, what is asked for */
#include "qp/transfer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "flow_table.h"
#include "qp/event_queue.h"
#include "qp/lanes.h"
#include "qp/pieces.h"
#include "qp/planted.h"
#include "qp/regions.h"
#include "qp/run_queue.h"
#include "qp/transfer_state.h"

#define WINDOW_UNITS 16 /* most chunks in a window, if both follow the rate of the link */

/* Takes back the QP's chunks that were not posted. */
static void recall(struct transfer *t, struct outlet *q)
{
	uint32_t i, first = NO_CHUNK;

	/* keeps their order at the head of the replay list: reversed twice */
	while ((i = chunk_take(&t->chunks, &q->pending)) != NO_CHUNK && !PLANTED(recalled_lost)) {
		t->chunks.at[i].next = first;
		t->chunks.at[i].lane = UINT16_MAX;
		first = i;
	}
	q->pending_bytes = 0;
	while (first != NO_CHUNK) {
		i = first;
		first = t->chunks.at[i].next;
		chunk_prepend(&t->chunks, &t->replay, i);
	}
}

/* The weights changed: all chunks that were not posted are assigned again. */
static void place_anew(struct transfer *t)
{
	struct message *m;
	uint32_t i;

	for (unsigned k = 0; k < t->n_outlets; k++)
		recall(t, &t->outlets[k]);
	i = t->replay.head;
	for (uint32_t n = t->replay.n; n; n--, i = t->chunks.at[i].next)
		t->chunks.at[i].lane = UINT16_MAX;
	DL_FOREACH2 (t->cut, m, cut_next)
		if (m->parked != NO_CHUNK)
			t->chunks.at[m->parked].lane = UINT16_MAX;
}

/* Takes what is not wanted any more out of a list, in which it may wait for a plane for ever. */
static void sweep(struct transfer *t, struct chunk_list *list, uint64_t *bytes)
{
	struct chunk_list kept = {NO_CHUNK, NO_CHUNK, 0}, gone = kept;
	uint32_t i;

	while ((i = chunk_take(&t->chunks, list)) != NO_CHUNK)
		chunk_append(&t->chunks, message_wants(t, i) ? &kept : &gone, i);
	*list = kept;
	while ((i = chunk_take(&t->chunks, &gone)) != NO_CHUNK) {
		*bytes -= t->chunks.at[i].length;
		message_chunk_done(t, i);
	}
}

static void sweep_all(struct transfer *t)
{
	uint64_t unused = UINT64_MAX;

	sweep(t, &t->replay, &unused);
	for (unsigned k = 0; k < t->n_outlets; k++)
		sweep(t, &t->outlets[k].pending, &t->outlets[k].pending_bytes);
}

/* ---- what arrives ---- */

static void on_placed(struct transfer *t, struct outlet *q, uint32_t i)
{
	struct chunk *c = &t->chunks.at[i];
	struct message *m = &t->messages[c->message];

	lanes_on_acknowledged(t->attr.lanes, q->lane, q->qp, c->length);
	if (c->is_record) {
		m->record = RECORD_DONE;
	} else {
		m->placed += c->length;
		post_key_is(t, m, true);
		if (m->record != RECORD_PAIRED && !m->is_read)
			flush_data_placed(t, q);
		t->stats.plane_bytes[q->lane] += c->length;
		if (t->placement.flows)
			flow_table_account(t->placement.flows, c->flow, c->length,
					   lanes_qp_source_port(t->attr.lanes, q->lane, q->qp));
	}
	message_chunk_done(t, i);
}

/*
 * Not known to be placed. A chunk is replayed elsewhere at once, and its message waits until this
 * attempt cannot land any more. The data of a pair waits, too (on top of this file).
 */
static void on_flushed(struct transfer *t, struct outlet *q, uint32_t i)
{
	struct message *m = message_of(t, i);
	bool is_pair = m->record == RECORD_PAIRED;

	if ((is_pair || !lanes_is_confirmed(t->attr.lanes, q->lane)) && !PLANTED(stale_writes))
		m->stale_lanes |= 1u << q->lane;
	t->chunks.at[i].lane = UINT16_MAX;
	t->stats.chunks_replayed++;
	if (!is_pair || PLANTED(pair_replayed)) {
		if (!PLANTED(replay_lost))
			chunk_append(&t->chunks, &t->replay, i);
		return;
	}
	if (t->chunks.at[i].is_record) {
		m->record = m->placed == m->write.length ? RECORD_WAITS : RECORD_UNKNOWN;
		chunk_free(&t->chunks, i);
	} else {
		m->held = i;
	}
}

/* The lane is gone at both ends, and the peer has said which records it took. */
static void resolve_pair(struct transfer *t, struct message *m)
{
	uint32_t i = m->held;

	m->held = NO_CHUNK;
	m->record = RECORD_WAITS;
	if (i != NO_CHUNK &&
	    (ring_seen_has(&t->records.peer_seen, m->record_number) || PLANTED(pair_assumed))) {
		m->record = RECORD_DONE;
		m->placed += t->chunks.at[i].length;
		m->open_chunks--;
		chunk_free(&t->chunks, i);
	} else if (i != NO_CHUNK) {
		chunk_append(&t->chunks, &t->replay, i);
	}
}

void transfer_lane_confirmed(struct transfer *t, unsigned lane)
{
	flush_lane_quiet(t, lane);
	for (uint32_t i = 0; i < t->attr.options->max_messages; i++) {
		struct message *m = &t->messages[i];

		if (!m->in_use || !(m->stale_lanes >> lane & 1))
			continue;
		m->stale_lanes &= ~(1u << lane);
		if (m->record == RECORD_UNKNOWN || m->held != NO_CHUNK)
			resolve_pair(t, m);
		message_advance(t, m);
	}
	run_queue_add(t->attr.run);
}

/* A failure that would come again on any other lane. */
static void refused(struct transfer *t, struct message *m, int status)
{
	m->status = status;
	post_key_is(t, m, false);
}

enum failure transfer_on_completion(struct transfer *t, unsigned lane, unsigned qp,
				    const struct qp_wc *wc)
{
	struct outlet *q = outlet_of(t, lane, qp);
	uint32_t i = (uint32_t)wc->wr_id;
	enum failure failure;
	int error;

	if (i >= t->chunks.n ||
	    !lanes_on_completion(t->attr.lanes, lane, qp, t->chunks.at[i].length))
		return FAILURE_NONE;
	failure = failure_of_completion(wc->status, &error);
	if (PLANTED(narrow_final) && wc->status == QP_WC_LOC_LEN_ERR) {
		failure = FAILURE_MESSAGE;
		error = -EINVAL;
	}
	if (t->chunks.at[i].message == NO_MESSAGE) {
		flush_on_read(t, q, failure == FAILURE_NONE);
		chunk_free(&t->chunks, i);
	} else if (failure == FAILURE_NONE) {
		on_placed(t, q, i);
	} else {
		if (failure == FAILURE_MESSAGE)
			refused(t, message_of(t, i), error);
		on_flushed(t, q, i);
	}
	if (failure == FAILURE_NONE)
		post_lane(t, lane);
	return failure;
}

bool transfer_take_record(struct transfer *t, uint32_t imm, struct ring_record *out)
{
	bool is_new = ring_take(&t->records.ring, imm, out);

	t->stats.duplicate_notifications += !is_new;
	return is_new;
}

/* ---- the turn ---- */

/*
 * Reports that a message is late; what is out of it is awaited as if it had failed, then its memory
 * is free.
 */
static void expire(struct transfer *t, struct message *m)
{
	struct fare_event e = {.kind = FARE_EVENT_COMPLETED,
			       .group = t->attr.group,
			       .context = m->write.context,
			       .status = -ETIMEDOUT};

	m->late = true;
	m->status = -ETIMEDOUT;
	event_queue_add(t->attr.events, &e);
	if (PLANTED(released_early))
		m->stale_lanes = m->open_chunks = 0;
	sweep_all(t);
	if (m->parked != NO_CHUNK)
		post_parked(t, m);
	message_advance(t, m);
}

void transfer_check_deadlines(struct transfer *t)
{
	for (uint32_t i = 0; t->n_deadlines && i < t->attr.options->max_messages; i++) {
		struct message *m = &t->messages[i];

		if (m->in_use && m->write.deadline_ns && !m->late &&
		    t->attr.ep->now_ns >= m->write.deadline_ns)
			expire(t, m);
	}
}

uint64_t transfer_deadline_ns(const struct transfer *t)
{
	uint64_t due_ns = ENDPOINT_NEVER;

	for (uint32_t i = 0; t->n_deadlines && i < t->attr.options->max_messages; i++) {
		const struct message *m = &t->messages[i];

		if (m->in_use && !m->late && m->write.deadline_ns && m->write.deadline_ns < due_ns)
			due_ns = m->write.deadline_ns;
	}
	return due_ns;
}

/*
 * Messages that nothing else brings on: at their end when they were queued, or without a record's
 * number or chunk.
 */
static void advance_waiting(struct transfer *t)
{
	bool again = t->ends_wait || t->records_wait;

	while (again) {
		t->ends_wait = t->records_wait = false;
		for (uint32_t i = 0; i < t->attr.options->max_messages; i++)
			message_advance(t, &t->messages[i]);
		again = t->ends_wait;
	}
}

void transfer_step(struct transfer *t)
{
	t->is_stalled = false;
	advance_waiting(t);
	flush_step(t);
	post_all(t);
	for (unsigned l = 0; t->n_messages && l < t->attr.n_lanes; l++)
		if (lanes_is_up(t->attr.lanes, l))
			post_lane(t, l);
}

void transfer_cancel(struct transfer *t)
{
	for (uint32_t i = 0; i < t->attr.options->max_messages; i++) {
		struct message *m = &t->messages[i];
		struct fare_event e = {.kind = FARE_EVENT_COMPLETED,
				       .group = t->attr.group,
				       .context = m->write.context,
				       .status = -ECANCELED};

		if (!m->in_use)
			continue;
		if (m->late)
			e.kind = FARE_EVENT_RELEASED;
		m->in_use = false;
		t->n_messages--;
		t->n_deadlines -= m->write.deadline_ns != 0;
		event_queue_add(t->attr.events, &e);
	}
}

/* ---- what is asked for ---- */

static bool has_record(const struct operation *op)
{
	return op->is_send || op->write.flags & FARE_WRITE_NOTIFY;
}

int transfer_queue(struct transfer *t, const struct operation *op)
{
	const struct fare_write *w = &op->write;
	/* then nothing of it leaves: transfer_check_deadlines() says that it is late */
	bool is_late = w->deadline_ns && t->attr.ep->now_ns >= w->deadline_ns;
	struct message *m;
	int err = 0;

	if (t->n_messages == t->attr.options->max_messages ||
	    (t->attr.options->in_order && has_record(op) && !record_number_is_free(t)))
		return -ENOBUFS;
	if (w->n_pieces)
		err = pieces_reserve(t);
	if (err)
		return err;
	m = message_alloc(t);
	*m = (struct message){.in_use = true,
			      .is_read = op->is_read,
			      .is_send = op->is_send,
			      .is_followed = op->is_followed,
			      .send_bytes = op->send_bytes,
			      .write = *w,
			      .number = t->next_number++,
			      .kernel_qp = UINT32_MAX,
			      .parked = NO_CHUNK,
			      .held = NO_CHUNK,
			      .lkey = w->length && !w->n_pieces ? regions_lkey(w->mr) : 0};
	if (op->is_send)
		m->write.flags |= FARE_WRITE_NOTIFY;
	if (w->n_pieces)
		m->write.length = pieces_keep(t, m, w);
	record_keep(t, m, op->send_data);
	if (t->attr.options->in_order && has_record(op))
		record_take_number(t, m);
	t->n_messages++;
	t->n_deadlines += w->deadline_ns != 0;
	t->posting = true;
	if (m->write.length && !is_late)
		message_queue(t, m);
	else if (!is_late)
		message_advance(t, m);
	t->posting = false;
	return 0;
}

void transfer_go(struct transfer *t)
{
	t->posting = true;
	if (t->is_open && !t->is_over && !t->error)
		post_all(t);
	t->posting = false;
	run_queue_add(t->attr.run);
}

bool transfer_is_stalled(const struct transfer *t)
{
	return t->is_stalled;
}

int transfer_error(const struct transfer *t)
{
	return t->error;
}

void transfer_stop(struct transfer *t)
{
	t->is_over = true;
}

unsigned transfer_n_messages(const struct transfer *t)
{
	return t->n_messages;
}

/* ---- the peer ---- */

const struct ring *transfer_ring(const struct transfer *t)
{
	return &t->records.ring;
}

uint32_t transfer_ring_rkey(const struct transfer *t)
{
	return t->records.rx_mr.rkey;
}

void transfer_open(struct transfer *t, uint64_t ring_addr, uint32_t ring_rkey)
{
	t->records.peer_addr = ring_addr;
	t->records.peer_rkey = ring_rkey;
	t->is_open = true;
}

void transfer_peer_has_seen(struct transfer *t, const struct ring_seen *seen)
{
	ring_seen_merge(&t->records.peer_seen, seen);
}

void transfer_set_units(struct transfer *t, uint32_t bytes, uint32_t read_bytes)
{
	t->unit_bytes = bytes;
	t->read_unit_bytes = read_bytes;
}

/* ---- lanes ---- */

const struct weights *transfer_weights(const struct transfer *t)
{
	return &t->weights;
}

void transfer_reweight(struct transfer *t, const uint64_t *bps, const struct weights *weights)
{
	/* in bandwidths, not in weights: the schedule is exact for those */
	if (t->placement.kind->follow)
		t->placement.kind->follow(t, bps, weights);
	if (weights->n == t->weights.n && !memcmp(weights->w, t->weights.w, sizeof(weights->w)))
		return;
	t->weights = *weights;
	place_anew(t);
}

void transfer_lane_dies(struct transfer *t, unsigned lane)
{
	flush_lane_dies(t, lane);
	for (unsigned k = 0; k < t->attr.n_qps; k++) {
		recall(t, outlet_of(t, lane, k));
		outlet_of(t, lane, k)->sprayed_bytes = 0;
	}
}

/* ---- making and ending ---- */

/* Of each QP: what is pending, and what is on the wire at most; a record of each message. */
static uint32_t most_chunks(const struct transfer_attr *attr)
{
	uint32_t units = attr->qp_window_bytes / attr->options->chunk_bytes;

	units = units > WINDOW_UNITS ? units : WINDOW_UNITS;
	return attr->n_lanes * attr->n_qps * (PENDING_PER_QP + units + 4) +
	       2 * attr->options->max_messages;
}

static int make_outlets(struct transfer *t)
{
	unsigned n_qps = t->attr.n_qps;

	t->n_outlets = t->attr.n_lanes * n_qps;
	t->outlets = calloc(t->n_outlets, sizeof(*t->outlets));
	for (unsigned i = 0; t->outlets && i < t->n_outlets; i++) {
		t->outlets[i].lane = (uint16_t)(i / n_qps);
		t->outlets[i].qp = (uint16_t)(i % n_qps);
		chunk_list_init(&t->outlets[i].pending);
	}
	return t->outlets ? 0 : -ENOMEM;
}

int transfer_create(struct transfer **out, const struct transfer_attr *attr)
{
	uint32_t max = attr->options->max_messages;
	unsigned n_qps = attr->n_lanes * attr->n_qps;
	struct transfer *t = calloc(1, sizeof(*t));
	int err;

	*out = NULL;
	if (!t)
		return -ENOMEM;
	t->attr = *attr;
	chunks_init(&t->chunks, most_chunks(attr));
	chunk_list_init(&t->replay);
	t->messages = calloc(max, sizeof(*t->messages));
	err = t->messages ? make_outlets(t) : -ENOMEM;
	if (!err)
		err = records_init(t, ring_slots(max, t->attr.ep->provider->notify_per_qp
							      ? n_qps * ring_receives(max, n_qps)
							      : 0));
	if (!err)
		err = placement_init(t);
	if (err) {
		transfer_destroy(t);
		return err;
	}
	*out = t;
	return 0;
}

void transfer_destroy(struct transfer *t)
{
	if (!t)
		return;
	placement_fini(t);
	records_fini(t);
	free(t->messages);
	free(t->pieces);
	chunks_fini(&t->chunks);
	free(t->outlets);
	free(t);
}

/* ---- figures ---- */

uint32_t transfer_most_events(const struct transfer *t)
{
	return 2 * t->attr.options->max_messages + (t->records.early ? t->records.ring.slots : 0);
}

void transfer_stats(const struct transfer *t, struct fare_group_stats *out)
{
	struct flow_table_stats flows;

	*out = t->stats;
	if (!t->placement.flows)
		return;
	flow_table_stats(t->placement.flows, &flows);
	out->flow_moves = flows.moves;
	out->flow_needless_moves = flows.needless_moves;
}
