/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "qp/control_wire.h"
#include "qp/event_queue.h"
#include "qp/flush.h"
#include "qp/lanes.h"
#include "qp/planted.h"
#include "qp/transfer_state.h"

_Static_assert(RING_RECORD_BYTES + FARE_MESSAGE_PACKET == 4096, "it fills a packet");

/* A record that arrived before an earlier one. */
struct early_record {
	bool is_there;
	struct ring_record record;
	struct inbox *data;
};

/* ---- making and posting ---- */

static size_t slot_bytes(const struct transfer *t)
{
	return ring_record_bytes(t->attr.options->message_bytes);
}

static int register_memory(struct transfer *t)
{
	const struct qp_provider *provider = t->attr.ep->provider;
	struct records *r = &t->records;
	int err = provider->mr_register(t->attr.ep->handle, r->tx, r->tx_bytes, 0, &r->tx_mr);

	if (err)
		return err;
	return provider->mr_register(t->attr.ep->handle, r->ring.records,
				     (size_t)r->ring.slots * r->ring.record_bytes,
				     QP_ACCESS_REMOTE_WRITE | QP_ACCESS_REMOTE_READ, &r->rx_mr);
}

int records_init(struct transfer *t, uint32_t slots)
{
	uint32_t max = t->attr.options->max_messages;
	struct records *r = &t->records;

	r->in_use = calloc(max, sizeof(*r->in_use));
	/* the last FLUSH_BYTES are where a flush reads to (flush.h) */
	r->tx_bytes = max * slot_bytes(t) + FLUSH_BYTES;
	r->tx = calloc(1, r->tx_bytes);
	if (t->attr.options->in_order)
		r->early = calloc(slots, sizeof(*r->early));
	if (ring_init(&r->ring, slots, (uint32_t)slot_bytes(t)) || !r->in_use || !r->tx ||
	    (t->attr.options->in_order && !r->early))
		return -ENOMEM;
	return register_memory(t);
}

void records_fini(struct transfer *t)
{
	const struct qp_provider *provider = t->attr.ep->provider;
	struct records *r = &t->records;

	if (r->rx_mr.rkey && !PLANTED(region_leaked))
		provider->mr_deregister(t->attr.ep->handle, &r->rx_mr);
	if (r->tx_mr.lkey)
		provider->mr_deregister(t->attr.ep->handle, &r->tx_mr);
	for (uint32_t i = 0; r->early && i < r->ring.slots; i++)
		if (r->early[i].is_there)
			free(r->early[i].data);
	free(r->early);
	free(r->in_use);
	free(r->tx);
	ring_fini(&r->ring);
}

bool record_number_is_free(const struct transfer *t)
{
	return t->records.next - t->records.floor < t->attr.options->max_messages;
}

void record_take_number(struct transfer *t, struct message *m)
{
	m->record_number = t->records.next++;
	m->has_number = true;
	t->records.in_use[m->record_number % t->attr.options->max_messages] = true;
}

void record_return_number(struct transfer *t, struct message *m)
{
	t->records.next--;
	m->has_number = false;
	t->records.in_use[m->record_number % t->attr.options->max_messages] = false;
}

bool record_has_number(struct transfer *t, struct message *m)
{
	if (!m->has_number && record_number_is_free(t))
		record_take_number(t, m);
	return m->has_number;
}

void record_free_number(struct transfer *t, struct message *m)
{
	uint32_t max = t->attr.options->max_messages;

	t->records.in_use[m->record_number % max] = false;
	while (t->records.floor < t->records.next && !t->records.in_use[t->records.floor % max])
		t->records.floor++;
}

/* Where a message's record lies in this end's memory. */
static uint8_t *record_here(const struct transfer *t, const struct message *m)
{
	return t->records.tx + (size_t)(m - t->messages) * slot_bytes(t);
}

void record_keep(struct transfer *t, const struct message *m, const void *data)
{
	if (m->send_bytes)
		memcpy(record_here(t, m) + RING_RECORD_BYTES, data, m->send_bytes);
}

uint32_t record_bytes(const struct message *m)
{
	return RING_RECORD_BYTES + (m->status ? 0 : m->send_bytes);
}

int record_post(struct transfer *t, const struct outlet *q, uint32_t i)
{
	struct message *m = &t->messages[t->chunks.at[i].message];
	const struct ring_record record = {.seq = m->record_number,
					   .bytes = m->is_send ? m->send_bytes : m->write.length,
					   .tag = m->write.tag,
					   .is_void = m->status != 0,
					   .is_message = m->is_send};
	uint64_t there = m->record_number % t->records.ring.slots * slot_bytes(t);
	struct qp_work w = {.wr_id = i,
			    .data = record_here(t, m),
			    .lkey = t->records.tx_mr.lkey,
			    .length = t->chunks.at[i].length,
			    .remote_addr = t->records.peer_addr + there,
			    .rkey = t->records.peer_rkey,
			    .imm = (uint32_t)m->record_number,
			    .flags = QP_WR_IMM | (m->is_followed ? QP_WR_LATER : 0)};

	ring_fill(record_here(t, m), &record);
	return lanes_post(t->attr.lanes, q->lane, q->qp, &w);
}

/* ---- receiving ---- */

static void deliver(struct transfer *t, const struct ring_record *record, struct inbox *data)
{
	struct fare_event e = {.kind = record->is_message ? FARE_EVENT_MESSAGE
							  : FARE_EVENT_RECEIVED,
			       .group = t->attr.group,
			       .bytes = record->bytes,
			       .tag = record->tag,
			       .sequence = record->seq,
			       .data = data ? data->bytes : NULL};

	if (!record->is_void)
		event_queue_add(t->attr.events, &e);
}

static void deliver_in_order(struct transfer *t, const struct ring_record *record,
			     struct inbox *data)
{
	uint32_t slots = t->records.ring.slots;
	struct early_record *e = &t->records.early[record->seq % slots];

	*e = (struct early_record){true, *record, data};
	for (e = &t->records.early[t->records.next_delivered % slots]; e->is_there;
	     e = &t->records.early[t->records.next_delivered % slots]) {
		e->is_there = false;
		t->records.next_delivered++;
		deliver(t, &e->record, e->data);
	}
}

/* The peer may write to the slot again after the acknowledgement, so the message is copied. */
static int copy_message(const struct transfer *t, const struct ring_record *record,
			struct inbox **out)
{
	*out = NULL;
	if (!record->is_message || record->is_void)
		return 0;
	if (record->bytes > t->attr.options->message_bytes)
		return -EPROTO;
	*out = malloc(sizeof(**out) + record->bytes);
	if (!*out)
		return -ENOMEM;
	memcpy((*out)->bytes, record->payload, record->bytes);
	return 0;
}

int transfer_deliver(struct transfer *t, const struct ring_record *record)
{
	struct inbox *data;
	int err = copy_message(t, record, &data);

	if (err)
		return err;
	if (t->records.early && !PLANTED(order_ignored))
		deliver_in_order(t, record, data);
	else
		deliver(t, record, data);
	return 0;
}
