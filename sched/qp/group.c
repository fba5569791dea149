/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * group.c - a group: its making, its handshake with the peer, the weights in force, the turn of the
 * wheel.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "qp/group_shape.h"
#include "qp/internal.h"
#include "qp/placement.h"
#include "qp/planted.h"
#include "sized.h"

/* for an opener's first lane to come up, once the peer has accepted: some tries of each plane */
#define CONNECT_NS UINT64_C(10000000000)
/* a peer that did not answer so many GROUP_OPENs keeps no other group waiting */
#define YIELD_SENDS 4
/* nor does one that was silent for so long since */
#define YIELD_NS UINT64_C(1000000000)
/*
 * An idle end hears of a peer that restarted, or whose GROUP_CLOSE was lost, because that one does
 * not know the group: asked so often, and up to half as long again by chance.
 */
#define ALIVE_NS UINT64_C(20000000000)
/* a peer that opened a group and then falls silent */
#define STILLBORN_NS UINT64_C(60000000000)

/* ---- making and ending a group ---- */

static int make_tables(struct fare_group *group)
{
	struct fare_domain *domain = group->domain;
	struct flow_table_attr attr = {.n_planes = group->n_lanes,
				       .turn = attach_pair_turn(group->pair),
				       .max_flows = group->options.flows,
				       .keys_are_qps = true,
				       .by_bytes = group->options.flows_by_bytes,
				       .idle_expiry_ns =
					       group->options.idle_expiry_ms * UINT64_C(1000000)};
	int err = transfer_init(group);

	if (err)
		return err;
	if (group->options.mode != FARE_MODE_FLOW)
		return 0;
	group->flow_entries =
		conn_segment_lend_entries(attach_segment(domain->fare), attr.max_flows);
	/* where the segment has no rows left the group works all the same, unseen by farectl */
	if (!group->flow_entries)
		group->flow_entries = group->own_entries =
			calloc(attr.max_flows, sizeof(*group->own_entries));
	if (!group->flow_entries)
		return -ENOMEM;
	attr.entries = group->flow_entries;
	attach_pair_identity(group->pair, &attr.peer, &attr.local_gpu);
	for (unsigned l = 0; l < group->n_lanes; l++)
		attr.slots[l] = (uint16_t)group->lanes[l].n_qps;
	return flow_table_create(&group->flows, &attr);
}

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
	group->peer_id = m->source_group;
	group->peer_incarnation = m->source;
	group->peer_ring_addr = m->open.ring_addr;
	group->peer_ring_rkey = m->open.ring_rkey;
	if (m->open.path_mtu < group->path_mtu) {
		group->path_mtu = m->open.path_mtu;
		group->mtu_changes = UINT64_MAX; /* sub-ports may carry that */
	}
	group->state = GROUP_OPEN;
	return keep_private(&group->peer_private, &group->peer_private_bytes, m->open.private_data,
			    m->open.private_bytes);
}

/*
 * What the fabric carries toward the peer, if probes have found less than devices carry. The value
 * is of the segment, and so anybody's: one that is no path MTU counts for nothing.
 */
static void limit_path_mtu(struct fare_group *group)
{
	uint32_t found = attach_pair_path_mtu(group->pair);

	if (group->is_own_gpu || !qp_path_mtu_is_valid(found) || found >= group->path_mtu)
		return;
	group->path_mtu = found;
	group->mtu_changes = UINT64_MAX; /* sub-ports may carry that */
}

