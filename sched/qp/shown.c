/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shown.c - exported state: a group's QPs and paths in the client's segment (conn_shm.h), for the
 * daemon and the operator.
 *
 * Writes the group's rows and decides nothing by them. If the segment has no rows left, the group
 * works, and is not seen.
 */
#include "qp/internal.h"

#include <string.h>

static uint16_t plane_of(const struct fare_group *group, unsigned l)
{
	return group->options.mode == FARE_MODE_KERNEL ? UINT16_MAX : (uint16_t)l;
}

static uint32_t n_rows(const struct fare_group *group)
{
	return group->n_lanes * group->lanes[0].n_qps;
}

static void show_path(struct fare_group *group, unsigned l, bool in_use)
{
	struct conn_shm_path *row = &group->shown_paths[l];
	uint64_t odd = conn_shm_write_begin(&row->seq);

	memcpy(row->peer, &group->peer.address, sizeof(row->peer));
	row->local_gpu = group->domain->local_gpu;
	row->plane = plane_of(group, l);
	row->in_use = in_use;
	atomic_store_explicit(&row->posted_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&row->acked_ns, 0, memory_order_relaxed);
	conn_shm_write_end(&row->seq, odd);
}

static void show_qp(struct fare_group *group, unsigned l, unsigned i, enum conn_shm_qp_state state)
{
	struct conn_shm_qp *row = &group->shown_qps[l * group->lanes[l].n_qps + i];
	const struct lane_qp *q = &group->lanes[l].qps[i];
	uint64_t odd = conn_shm_write_begin(&row->seq);

	memcpy(row->peer, &group->peer.address, sizeof(row->peer));
	row->local_gpu = group->domain->local_gpu;
	row->group = group->id;
	row->plane = plane_of(group, l);
	row->index = (uint16_t)i;
	row->udp_source_port = q->qp ? q->source_port : 0;
	row->local_sub_port = (uint8_t)q->sub_port;
	row->remote_sub_port =
		q->qp ? ports_remote(&group->lanes[l], q->sub_port, q->source_port) : -1;
	row->qpn = q->qp ? group->domain->ep.provider->qp_num(q->qp) : 0;
	row->state = (uint16_t)(q->qp || state == CONN_SHM_QP_UNUSED ? state : CONN_SHM_QP_DOWN);
	row->error = (uint16_t)-group->lanes[l].error;
	row->since_ns = group->lanes[l].since_ns;
	conn_shm_write_end(&row->seq, odd);
}

void shown_create(struct fare_group *group)
{
	struct conn_segment *segment = attach_segment(group->domain->fare);

	group->shown_qps = conn_segment_lend_qps(segment, n_rows(group));
	if (group->options.mode != FARE_MODE_KERNEL)
		group->shown_paths = conn_segment_lend_paths(segment, group->n_lanes);
	for (unsigned l = 0; l < group->n_lanes; l++) {
		for (unsigned i = 0; group->shown_qps && i < group->lanes[l].n_qps; i++)
			atomic_store(&group->shown_qps[l * group->lanes[l].n_qps + i].bytes, 0);
		if (group->shown_paths)
			show_path(group, l, true);
		shown_lane(group, l);
	}
}

void shown_destroy(struct fare_group *group)
{
	struct conn_segment *segment = attach_segment(group->domain->fare);

	for (unsigned l = 0; l < group->n_lanes; l++) {
		for (unsigned i = 0; group->shown_qps && i < group->lanes[l].n_qps; i++)
			show_qp(group, l, i, CONN_SHM_QP_UNUSED);
		if (group->shown_paths)
			show_path(group, l, false);
	}
	if (group->shown_qps)
		conn_segment_return(segment, group->shown_qps, n_rows(group));
	if (group->shown_paths)
		conn_segment_return(segment, group->shown_paths, group->n_lanes);
}

void shown_lane(struct fare_group *group, unsigned l)
{
	static const enum conn_shm_qp_state states[] = {
		[LANE_DOWN] = CONN_SHM_QP_DOWN,
		[LANE_LEARNING] = CONN_SHM_QP_DOWN,
		[LANE_OPENING] = CONN_SHM_QP_CONNECTING,
		[LANE_CONNECTING] = CONN_SHM_QP_CONNECTING,
		[LANE_ACCEPTING] = CONN_SHM_QP_CONNECTING,
		[LANE_UP] = CONN_SHM_QP_UP,
		[LANE_RESETTING] = CONN_SHM_QP_RESETTING,
	};

	for (unsigned i = 0; group->shown_qps && i < group->lanes[l].n_qps; i++)
		show_qp(group, l, i, states[group->lanes[l].state]);
}

void shown_posted(struct fare_group *group, unsigned l)
{
	if (group->shown_paths)
		atomic_store_explicit(&group->shown_paths[l].posted_ns, group->domain->ep.now_ns,
				      memory_order_relaxed);
}

void shown_acked(struct fare_group *group, const struct lane_qp *q, uint32_t bytes)
{
	if (group->shown_qps) {
		_Atomic uint64_t *sum =
			&group->shown_qps[q->lane * group->lanes[q->lane].n_qps + q->index].bytes;

		atomic_store_explicit(sum, atomic_load_explicit(sum, memory_order_relaxed) + bytes,
				      memory_order_relaxed);
	}
	if (group->shown_paths)
		atomic_store_explicit(&group->shown_paths[q->lane].acked_ns, group->domain->ep.now_ns,
				      memory_order_relaxed);
}
