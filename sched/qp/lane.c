/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lane.c - the life of a lane: learn ports, make QPs, shake hands, carry (rehash.c), die without a
 * ghost, come back.
 *
 *            opener                                  acceptor
 *   DOWN -> LEARNING -> OPENING --LANE_OPEN-->   DOWN -> LEARNING
 *                                <-LANE_ACCEPT-- ACCEPTING
 *                       CONNECTING
 *                       UP      --LANE_READY-->  UP
 *   any with QPs -> RESETTING --LANE_RESET--> (QPs to error) ; <-LANE_RESET_ACK-- ; -> DOWN
 *
 * Losing nothing, exactly: chunks of a dead lane are sent again elsewhere at once, but count as
 * done only when the lane's old QPs are in error here, drained here, and in error at the peer,
 * which LANE_RESET_ACK (or the peer's own LANE_RESET) says. Until then RESETTING holds, and no new
 * epoch begins. The opener alone rebuilds.
 *
 * Where a device changes a QP's state in its own time (provider.h, qp_status), nobody is told of a
 * state before it is reached: LANE_ACCEPT and LANE_READY wait for the connection, LANE_RESET and
 * its ACK for the last byte placed.
 */
#include "qp/internal.h"

#include <string.h>

#define RESEND_FIRST_NS UINT64_C(2000000)
#define RESEND_MAX_NS	UINT64_C(100000000)
#define LEARN_RESEND_NS UINT64_C(5000000) /* doubling from round to round */
#define LEARN_SENDS	5		  /* rounds before going on with what came back: 155 ms */
/* rounds before a plane that answered nothing is given up: 1.3 s */
#define LEARN_SENDS_NONE 8
#define GIVE_UP_NS	 UINT64_C(2000000000)
#define BACKOFF_FIRST_NS UINT64_C(10000000)
#define STABLE_NS	 UINT64_C(10000000000) /* up that long: the back-off starts afresh */

static uint64_t now_ns(const struct fare_group *group)
{
	return group->domain->now_ns;
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
	uint64_t ns = RESEND_FIRST_NS << (lane->sends < 8 ? lane->sends : 8);

	return ns < RESEND_MAX_NS ? ns : RESEND_MAX_NS;
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

	if (!domain->provider->sub_port_address || group->options.mode == FARE_MODE_KERNEL)
		return;
	m->lane.n_addresses = domain->attr.n_sub_ports[l];
	for (uint16_t s = 0; s < m->lane.n_addresses; s++)
		if (!domain->provider->sub_port_address(domain->endpoint, (uint16_t)l, s, &a))
			memcpy(m->lane.addresses[s], &a, sizeof(a));
}

static void send_with_qps(struct fare_group *group, unsigned l, enum control_type type)
{
	const struct qp_provider *provider = group->domain->provider;
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

/* Nothing of the old epoch is left at either end. */
static void to_down(struct fare_group *group, unsigned l)
{
	struct lane *lane = &group->lanes[l];
	uint64_t now = now_ns(group), max = group->options.backoff_max_ms * UINT64_C(1000000);

	lane_qps_destroy(group, l);
	if (lane->up_since_ns && now - lane->up_since_ns > STABLE_NS)
		lane->backoff_ns = 0;
	lane->backoff_ns = lane->backoff_ns ? lane->backoff_ns * 2 : BACKOFF_FIRST_NS;
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
	 * a QP takes its completions with it: a notification that was placed, and acknowledged,
	 * must not be among them
	 */
	if (lane->state == LANE_RESETTING && lane->confirmed && lane_qps_posted(lane) == 0 &&
	    lane_qps_status(group, l) <= 0 && group->domain->drained)
		to_down(group, l);
}

/* QPs to error. confirmed: the peer's are known to be, or never came to be. */
static void reset(struct fare_group *group, unsigned l, bool confirmed)
{
	struct lane *lane = &group->lanes[l];
	bool was_up = lane->state == LANE_UP;

	lane->learning.nonce = 0;
	lane->confirmed = confirmed;
	set_state(group, l, LANE_RESETTING);
	for (unsigned i = 0; i < lane->n_qps; i++) {
		if (!lane->qps[i].qp)
			continue;
		group->domain->provider->qp_error(lane->qps[i].qp);
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
		reset(group, l, true); /* nobody was told of any QP */
	} else if (lane->state != LANE_DOWN && lane->state != LANE_RESETTING) {
		reset(group, l, false);
	}
}

static void begin_learning(struct fare_group *group, unsigned l)
{
	set_state(group, l, LANE_LEARNING);
	if (group->options.mode == FARE_MODE_KERNEL || group->options.random_ports)
		return;
	ports_start(group, l);
}

/* Ports are known, or as many as came back: QPs are made. */
static void learned(struct fare_group *group, unsigned l)
{
	struct lane *lane = &group->lanes[l];

	if (lane_qps_create(group, l) ||
	    (!group->opener && lane_qps_connect(group, l, lane->peer_qps, lane->peer_addresses,
						lane->n_peer_addresses))) {
		reset(group, l, true);
		if (!group->opener)
			send_plain(group, l, CONTROL_LANE_REFUSE, lane->epoch);
		return;
	}
	lane->learning.nonce = 0;
	set_state(group, l, group->opener ? LANE_OPENING : LANE_ACCEPTING);
}

static void step_learning(struct fare_group *group, unsigned l)
{
	struct lane *lane = &group->lanes[l];
	struct learning *learning = &lane->learning;

	if (!learning->nonce || ports_learned(group, l)) {
		learned(group, l);
		return;
	}
	if (now_ns(group) < lane->due_ns)
		return;
	if (learning->replies && learning->sends >= LEARN_SENDS) {
		learned(group, l);
		return;
	}
	if (learning->sends >= LEARN_SENDS_NONE) {
		lane_kill(group, l); /* the plane does not answer: not a plane to build on */
		return;
	}
	lane->due_ns = now_ns(group) + (LEARN_RESEND_NS << learning->sends);
	ports_send(group, l);
}

static void up(struct fare_group *group, unsigned l)
{
	struct lane *lane = &group->lanes[l];

	set_state(group, l, LANE_UP);
	lane->attempted = true;
	lane->up_since_ns = now_ns(group);
	group->stats.path_rebuilds += lane->epoch > 1;
	lane_qps_follow_sub_ports(group, l);
	rehash_start(group, l);
	group_reweight(group);
}

/* Opener: its QPs were told where the peer's are. */
static void step_connecting(struct fare_group *group, unsigned l)
{
	struct lane *lane = &group->lanes[l];
	int s = lane_qps_status(group, l);

	if (s < 0 || now_ns(group) - lane->since_ns > GIVE_UP_NS) {
		lane_kill(group, l);
		return;
	}
	if (s > 0)
		return;
	up(group, l);
	if (lane->state == LANE_UP)
		send_plain(group, l, CONTROL_LANE_READY, lane->epoch);
}

/* Quiet at last: the peer that asked is told, and what waited for our own flushes goes on. */
static void step_resetting(struct fare_group *group, unsigned l)
{
	struct lane *lane = &group->lanes[l];

	if (lane->ack_owed && group->domain->drained) {
		lane->ack_owed = false;
		send_plain(group, l, CONTROL_LANE_RESET_ACK, lane->ack_epoch);
	}
	lane_drained(group, l);
}

void lane_step(struct fare_group *group, unsigned l)
{
	struct lane *lane = &group->lanes[l];
	uint64_t now = now_ns(group);
	int s = lane_qps_status(group, l);

	if (lane->state == LANE_RESETTING) {
		if (s > 0)
			return;
		step_resetting(group, l);
	}
	if (s < 0 && (lane->state == LANE_UP || lane->state == LANE_ACCEPTING ||
		      lane->state == LANE_OPENING)) {
		lane_kill(group, l);
		return;
	}
	if (lane->state == LANE_CONNECTING) {
		step_connecting(group, l);
		return;
	}
	if (lane->state != LANE_DOWN && lane->state != LANE_RESETTING &&
	    !group_plane_usable(group, l)) {
		lane_kill(group, l);
		return;
	}
	if (lane->state == LANE_LEARNING) {
		step_learning(group, l);
		return;
	}
	if (lane->state == LANE_UP) {
		rehash_step(group, l);
		return;
	}
	if (now < lane->due_ns)
		return;
	switch (lane->state) {
	case LANE_DOWN:
		if (group->opener && group->state == GROUP_OPEN && group_plane_usable(group, l)) {
			lane->epoch++;
			begin_learning(group, l);
		}
		return;
	case LANE_OPENING:
	case LANE_ACCEPTING:
		if (now - lane->since_ns > GIVE_UP_NS) {
			lane_kill(group, l);
			return;
		}
		if (s > 0)
			return; /* not yet able to receive */
		send_with_qps(group, l,
			      lane->state == LANE_OPENING ? CONTROL_LANE_OPEN
							  : CONTROL_LANE_ACCEPT);
		break;
	case LANE_RESETTING:
		if (!group->domain->drained)
			return; /* the message says which records were taken, once and for all */
		if (!lane->confirmed)
			send_plain(group, l, CONTROL_LANE_RESET, lane->epoch);
		break;
	case LANE_LEARNING:
	case LANE_CONNECTING:
	case LANE_UP:
		break;
	}
	lane->due_ns = now + resend_after(lane);
	lane->sends++;
}

uint64_t lane_due_ns(const struct fare_group *group, unsigned l)
{
	const struct lane *lane = &group->lanes[l];

	/* devices change a QP's state in their own time, and tell nobody */
	if (lane->state == LANE_CONNECTING || lane_qps_status(group, l) > 0)
		return group->domain->now_ns;
	switch (lane->state) {
	case LANE_DOWN:
		return group->opener && group_plane_usable(group, l) ? lane->due_ns : ENGINE_NEVER;
	case LANE_UP:
		return rehash_due_ns(group, l);
	case LANE_RESETTING:
		if (lane->ack_owed || (lane->confirmed && !lane_qps_posted(lane)))
			return group->domain->now_ns;
		return lane->confirmed ? ENGINE_NEVER : lane->due_ns;
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
		/* that epoch is over */
		else if (lane->state == LANE_DOWN)
			send_plain(group, l, CONTROL_LANE_REFUSE, lane->epoch);
		return; /* learning: the answer comes */
	}
	if (lane->state == LANE_RESETTING || lane_qps_exist(lane)) {
		/*
		 * a new epoch begins only after the opener saw the old one dead: our half goes, the
		 * next try finds us DOWN
		 */
		if (lane->state == LANE_RESETTING)
			lane->confirmed = true;
		else
			reset(group, l, true);
		lane_drained(group, l);
		return;
	}
	if (!group_plane_usable(group, l)) {
		send_plain(group, l, CONTROL_LANE_REFUSE, m->lane.epoch);
		return;
	}
	lane->epoch = m->lane.epoch;
	memcpy(lane->peer_qps, m->lane.qps, sizeof(lane->peer_qps));
	memcpy(lane->peer_addresses, m->lane.addresses, sizeof(lane->peer_addresses));
	lane->n_peer_addresses = m->lane.n_addresses;
	begin_learning(group, l);
}

static void on_accept(struct fare_group *group, unsigned l, const struct control_message *m)
{
	struct lane *lane = &group->lanes[l];

	if (!group->opener || m->lane.epoch != lane->epoch || m->lane.n_qps != lane->n_qps)
		return;
	if (lane->state == LANE_OPENING) {
		if (lane_qps_connect(group, l, m->lane.qps, m->lane.addresses,
				     m->lane.n_addresses)) {
			lane_kill(group, l);
			return;
		}
		set_state(group, l, LANE_CONNECTING);
		step_connecting(group, l);
	} else if (lane->state == LANE_UP) {
		send_plain(group, l, CONTROL_LANE_READY, lane->epoch);
	}
}

/* The peer's QPs of that epoch are in error: ours follow, and nothing of it can land any more. */
static void on_reset(struct fare_group *group, unsigned l, const struct control_message *m)
{
	struct lane *lane = &group->lanes[l];

	if (m->lane.epoch >= lane->epoch) {
		/* its LANE_OPEN, if still on its way, comes too late */
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
			 (lane_qps_status(group, l) > 0 || !group->domain->drained);
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
		if (lane->state == LANE_OPENING && m->lane.epoch == lane->epoch)
			reset(group, l, true); /* the acceptor made no QPs */
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
