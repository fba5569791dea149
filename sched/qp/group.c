/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "qp/domain.h"
#include "qp/planted.h"
#include "qp/port_cache.h"
#include "qp/ring.h"

/* for an opener's first lane to come up, once the peer has accepted: some tries of each plane */
#define CONNECT_NS UINT64_C(10000000000)
/* a peer that did not answer so many GROUP_OPENs keeps no other group waiting */
#define YIELD_SENDS 4
/* nor does one that was silent for so long since */
#define YIELD_NS UINT64_C(1000000000)
/*
 * A peer that restarted, or whose GROUP_CLOSE was lost, answers that it does not know the group: an
 * idle end asks so often, and up to half as long again by chance.
 */
#define ALIVE_NS UINT64_C(20000000000)
/* a peer that opened a group and then falls silent */
#define ABANDONED_NS UINT64_C(60000000000)

/* ---- making and ending a group ---- */

static int keep_private(uint8_t **out, uint16_t *bytes, const void *data, uint32_t n)
{
	*bytes = (uint16_t)n;
	if (!n)
		return 0;
	*out = malloc(n);
	if (!*out)
		return -ENOMEM;
	memcpy(*out, data, n);
	return 0;
}

/* What the peer says of itself, once: in its GROUP_OPEN or GROUP_ACCEPT. */
static int learn_peer(struct fare_group *group, const struct control_message *m)
{
	group->link.peer_id = m->source_group;
	group->link.peer_incarnation = m->source;
	group_paths_limit_mtu(&group->paths, m->open.path_mtu);
	transfer_open(group->transfer, m->open.ring_addr, m->open.ring_rkey);
	group->state = GROUP_OPEN;
	return keep_private(&group->peer_private, &group->peer_private_bytes,
			    m->open.options.private_data, m->open.options.private_bytes);
}

static int open_paths(struct fare_group *group)
{
	struct fare_domain *domain = group->domain;
	uint32_t found;
	int err = fare_pair_open(&group->paths.pair, domain->fare, domain->local_gpu,
				 &group->link.address.address);

	if (err)
		return err;
	/*
	 * What the fabric carries toward the peer, if probes have found less than devices carry.
	 * The value is of the segment, and so anybody's: one that is no path MTU counts for nothing
	 */
	found = attach_pair_path_mtu(group->paths.pair);
	if (!group->paths.is_own_server && qp_path_mtu_is_valid(found))
		group_paths_limit_mtu(&group->paths, found);
	group->port_peer = port_cache_get_peer(&domain->ports, &group->link.address);
	return group->port_peer ? 0 : -ENOMEM;
}

/* The sizes in force: at first, and when the paths' rates change. */
static void apply_shape(struct fare_group *group)
{
	transfer_set_units(group->transfer, group->shape.unit_bytes, group->shape.read_unit_bytes);
	for (unsigned l = 0; l < group->shape.n_lanes; l++)
		lanes_set_room(group->lanes, l, group_shape_room(&group->shape, l),
			       group_shape_qp_room(&group->shape, l));
}

static int make_lanes(struct fare_group *group)
{
	const struct lanes_attr attr = {.ep = &group->domain->ep,
					.paths = &group->paths,
					.link = &group->link,
					.peer = group->port_peer,
					.run = &group->run,
					.group = group,
					.options = &group->options,
					.dcqcn = group->shape.dcqcn,
					.is_opener = group->opener,
					.learns_ports = group->shape.learns_ports,
					.n_lanes = group->shape.n_lanes,
					.n_qps = group->shape.n_qps,
					.n_ports = group->shape.n_ports,
					.qp_window_bytes = group->shape.qp_window_bytes};

	return lanes_create(&group->lanes, &attr);
}

static int make_transfer(struct fare_group *group)
{
	const struct transfer_attr attr = {.ep = &group->domain->ep,
					   .paths = &group->paths,
					   .lanes = group->lanes,
					   .events = &group->domain->events,
					   .run = &group->run,
					   .group = group,
					   .options = &group->options,
					   .segment = attach_segment(group->domain->fare),
					   .n_lanes = group->shape.n_lanes,
					   .n_qps = group->shape.n_qps,
					   .qp_window_bytes = group->shape.qp_window_bytes};

	return transfer_create(&group->transfer, &attr);
}

