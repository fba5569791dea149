/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/lanes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qp/lane.h"
#include "qp/port_cache.h"
#include "qp/port_path.h"

/* ---- making and ending ---- */

static int init_lane(struct lane *lane, struct lanes *lanes, unsigned index)
{
	const struct lanes_attr *attr = &lanes->attr;

	lane->lanes = lanes;
	lane->index = (uint16_t)index;
	lane->n_qps = attr->n_qps;
	lane->n_ports = attr->n_qps;
	if (lanes->is_packet)
		lane->n_ports = attr->n_ports < QP_MAX_PATHS ? attr->n_ports : QP_MAX_PATHS;
	lane->qps = calloc(lane->n_qps, sizeof(*lane->qps));
	if (!lane->qps)
		return -ENOMEM;
	for (unsigned i = 0; i < lane->n_qps; i++)
		lane->qps[i].at = (struct lanes_qp){attr->group, (uint16_t)index, (uint16_t)i};
	if (lanes->is_packet) {
		lane->path_set = calloc(lane->n_ports, sizeof(*lane->path_set));
		if (!lane->path_set)
			return -ENOMEM;
	}
	return attr->learns_ports ? port_cache_attach(lane) : 0;
}

int lanes_create(struct lanes **out, const struct lanes_attr *attr)
{
	struct lanes *lanes = calloc(1, sizeof(*lanes));
	int err = 0;

	*out = NULL;
	if (!lanes)
		return -ENOMEM;
	lanes->attr = *attr;
	lanes->is_packet = attr->options->mode == FARE_MODE_PACKET;
	lanes->lane = calloc(attr->n_lanes, sizeof(*lanes->lane));
	if (!lanes->lane)
		err = -ENOMEM;
	for (; !err && lanes->n < attr->n_lanes; lanes->n++)
		err = init_lane(&lanes->lane[lanes->n], lanes, lanes->n);
	if (err) {
		lanes_destroy(lanes);
		return err;
	}
	*out = lanes;
	return 0;
}

void lanes_destroy(struct lanes *lanes)
{
	if (!lanes)
		return;
	lane_export_destroy(lanes);
	for (unsigned l = 0; l < lanes->n; l++) {
		struct lane *lane = &lanes->lane[l];

		if (lane->qps)
			lane_qps_destroy(lane);
		port_cache_detach(lane);
		free(lane->offer);
		free(lane->path_set);
		free(lane->qps);
	}
	free(lanes->lane);
	free(lanes);
}

void lanes_export(struct lanes *lanes, struct conn_segment *segment, unsigned local_gpu)
{
	lanes->segment = segment;
	lanes->local_gpu = local_gpu;
	lane_export_create(lanes);
}

/* ---- what happened ---- */

bool lanes_next_event(struct lanes *lanes, struct lanes_event *out)
{
	for (unsigned l = 0; l < lanes->n; l++) {
		if (!lanes->lane[l].events)
			continue;
		*out = (struct lanes_event){l, lanes->lane[l].events};
		lanes->lane[l].events = 0;
		return true;
	}
	return false;
}

/* ---- the group's part ---- */

void lanes_prepare(struct lanes *lanes)
{
	for (unsigned l = 0; l < lanes->n; l++)
		if (lanes->lane[l].entry && group_paths_usable(lanes->attr.paths, l))
			port_cache_prepare(&lanes->lane[l]);
}

void lanes_step(struct lanes *lanes)
{
	for (unsigned l = 0; l < lanes->n; l++)
		lane_step(&lanes->lane[l]);
}

uint64_t lanes_due_ns(const struct lanes *lanes)
{
	uint64_t due_ns = ENDPOINT_NEVER;

	for (unsigned l = 0; l < lanes->n; l++) {
		uint64_t lane_ns = lane_due_ns(&lanes->lane[l]);

		due_ns = lane_ns < due_ns ? lane_ns : due_ns;
	}
	return due_ns;
}

bool lanes_are_busy(const struct lanes *lanes)
{
	for (unsigned l = 0; l < lanes->n; l++)
		if (lane_is_busy(&lanes->lane[l]))
			return true;
	return false;
}

