/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lane.c - the state machine of a lane: learn source ports (port_cache.h), make QPs, connect them,
 * carry traffic, end without a stale write, and be rebuilt.
 *
 *            opener                                  acceptor
 *   DOWN -> LEARNING -> OPENING --LANE_OPEN-->   DOWN -> LEARNING
 *                                <-LANE_ACCEPT-- ACCEPTING
 *                       CONNECTING
 *                       UP      --LANE_READY-->  UP
 *   any with QPs -> RESETTING --LANE_RESET--> (QPs to error) ; <-LANE_RESET_ACK-- ; -> DOWN
 *
 * When a lane ends, its chunks are sent again on other lanes at once. Their messages complete only
 * when the lane's old QPs are in error and drained at this end, and in error at the peer. The peer
 * confirms that with LANE_RESET_ACK, or with a LANE_RESET of its own. Until then the state is
 * RESETTING, and no new epoch begins. Only the opener rebuilds.
 *
 * A device changes the state of a QP in its own time (provider.h, qp_status). A message is sent
 * only after the state that it announces is reached: LANE_ACCEPT when the QPs can receive,
 * LANE_READY when they are connected, LANE_RESET and LANE_RESET_ACK when the last byte is placed.
 */
#include "qp/flush.h"
#include "qp/internal.h"
#include "qp/planted.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CONNECT_NS	 UINT64_C(2000000000) /* time that a device has to bring its QP to RTS */
#define RESET_RESEND_NS	 UINT64_C(5000000)    /* at most, at first; doubled each time */
#define BACKOFF_FIRST_NS UINT64_C(10000000)
#define REFUSED_NS	 UINT64_C(100000000)   /* time for a NAK to arrive, as in soft_qp.c */
#define STABLE_NS	 UINT64_C(10000000000) /* after so long up, back-off starts again */
/* a handshake that takes longer waits for the peer: then the slow tick is enough */
#define BUSY_NS UINT64_C(1000000000)

static uint64_t now_ns(const struct fare_group *group)
{
	return group->domain->ep.now_ns;
}

static void set_state(struct fare_group *group, unsigned l, enum lane_state state)
{
	struct lane *lane = &group->lanes[l];

	lane->state = state;
	lane->since_ns = lane->due_ns = now_ns(group);
	lane->sends = 0;
	shown_lane(group, l);
}

static uint64_t resend_after(const struct lane *lane)
{
	const struct port_peer *peer = lane->group->port_peer;
	uint64_t ns;

	/* before the peer answers, it may need a round trip of its own (echoes) */
	if (lane->state != LANE_RESETTING)
		return port_peer_resend_ns(peer, lane->sends + 1);
	/* messages wait for this one, and the plane that carried it may be the dead one */
	ns = port_peer_resend_ns(peer, lane->sends);
	return lane->sends < 4 && ns > RESET_RESEND_NS << lane->sends
		       ? RESET_RESEND_NS << lane->sends
		       : ns;
}

/*
 * The peer does not answer, and nothing else has come from it either. A peer that is only slow (its
 * process opens a thousand groups, or waits for a core) will answer. If the lane were given up
 * meanwhile, it would have to be made again.
 */
static bool is_silent(const struct lane *lane)
{
	return now_ns(lane->group) - lane->since_ns > HANDSHAKE_SILENT_NS &&
	       port_peer_silence_ns(lane->group->port_peer) > HANDSHAKE_SILENT_NS;
}

static void send_plain(struct fare_group *group, unsigned l, enum control_type type, uint32_t epoch)
{
	struct control_message m = {.type = type};

	m.lane.lane = (uint16_t)l;
	m.lane.epoch = epoch;
	group_send(group, &m);
}

static void name_addresses(const struct fare_group *group, unsigned l, struct control_message *m)
{
	const struct fare_domain *domain = group->domain;
	struct in6_addr a;

	if (!domain->ep.provider->sub_port_address || group->options.mode == FARE_MODE_KERNEL)
		return;
	m->lane.n_addresses = domain->ep.attr.n_sub_ports[l];
	for (uint16_t s = 0; s < m->lane.n_addresses; s++)
		if (!domain->ep.provider->sub_port_address(domain->ep.handle, (uint16_t)l, s, &a))
			memcpy(m->lane.addresses[s], &a, sizeof(a));
}