int group_create(struct fare_group **out, struct fare_domain *domain,
		 const struct peer_address *peer, const struct fare_group_options *options,
		 const struct control_message *offer)
{
	struct fare_group *group = calloc(1, sizeof(*group));
	const struct qp_provider *provider = domain->ep.provider;
	int err;

	*out = NULL;
	if (!group)
		return -ENOMEM;
	group->domain = domain;
	group->run.queue = &domain->run_queue;
	group->handshake.run = &group->run;
	group->opener = !offer;
	group->due_ns = offer ? domain->ep.now_ns + STILLBORN_NS : 0;
	group->opening_ns = domain->ep.now_ns;
	group->peer = *peer;
	group->is_own_gpu =
		!memcmp(&peer->address, &domain->ep.attr.address, sizeof(peer->address));
	group->path_mtu = domain->ep.path_mtu;
	err = shape_options(group, options, offer);
	if (!err)
		err = keep_private(&group->own_private, &group->own_private_bytes,
				   options->private_data, options->private_bytes);
	if (!err)
		err = fare_pair_open(&group->pair, domain->fare, domain->local_gpu, &peer->address);
	if (!err)
		limit_path_mtu(group);
	if (!err) {
		group->port_peer = port_cache_get_peer(&domain->ports, peer);
		err = group->port_peer ? shape_lanes(group, offer) : -ENOMEM;
	}
	if (!err && offer)
		err = learn_peer(group, offer);
	if (!err)
		err = make_tables(group);
	if (!err)
		err = provider->mr_register(domain->ep.handle, group->tx_records, group->tx_bytes,
					    0, &group->tx_mr);
	if (!err)
		err = provider->mr_register(domain->ep.handle, group->ring.records,
					    (size_t)group->ring.slots * group->ring.record_bytes,
					    QP_ACCESS_REMOTE_WRITE | QP_ACCESS_REMOTE_READ,
					    &group->rx_mr);
	if (!err) {
		err = engine_add(domain, group);
		group->is_listed = !err;
	}
	if (err) {
		group_destroy(group);
		return err;
	}
	shown_create(group);
	group_follow_paths(group);
	*out = group;
	return 0;
}

void group_destroy(struct fare_group *group)
{
	struct fare_domain *domain = group->domain;

	if (group->is_listed)
		engine_remove(domain, group);
	shown_destroy(group);
	handshake_end(&group->domain->pace, &group->handshake);
	lanes_destroy(group);
	port_cache_put_peer(&domain->ports, group->port_peer);
	if (group->rx_mr.rkey && !PLANTED(region_leaked))
		domain->ep.provider->mr_deregister(domain->ep.handle, &group->rx_mr);
	if (group->tx_mr.lkey)
		domain->ep.provider->mr_deregister(domain->ep.handle, &group->tx_mr);
	flow_table_destroy(group->flows);
	if (!group->own_entries)
		conn_segment_return(attach_segment(domain->fare), group->flow_entries,
				    group->options.flows);
	free(group->own_entries);
	fare_pair_close(group->pair);
	transfer_fini(group);
	free(group->own_private);
	free(group->peer_private);
	free(group);
}

/* A courtesy: a peer that misses all of them learns by GROUP_GONE when it next asks. */
static void tell_closed(struct fare_group *group)
{
	struct control_message m = {.type = CONTROL_GROUP_CLOSE};

	for (unsigned l = 0; group->state == GROUP_OPEN && l < group->domain->ep.attr.n_planes; l++)
		group_send(group, &m);
}

static int open_group(struct fare_group **out, struct fare_domain *domain,
		      const struct peer_address *peer, const struct fare_group_options *given,
		      size_t size)
{
	struct fare_group_options options;
	int err = sized_in(&options, sizeof(options), given, size);

	/* packets have one family, and no group has several members */
	if (!err &&
	    (IN6_IS_ADDR_V4MAPPED(&peer->address) !=
		     IN6_IS_ADDR_V4MAPPED(&domain->ep.attr.address) ||
	     IN6_IS_ADDR_UNSPECIFIED(&peer->address) || IN6_IS_ADDR_MULTICAST(&peer->address)))
		err = -EINVAL;
	if (!err)
		err = group_create(out, domain, peer, &options, NULL);
	if (!err)
		domain_has_work(domain);
	return err;
}

int fare_group_open_sized(struct fare_group **out, struct fare_domain *domain,
			  const struct in6_addr *peer, const struct fare_group_options *options,
			  size_t size)
{
	struct peer_address first;
	int err = out && peer ? domain_check(domain) : -EINVAL;

	if (out)
		*out = NULL;
	if (err)
		return err;
	first = (struct peer_address){*peer, domain->ep.provider->first_port};
	return open_group(out, domain, &first, options, size);
}

