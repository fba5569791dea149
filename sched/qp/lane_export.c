/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lane_export.c - exported state: a group's QPs and paths in the client's segment (conn_shm.h), for
 * the daemon and the operator.
 *
 * Writes the group's rows and decides nothing by them. If the segment has no rows left, the group
 * works, and is not seen.
 */
#include <string.h>

#include "conn_segment.h"
#include "qp/lane.h"

static uint16_t lane_export_plane_of(const struct lane *lane)
{
	return lane->lanes->attr.paths->is_routed ? UINT16_MAX : lane->index;
}

static uint32_t n_rows(const struct lanes *lanes)
{
	return lanes->n * lanes->attr.n_qps;
}

static struct conn_shm_qp *row_of(const struct lane *lane, unsigned i)
{
	return &lane->lanes->rows[lane->index * lane->n_qps + i];
}

static void export_path(const struct lane *lane, bool in_use)
{
	struct conn_shm_path *row = &lane->lanes->path_rows[lane->index];
	uint64_t odd = conn_shm_write_begin(&row->seq);

	memcpy(row->peer, &lane->lanes->attr.link->address.address, sizeof(row->peer));
	row->local_gpu = lane->lanes->local_gpu;
	row->plane = lane_export_plane_of(lane);
	row->in_use = in_use;
	atomic_store_explicit(&row->posted_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&row->acked_ns, 0, memory_order_relaxed);
	conn_shm_write_end(&row->seq, odd);
}

static void export_qp(const struct lane *lane, unsigned i, enum conn_shm_qp_state state)
{
	const struct peer_link *link = lane->lanes->attr.link;
	struct conn_shm_qp *row = row_of(lane, i);
	const struct lane_qp *q = &lane->qps[i];
	uint64_t odd = conn_shm_write_begin(&row->seq);

	memcpy(row->peer, &link->address.address, sizeof(row->peer));
	row->local_gpu = lane->lanes->local_gpu;
	row->group = link->id;
	row->plane = lane_export_plane_of(lane);
	row->index = (uint16_t)i;
	row->udp_source_port = q->qp ? q->source_port : 0;
	row->local_sub_port = (uint8_t)q->sub_port;
	row->remote_sub_port = q->qp ? lane_ports_remote(lane, q->sub_port, q->source_port) : -1;
	row->qpn = q->qp ? lane_ep(lane)->provider->qp_num(q->qp) : 0;
	row->state = (uint16_t)(q->qp || state == CONN_SHM_QP_UNUSED ? state : CONN_SHM_QP_DOWN);
	row->error = (uint16_t)-lane->error;
	row->since_ns = lane->since_ns;
	conn_shm_write_end(&row->seq, odd);
}

void lane_export_create(struct lanes *lanes)
{
	lanes->rows = conn_segment_lend_qps(lanes->segment, n_rows(lanes));
	if (!lanes->attr.paths->is_routed)
		lanes->path_rows = conn_segment_lend_paths(lanes->segment, lanes->n);
	for (unsigned l = 0; l < lanes->n; l++) {
		const struct lane *lane = &lanes->lane[l];

		for (unsigned i = 0; lanes->rows && i < lane->n_qps; i++)
			atomic_store(&row_of(lane, i)->bytes, 0);
		if (lanes->path_rows)
			export_path(lane, true);
		lane_export_lane(lane);
	}
}

void lane_export_destroy(struct lanes *lanes)
{
	for (unsigned l = 0; l < lanes->n; l++) {
		for (unsigned i = 0; lanes->rows && i < lanes->lane[l].n_qps; i++)
			export_qp(&lanes->lane[l], i, CONN_SHM_QP_UNUSED);
		if (lanes->path_rows)
			export_path(&lanes->lane[l], false);
	}
	if (lanes->rows)
		conn_segment_return(lanes->segment, lanes->rows, n_rows(lanes));
	if (lanes->path_rows)
		conn_segment_return(lanes->segment, lanes->path_rows, lanes->n);
	lanes->rows = NULL;
	lanes->path_rows = NULL;
}

void lane_export_lane(const struct lane *lane)
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

	for (unsigned i = 0; lane->lanes->rows && i < lane->n_qps; i++)
		export_qp(lane, i, states[lane->state]);
}

void lane_export_posted(const struct lane *lane)
{
	if (lane->lanes->path_rows)
		atomic_store_explicit(&lane->lanes->path_rows[lane->index].posted_ns,
				      lane_now_ns(lane), memory_order_relaxed);
}

void lane_export_acknowledged(const struct lane *lane, const struct lane_qp *q, uint32_t bytes)
{
	if (lane->lanes->rows) {
		_Atomic uint64_t *sum = &row_of(lane, q->at.index)->bytes;

		atomic_store_explicit(sum, atomic_load_explicit(sum, memory_order_relaxed) + bytes,
				      memory_order_relaxed);
	}
	if (lane->lanes->path_rows)
		atomic_store_explicit(&lane->lanes->path_rows[lane->index].acked_ns,
				      lane_now_ns(lane), memory_order_relaxed);
}