static void send_with_qps(struct fare_group *group, unsigned l, enum control_type type)
{
	const struct qp_provider *provider = group->domain->ep.provider;
	struct lane *lane = &group->lanes[l];
	struct control_message m = {.type = type};

	m.lane.lane = (uint16_t)l;
	m.lane.epoch = lane->epoch;
	m.lane.n_qps = (uint16_t)lane->n_qps;
	for (unsigned i = 0; i < lane->n_qps; i++) {
		m.lane.qps[i].qpn = provider->qp_num(lane->qps[i].qp);
		m.lane.qps[i].psn = provider->qp_psn(lane->qps[i].qp);
		m.lane.qps[i].sub_port = (uint8_t)lane->qps[i].sub_port;
	}
	name_addresses(group, l, &m);
	group_send(group, &m);
}

/* ---- creating and destroying lanes ---- */

int lanes_create(struct fare_group *group, unsigned n_lanes, unsigned n_qps, unsigned n_ports)
{
	const struct fare_group_options *o = &group->options;
	bool is_packet = o->mode == FARE_MODE_PACKET;
	int err = 0;

	if (is_packet && n_ports > QP_MAX_PATHS)
		n_ports = QP_MAX_PATHS;
	group->lanes = calloc(n_lanes, sizeof(*group->lanes));
	if (!group->lanes)
		return -ENOMEM;
	group->n_lanes = n_lanes;
	for (unsigned l = 0; l < n_lanes && !err; l++) {
		struct lane *lane = &group->lanes[l];

		lane->group = group;
		lane->index = (uint16_t)l;
		lane->n_qps = n_qps;
		lane->n_ports = is_packet ? n_ports : n_qps;
		lane->qps = calloc(n_qps, sizeof(*lane->qps));
		if (is_packet)
			lane->ways = calloc(n_ports, sizeof(*lane->ways));
		if (!lane->qps || (is_packet && !lane->ways))
			err = -ENOMEM;
		else if (o->mode != FARE_MODE_KERNEL && !o->random_ports)
			err = port_cache_attach(lane);
	}
	return err;
}

void lanes_destroy(struct fare_group *group)
{
	for (unsigned l = 0; group->lanes && l < group->n_lanes; l++) {
		struct lane *lane = &group->lanes[l];

		if (lane->qps)
			lane_qps_destroy(group, l);
		port_cache_detach(lane);
		free(lane->offer);
		free(lane->ways);
		free(lane->qps);
	}
	free(group->lanes);
	group->lanes = NULL;
}

void lanes_prepare(struct fare_group *group)
{
	for (unsigned l = 0; l < group->n_lanes; l++)
		if (group->lanes[l].path && group_plane_usable(group, l))
			port_cache_prepare(&group->lanes[l]);
}

void lane_follow_path(struct fare_group *group, unsigned l, bool hashes_anew)
{
	struct lane *lane = &group->lanes[l];

	if (lane->path)
		port_cache_follow(lane);
	if (group_plane_narrow(group, l)) {
		lane->error = -EMSGSIZE;
		shown_lane(group, l);
	}
	if (lane->state != LANE_UP)
		return;
	lane_qps_follow_sub_ports(group, l);
	if (lane->path && hashes_anew)
		port_cache_hint(lane);
}

bool lane_is_busy(const struct fare_group *group, unsigned l)
{
	const struct lane *lane = &group->lanes[l];

	return lane->state != LANE_UP && lane->state != LANE_DOWN &&
	       now_ns(group) - lane->since_ns < BUSY_NS;
}

int lanes_error(const struct fare_group *group)
{
	for (unsigned l = 0; l < group->n_lanes; l++)
		if (group->lanes[l].error)
			return group->lanes[l].error;
	return -ENETUNREACH;
}

/* ---- states ---- */