int fare_group_open_to_sized(struct fare_group **out, struct fare_domain *domain,
			     const struct fare_address *peer,
			     const struct fare_group_options *options, size_t size)
{
	struct peer_address to;
	uint64_t incarnation;
	int err = out && peer ? domain_check(domain) : -EINVAL;

	if (out)
		*out = NULL;
	if (!err)
		err = peer_address_decode(peer, &to, &incarnation);
	if (!err && !to.port)
		err = -EINVAL;
	if (!err)
		err = open_group(out, domain, &to, options, size);
	if (err)
		return err;
	(*out)->peer_incarnation = incarnation;
	(*out)->names_process = incarnation;
	return 0;
}

void fare_group_disconnect(struct fare_group *group)
{
	if (!group_check(group))
		group_end(group, 0);
}

void fare_group_close(struct fare_group *group)
{
	if (group_check(group))
		return;
	tell_closed(group);
	group_destroy(group);
}

void fare_group_peer(const struct fare_group *group, struct in6_addr *out)
{
	if (out)
		*out = group_check(group) ? in6addr_any : group->peer.address;
}

int fare_group_peer_address(const struct fare_group *group, struct fare_address *out)
{
	if (!group->peer_incarnation)
		return -ENOTCONN;
	peer_address_encode(&group->peer, group->peer_incarnation, out);
	return 0;
}

const void *fare_group_private(const struct fare_group *group, size_t *bytes)
{
	bool is_there = !group_check(group);

	if (bytes)
		*bytes = is_there ? group->peer_private_bytes : 0;
	return is_there ? group->peer_private : NULL;
}

void fare_group_set_context(struct fare_group *group, void *context)
{
	if (!group_check(group))
		group->context = context;
}

void *fare_group_context(const struct fare_group *group)
{
	return group_check(group) ? NULL : group->context;
}

/* ---- control ---- */

bool group_plane_usable(const struct fare_group *group, unsigned lane)
{
	bool any = group->is_own_gpu;

	if (group->options.mode != FARE_MODE_KERNEL)
		return group->paths.path[lane].usable_bps > 0 &&
		       group->paths.path[lane].live_sub_ports;
	for (unsigned p = 0; p < group->paths.n_planes; p++)
		any |= group->paths.path[p].usable_bps > 0;
	return any;
}

/*
 * Over the usable planes in turn; if none is, over any that has a live sub-port: the peer may know
 * better.
 */
void group_send(struct fare_group *group, struct control_message *message)
{
	unsigned n = group->domain->ep.attr.n_planes;

	if (control_wire_is_lane(message->type))
		ring_seen(&group->ring, &message->lane.seen);
	message->source_group = group->id;
	message->destination_group = group->peer_id;
	message->destination = group->peer_incarnation;
	if (group->options.mode == FARE_MODE_KERNEL) {
		endpoint_send(&group->domain->ep, &group->peer, message, QP_ANY_PLANE, 0, 0);
		return;
	}
	for (int usable = 1; usable >= 0; usable--) {
		for (unsigned k = 0; k < n; k++) {
			unsigned turn = group->control_turn + k, p = turn % n;
			const struct fare_path *path = &group->paths.path[p];

			if (!path->live_sub_ports || (usable && !path->usable_bps))
				continue;
			group->control_turn = turn + 1;
			endpoint_send(&group->domain->ep, &group->peer, message, (uint16_t)p,
				      ports_local_sub_port(group, p, turn / n), 0);
			return;
		}
	}
}

void group_fill_open(const struct fare_group *group, struct control_message *m)
{
	m->open.mode = (uint8_t)group->options.mode;
	m->open.n_lanes = (uint8_t)group->n_lanes;
	m->open.qps_per_lane = (uint16_t)group->lanes[0].n_qps;
	m->open.qps_per_sub_port = group->options.qps_per_sub_port;
	m->open.flows = group->options.flows;
	m->open.chunk_bytes = group->options.chunk_bytes;
	m->open.window_bytes = group->options.window_bytes;
	m->open.max_messages = group->options.max_messages;
	m->open.random_ports = group->options.random_ports;
	m->open.kernel_placement = (uint8_t)group->options.kernel_placement;
	m->open.in_order = group->options.in_order;
	m->open.follows_rate = group->follows_rate;
	m->open.message_bytes = (uint16_t)group->options.message_bytes;
	m->open.dscp = group->options.dscp;
	m->open.service_level = group->options.service_level;
	m->open.path_mtu = group->path_mtu;
	m->open.private_data = group->own_private;
	m->open.private_bytes = group->own_private_bytes;
	m->open.ring_addr = (uint64_t)(uintptr_t)group->ring.records;
	m->open.ring_rkey = group->rx_mr.rkey;
}

