/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "qp/flush.h"
#include "qp/internal.h"
#include "qp/planted.h"

_Static_assert(RING_RECORD_BYTES + FARE_MESSAGE_PACKET == 4096, "it fills a packet");

/* A record that arrived before an earlier one. */
struct early_record {
	bool is_there;
	struct ring_record record;
	struct inbox *data;
};

/* ---- making and posting ---- */

static size_t slot_bytes(const struct fare_group *group)
{
	return ring_record_bytes(group->options.message_bytes);
}

int records_init(struct fare_group *group, uint32_t slots)
{
	uint32_t max = group->options.max_messages;

	group->records = calloc(max, sizeof(*group->records));
	/* the last FLUSH_BYTES are where a flush reads to (flush.h) */
	group->tx_bytes = max * slot_bytes(group) + FLUSH_BYTES;
	group->tx_records = calloc(1, group->tx_bytes);
	if (group->options.in_order)
		group->early = calloc(slots, sizeof(*group->early));
	if (ring_init(&group->ring, slots, slot_bytes(group)) || !group->records ||
	    !group->tx_records || (group->options.in_order && !group->early))
		return -ENOMEM;
	return 0;
}

void records_fini(struct fare_group *group)
{
	for (uint32_t i = 0; group->early && i < group->ring.slots; i++)
		if (group->early[i].is_there)
			free(group->early[i].data);
	free(group->early);
	free(group->records);
	free(group->tx_records);
	ring_fini(&group->ring);
}

bool record_number_is_free(const struct fare_group *group)
{
	return group->next_record - group->record_floor < group->options.max_messages;
}

void record_take_number(struct fare_group *group, struct message *m)
{
	m->record_number = group->next_record++;
	m->has_number = true;
	group->records[m->record_number % group->options.max_messages] = true;
}

void record_return_number(struct fare_group *group, struct message *m)
{
	group->next_record--;
	m->has_number = false;
	group->records[m->record_number % group->options.max_messages] = false;
}

bool record_has_number(struct fare_group *group, struct message *m)
{
	if (!m->has_number && record_number_is_free(group))
		record_take_number(group, m);
	return m->has_number;
}

void record_free_number(struct fare_group *group, struct message *m)
{
	uint32_t max = group->options.max_messages;

	group->records[m->record_number % max] = false;
	while (group->record_floor < group->next_record &&
	       !group->records[group->record_floor % max])
		group->record_floor++;
}

/* Where a message's record lies in this end's memory. */
static uint8_t *record_here(const struct fare_group *group, const struct message *m)
{
	return group->tx_records + (size_t)(m - group->messages) * slot_bytes(group);
}

void record_keep(struct fare_group *group, const struct message *m, const void *data)
{
	if (m->send_bytes)
		memcpy(record_here(group, m) + RING_RECORD_BYTES, data, m->send_bytes);
}

uint32_t record_bytes(const struct message *m)
{
	return RING_RECORD_BYTES + (m->status ? 0 : m->send_bytes);
}

int record_post(struct fare_group *group, struct lane_qp *q, uint32_t i)
{
	struct message *m = &group->messages[group->chunks[i].message];
	const struct ring_record record = {.seq = m->record_number,
					   .bytes = m->is_send ? m->send_bytes : m->write.length,
					   .tag = m->write.tag,
					   .is_void = m->status != 0,
					   .is_message = m->is_send};
	uint64_t there = m->record_number % group->ring.slots * slot_bytes(group);
	struct qp_write w = {.wr_id = i,
			     .data = record_here(group, m),
			     .lkey = group->tx_mr.lkey,
			     .length = group->chunks[i].length,
			     .remote_addr = group->peer_ring_addr + there,
			     .rkey = group->peer_ring_rkey,
			     .imm = (uint32_t)m->record_number,
			     .flags = QP_WR_IMM | (m->is_followed ? QP_WR_LATER : 0)};

	ring_fill(record_here(group, m), &record);
	return group->domain->ep.provider->post_write(q->qp, &w);
}

/* ---- receiving ---- */

static void tell(struct fare_group *group, const struct ring_record *record, struct inbox *data)
{
	struct fare_event e = {.kind = record->is_message ? FARE_EVENT_MESSAGE
							  : FARE_EVENT_RECEIVED,
			       .group = group,
			       .bytes = record->bytes,
			       .tag = record->tag,
			       .sequence = record->seq,
			       .data = data ? data->bytes : NULL};

	if (!record->is_void)
		event_queue_add(&group->domain->events, &e);
}

static void tell_in_order(struct fare_group *group, const struct ring_record *record,
			  struct inbox *data)
{
	uint32_t slots = group->ring.slots;
	struct early_record *e = &group->early[record->seq % slots];

	*e = (struct early_record){true, *record, data};
	for (e = &group->early[group->next_told % slots]; e->is_there;
	     e = &group->early[group->next_told % slots]) {
		e->is_there = false;
		group->next_told++;
		tell(group, &e->record, e->data);
	}
}

/* The peer may write to the slot again after the acknowledgement, so the message is copied. */
static int copy_message(const struct fare_group *group, const struct ring_record *record,
			struct inbox **out)
{
	*out = NULL;
	if (!record->is_message || record->is_void)
		return 0;
	if (record->bytes > group->options.message_bytes)
		return -EPROTO;
	*out = malloc(sizeof(**out) + record->bytes);
	if (!*out)
		return -ENOMEM;
	memcpy((*out)->bytes, record->payload, record->bytes);
	return 0;
}

void record_deliver(struct fare_group *group, uint32_t imm)
{
	struct ring_record record;
	struct inbox *data;
	int err;

	if (group->state != GROUP_OPEN)
		return;
	if (!ring_take(&group->ring, imm, &record)) {
		group->stats.duplicate_notifications++;
		return;
	}
	group_announce(group); /* data may overtake the last message of the handshake */
	err = copy_message(group, &record, &data);
	if (err)
		group_end(group, err); /* it was acknowledged, and will not be sent again */
	else if (group->early && !PLANTED(order_ignored))
		tell_in_order(group, &record, data);
	else
		tell(group, &record, data);
}