/* RESETTING -> DOWN: nothing of the old epoch is left at either end. */
static void to_down(struct fare_group *group, unsigned l)
{
	struct lane *lane = &group->lanes[l];
	uint64_t now = now_ns(group), max = group->options.backoff_max_ms * UINT64_C(1000000);

	lane_qps_destroy(group, l);
	free(lane->offer);
	lane->offer = NULL;
	if (lane->up_since_ns && now - lane->up_since_ns > STABLE_NS)
		lane->backoff_ns = 0;
	if (!lane->backoff_ns)
		lane->backoff_ns = BACKOFF_FIRST_NS;
	else if (!lane->is_spared)
		lane->backoff_ns *= 2;
	if (lane->backoff_ns > max)
		lane->backoff_ns = max;
	lane->up_since_ns = 0;
	lane->attempted = true;
	set_state(group, l, LANE_DOWN);
	lane->due_ns = now + lane->backoff_ns;
	transfer_lane_confirmed(group, l);
}

void lane_drained(struct fare_group *group, unsigned l)
{
	struct lane *lane = &group->lanes[l];

	/*
	 * destroying a QP drops its completions, and none may be of a record that was placed and
	 * acknowledged: so all completions are taken before (drained)
	 */
	if (lane->state == LANE_RESETTING && lane->confirmed && lane_qps_posted(lane) == 0 &&
	    lane_qps_status(group, l) <= 0 && (group->domain->ep.drained || PLANTED(undrained)))
		to_down(group, l);
}

/* QPs to error. confirmed: the peer's QPs are known to be in error, or were never connected. */
static void reset(struct fare_group *group, unsigned l, bool confirmed)
{
	struct lane *lane = &group->lanes[l];
	bool was_up = lane->state == LANE_UP;

	port_cache_doubt(lane);
	lane->is_spared = lane_qps_refused(group, l);
	lane->post_error = 0;
	lane->confirmed = confirmed || PLANTED(confirmed_alone);
	set_state(group, l, LANE_RESETTING);
	flush_lane_dies(group, l);
	for (unsigned i = 0; i < lane->n_qps; i++) {
		if (!lane->qps[i].qp)
			continue;
		group->domain->ep.provider->qp_error(lane->qps[i].qp);
		transfer_recall(group, &lane->qps[i]);
	}
	if (was_up) {
		group->stats.path_deaths++;
		group_reweight(group);
	}
	lane_drained(group, l);
}

void lane_kill(struct fare_group *group, unsigned l)
{
	struct lane *lane = &group->lanes[l];

	if (lane->state == LANE_LEARNING) {
		reset(group, l, true); /* no QPs were made, so the peer knows of none */
	} else if (lane->state != LANE_DOWN && lane->state != LANE_RESETTING) {
		reset(group, l, false);
	}
}

/*
 * FAILURE_FLUSH: a QP ended for a reason that is not a work request of this end. Most likely it
 * refused an operation of the peer. Its NAK tells the peer which one. If LANE_RESET overtook the
 * NAK, the peer would send that operation again on the next epoch, without end. So LANE_RESET is
 * delayed.
 *
 * If an operation of this end is refused, too, each end's QP may fail before the other's NAK
 * arrives, and again on each epoch. So the acceptor lets the opener post first on the next one.
 */
void lane_on_failure(struct fare_group *group, unsigned l, enum failure failure)
{
	struct lane *lane = &group->lanes[l];
	bool was_up = lane->state == LANE_UP;

	lane_kill(group, l);
	lane->is_spared |= failure == FAILURE_MESSAGE;
	if (failure != FAILURE_FLUSH || !was_up || lane->state != LANE_RESETTING)
		return;
	lane->due_ns = now_ns(group) + REFUSED_NS;
	lane->yields = !group->opener;
}

void lane_refuses_posts(struct fare_group *group, unsigned l, int error)
{
	group->lanes[l].post_error = error;
	run_queue_add(&group->run);
}

/* The lane failed or cannot be made. The reason is kept until the lane is up. */
static void fail(struct fare_group *group, unsigned l, int error)
{
	group->lanes[l].error = error;
	lane_kill(group, l);
}

static int make_qps(struct fare_group *group, unsigned l)
{
	struct lane *lane = &group->lanes[l];
	const struct lane_offer *offer = lane->offer;
	int err = lane_qps_create(group, l);

	if (!err && offer)
		err = lane_qps_connect(group, l, offer->qps, offer->addresses, offer->n_addresses);
	free(lane->offer);
	lane->offer = NULL;
	return err;
}