static int make_parts(struct fare_group *group, const struct control_message *offer)
{
	int err = open_paths(group);

	if (!err)
		err = group_shape_lanes(&group->shape, &group->options, &group->domain->ep, offer);
	if (!err)
		err = make_lanes(group);
	if (!err)
		err = make_transfer(group);
	if (err)
		return err;
	group->link.ring = transfer_ring(group->transfer);
	apply_shape(group);
	return 0;
}

int group_create(struct fare_group **out, struct fare_domain *domain,
		 const struct peer_address *peer, const struct fare_group_options *options,
		 const struct control_message *offer)
{
	struct fare_group *group = calloc(1, sizeof(*group));
	bool is_own_server = attach_is_local(domain->fare, &peer->address);
	int err;

	*out = NULL;
	if (!group)
		return -ENOMEM;
	group->domain = domain;
	group->run.queue = &domain->run_queue;
	group->handshake.run = &group->run;
	group->opener = !offer;
	group->due_ns = offer ? domain->ep.now_ns + ABANDONED_NS : 0;
	group->opening_ns = domain->ep.now_ns;
	err = group_shape_options(&group->shape, &group->options, options, &domain->ep,
				  is_own_server, offer);
	group->paths = (struct group_paths){.ep = &domain->ep,
					    .is_routed = group->shape.is_routed,
					    .is_own_server = is_own_server,
					    .path_mtu = domain->ep.info->path_mtu};
	group->link =
		(struct peer_link){.ep = &domain->ep, .paths = &group->paths, .address = *peer};
	if (!err)
		err = keep_private(&group->own_private, &group->own_private_bytes,
				   options->private_data, options->private_bytes);
	if (!err)
		err = make_parts(group, offer);
	if (!err && offer)
		err = learn_peer(group, offer);
	if (err) {
		group_destroy(group);
		return err;
	}
	*out = group;
	return 0;
}

void group_destroy(struct fare_group *group)
{
	struct fare_domain *domain = group->domain;

	handshake_end(&domain->pace, &group->handshake);
	lanes_destroy(group->lanes);
	port_cache_put_peer(&domain->ports, group->port_peer);
	transfer_destroy(group->transfer);
	fare_pair_close(group->paths.pair);
	free(group->own_private);
	free(group->peer_private);
	free(group);
}

/* A courtesy: a peer that misses all of them learns by GROUP_GONE when it next asks. */
void group_leave(struct fare_group *group)
{
	struct control_message m = {.type = CONTROL_GROUP_CLOSE};

	for (unsigned l = 0; group->state == GROUP_OPEN && l < group->domain->ep.attr.n_planes; l++)
		peer_link_send(&group->link, &m);
}

static void emit(struct fare_group *group, enum fare_event_kind kind, unsigned plane, int status)
{
	struct fare_event e = {
		.kind = kind, .group = group, .plane = (uint16_t)plane, .status = status};

	event_queue_add(&group->domain->events, &e);
}

uint32_t group_most_events(const struct fare_group *group)
{
	/* lanes shifted, the group's own state */
	return transfer_most_events(group->transfer) + 2 * group->shape.n_lanes + 4;
}

/* ---- what lanes say ---- */

/* Usable bandwidths changed, or a lane came up or ended: schedules follow. */
static void reweight(struct fare_group *group)
{
	const struct weights *old = transfer_weights(group->transfer);
	uint64_t bps[FARE_MAX_PLANES];
	struct weights w;

	for (unsigned l = 0; l < group->shape.n_lanes; l++) {
		bool is_usable =
			lanes_is_up(group->lanes, l) && group_paths_usable(&group->paths, l);

		bps[l] = !is_usable		  ? 0
			 : group->paths.is_routed ? 1
						  : group->paths.now.path[l].usable_bps;
	}
	weights_from_bps(&w, bps, group->shape.n_lanes);
	if (group->announced && !w.sum != !old->sum)
		emit(group, w.sum ? FARE_EVENT_RESUMED : FARE_EVENT_BLOCKED, 0, 0);
	for (unsigned l = 0; old->n && l < group->shape.n_lanes; l++)
		if ((w.w[l] > 0) != (old->w[l] > 0) && group->announced)
			emit(group, FARE_EVENT_SHIFTED, l, 0);
	transfer_reweight(group->transfer, bps, &w);
}