bool lanes_are_quiet(const struct lanes *lanes)
{
	for (unsigned l = 0; l < lanes->n; l++) {
		const struct lane *lane = &lanes->lane[l];

		if (lane_qps_exist(lane) && (lane_qps_posted(lane) || lane_qps_status(lane) > 0))
			return false;
	}
	return true;
}

int lanes_error(const struct lanes *lanes)
{
	for (unsigned l = 0; l < lanes->n; l++)
		if (lanes->lane[l].error)
			return lanes->lane[l].error;
	return -ENETUNREACH;
}

void lanes_on_control(struct lanes *lanes, const struct control_message *message)
{
	if (message->lane.lane < lanes->n)
		lane_on_control(&lanes->lane[message->lane.lane], message);
}

void lanes_end(struct lanes *lanes)
{
	for (unsigned l = 0; l < lanes->n; l++)
		lane_kill(&lanes->lane[l], "the group ends");
}

void lanes_follow_path(struct lanes *lanes, unsigned l, bool hashes_anew, bool is_slower)
{
	struct lane *lane = &lanes->lane[l];

	lane_follow_path(lane, hashes_anew);
	if (lane->state == LANE_UP && is_slower)
		lane_qps_kick(lane);
}

void lanes_set_room(struct lanes *lanes, unsigned l, uint64_t bytes, uint64_t qp_bytes)
{
	lanes->lane[l].room_bytes = bytes;
	lanes->lane[l].qp_room_bytes = qp_bytes;
}

bool lanes_was_tried(const struct lanes *lanes, unsigned l)
{
	return lanes->lane[l].attempted;
}

uint64_t lanes_n_deaths(const struct lanes *lanes)
{
	return lanes->n_deaths;
}

uint64_t lanes_n_rebuilds(const struct lanes *lanes)
{
	return lanes->n_rebuilds;
}

/* ---- the part of transfer.h ---- */

bool lanes_is_up(const struct lanes *lanes, unsigned l)
{
	return lanes->lane[l].state == LANE_UP;
}

bool lanes_is_confirmed(const struct lanes *lanes, unsigned l)
{
	return lanes->lane[l].state == LANE_RESETTING && lanes->lane[l].confirmed;
}

bool lanes_lane_has_room(const struct lanes *lanes, unsigned l)
{
	return lanes->lane[l].posted_bytes < lanes->lane[l].room_bytes;
}

bool lanes_has_room(const struct lanes *lanes, unsigned l, unsigned qp, bool is_record)
{
	const struct lane *lane = &lanes->lane[l];

	if (lane_now_ns(lane) < lane->post_ns)
		return false;
	return is_record || (lane->qps[qp].posted_bytes < lane->qp_room_bytes &&
			     lane->posted_bytes < lane->room_bytes);
}

int lanes_post(struct lanes *lanes, unsigned l, unsigned qp, const struct qp_work *work)
{
	struct lane *lane = &lanes->lane[l];
	struct lane_qp *q = &lane->qps[qp];
	int err = lane_ep(lane)->provider->post(q->qp, work);

	if (err)
		return err;
	if (!q->posted++)
		q->progress_ns = lane_now_ns(lane);
	q->posted_bytes += work->length;
	lane->posted_bytes += work->length;
	lane_export_posted(lane);
	return 0;
}

bool lanes_on_completion(struct lanes *lanes, unsigned l, unsigned qp, uint32_t bytes)
{
	struct lane *lane = &lanes->lane[l];
	struct lane_qp *q = &lane->qps[qp];

	if (!q->posted)
		return false;
	q->posted--;
	q->progress_ns = lane_now_ns(lane);
	q->posted_bytes -= bytes;
	lane->posted_bytes -= bytes;
	return true;
}

void lanes_on_acknowledged(struct lanes *lanes, unsigned l, unsigned qp, uint32_t bytes)
{
	lane_export_acknowledged(&lanes->lane[l], &lanes->lane[l].qps[qp], bytes);
}

void lanes_on_failure(struct lanes *lanes, unsigned l, enum failure failure)
{
	lane_on_failure(&lanes->lane[l], failure);
	lane_drained(&lanes->lane[l]);
}

void lanes_refuse_posts(struct lanes *lanes, unsigned l, int error)
{
	lanes->lane[l].post_error = error;
	run_queue_add(lanes->attr.run);
}

