/* SPDX-License-Identifier: BSD-2-Clause */
/* transfer_message.c - see transfer.h: the states of a message, from its queueing to its event */
#include <utlist.h>

#include "qp/event_queue.h"
#include "qp/planted.h"
#include "qp/transfer_state.h"

struct message *message_alloc(struct transfer *t)
{
	for (uint32_t k = 0; k < t->attr.options->max_messages; k++) {
		uint32_t i = (t->message_turn + k) % t->attr.options->max_messages;

		if (!t->messages[i].in_use) {
			t->message_turn = i + 1;
			return &t->messages[i];
		}
	}
	return NULL;
}

/* ---- messages not wholly cut, in their order ---- */

void message_queue(struct transfer *t, struct message *m)
{
	m->is_queued = true;
	DL_APPEND2(t->cut, m, cut_prev, cut_next);
}

void message_unqueue(struct transfer *t, struct message *m)
{
	if (m->is_queued)
		DL_DELETE2(t->cut, m, cut_prev, cut_next);
	m->is_queued = false;
}

/* ---- completing ---- */

/* A record that announces nothing need not wait for what cannot be seen yet. */
static bool may_announce(struct transfer *t, struct message *m)
{
	return m->status || flush_allows(t, m);
}

/* Its record is to be placed, by whichever QP has least to do. */
static void message_queue_record(struct transfer *t, struct message *m)
{
	uint32_t i;

	i = may_announce(t, m)
		    ? chunk_alloc(&t->chunks, (uint32_t)(m - t->messages), record_bytes(m))
		    : NO_CHUNK;
	if (i == NO_CHUNK) {
		m->record = RECORD_WAITS;
		t->records_wait = true;
		return;
	}
	m->record = RECORD_OUT;
	t->chunks.at[i].is_record = true;
	chunk_prepend(&t->chunks, &t->replay, i);
}

static void message_finish(struct transfer *t, struct message *m)
{
	struct fare_event e = {.kind = m->late ? FARE_EVENT_RELEASED : FARE_EVENT_COMPLETED,
			       .group = t->attr.group,
			       .context = m->write.context,
			       .status = m->status};

	if (m->has_number) {
		record_free_number(t, m);
		t->ends_wait |= t->attr.options->in_order; /* those behind it */
	}
	message_unqueue(t, m);
	m->in_use = PLANTED(completed_twice) && m->write.deadline_ns && !m->status;
	t->n_messages--;
	t->n_deadlines -= m->write.deadline_ns != 0;
	if (!m->status) {
		t->stats.messages_completed++;
		t->stats.bytes_completed += m->write.length + m->send_bytes;
	}
	event_queue_add(t->attr.events, &e);
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
static bool is_next(const struct transfer *t, const struct message *m)
{
	return !t->attr.options->in_order || !m->has_number || m->record_number == t->records.floor;
}

/* Completes a message that is at its end; or queues its record, if that is what is left. */
void message_advance(struct transfer *t, struct message *m)
{
	/* once it is over the peer tells its application of nothing more: transfer_cancel() */
	if (!m->in_use || t->is_over || (m->open_chunks && !PLANTED(notified_early)) ||
	    m->stale_lanes || m->record == RECORD_OUT || m->record == RECORD_PAIRED ||
	    (!m->status && m->placed < m->write.length && !PLANTED(notified_early)))
		return;
	if (wants_record(m))
		message_queue_record(t, m);
	else if (t->posting)
		t->ends_wait = true; /* transfer_step() completes it */
	else if (is_next(t, m))
		message_finish(t, m);
}

void message_chunk_done(struct transfer *t, uint32_t i)
{
	struct message *m = message_of(t, i);

	if (!t->chunks.at[i].is_record)
		m->open_chunks--;
	else if (m->record == RECORD_OUT)
		m->record = RECORD_WAITS; /* it was not wanted any more */
	chunk_free(&t->chunks, i);
	message_advance(t, m);
}

/*
 * A chunk of a message that failed, is late or was closed is not placed any more; nor its record,
 * unless that has a number.
 */
bool message_wants(const struct transfer *t, uint32_t i)
{
	const struct message *m = message_of(t, i);

	return m->in_use && (!m->status || (t->chunks.at[i].is_record && m->has_number));
}