static void emit(struct fare_group *group, enum fare_event_kind kind, unsigned plane, int status)
{
	struct fare_event e = {
		.kind = kind, .group = group, .plane = (uint16_t)plane, .status = status};

	event_queue_add(&group->domain->events, &e);
}

bool group_is_over(const struct fare_group *group)
{
	return group->state == GROUP_ENDING || group->state == GROUP_CLOSED;
}

/* No device sends from or places into the memory of its messages any more. */
static bool is_quiet(const struct fare_group *group)
{
	for (unsigned l = 0; l < group->n_lanes; l++)
		if (lane_qps_exist(&group->lanes[l]) &&
		    (lane_qps_posted(&group->lanes[l]) || lane_qps_status(group, l) > 0))
			return false;
	return true;
}

/* Why, is CLOSED's to say: of the writes one knows only that it ended before they did. */
static void step_ending(struct fare_group *group)
{
	transfer_check_deadlines(group);
	if (!group->domain->ep.drained || (!is_quiet(group) && !PLANTED(freed_while_used)))
		return;
	group->state = GROUP_CLOSED;
	transfer_cancel(group);
	if (group->opener || group->announced)
		emit(group, FARE_EVENT_CLOSED, 0, group->end_status);
}

void group_end(struct fare_group *group, int status)
{
	if (group_is_over(group))
		return;
	tell_closed(group);
	group->state = GROUP_ENDING;
	group->end_status = status;
	handshake_end(&group->domain->pace, &group->handshake);
	for (unsigned l = 0; l < group->n_lanes; l++)
		lane_kill(group, l);
	run_queue_add(&group->run);
}

bool group_stillborn(const struct fare_group *group)
{
	return !group->opener && !group->announced &&
	       (group->state == GROUP_CLOSED || group->domain->ep.now_ns > group->due_ns);
}

/* The first answer to GROUP_OPEN. */
static void measure(struct fare_group *group)
{
	if (group->sends == 1)
		port_peer_measured(group->port_peer, group->domain->ep.now_ns - group->opening_ns);
}