/* LEARNING -> OPENING or ACCEPTING: enough is known of the path, QPs are made. */
static void learned(struct fare_group *group, unsigned l)
{
	struct lane *lane = &group->lanes[l];
	int err = make_qps(group, l);

	if (err) {
		lane->error = err;
		reset(group, l, true);
		if (!group->opener)
			send_plain(group, l, CONTROL_LANE_REFUSE, lane->epoch);
		return;
	}
	/* not before: an epoch numbers a set of QPs */
	lane->epoch += group->opener;
	set_state(group, l, group->opener ? LANE_OPENING : LANE_ACCEPTING);
}

static void step_learning(struct fare_group *group, unsigned l)
{
	struct lane *lane = &group->lanes[l];
	int ready = 0;

	if (lane->path)
		ready = port_cache_ready(lane);
	if (ready < 0)
		fail(group, l, ready);
	else if (ready == 0)
		learned(group, l);
}

static void up(struct fare_group *group, unsigned l)
{
	struct lane *lane = &group->lanes[l];

	set_state(group, l, LANE_UP);
	lane->attempted = true;
	lane->error = 0;
	lane->up_since_ns = now_ns(group);
	lane->post_ns = lane->yields ? now_ns(group) + REFUSED_NS : 0;
	lane->yields = false;
	group->stats.path_rebuilds += lane->epoch > 1;
	lane_qps_follow_sub_ports(group, l);
	if (lane->path && lane->state == LANE_UP) {
		ports_even_out(lane);
		port_cache_watch(lane);
		shown_lane(group, l);
	}
	group_reweight(group);
}

/* Opener: its QPs have the addresses of the peer's and are changing to RTS. */
static void step_connecting(struct fare_group *group, unsigned l)
{
	struct lane *lane = &group->lanes[l];
	int s = lane_qps_status(group, l);

	if (s < 0 || now_ns(group) - lane->since_ns > CONNECT_NS) {
		fail(group, l, s < 0 ? s : -ETIMEDOUT);
		return;
	}
	if (s > 0)
		return;
	up(group, l);
	if (lane->state == LANE_UP)
		send_plain(group, l, CONTROL_LANE_READY, lane->epoch);
}

/* The QPs of this end are quiet: sends a LANE_RESET_ACK that is due; DOWN if all is confirmed. */
static void step_resetting(struct fare_group *group, unsigned l)
{
	struct lane *lane = &group->lanes[l];

	if (lane->ack_owed && group->domain->ep.drained) {
		lane->ack_owed = false;
		send_plain(group, l, CONTROL_LANE_RESET_ACK, lane->ack_epoch);
	}
	lane_drained(group, l);
}

static void sent(struct fare_group *group, unsigned l)
{
	struct lane *lane = &group->lanes[l];

	lane->due_ns = now_ns(group) + resend_after(lane);
	lane->sends++;
}

static void step_down(struct fare_group *group, unsigned l)
{
	if (!group->opener || group->state != GROUP_OPEN || !group_plane_usable(group, l) ||
	    (PLANTED(gives_up) && group->lanes[l].epoch > 2))
		return;
	set_state(group, l, LANE_LEARNING);
	step_learning(group, l);
}

/* OPENING and ACCEPTING: what the peer has not answered is sent again. */
static void step_asking(struct fare_group *group, unsigned l, int status)
{
	struct lane *lane = &group->lanes[l];

	if (is_silent(lane)) {
		fail(group, l, -ETIMEDOUT);
		return;
	}
	if (status > 0)
		return; /* not yet able to receive */
	send_with_qps(group, l,
		      lane->state == LANE_OPENING ? CONTROL_LANE_OPEN : CONTROL_LANE_ACCEPT);
	sent(group, l);
}

