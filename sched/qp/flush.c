/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/flush.h"

#include <errno.h>

#include "qp/chunks.h"
#include "qp/failures.h"
#include "qp/lanes.h"
#include "qp/planted.h"
#include "qp/run_queue.h"
#include "qp/transfer_state.h"

static bool is_needed(const struct transfer *t)
{
	return t->attr.ep->provider->notify_per_qp && !PLANTED(flush_left_out);
}

void flush_data_placed(struct transfer *t, struct outlet *q)
{
	if (!is_needed(t) || q->is_dirty)
		return;
	if (!lanes_is_up(t->attr.lanes, q->lane)) { /* no READ can be posted on it any more */
		t->flush.unflushed_lanes |= 1u << q->lane;
		return;
	}
	q->is_dirty = true;
	t->flush.n_dirty++;
}

bool flush_is_clean(const struct transfer *t)
{
	return !t->flush.n_dirty && !t->flush.n_flushing && !t->flush.unflushed_lanes;
}

bool flush_allows(struct transfer *t, struct message *m)
{
	/* data that was acknowledged after a round began may not be covered by its READs */
	if (!m->flush_round && !flush_is_clean(t))
		m->flush_round = t->flush.rounds + 1 + (t->flush.n_flushing != 0);
	if (m->flush_round > t->flush.wanted)
		t->flush.wanted = m->flush_round;
	return m->flush_round <= t->flush.rounds && !t->flush.unflushed_lanes;
}

static int post_read(struct transfer *t, struct outlet *q)
{
	uint32_t i = chunk_alloc(&t->chunks, NO_MESSAGE, FLUSH_BYTES);
	struct qp_work r = {.op = QP_OP_READ,
			    .wr_id = i,
			    .data = t->records.tx + t->records.tx_bytes - FLUSH_BYTES,
			    .lkey = t->records.tx_mr.lkey,
			    .length = FLUSH_BYTES,
			    .remote_addr = t->records.peer_addr,
			    .rkey = t->records.peer_rkey};
	int err;

	if (i == NO_CHUNK)
		return -ENOBUFS;
	err = lanes_post(t->attr.lanes, q->lane, q->qp, &r);
	if (err)
		chunk_free(&t->chunks, i);
	return err;
}

static void begin_round(struct transfer *t)
{
	for (unsigned i = 0; i < t->n_outlets; i++) {
		struct outlet *q = &t->outlets[i];

		q->is_flush_due = q->is_dirty;
		t->flush.n_flushing += q->is_dirty;
		q->is_dirty = false;
	}
	t->flush.n_dirty = 0;
}

/* Without its ring, or this end's memory, a group is none. */
static void post_due_of(struct transfer *t, struct outlet *q)
{
	int err = post_read(t, q);
	enum failure failure = failure_of_post(err);

	q->is_flush_due = err != 0;
	t->is_stalled |= err != 0;
	if (failure == FAILURE_MESSAGE)
		t->error = -ECANCELED;
	else if (failure == FAILURE_PATH)
		lanes_refuse_posts(t->attr.lanes, q->lane, err);
}

static void post_due(struct transfer *t)
{
	for (unsigned i = 0; i < t->n_outlets; i++)
		if (t->outlets[i].is_flush_due)
			post_due_of(t, &t->outlets[i]);
}

static void end_round(struct transfer *t)
{
	if (t->flush.n_flushing)
		return;
	t->flush.rounds++;
	run_queue_add(t->attr.run); /* records may wait for that */
}

void flush_step(struct transfer *t)
{
	if (!t->flush.n_flushing && t->flush.wanted <= t->flush.rounds)
		return;
	if (!t->flush.n_flushing)
		begin_round(t);
	if (t->flush.n_flushing)
		post_due(t);
	else
		end_round(t); /* the lanes of all dirty QPs have ended */
}

void flush_on_read(struct transfer *t, struct outlet *q, bool success)
{
	t->flush.n_flushing--;
	if (!success)
		t->flush.unflushed_lanes |= 1u << q->lane;
	end_round(t);
}

void flush_lane_dies(struct transfer *t, unsigned l)
{
	for (unsigned k = 0; k < t->attr.n_qps; k++) {
		struct outlet *q = outlet_of(t, l, k);

		if (!q->is_dirty && !q->is_flush_due)
			continue;
		t->flush.unflushed_lanes |= 1u << l;
		t->flush.n_dirty -= q->is_dirty;
		t->flush.n_flushing -= q->is_flush_due;
		if (q->is_flush_due)
			end_round(t);
		q->is_dirty = q->is_flush_due = false;
	}
}

void flush_lane_quiet(struct transfer *t, unsigned l)
{
	t->flush.unflushed_lanes &= ~(1u << l);
}