/* The peer lives, and wants its incarnation and its nonce named: ask again, now. */
static void on_challenge(struct fare_group *group, const struct control_message *m)
{
	if (!group->opener || group->state != GROUP_OPENING)
		return;
	measure(group);
	if (group->names_process && group->peer_incarnation != m->source) {
		group_end(group, -ESTALE);
		return;
	}
	group->peer_incarnation = m->source;
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
	bool is_same = m->source == group->peer_incarnation;

	if (group->state == GROUP_OPENING)
		return is_same || !group->peer_incarnation;
	return m->source_group == group->peer_id && (is_same || m->type == CONTROL_GROUP_GONE);
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
		group->due_ns = group->domain->ep.now_ns + STILLBORN_NS;
	if (control_wire_is_lane(m->type))
		ring_seen_merge(&group->peer_seen, &m->lane.seen);
	switch (m->type) {
	case CONTROL_GROUP_ACCEPT:
		if (!group->opener || group->state != GROUP_OPENING)
			break;
		if (m->open.n_lanes != group->n_lanes ||
		    m->open.qps_per_lane != group->lanes[0].n_qps) {
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
		if (group->state == GROUP_OPEN)
			lane_on_control(group, m);
		break;
	}
}

void group_announce(struct fare_group *group)
{
	if (!group->announced)
		emit(group, group->opener ? FARE_EVENT_CONNECTED : FARE_EVENT_ACCEPTED, 0, 0);
	group->announced = true;
}

/* ---- weights in force ---- */

void group_reweight(struct fare_group *group)
{
	uint64_t bps[FARE_MAX_PLANES];
	struct weights w;

	for (unsigned l = 0; l < group->n_lanes; l++) {
		bool up = group->lanes[l].state == LANE_UP && group_plane_usable(group, l);

		bps[l] = !up ? 0
			 : group->options.mode == FARE_MODE_KERNEL
				 ? 1
				 : group->paths.path[l].usable_bps;
	}
	weights_from_bps(&w, bps, group->n_lanes);
	/* in bandwidths, not in weights: the schedule is exact for those */
	if (group->placement->follow)
		group->placement->follow(group, bps, &w);
	if (w.n == group->weights.n && !memcmp(w.w, group->weights.w, sizeof(w.w)))
		return;
	if (group->announced && !w.sum != !group->weights.sum)
		emit(group, w.sum ? FARE_EVENT_RESUMED : FARE_EVENT_BLOCKED, 0, 0);
	for (unsigned l = 0; l < group->n_lanes; l++)
		if (group->weights.n && (w.w[l] > 0) != (group->weights.w[l] > 0) &&
		    group->announced)
			emit(group, FARE_EVENT_SHIFTED, l, 0);
	group->weights = w;
	transfer_place_anew(group);
}

uint32_t group_sub_ports(const struct fare_group *group, unsigned plane)
{
	uint32_t live = group->paths.path[plane].live_sub_ports, fit = live & ~group->narrow[plane];

	return fit ? fit : live; /* of a plane without any, control messages are all that leaves */
}

bool group_plane_narrow(const struct fare_group *group, unsigned plane)
{
	uint32_t live = group->paths.path[plane].live_sub_ports;

	return live && !(live & ~group->narrow[plane]);
}

/* A plane carries less without its sub-ports that are narrow. */
static void leave_out_narrow(struct fare_group *group)
{
	const struct qp_mtus *mtus = endpoint_mtus(&group->domain->ep);

	for (unsigned p = 0; mtus && p < group->paths.n_planes; p++) {
		struct fare_path *path = &group->paths.path[p];
		uint32_t live = path->live_sub_ports, narrow = 0;

		for (unsigned s = 0; s < FARE_MAX_SUB_PORTS; s++)
			narrow |= (uint32_t)(mtus->payload[p][s] < group->path_mtu) << s;
		group->narrow[p] = narrow;
		if (live & narrow)
			path->usable_bps = path->usable_bps *
					   (unsigned)__builtin_popcount(live & ~narrow) /
					   (unsigned)__builtin_popcount(live);
	}
	group->mtu_changes = mtus ? mtus->changes : 0;
}

bool group_paths_changed(const struct fare_group *group)
{
	const struct qp_mtus *mtus = endpoint_mtus(&group->domain->ep);

	return fare_pair_generation(group->pair) != group->generation ||
	       (mtus && mtus->changes != group->mtu_changes);
}

void group_follow_paths(struct fare_group *group)
{
	struct fare_paths old = group->paths, now;

	if (!group_paths_changed(group) || fare_pair_paths(group->pair, &now))
		return;
	group->generation = now.generation;
	group->paths = now;
	leave_out_narrow(group);
	now = group->paths;
	shape_follow_rate(group);
	for (unsigned l = 0; l < group->n_lanes && group->options.mode != FARE_MODE_KERNEL; l++) {
		/* sub-ports came or went, here or there: the leaf hashes over others than before */
		lane_follow_path(group, l,
				 now.path[l].usable_bps != old.path[l].usable_bps ||
					 now.path[l].live_sub_ports != old.path[l].live_sub_ports);
		if (group->lanes[l].state != LANE_UP)
			continue;
		/*
		 * what is queued toward a link that just went is lost: ask again now, not a timeout
		 * later
		 */
		if (now.path[l].usable_bps < old.path[l].usable_bps && now.path[l].usable_bps)
			lane_qps_kick(group, l);
		if (now.path[l].usable_bps && now.path[l].usable_bps != old.path[l].usable_bps &&
		    group->announced)
			emit(group, FARE_EVENT_SHIFTED, l, 0);
	}
	group_reweight(group);
}

/* ---- the turn of the wheel ---- */

static void ask_alive(struct fare_group *group)
{
	struct control_message m = {.type = CONTROL_GROUP_ALIVE};
	uint64_t now = group->domain->ep.now_ns;

	if (now < group->alive_ns)
		return;
	if (group->alive_ns && !PLANTED(alive_unasked))
		group_send(group, &m);
	group->alive_ns = now + ALIVE_NS + endpoint_random(&group->domain->ep) % (ALIVE_NS / 2);
}

static void announce(struct fare_group *group)
{
	bool patient = group->opener && group->domain->ep.now_ns <= group->due_ns;
	unsigned up = 0, waiting = 0;

	if (group->announced)
		return;
	for (unsigned l = 0; l < group->n_lanes; l++) {
		up += group->lanes[l].state == LANE_UP;
		waiting += group->lanes[l].state != LANE_UP && !group->lanes[l].attempted &&
			   group_plane_usable(group, l);
	}
	/*
	 * the opener waits for every lane that can come up; the acceptor may speak as soon as one
	 * did
	 */
	if (up && !(patient && waiting)) {
		handshake_end(&group->domain->pace, &group->handshake);
		group_announce(group);
	} else if (group->opener && !up && !patient) {
		group_end(group, lanes_error(group));
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
		lanes_prepare(group);
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
	group_send(group, &m);
	group->due_ns = now + port_peer_resend_ns(group->port_peer, group->sends++);
	if (group->sends > YIELD_SENDS)
		handshake_yield(&group->domain->pace, &group->handshake);
}

void group_step(struct fare_group *group)
{
	if (group->closing && group->domain->ep.drained)
		group_end(group, group->closing);
	if (group->state == GROUP_ENDING)
		step_ending(group);
	if (group_is_over(group))
		return;
	group_follow_paths(group);
	if (group->state == GROUP_OPENING) {
		step_opening(group);
		if (!PLANTED(deadline_opening))
			transfer_check_deadlines(group);
		return;
	}
	for (unsigned l = 0; l < group->n_lanes; l++)
		lane_step(group, l);
	announce(group);
	ask_alive(group);
	transfer_step(group);
}

static uint64_t earliest_deadline(const struct fare_group *group)
{
	uint64_t due_ns = ENDPOINT_NEVER;

	for (uint32_t i = 0; group->n_deadlines && i < group->options.max_messages; i++) {
		const struct message *m = &group->messages[i];

		if (m->in_use && !m->late && m->write.deadline_ns && m->write.deadline_ns < due_ns)
			due_ns = m->write.deadline_ns;
	}
	return due_ns;
}

uint64_t group_due_ns(const struct fare_group *group)
{
	uint64_t due_ns = PLANTED(deadline_unwatched) ? ENDPOINT_NEVER : earliest_deadline(group);

	if (group->state == GROUP_CLOSED)
		return ENDPOINT_NEVER;
	if (group->state == GROUP_ENDING || group->closing || group->is_stalled)
		return group->domain->ep.now_ns;
	if (!group->announced && group->handshake.state != HANDSHAKE_WAITING &&
	    group->due_ns < due_ns)
		due_ns = group->due_ns;
	if (group->state == GROUP_OPEN && group->alive_ns < due_ns)
		due_ns = group->alive_ns;
	for (unsigned l = 0; group->state == GROUP_OPEN && l < group->n_lanes; l++) {
		uint64_t lane_ns = lane_due_ns(group, l);

		due_ns = lane_ns < due_ns ? lane_ns : due_ns;
	}
	return due_ns;
}

bool group_busy(const struct fare_group *group)
{
	if (group->n_messages || group->state == GROUP_ENDING ||
	    (group->state == GROUP_OPENING && group->handshake.state != HANDSHAKE_WAITING))
		return true;
	for (unsigned l = 0; l < group->n_lanes; l++)
		if (lane_is_busy(group, l))
			return true;
	return false;
}

void fare_group_stats_sized(const struct fare_group *group, struct fare_group_stats *given,
			    size_t size)
{
	struct fare_group_stats stats = {0}, *out = &stats;
	struct flow_table_stats flows;
	struct qp_stats qp;

	if (!given)
		return;
	if (group_check(group)) {
		sized_out(given, size, out, sizeof(*out));
		return;
	}
	stats = group->stats;
	if (group->flows) {
		flow_table_stats(group->flows, &flows);
		out->flow_moves = flows.moves;
		out->flow_needless_moves = flows.needless_moves;
	}
	group->domain->ep.provider->endpoint_stats(group->domain->ep.handle, &qp);
	out->retransmitted_packets = qp.retransmitted_packets; /* of the whole endpoint */
	out->timeouts = qp.timeouts;
	out->icrc_errors = qp.icrc_errors;
	out->control_rejected = group->domain->control_rejected;
	sized_out(given, size, out, sizeof(*out));
}