uint64_t lanes_posted_bytes(const struct lanes *lanes, unsigned l)
{
	return lanes->lane[l].posted_bytes;
}

uint64_t lanes_qp_posted_bytes(const struct lanes *lanes, unsigned l, unsigned qp)
{
	return lanes->lane[l].qps[qp].posted_bytes;
}

uint32_t lanes_qp_posted(const struct lanes *lanes, unsigned l, unsigned qp)
{
	return lanes->lane[l].qps[qp].posted;
}

unsigned lanes_qp_sharing(const struct lanes *lanes, unsigned l, unsigned qp)
{
	const struct lane *lane = &lanes->lane[l];
	unsigned n = 0;

	for (unsigned i = 0; i < lane->n_qps; i++)
		n += lane->qps[i].sub_port == lane->qps[qp].sub_port;
	return n;
}

uint16_t lanes_qp_source_port(const struct lanes *lanes, unsigned l, unsigned qp)
{
	return lanes->lane[l].qps[qp].source_port;
}

/* ---- text ---- */

static const char *const state_names[] = {
	[LANE_DOWN] = "down",		[LANE_LEARNING] = "learning",
	[LANE_OPENING] = "opening",	[LANE_CONNECTING] = "connecting",
	[LANE_ACCEPTING] = "accepting", [LANE_UP] = "up",
	[LANE_RESETTING] = "resetting",
};

static double ms(uint64_t from, uint64_t to)
{
	return ((double)to - (double)from) / 1e6;
}

static void dump_changes(const struct lane *lane, int fd)
{
	unsigned first = lane->n_changes > LANE_CHANGES ? lane->n_changes - LANE_CHANGES : 0;

	for (unsigned i = first; i < lane->n_changes; i++) {
		const struct lane_change *c = &lane->changes[i % LANE_CHANGES];

		dprintf(fd, "    %.1f ms ago: %s -> %s, %s\n", ms(c->at_ns, lane_now_ns(lane)),
			state_names[c->from], state_names[c->to], c->reason);
	}
}

static void dump_qp(const struct lane *lane, unsigned i, int fd)
{
	const struct qp_provider *provider = lane_ep(lane)->provider;
	const struct lane_qp *q = &lane->qps[i];
	int status = q->qp && provider->qp_status ? provider->qp_status(q->qp) : 0;

	if (q->qp && (q->posted || lane->state != LANE_UP))
		dprintf(fd,
			"    QP %u: number 0x%06x, port %u, sub-port %u, posted %u chunks of %llu "
			"bytes, %s\n",
			i, provider->qp_num(q->qp), q->source_port, q->sub_port, q->posted,
			(unsigned long long)q->posted_bytes,
			status < 0 ? "failed"
			: status   ? "changing state"
				   : "settled");
}

static void dump_lane(const struct lane *lane, uint32_t weight, int fd)
{
	uint64_t now = lane_now_ns(lane);

	dprintf(fd,
		"  lane %u: %s for %.1f ms, epoch %u, weight %u, usable %s, next step in %.1f ms, "
		"sends %u, back-off %.0f ms",
		lane->index, state_names[lane->state], ms(lane->since_ns, now), lane->epoch, weight,
		group_paths_usable(lane->lanes->attr.paths, lane->index) ? "yes" : "no",
		ms(now, lane->due_ns), lane->sends, (double)lane->backoff_ns / 1e6);
	if (lane->state == LANE_RESETTING)
		dprintf(fd, ", peer's QPs %s", lane->confirmed ? "gone" : "not known to be gone");
	if (lane->state == LANE_LEARNING && lane->ports)
		dprintf(fd, ", %u of %u echoes back", lane->ports->n_answered,
			lane->ports->n_asked);
	if (lane->error)
		dprintf(fd, ", last failed: %s", strerror(-lane->error));
	dprintf(fd, "\n");
	dump_changes(lane, fd);
	for (unsigned i = 0; i < lane->n_qps; i++)
		dump_qp(lane, i, fd);
}

void lanes_dump(const struct lanes *lanes, const uint32_t *weights, int fd)
{
	for (unsigned l = 0; l < lanes->n; l++)
		dump_lane(&lanes->lane[l], weights[l], fd);
}