/* RESETTING: the peer is told again, until it says that its QPs are gone, too. */
static void step_telling(struct fare_group *group, unsigned l)
{
	struct lane *lane = &group->lanes[l];

	if (!group->domain->ep.drained)
		return; /* the message says which records were taken, once and for all */
	if (PLANTED(silence_confirms) && now_ns(group) - lane->since_ns > 3 * HANDSHAKE_SILENT_NS)
		lane->confirmed = true;
	if (!lane->confirmed && !(PLANTED(reset_once) && lane->sends))
		send_plain(group, l, CONTROL_LANE_RESET, lane->epoch);
	sent(group, l);
}

/* It does not wait for a time, but for its QPs, the port cache, or the daemon. True: done. */
static bool step_now(struct fare_group *group, unsigned l, int status)
{
	struct lane *lane = &group->lanes[l];

	if (status < 0 && (lane->state == LANE_UP || lane->state == LANE_ACCEPTING ||
			   lane->state == LANE_OPENING))
		fail(group, l, status);
	else if (lane->state == LANE_UP && lane_qps_stalled(group, l))
		fail(group, l, -ETIMEDOUT);
	else if (lane->state == LANE_CONNECTING)
		step_connecting(group, l);
	else if (lane->state != LANE_DOWN && lane->state != LANE_RESETTING &&
		 !group_plane_usable(group, l))
		lane_kill(group, l);
	else if (lane->state == LANE_LEARNING)
		step_learning(group, l);
	else if (lane->state != LANE_UP)
		return false;
	return true;
}

void lane_step(struct fare_group *group, unsigned l)
{
	struct lane *lane = &group->lanes[l];
	int status = lane->post_error ? lane->post_error : lane_qps_status(group, l);

	if (lane->state == LANE_RESETTING) {
		if (status > 0 && !PLANTED(ack_before_quiet))
			return;
		step_resetting(group, l);
	}
	if (step_now(group, l, status) || now_ns(group) < lane->due_ns)
		return;
	if (lane->state == LANE_DOWN)
		step_down(group, l);
	else if (lane->state == LANE_RESETTING)
		step_telling(group, l);
	else
		step_asking(group, l, status);
}

uint64_t lane_due_ns(const struct fare_group *group, unsigned l)
{
	const struct lane *lane = &group->lanes[l];

	/* a device reports no change of a QP's state, so it has to be polled */
	if (lane->state == LANE_CONNECTING || lane_qps_status(group, l) > 0)
		return group->domain->ep.now_ns;
	switch (lane->state) {
	case LANE_DOWN:
		return group->opener && group_plane_usable(group, l) ? lane->due_ns : ENDPOINT_NEVER;
	case LANE_LEARNING: /* the port cache wakes the group */
		return ENDPOINT_NEVER;
	case LANE_UP:
		return lane->post_ns > now_ns(group) ? lane->post_ns : ENDPOINT_NEVER;
	case LANE_RESETTING:
		if (lane->ack_owed || (lane->confirmed && !lane_qps_posted(lane)))
			return group->domain->ep.now_ns;
		return lane->confirmed ? ENDPOINT_NEVER : lane->due_ns;
	default:
		return lane->due_ns;
	}
}

static void on_open(struct fare_group *group, unsigned l, const struct control_message *m)
{
	struct lane *lane = &group->lanes[l];

	if (group->opener || m->lane.n_qps != lane->n_qps || m->lane.epoch < lane->epoch)
		return;
	if (m->lane.epoch == lane->epoch) {
		if ((lane->state == LANE_ACCEPTING || lane->state == LANE_UP) &&
		    lane_qps_status(group, l) == 0)
			send_with_qps(group, l, CONTROL_LANE_ACCEPT);
		/* that epoch has ended */
		else if (lane->state == LANE_DOWN)
			send_plain(group, l, CONTROL_LANE_REFUSE, lane->epoch);
		return; /* LEARNING: the answer follows */
	}
	if (lane->state == LANE_RESETTING || lane_qps_exist(lane)) {
		/*
		 * the opener begins a new epoch only after the old one has ended at its end. So the
		 * QPs of this end go to error, and the opener's next LANE_OPEN finds the lane DOWN
		 */
		if (lane->state == LANE_RESETTING)
			lane->confirmed = true;
		else
			reset(group, l, true);
		lane_drained(group, l);
		return;
	}
	if (!group_plane_usable(group, l)) {
		if (lane->state == LANE_DOWN)
			lane->epoch = m->lane.epoch; /* it has ended, if the message comes again */
		send_plain(group, l, CONTROL_LANE_REFUSE, m->lane.epoch);
		return;
	}
	if (!lane->offer) /* in LEARNING there is one, of an epoch that the opener gave up */
		lane->offer = malloc(sizeof(*lane->offer));
	if (!lane->offer) {
		send_plain(group, l, CONTROL_LANE_REFUSE, m->lane.epoch);
		return;
	}
	memcpy(lane->offer->qps, m->lane.qps, sizeof(lane->offer->qps));
	memcpy(lane->offer->addresses, m->lane.addresses, sizeof(lane->offer->addresses));
	lane->offer->n_addresses = m->lane.n_addresses;
	lane->epoch = m->lane.epoch;
	set_state(group, l, LANE_LEARNING);
}

