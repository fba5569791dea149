/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dump.c - fare_group_dump(): the state of a group as text, to see what it waits for.
 *
 * Reads only. One line for the group, for each lane, for each QP that has something to do, and for
 * each outstanding message.
 */
#include <stdio.h>
#include <string.h>

#include "qp/internal.h"

static const char *const group_states[] = {"opening", "open", "ending", "closed"};
static const char *const lane_states[] = {
	[LANE_DOWN] = "down",		[LANE_LEARNING] = "learning",
	[LANE_OPENING] = "opening",	[LANE_CONNECTING] = "connecting",
	[LANE_ACCEPTING] = "accepting", [LANE_UP] = "up",
	[LANE_RESETTING] = "resetting",
};

static const char *const record_states[] = {
	[RECORD_NONE] = "to come",
	[RECORD_WAITS] = "waits",
	[RECORD_OUT] = "on its way",
	[RECORD_PAIRED] = "on its way behind the data",
	[RECORD_UNKNOWN] = "not known to be taken",
	[RECORD_DONE] = "placed",
};

static double ms(uint64_t from, uint64_t to)
{
	return ((double)to - (double)from) / 1e6;
}

static void dump_lane(const struct fare_group *group, unsigned l, int fd)
{
	const struct qp_provider *provider = group->domain->ep.provider;
	const struct lane *lane = &group->lanes[l];
	uint64_t now = group->domain->ep.now_ns;

	dprintf(fd,
		"  lane %u: %s for %.1f ms, epoch %u, weight %u, usable %s, next step in %.1f ms, "
		"sends %u, back-off %.0f ms",
		l, lane_states[lane->state], ms(lane->since_ns, now), lane->epoch,
		(unsigned)group->weights.w[l], group_plane_usable(group, l) ? "yes" : "no",
		ms(now, lane->due_ns), lane->sends, (double)lane->backoff_ns / 1e6);
	if (lane->state == LANE_RESETTING)
		dprintf(fd, ", peer's QPs %s", lane->confirmed ? "gone" : "not known to be gone");
	if (lane->state == LANE_LEARNING && lane->path) {
		const struct port_path *path = port_entry_path(lane->path);

		dprintf(fd, ", %u of %u echoes back", path->n_answered, path->n_asked);
	}
	if (lane->error)
		dprintf(fd, ", last failed: %s", strerror(-lane->error));
	dprintf(fd, "\n");
	for (unsigned i = 0; i < lane->n_qps; i++) {
		const struct lane_qp *q = &lane->qps[i];
		int status = q->qp && provider->qp_status ? provider->qp_status(q->qp) : 0;

		if (q->qp && (q->posted || q->pending.n || lane->state != LANE_UP))
			dprintf(fd,
				"    QP %u: number 0x%06x, port %u, sub-port %u, posted %u chunks "
				"of %llu bytes, pending %u, %s\n",
				i, provider->qp_num(q->qp), q->source_port, q->sub_port, q->posted,
				(unsigned long long)q->posted_bytes, q->pending.n,
				status < 0 ? "failed"
				: status   ? "changing state"
					   : "settled");
	}
}

static void dump_message(const struct fare_group *group, uint32_t i, int fd)
{
	const struct message *m = &group->messages[i];

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

void fare_group_dump(const struct fare_group *group, int fd)
{
	uint32_t free_chunks = 0;

	if (group_check(group))
		return;
	for (uint32_t i = group->free_chunk; i != NO_CHUNK; i = group->chunks[i].next)
		free_chunks++;
	dprintf(fd,
		"group %u (%s, peer's %u): %s%s, %u messages outstanding, next record %llu, first "
		"unfinished %llu, replay %u chunks, "
		"%u of %u chunks free, notifications delivered below %llu, deaths %llu, rebuilds "
		"%llu, replayed %llu\n",
		group->id, group->opener ? "opener" : "acceptor", group->peer_id,
		group_states[group->state], group->closing ? " (closing)" : "", group->n_messages,
		(unsigned long long)group->next_record, (unsigned long long)group->record_floor,
		group->replay.n, free_chunks, group->n_chunks,
		(unsigned long long)group->ring.floor, (unsigned long long)group->stats.path_deaths,
		(unsigned long long)group->stats.path_rebuilds,
		(unsigned long long)group->stats.chunks_replayed);
	for (unsigned l = 0; l < group->n_lanes; l++)
		dump_lane(group, l, fd);
	for (uint32_t i = 0; i < group->options.max_messages; i++)
		if (group->messages[i].in_use)
			dump_message(group, i, fd);
}
