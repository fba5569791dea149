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
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "qp/lane.h"
#include "qp/planted.h"
#include "qp/port_cache.h"

#define CONNECT_NS	 UINT64_C(2000000000) /* time that a device has to bring its QP to RTS */
#define RESET_RESEND_NS	 UINT64_C(5000000)    /* at most, at first; doubled each time */
#define BACKOFF_FIRST_NS UINT64_C(10000000)
#define REFUSED_NS	 UINT64_C(100000000)   /* time for a NAK to arrive, as in soft_qp.c */
#define STABLE_NS	 UINT64_C(10000000000) /* after so long up, back-off starts again */
/* a handshake that takes longer waits for the peer: then the slow tick is enough */
#define BUSY_NS UINT64_C(1000000000)

/* Content of the peer's LANE_OPEN, kept until it is answered. */
struct lane_offer {
	struct control_qp qps[FARE_PLANE_QPS_MAX];
	uint16_t n_addresses;
	uint8_t addresses[FARE_MAX_SUB_PORTS][16];
};

/* The one place where a lane's state changes. reason is static: lanes_dump() shows it. */
static void lane_set_state(struct lane *lane, enum lane_state state, const char *reason)
{
	lane->changes[lane->n_changes++ % LANE_CHANGES] =
		(struct lane_change){lane_now_ns(lane), reason, lane->state, state};
	lane->state = state;
	lane->since_ns = lane->due_ns = lane_now_ns(lane);
	lane->sends = 0;
	lane_export_lane(lane);
}

static bool is_opener(const struct lane *lane)
{
	return lane->lanes->attr.is_opener;
}

static bool is_usable(const struct lane *lane)
{
	return group_paths_usable(lane->lanes->attr.paths, lane->index);
}