static void on_accept(struct fare_group *group, unsigned l, const struct control_message *m)
{
	struct lane *lane = &group->lanes[l];

	if (!group->opener || m->lane.epoch != lane->epoch || m->lane.n_qps != lane->n_qps)
		return;
	if (lane->state == LANE_OPENING) {
		int err = lane_qps_connect(group, l, m->lane.qps, m->lane.addresses,
					   m->lane.n_addresses);

		if (err) {
			fail(group, l, err);
			return;
		}
		set_state(group, l, LANE_CONNECTING);
		step_connecting(group, l);
	} else if (lane->state == LANE_UP) {
		send_plain(group, l, CONTROL_LANE_READY, lane->epoch);
	}
}

/* The peer's QPs of that epoch are in error: those of this end go to error too. */
static void on_reset(struct fare_group *group, unsigned l, const struct control_message *m)
{
	struct lane *lane = &group->lanes[l];

	/* the opener has made no QPs since that epoch ended: the message was sent before that */
	if (group->opener && lane->state == LANE_LEARNING && !PLANTED(any_epoch)) {
		send_plain(group, l, CONTROL_LANE_RESET_ACK, m->lane.epoch);
		return;
	}
	if (m->lane.epoch >= lane->epoch || PLANTED(any_epoch)) {
		/* a LANE_OPEN of that epoch that arrives later must be ignored */
		if (m->lane.epoch > lane->epoch && !group->opener)
			lane->epoch = m->lane.epoch;
		if (lane->state == LANE_RESETTING) {
			lane->confirmed = true;
			lane_drained(group, l);
		} else if (lane->state != LANE_DOWN) {
			reset(group, l, true);
		}
	}
	lane->ack_owed = lane->state == LANE_RESETTING &&
			 (lane_qps_status(group, l) > 0 ||
			  (!group->domain->ep.drained && !PLANTED(ack_before_read)));
	lane->ack_epoch = m->lane.epoch;
	if (!lane->ack_owed)
		send_plain(group, l, CONTROL_LANE_RESET_ACK, m->lane.epoch);
}

void lane_on_control(struct fare_group *group, const struct control_message *m)
{
	unsigned l = m->lane.lane;
	struct lane *lane = &group->lanes[l];

	if (l >= group->n_lanes)
		return;
	switch (m->type) {
	case CONTROL_LANE_OPEN:
		on_open(group, l, m);
		break;
	case CONTROL_LANE_ACCEPT:
		on_accept(group, l, m);
		break;
	case CONTROL_LANE_READY:
		if (lane->state == LANE_ACCEPTING && m->lane.epoch == lane->epoch)
			up(group, l);
		break;
	case CONTROL_LANE_REFUSE:
		if (lane->state == LANE_OPENING && m->lane.epoch == lane->epoch) {
			lane->error = -ECONNREFUSED;
			reset(group, l, true); /* the acceptor made no QPs */
		}
		break;
	case CONTROL_LANE_RESET:
		on_reset(group, l, m);
		break;
	case CONTROL_LANE_RESET_ACK:
		if (lane->state == LANE_RESETTING && m->lane.epoch == lane->epoch) {
			lane->confirmed = true;
			lane_drained(group, l);
		}
		break;
	default:
		break;
	}
}