/* Call after whatever may have changed a lane. */
static void follow_lanes(struct fare_group *group)
{
	struct lanes_event e;
	bool is_lost = false;

	while (lanes_next_event(group->lanes, &e)) {
		if (e.kinds & LANES_DYING)
			transfer_lane_dies(group->transfer, e.lane);
		if (e.kinds & (LANES_DYING | LANES_UP))
			reweight(group);
		if (e.kinds & LANES_CONFIRMED)
			transfer_lane_confirmed(group->transfer, e.lane);
		is_lost |= e.kinds & LANES_LOST;
	}
	if (is_lost)
		group_end(group, -ECANCELED);
}

/* ---- the end ---- */

bool group_is_over(const struct fare_group *group)
{
	return group->state == GROUP_ENDING || group->state == GROUP_CLOSED;
}

/* CLOSED gives the reason. Of the writes it is known only that the group ended before they did. */
static void step_ending(struct fare_group *group)
{
	if (!group->domain->ep.drained ||
	    (!lanes_are_quiet(group->lanes) && !PLANTED(freed_while_used)))
		return;
	group->state = GROUP_CLOSED;
	transfer_cancel(group->transfer);
	if (group->opener || group->announced)
		emit(group, FARE_EVENT_CLOSED, 0, group->end_status);
}

void group_end(struct fare_group *group, int status)
{
	if (group_is_over(group))
		return;
	group_leave(group);
	group->state = GROUP_ENDING;
	group->end_status = status;
	handshake_end(&group->domain->pace, &group->handshake);
	transfer_stop(group->transfer);
	lanes_end(group->lanes);
	follow_lanes(group);
	run_queue_add(&group->run);
}

bool group_is_abandoned(const struct fare_group *group)
{
	return !group->opener && !group->announced &&
	       (group->state == GROUP_CLOSED || group->domain->ep.now_ns > group->due_ns);
}

/* Queues CONNECTED or ACCEPTED, once. */
static void group_announce(struct fare_group *group)
{
	if (!group->announced)
		emit(group, group->opener ? FARE_EVENT_CONNECTED : FARE_EVENT_ACCEPTED, 0, 0);
	group->announced = true;
}

/* ---- control messages ---- */

void group_fill_open(const struct fare_group *group, struct control_message *m)
{
	group_shape_fill_open(&group->shape, &group->options, m);
	m->open.path_mtu = group->paths.path_mtu;
	m->open.options.private_data = group->own_private;
	m->open.options.private_bytes = group->own_private_bytes;
	m->open.ring_addr = (uint64_t)(uintptr_t)transfer_ring(group->transfer)->records;
	m->open.ring_rkey = transfer_ring_rkey(group->transfer);
}

/* The first answer to GROUP_OPEN. */
static void group_measure(struct fare_group *group)
{
	if (group->sends == 1)
		port_peer_measured(group->port_peer, group->domain->ep.now_ns - group->opening_ns);
}

/* The peer lives, and wants its incarnation and its nonce named: ask again, now. */
static void on_challenge(struct fare_group *group, const struct control_message *m)
{
	if (!group->opener || group->state != GROUP_OPENING)
		return;
	group_measure(group);
	if (group->names_process && group->link.peer_incarnation != m->source) {
		group_end(group, -ESTALE);
		return;
	}
	group->link.peer_incarnation = m->source;
	memcpy(group->nonce, m->nonce, sizeof(group->nonce));
	group->is_challenged = true;
	group->due_ns = group->domain->ep.now_ns;
}

/* Its last notifications may have arrived before, and wait to be polled. */
void group_on_peer_gone(struct fare_group *group)
{
	if (group->state != GROUP_OPEN || PLANTED(closed_at_once))
		group_end(group, -ECANCELED);
	else if (!group->closing)
		group->closing = -ECANCELED;
}

/*
 * It names this group of this peer. A peer that restarted has another incarnation: all that comes
 * from it is GROUP_GONE.
 */
static bool is_from_peer(const struct fare_group *group, const struct control_message *m)
{
	bool is_same = m->source == group->link.peer_incarnation;

	if (group->state == GROUP_OPENING)
		return is_same || !group->link.peer_incarnation;
	return m->source_group == group->link.peer_id && (is_same || m->type == CONTROL_GROUP_GONE);
}