static uint64_t resend_after(const struct lane *lane)
{
	const struct port_peer *peer = lane->lanes->attr.peer;
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
static bool lane_is_silent(const struct lane *lane)
{
	return lane_now_ns(lane) - lane->since_ns > HANDSHAKE_SILENT_NS &&
	       port_peer_silence_ns(lane->lanes->attr.peer) > HANDSHAKE_SILENT_NS;
}

static void send_plain(struct lane *lane, enum control_type type, uint32_t epoch)
{
	struct control_message m = {.type = type};

	m.lane.lane = lane->index;
	m.lane.epoch = epoch;
	peer_link_send(lane->lanes->attr.link, &m);
}

static void name_addresses(const struct lane *lane, struct control_message *m)
{
	const struct endpoint *ep = lane_ep(lane);
	struct in6_addr a;

	if (!ep->provider->sub_port_address || lane->lanes->attr.paths->is_routed)
		return;
	m->lane.n_addresses = ep->attr.n_sub_ports[lane->index];
	for (uint16_t s = 0; s < m->lane.n_addresses; s++)
		if (!ep->provider->sub_port_address(ep->handle, lane->index, s, &a))
			memcpy(m->lane.addresses[s], &a, sizeof(a));
}

static void send_with_qps(struct lane *lane, enum control_type type)
{
	const struct qp_provider *provider = lane_ep(lane)->provider;
	struct control_message m = {.type = type};

	m.lane.lane = lane->index;
	m.lane.epoch = lane->epoch;
	m.lane.n_qps = (uint16_t)lane->n_qps;
	for (unsigned i = 0; i < lane->n_qps; i++) {
		m.lane.qps[i].qpn = provider->qp_num(lane->qps[i].qp);
		m.lane.qps[i].psn = provider->qp_psn(lane->qps[i].qp);
		m.lane.qps[i].sub_port = (uint8_t)lane->qps[i].sub_port;
	}
	name_addresses(lane, &m);
	peer_link_send(lane->lanes->attr.link, &m);
}

bool lane_is_busy(const struct lane *lane)
{
	return lane->state != LANE_UP && lane->state != LANE_DOWN &&
	       lane_now_ns(lane) - lane->since_ns < BUSY_NS;
}

/* ---- states ---- */

/* RESETTING -> DOWN: nothing of the old epoch is left at either end. */
static void to_down(struct lane *lane)
{
	uint64_t now = lane_now_ns(lane),
		 max = lane->lanes->attr.options->backoff_max_ms * UINT64_C(1000000);

	lane_qps_destroy(lane);
	free(lane->offer);
	lane->offer = NULL;
	if (lane->up_since_ns && now - lane->up_since_ns > STABLE_NS)
		lane->backoff_ns = 0;
	if (!lane->backoff_ns)
		lane->backoff_ns = BACKOFF_FIRST_NS;
	else if (!lane->keeps_backoff)
		lane->backoff_ns *= 2;
	if (lane->backoff_ns > max)
		lane->backoff_ns = max;
	lane->up_since_ns = 0;
	lane->attempted = true;
	lane_set_state(lane, LANE_DOWN, "gone at both ends");
	lane->due_ns = now + lane->backoff_ns;
	lane->events |= LANES_CONFIRMED;
}

void lane_drained(struct lane *lane)
{
	/*
	 * destroying a QP drops its completions, and none may be of a record that was placed and
	 * acknowledged: so all completions are taken before (drained)
	 */
	if (lane->state == LANE_RESETTING && lane->confirmed && lane_qps_posted(lane) == 0 &&
	    lane_qps_status(lane) <= 0 && (lane_ep(lane)->drained || PLANTED(undrained)))
		to_down(lane);
}

/* QPs to error. confirmed: the peer's QPs are known to be in error, or were never connected. */
static void reset(struct lane *lane, bool confirmed, const char *reason)
{
	bool was_up = lane->state == LANE_UP;

	port_cache_doubt(lane);
	lane->keeps_backoff = lane_qps_refused(lane);
	lane->post_error = 0;
	lane->confirmed = confirmed || PLANTED(confirmed_alone);
	lane_set_state(lane, LANE_RESETTING, reason);
	for (unsigned i = 0; i < lane->n_qps; i++)
		if (lane->qps[i].qp)
			lane_ep(lane)->provider->qp_error(lane->qps[i].qp);
	lane->lanes->n_deaths += was_up;
	lane->events |= LANES_DYING;
	lane_drained(lane);
}

void lane_kill(struct lane *lane, const char *reason)
{
	if (lane->state == LANE_LEARNING) {
		reset(lane, true, reason); /* no QPs were made, so the peer knows of none */
	} else if (lane->state != LANE_DOWN && lane->state != LANE_RESETTING) {
		reset(lane, false, reason);
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
void lane_on_failure(struct lane *lane, enum failure failure)
{
	bool was_up = lane->state == LANE_UP;

	lane_kill(lane,
		  failure == FAILURE_FLUSH ? "a QP ended by itself" : "a work request failed");
	lane->keeps_backoff |= failure == FAILURE_MESSAGE;
	if (failure != FAILURE_FLUSH || !was_up || lane->state != LANE_RESETTING)
		return;
	lane->due_ns = lane_now_ns(lane) + REFUSED_NS;
	lane->yields = !is_opener(lane);
}

/* The lane failed or cannot be made. The reason is kept until the lane is up. */
static void lane_fail(struct lane *lane, int error, const char *reason)
{
	lane->error = error;
	lane_kill(lane, reason);
}

static int make_qps(struct lane *lane)
{
	const struct lane_offer *offer = lane->offer;
	int err = lane_qps_create(lane);

	if (!err && offer)
		err = lane_qps_connect(lane, offer->qps, offer->addresses, offer->n_addresses);
	free(lane->offer);
	lane->offer = NULL;
	return err;
}

/* LEARNING -> OPENING or ACCEPTING: enough is known of the path, QPs are made. */
static void learned(struct lane *lane)
{
	int err = make_qps(lane);

	if (err) {
		lane->error = err;
		reset(lane, true, "its QPs cannot be made");
		if (!is_opener(lane))
			send_plain(lane, CONTROL_LANE_REFUSE, lane->epoch);
		return;
	}
	/* not before: an epoch numbers a set of QPs */
	lane->epoch += is_opener(lane);
	lane_set_state(lane, is_opener(lane) ? LANE_OPENING : LANE_ACCEPTING, "QPs were made");
}

static void step_learning(struct lane *lane)
{
	int ready = 0;

	if (lane->entry)
		ready = port_cache_ready(lane);
	if (ready < 0)
		lane_fail(lane, ready, "the plane does not answer echoes");
	else if (ready == 0)
		learned(lane);
}

static void up(struct lane *lane)
{
	lane_set_state(lane, LANE_UP, "connected at both ends");
	lane->attempted = true;
	lane->error = 0;
	lane->up_since_ns = lane_now_ns(lane);
	lane->post_ns = lane->yields ? lane_now_ns(lane) + REFUSED_NS : 0;
	lane->yields = false;
	lane->lanes->n_rebuilds += lane->epoch > 1;
	lane->events |= LANES_UP;
	if (!lane_qps_follow_sub_ports(lane)) {
		lane_kill(lane, "a QP cannot leave its sub-port");
	} else if (lane->entry) {
		lane_ports_even_out(lane);
		port_cache_watch(lane);
		lane_export_lane(lane);
	}
}

/* Opener: its QPs have the addresses of the peer's and are changing to RTS. */
static void step_connecting(struct lane *lane)
{
	int s = lane_qps_status(lane);

	if (s < 0 || lane_now_ns(lane) - lane->since_ns > CONNECT_NS) {
		lane_fail(lane, s < 0 ? s : -ETIMEDOUT, "a QP does not connect");
		return;
	}
	if (s > 0)
		return;
	up(lane);
	if (lane->state == LANE_UP)
		send_plain(lane, CONTROL_LANE_READY, lane->epoch);
}

/* The QPs of this end are quiet: sends a LANE_RESET_ACK that is due; DOWN if all is confirmed. */
static void step_resetting(struct lane *lane)
{
	if (lane->is_ack_due && lane_ep(lane)->drained) {
		lane->is_ack_due = false;
		send_plain(lane, CONTROL_LANE_RESET_ACK, lane->ack_epoch);
	}
	lane_drained(lane);
}

static void lane_sent(struct lane *lane)
{
	lane->due_ns = lane_now_ns(lane) + resend_after(lane);
	lane->sends++;
}

static void step_down(struct lane *lane)
{
	if (!is_opener(lane) || !is_usable(lane) || (PLANTED(gives_up) && lane->epoch > 2))
		return;
	lane_set_state(lane, LANE_LEARNING, "the path is usable, the back-off over");
	step_learning(lane);
}

/* OPENING and ACCEPTING: what the peer has not answered is sent again. */
static void step_asking(struct lane *lane, int status)
{
	if (lane_is_silent(lane)) {
		lane_fail(lane, -ETIMEDOUT, "the peer is silent");
		return;
	}
	if (status > 0)
		return; /* not yet able to receive */
	send_with_qps(lane, lane->state == LANE_OPENING ? CONTROL_LANE_OPEN : CONTROL_LANE_ACCEPT);
	lane_sent(lane);
}

/* RESETTING: LANE_RESET is sent again until the peer confirms that its QPs are gone, too. */
static void step_repeating(struct lane *lane)
{
	if (!lane_ep(lane)->drained)
		return; /* the message says which records were taken, once and for all */
	if (PLANTED(silence_confirms) &&
	    lane_now_ns(lane) - lane->since_ns > 3 * HANDSHAKE_SILENT_NS)
		lane->confirmed = true;
	if (!lane->confirmed && !(PLANTED(reset_once) && lane->sends))
		send_plain(lane, CONTROL_LANE_RESET, lane->epoch);
	lane_sent(lane);
}

/* It does not wait for a time, but for its QPs, the port cache, or the daemon. True: done. */
static bool step_now(struct lane *lane, int status)
{
	if (status < 0 && (lane->state == LANE_UP || lane->state == LANE_ACCEPTING ||
			   lane->state == LANE_OPENING))
		lane_fail(lane, status, "a QP failed or takes no posts");
	else if (lane->state == LANE_UP && lane_qps_stalled(lane))
		lane_fail(lane, -ETIMEDOUT, "nothing comes back from a QP");
	else if (lane->state == LANE_CONNECTING)
		step_connecting(lane);
	else if (lane->state != LANE_DOWN && lane->state != LANE_RESETTING && !is_usable(lane))
		lane_kill(lane, "the path is not usable");
	else if (lane->state == LANE_LEARNING)
		step_learning(lane);
	else if (lane->state != LANE_UP)
		return false;
	return true;
}

void lane_step(struct lane *lane)
{
	int status = lane->post_error ? lane->post_error : lane_qps_status(lane);

	if (lane->state == LANE_RESETTING) {
		if (status > 0 && !PLANTED(ack_before_quiet))
			return;
		step_resetting(lane);
	}
	if (step_now(lane, status) || lane_now_ns(lane) < lane->due_ns)
		return;
	if (lane->state == LANE_DOWN)
		step_down(lane);
	else if (lane->state == LANE_RESETTING)
		step_repeating(lane);
	else
		step_asking(lane, status);
}

uint64_t lane_due_ns(const struct lane *lane)
{
	/* a device reports no change of a QP's state, so it has to be polled */
	if (lane->state == LANE_CONNECTING || lane_qps_status(lane) > 0)
		return lane_now_ns(lane);
	switch (lane->state) {
	case LANE_DOWN:
		return is_opener(lane) && is_usable(lane) ? lane->due_ns : ENDPOINT_NEVER;
	case LANE_LEARNING: /* the port cache wakes the group */
		return ENDPOINT_NEVER;
	case LANE_UP:
		return lane->post_ns > lane_now_ns(lane) ? lane->post_ns : ENDPOINT_NEVER;
	case LANE_RESETTING:
		if (lane->is_ack_due || (lane->confirmed && !lane_qps_posted(lane)))
			return lane_now_ns(lane);
		return lane->confirmed ? ENDPOINT_NEVER : lane->due_ns;
	default:
		return lane->due_ns;
	}
}

/* ---- paths ---- */

void lane_follow_path(struct lane *lane, bool hashes_anew)
{
	if (lane->entry)
		port_cache_follow(lane);
	if (group_paths_narrow(lane->lanes->attr.paths, lane->index)) {
		lane->error = -EMSGSIZE;
		lane_export_lane(lane);
	}
	if (lane->state != LANE_UP)
		return;
	if (!lane_qps_follow_sub_ports(lane))
		lane_kill(lane, "a QP cannot leave its sub-port");
	if (lane->entry && hashes_anew)
		port_cache_hint(lane);
}

/* ---- control messages ---- */

static void on_open(struct lane *lane, const struct control_message *m)
{
	if (is_opener(lane) || m->lane.n_qps != lane->n_qps || m->lane.epoch < lane->epoch)
		return;
	if (m->lane.epoch == lane->epoch) {
		if ((lane->state == LANE_ACCEPTING || lane->state == LANE_UP) &&
		    lane_qps_status(lane) == 0)
			send_with_qps(lane, CONTROL_LANE_ACCEPT);
		/* that epoch has ended */
		else if (lane->state == LANE_DOWN)
			send_plain(lane, CONTROL_LANE_REFUSE, lane->epoch);
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
			reset(lane, true, "the peer begins another epoch");
		lane_drained(lane);
		return;
	}
	if (!is_usable(lane)) {
		if (lane->state == LANE_DOWN)
			lane->epoch = m->lane.epoch; /* it has ended, if the message comes again */
		send_plain(lane, CONTROL_LANE_REFUSE, m->lane.epoch);
		return;
	}
	if (!lane->offer) /* in LEARNING there is one, of an epoch that the opener gave up */
		lane->offer = malloc(sizeof(*lane->offer));
	if (!lane->offer) {
		send_plain(lane, CONTROL_LANE_REFUSE, m->lane.epoch);
		return;
	}
	memcpy(lane->offer->qps, m->lane.qps, sizeof(lane->offer->qps));
	memcpy(lane->offer->addresses, m->lane.addresses, sizeof(lane->offer->addresses));
	lane->offer->n_addresses = m->lane.n_addresses;
	lane->epoch = m->lane.epoch;
	lane_set_state(lane, LANE_LEARNING, "LANE_OPEN arrived");
}

static void on_accept(struct lane *lane, const struct control_message *m)
{
	if (!is_opener(lane) || m->lane.epoch != lane->epoch || m->lane.n_qps != lane->n_qps)
		return;
	if (lane->state == LANE_OPENING) {
		int err =
			lane_qps_connect(lane, m->lane.qps, m->lane.addresses, m->lane.n_addresses);

		if (err) {
			lane_fail(lane, err, "a QP refuses the peer's QP");
			return;
		}
		lane_set_state(lane, LANE_CONNECTING, "LANE_ACCEPT arrived");
		step_connecting(lane);
	} else if (lane->state == LANE_UP) {
		send_plain(lane, CONTROL_LANE_READY, lane->epoch);
	}
}

/* The peer's QPs of that epoch are in error: those of this end go to error too. */
static void on_reset(struct lane *lane, const struct control_message *m)
{
	/* the opener has made no QPs since that epoch ended: the message was sent before that */
	if (is_opener(lane) && lane->state == LANE_LEARNING && !PLANTED(any_epoch)) {
		send_plain(lane, CONTROL_LANE_RESET_ACK, m->lane.epoch);
		return;
	}
	if (m->lane.epoch >= lane->epoch || PLANTED(any_epoch)) {
		/* a LANE_OPEN of that epoch that arrives later must be ignored */
		if (m->lane.epoch > lane->epoch && !is_opener(lane))
			lane->epoch = m->lane.epoch;
		if (lane->state == LANE_RESETTING) {
			lane->confirmed = true;
			lane_drained(lane);
		} else if (lane->state != LANE_DOWN) {
			reset(lane, true, "LANE_RESET arrived");
		}
	}
	lane->is_ack_due = lane->state == LANE_RESETTING &&
			   (lane_qps_status(lane) > 0 ||
			    (!lane_ep(lane)->drained && !PLANTED(ack_before_read)));
	lane->ack_epoch = m->lane.epoch;
	if (!lane->is_ack_due)
		send_plain(lane, CONTROL_LANE_RESET_ACK, m->lane.epoch);
}

void lane_on_control(struct lane *lane, const struct control_message *m)
{
	switch (m->type) {
	case CONTROL_LANE_OPEN:
		on_open(lane, m);
		break;
	case CONTROL_LANE_ACCEPT:
		on_accept(lane, m);
		break;
	case CONTROL_LANE_READY:
		if (lane->state == LANE_ACCEPTING && m->lane.epoch == lane->epoch)
			up(lane);
		break;
	case CONTROL_LANE_REFUSE:
		if (lane->state == LANE_OPENING && m->lane.epoch == lane->epoch) {
			lane->error = -ECONNREFUSED;
			/* the acceptor made no QPs */
			reset(lane, true, "LANE_REFUSE arrived");
		}
		break;
	case CONTROL_LANE_RESET:
		on_reset(lane, m);
		break;
	case CONTROL_LANE_RESET_ACK:
		if (lane->state == LANE_RESETTING && m->lane.epoch == lane->epoch) {
			lane->confirmed = true;
			lane_drained(lane);
		}
		break;
	default:
		break;
	}
}
