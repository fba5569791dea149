/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * transfer_dump.c - see transfer.h: messages and chunks as text, to see what a group waits for.
 *
 * Reads only.
 */
#include <stdio.h>

#include "qp/transfer_state.h"

static const char *const record_states[] = {
	[RECORD_NONE] = "to come",
	[RECORD_WAITS] = "waits",
	[RECORD_OUT] = "on its way",
	[RECORD_PAIRED] = "on its way behind the data",
	[RECORD_UNKNOWN] = "not known to be taken",
	[RECORD_DONE] = "placed",
};

static void dump_message(const struct transfer *t, uint32_t i, int fd)
{
	const struct message *m = &t->messages[i];

	dprintf(fd,
		"  %s %u: tag %u, %llu bytes, cut %llu, placed %llu, %u chunks open, stale lanes "
		"0x%x, status %d",
		m->is_read ? "read" : "write", i, m->write.tag, (unsigned long long)m->write.length,
		(unsigned long long)m->assigned, (unsigned long long)m->placed, m->open_chunks,
		m->stale_lanes, m->status);
	if (m->has_number)
		dprintf(fd, ", record %llu %s", (unsigned long long)m->record_number,
			record_states[m->record]);
	dprintf(fd, "\n");
}

void transfer_dump(const struct transfer *t, int fd)
{
	uint32_t n_free = 0;

	for (uint32_t i = t->chunks.free; i != NO_CHUNK; i = t->chunks.at[i].next)
		n_free++;
	dprintf(fd,
		"  %u messages outstanding, next record %llu, first unfinished %llu, replay %u "
		"chunks, %u of %u chunks free, notifications delivered below %llu, replayed %llu\n",
		t->n_messages, (unsigned long long)t->records.next,
		(unsigned long long)t->records.floor, t->replay.n, n_free, t->chunks.n,
		(unsigned long long)t->records.ring.floor,
		(unsigned long long)t->stats.chunks_replayed);
	for (unsigned i = 0; i < t->n_outlets; i++)
		if (t->outlets[i].pending.n)
			dprintf(fd, "  %u chunks wait for QP %u of lane %u\n",
				t->outlets[i].pending.n, t->outlets[i].qp, t->outlets[i].lane);
	for (uint32_t i = 0; i < t->attr.options->max_messages; i++)
		if (t->messages[i].in_use)
			dump_message(t, i, fd);
}