void group_on_control(struct fare_group *group, const struct control_message *m)
{
	if (group_is_over(group))
		return;
	if (m->type == CONTROL_GROUP_CHALLENGE) {
		on_challenge(group, m);
		return;
	}
	if (!is_from_peer(group, m))
		return;
	if (!group->opener)
		group->due_ns = group->domain->ep.now_ns + ABANDONED_NS;
	if (control_wire_is_lane(m->type))
		transfer_peer_has_seen(group->transfer, &m->lane.seen);
	switch (m->type) {
	case CONTROL_GROUP_ACCEPT:
		if (!group->opener || group->state != GROUP_OPENING)
			break;
		if (m->open.n_lanes != group->shape.n_lanes ||
		    m->open.qps_per_lane != group->shape.n_qps) {
			group_end(group, -EPROTO);
			break;
		}
		group->due_ns = group->domain->ep.now_ns + CONNECT_NS;
		if (learn_peer(group, m))
			group_end(group, -ENOMEM);
		break;
	case CONTROL_GROUP_REFUSE:
		if (group->state == GROUP_OPENING)
			group_end(group, m->error < 4096 ? -(int)m->error : -EPROTO);
		break;
	case CONTROL_GROUP_ALIVE: /* it is here: that is all */
		break;
	case CONTROL_GROUP_CLOSE:
	case CONTROL_GROUP_GONE:
		if (group->state == GROUP_OPEN)
			group_on_peer_gone(group);
		break;
	default:
		if (group->state != GROUP_OPEN)
			break;
		lanes_on_control(group->lanes, m);
		follow_lanes(group);
		break;
	}
}

/* ---- completions ---- */

static void on_record(struct fare_group *group, uint32_t imm)
{
	struct ring_record record;
	int err;

	if (group->state != GROUP_OPEN || !transfer_take_record(group->transfer, imm, &record))
		return;
	group_announce(group); /* data may overtake the last message of the handshake */
	err = transfer_deliver(group->transfer, &record);
	if (err)
		group_end(group, err);
}

void group_on_completion(struct fare_group *group, const struct lanes_qp *at,
			 const struct qp_wc *wc)
{
	enum failure failure;

	run_queue_add(&group->run);
	if (wc->is_receive) {
		if (wc->status == QP_WC_SUCCESS && wc->has_imm)
			on_record(group, wc->imm);
		return;
	}
	failure = transfer_on_completion(group->transfer, at->lane, at->index, wc);
	if (failure == FAILURE_NONE)
		return;
	lanes_on_failure(group->lanes, at->lane, failure);
	follow_lanes(group);
}

/* ---- paths ---- */

/* What the daemon says is in force. */
static void follow_paths(struct fare_group *group)
{
	const struct fare_paths old = group->paths.now, *now = &group->paths.now;

	if (!group_paths_refresh(&group->paths))
		return;
	group_shape_follow_rate(&group->shape, &group->paths);
	apply_shape(group);
	for (unsigned l = 0; l < group->shape.n_lanes && !group->paths.is_routed; l++) {
		uint64_t bps = now->path[l].usable_bps, old_bps = old.path[l].usable_bps;

		/* sub-ports came or went, here or there: the leaf hashes over others than before */
		lanes_follow_path(group->lanes, l,
				  bps != old_bps ||
					  now->path[l].live_sub_ports != old.path[l].live_sub_ports,
				  bps && bps < old_bps);
		if (lanes_is_up(group->lanes, l) && bps && bps != old_bps && group->announced)
			emit(group, FARE_EVENT_SHIFTED, l, 0);
	}
	follow_lanes(group);
	reweight(group);
}

void group_begin(struct fare_group *group, uint32_t id)
{
	group->link.id = id;
	lanes_export(group->lanes, attach_segment(group->domain->fare), group->domain->local_gpu);
	follow_paths(group);
}

void group_go(struct fare_group *group)
{
	/* an application that was idle may not have looked for a while */
	if (group_paths_changed(&group->paths) && event_queue_has_room(&group->domain->events))
		follow_paths(group);
	transfer_go(group->transfer);
}

/* ---- the turn ---- */

static void ask_alive(struct fare_group *group)
{
	struct control_message m = {.type = CONTROL_GROUP_ALIVE};
	uint64_t now = group->domain->ep.now_ns;

	if (now < group->alive_ns)
		return;
	if (group->alive_ns && !PLANTED(alive_unasked))
		peer_link_send(&group->link, &m);
	group->alive_ns = now + ALIVE_NS + endpoint_random(&group->domain->ep) % (ALIVE_NS / 2);
}

