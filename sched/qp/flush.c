/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/flush.h"

#include <errno.h>

#include "qp/chunks.h"
#include "qp/internal.h"
#include "qp/planted.h"

static bool is_needed(const struct fare_group *group)
{
	return group->domain->ep.provider->notify_per_qp && !PLANTED(flush_left_out);
}

void flush_data_placed(struct fare_group *group, struct lane_qp *q)
{
	if (!is_needed(group) || q->is_dirty)
		return;
	if (group->lanes[q->lane].state != LANE_UP) { /* no READ can be posted on it any more */
		group->unflushed_lanes |= 1u << q->lane;
		return;
	}
	q->is_dirty = true;
	group->n_dirty++;
}

bool flush_is_clean(const struct fare_group *group)
{
	return !group->n_dirty && !group->n_flushing && !group->unflushed_lanes;
}

bool flush_allows(struct fare_group *group, struct message *m)
{
	/* data that was acknowledged after a round began may not be covered by its READs */
	if (!m->flush_round && !flush_is_clean(group))
		m->flush_round = group->flush_rounds + 1 + (group->n_flushing != 0);
	if (m->flush_round > group->flush_wanted)
		group->flush_wanted = m->flush_round;
	return m->flush_round <= group->flush_rounds && !group->unflushed_lanes;
}

static int post_read(struct fare_group *group, struct lane_qp *q)
{
	uint32_t i = chunk_alloc(group, NO_MESSAGE, FLUSH_BYTES);
	struct qp_read r = {.wr_id = i,
			    .data = group->tx_records + group->tx_bytes - FLUSH_BYTES,
			    .lkey = group->tx_mr.lkey,
			    .length = FLUSH_BYTES,
			    .remote_addr = group->peer_ring_addr,
			    .rkey = group->peer_ring_rkey};
	int err;

	if (i == NO_CHUNK)
		return -ENOBUFS;
	err = group->domain->ep.provider->post_read(q->qp, &r);
	if (err) {
		chunk_free(group, i);
		return err;
	}
	lane_qps_on_post(group, q, FLUSH_BYTES);
	return 0;
}

static void begin_round(struct fare_group *group)
{
	for (unsigned l = 0; l < group->n_lanes; l++)
		for (unsigned k = 0; k < group->lanes[l].n_qps; k++) {
			struct lane_qp *q = &group->lanes[l].qps[k];

			q->is_flush_due = q->is_dirty;
			group->n_flushing += q->is_dirty;
			q->is_dirty = false;
		}
	group->n_dirty = 0;
}

/* Without its ring, or this end's memory, a group is none. */
static void post_due_of(struct fare_group *group, struct lane_qp *q)
{
	int err = post_read(group, q);
	enum failure failure = failure_of_post(err);

	q->is_flush_due = err != 0;
	group->is_stalled |= err != 0;
	if (failure == FAILURE_MESSAGE)
		group_end(group, -ECANCELED);
	else if (failure == FAILURE_PATH)
		lane_refuses_posts(group, q->lane, err);
}

static void post_due(struct fare_group *group)
{
	for (unsigned l = 0; l < group->n_lanes; l++)
		for (unsigned k = 0; k < group->lanes[l].n_qps; k++)
			if (group->lanes[l].qps[k].is_flush_due)
				post_due_of(group, &group->lanes[l].qps[k]);
}

static void end_round(struct fare_group *group)
{
	if (group->n_flushing)
		return;
	group->flush_rounds++;
	run_queue_add(&group->run); /* records may wait for that */
}

void flush_step(struct fare_group *group)
{
	if (!group->n_flushing && group->flush_wanted <= group->flush_rounds)
		return;
	if (!group->n_flushing)
		begin_round(group);
	if (group->n_flushing)
		post_due(group);
	else
		end_round(group); /* the lanes of all dirty QPs have ended */
}

void flush_on_read(struct fare_group *group, struct lane_qp *q, bool success)
{
	group->n_flushing--;
	if (!success)
		group->unflushed_lanes |= 1u << q->lane;
	end_round(group);
}

void flush_lane_dies(struct fare_group *group, unsigned l)
{
	struct lane *lane = &group->lanes[l];

	for (unsigned k = 0; k < lane->n_qps; k++) {
		struct lane_qp *q = &lane->qps[k];

		if (!q->is_dirty && !q->is_flush_due)
			continue;
		group->unflushed_lanes |= 1u << l;
		group->n_dirty -= q->is_dirty;
		group->n_flushing -= q->is_flush_due;
		if (q->is_flush_due)
			end_round(group);
		q->is_dirty = q->is_flush_due = false;
	}
}

void flush_lane_quiet(struct fare_group *group, unsigned l)
{
	group->unflushed_lanes &= ~(1u << l);
}