/* The opener waits for every lane that can come up; for the acceptor the first one is enough. */
static void step_announce(struct fare_group *group)
{
	bool patient = group->opener && group->domain->ep.now_ns <= group->due_ns;
	unsigned up = 0, waiting = 0;

	if (group->announced)
		return;
	for (unsigned l = 0; l < group->shape.n_lanes; l++) {
		bool is_up = lanes_is_up(group->lanes, l);

		up += is_up;
		waiting += !is_up && !lanes_was_tried(group->lanes, l) &&
			   group_paths_usable(&group->paths, l);
	}
	if (up && !(patient && waiting)) {
		handshake_end(&group->domain->pace, &group->handshake);
		group_announce(group);
	} else if (group->opener && !up && !patient) {
		group_end(group, lanes_error(group->lanes));
	} else if (!waiting || port_peer_silence_ns(group->port_peer) > YIELD_NS) {
		handshake_yield(&group->domain->pace, &group->handshake);
	}
}

static void step_opening(struct fare_group *group)
{
	struct control_message m = {.type = CONTROL_GROUP_OPEN};
	uint64_t now = group->domain->ep.now_ns;

	if (!group->opener || now < group->due_ns ||
	    !handshake_begin(&group->domain->pace, &group->handshake))
		return;
	if (!group->sends) {
		group->opening_ns = now;
		lanes_prepare(group->lanes);
	}
	if (now - group->opening_ns > HANDSHAKE_SILENT_NS) {
		group_end(group, -ETIMEDOUT);
		return;
	}
	if (group->sends && !group->is_challenged)
		handshake_congested(&group->domain->pace, now);
	group->is_challenged = false;
	memcpy(m.nonce, group->nonce, sizeof(m.nonce));
	group_fill_open(group, &m);
	peer_link_send(&group->link, &m);
	group->due_ns = now + port_peer_resend_ns(group->port_peer, group->sends++);
	if (group->sends > YIELD_SENDS)
		handshake_yield(&group->domain->pace, &group->handshake);
}

static void step_open(struct fare_group *group)
{
	lanes_step(group->lanes);
	follow_lanes(group);
	step_announce(group);
	if (group_is_over(group))
		return;
	ask_alive(group);
	transfer_step(group->transfer);
	if (transfer_error(group->transfer))
		group_end(group, transfer_error(group->transfer));
}

void group_step(struct fare_group *group)
{
	follow_lanes(group); /* the port cache may have found that the peer is gone */
	if (group->closing && group->domain->ep.drained)
		group_end(group, group->closing);
	/* in every state, and before what may end the group: an application waits for it */
	if (group->state != GROUP_OPENING || !PLANTED(deadline_opening))
		transfer_check_deadlines(group->transfer);
	if (group->state == GROUP_ENDING)
		step_ending(group);
	if (group_is_over(group))
		return;
	follow_paths(group);
	if (group->state == GROUP_OPENING) {
		step_opening(group);
		return;
	}
	step_open(group);
}

uint64_t group_due_ns(const struct fare_group *group)
{
	uint64_t due_ns = PLANTED(deadline_unwatched) ? ENDPOINT_NEVER
						      : transfer_deadline_ns(group->transfer),
		 lanes_ns;

	if (group->state == GROUP_CLOSED)
		return ENDPOINT_NEVER;
	if (group->state == GROUP_ENDING || group->closing || transfer_is_stalled(group->transfer))
		return group->domain->ep.now_ns;
	if (!group->announced && group->handshake.state != HANDSHAKE_WAITING &&
	    group->due_ns < due_ns)
		due_ns = group->due_ns;
	if (group->state != GROUP_OPEN)
		return due_ns;
	if (group->alive_ns < due_ns)
		due_ns = group->alive_ns;
	lanes_ns = lanes_due_ns(group->lanes);
	return lanes_ns < due_ns ? lanes_ns : due_ns;
}

bool group_busy(const struct fare_group *group)
{
	return transfer_n_messages(group->transfer) || group->state == GROUP_ENDING ||
	       (group->state == GROUP_OPENING && group->handshake.state != HANDSHAKE_WAITING) ||
	       lanes_are_busy(group->lanes);
}
