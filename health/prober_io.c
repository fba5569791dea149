/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * prober_io.c - see prober_internal.h: the sockets, probes out, replies in, and by which sub-port
 * and source port a probe leaves
 */
#include "prober_internal.h"

#include <syslog.h>

/* ---- probes -------------------------------------------------------------- */

/* The next of the live local sub-ports in turn; false: there is no such device now. */
static bool take_sub_port(const struct sub_ports_gpu *g, uint32_t live, uint32_t plane,
			  uint64_t turn, uint8_t *out)
{
	for (turn %= (unsigned)__builtin_popcount(live); turn; turn--)
		live &= live - 1;
	*out = (uint8_t)__builtin_ctz(live);
	return g->ifindex[plane][*out] > 0;
}

/*
 * The next port in turn that leads to the remote sub-port whose turn it is, best one
 * whose answer comes back by the local sub-port it leaves by: then no probe needs two of them.
 * Gray sub-ports are kept out of, if they can be. If nothing is known of any port, it is the next
 * in turn.
 */
static uint8_t best_port(const struct prober_path *path, uint8_t local, int8_t wanted,
			 uint64_t turn)
{
	uint8_t best = (uint8_t)(turn % PROBER_PORTS);
	int best_score = -1, score;

	for (unsigned i = 0; i < PROBER_PORTS; i++) {
		uint8_t port = (uint8_t)((turn + i) % PROBER_PORTS);

		if (path->remote[port] < 0)
			continue;
		score = 4 * !gray_is_over(&path->gray, local, path->remote[port],
					  path->back[port]) +
			2 * (path->remote[port] == wanted) + (path->back[port] == (int8_t)local);
		if (score > best_score) {
			best_score = score;
			best = port;
		}
	}
	return best;
}

/*
 * Once one port has led there and back, the others are tried: some perhaps lead to a cable that
 * passes nothing, which is no fault of the path. Those that were tried in vain are tried seldom.
 */
static bool take_unknown_port(struct prober_path *path, uint64_t turn, uint64_t now, uint8_t *out)
{
	bool is_any_known = false, is_due = now >= path->unknown_ns, is_found = false;

	for (unsigned i = 0; i < PROBER_PORTS; i++) {
		uint8_t port = (uint8_t)((turn + i) % PROBER_PORTS);

		is_any_known |= path->remote[port] >= 0;
		if (is_found || path->remote[port] >= 0 ||
		    (path->tries[port] >= HEALTH_MISSES_MAX && !is_due))
			continue;
		is_found = true;
		*out = port;
	}
	if (!is_any_known || !is_found)
		return false;
	if (path->tries[*out] < HEALTH_MISSES_MAX)
		path->tries[*out]++;
	else
		path->unknown_ns = now + HEALTH_DOUBTFUL_NS;
	return true;
}

struct departure {
	uint8_t sub_port, port;
	bool is_try; /* of a gray sub-port, or of a port of which nothing is known */
	bool trial;  /* of a gray sub-port */
	enum gray_side side;
	uint32_t gray_port;
};

/* A port that leads to a gray remote sub-port, to try it. false: none does. */
static bool take_gray_port(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now,
			   struct departure *w)
{
	for (uint8_t port = 0; port < PROBER_PORTS; port++)
		if (peer->paths[plane].remote[port] == (int8_t)w->gray_port) {
			w->port = port;
			return true;
		}
	/* none leads there any more, so nothing is gray */
	gray_forget(&peer->paths[plane].gray, GRAY_REMOTE, w->gray_port);
	prober_show_gray(p, peer, plane, now, GRAY_REMOTE, w->gray_port);
	return false;
}

/* A gray local sub-port, to try it. false: it is not live. */
static bool take_gray_local(const struct sub_ports_gpu *g, const struct prober_path *path,
			    uint32_t plane, uint64_t turn, struct departure *w)
{
	if (!(g->live[plane] >> w->gray_port & 1) || g->ifindex[plane][w->gray_port] <= 0)
		return false;
	w->sub_port = (uint8_t)w->gray_port;
	w->port = best_port(path, w->sub_port, -1, turn);
	return true;
}

/*
 * Local and remote sub-ports in turn, so that any few probes in a row meet all of each; now and
 * then a try, never two in a row: a path that is seldom probed must be, too. false: no local
 * sub-port is live.
 */
static bool take_departure(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now,
			   struct departure *w)
{
	const struct sub_ports_gpu *g = &p->ports->gpus[peer->gpu];
	struct prober_path *path = &peer->paths[plane];
	uint32_t live = prober_without(prober_without(g->live[plane], path->gray.mask[GRAY_LOCAL]),
				       prober_unrouted(path, now));
	unsigned n_live = (unsigned)__builtin_popcount(live);
	uint64_t turn = HEALTH_PLANTED(turns_stay) ? path->n_turns / HEALTH_RUN : path->n_turns;
	int8_t wanted = 0;

	w->trial = !path->tried && gray_is_due(&path->gray, now, &w->side, &w->gray_port);
	if (w->trial && w->side == GRAY_LOCAL) {
		w->is_try = take_gray_local(g, path, plane, turn, w);
		if (w->is_try)
			return true;
		w->trial = false;
	}
	if (!n_live || !take_sub_port(g, live, plane, turn, &w->sub_port))
		return false;
	/* a diagonal: (0,0) (1,1) (0,1) (1,0) */
	if (path->n_remote)
		wanted = (int8_t)((turn + turn / n_live) % path->n_remote);
	w->port = best_port(path, w->sub_port, wanted, turn / n_live);
	w->trial = w->trial && take_gray_port(p, peer, plane, now, w);
	w->is_try =
		w->trial || (!path->tried && take_unknown_port(path, turn / n_live, now, &w->port));
	return true;
}

static bool has_news(const struct prober *p, const struct prober_peer *peer, uint64_t now)
{
	const struct prober_notice *n = &p->notices[peer->gpu];

	return p->keys->own.length && n->capacity.sequence && peer->acked != n->capacity.sequence &&
	       (n->limited || now < n->until_ns);
}

/* Which incarnation of ours a peer is sent. */
static uint64_t incarnation_to(const struct prober *p, const struct prober_peer *peer)
{
	return peer->incarnation > p->options.incarnation ? peer->incarnation
							  : p->options.incarnation;
}

static void add_notice(struct prober *p, struct prober_peer *peer, uint64_t now,
		       struct notice_trailer *t)
{
	if (!has_news(p, peer, now))
		return;
	t->has_capacity = t->has_receiver = true;
	t->receiver = peer->receiver;
	t->capacity = p->notices[peer->gpu].capacity;
	t->capacity.incarnation = incarnation_to(p, peer);
	t->capacity.expiry_ms = HEALTH_EXPIRY_NS / HEALTH_MS_NS;
	if (HEALTH_PLANTED(notice_assumed))
		peer->acked = t->capacity.sequence;
}

/*
 * The path has come back, but none of its answers tells of some local sub-ports: what sends by them
 * waits for one that does. Answers are counted, and no probes, for a peer may go away at any time.
 */
static void miss_sub_ports(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now)
{
	struct prober_path *path = &peer->paths[plane];
	uint32_t missing = p->ports->gpus[peer->gpu].live[plane] & ~path->proven;

	if (!(missing & ~(uint32_t)path->returning))
		return;
	path->returning |= (uint8_t)missing;
	prober_show_links(p, peer, plane, now);
}

/* That port, or the next one that we have; false: none. */
static bool prober_io_find_port(const struct prober *p, const struct prober_peer *peer,
				uint8_t *port)
{
	const struct prober_socket *sockets =
		p->sockets[peer->gpu][!IN6_IS_ADDR_V4MAPPED(&peer->address)];

	for (unsigned i = 0; i < PROBER_PORTS; i++) {
		uint8_t at = (uint8_t)((*port + i) % PROBER_PORTS);

		if (!sockets[at].port)
			continue;
		*port = at;
		return true;
	}
	return false;
}

void prober_io_probe(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now)
{
	const struct sub_ports_gpu *g = &p->ports->gpus[peer->gpu];
	struct prober_path *path = &peer->paths[plane];
	struct notice_trailer trailer = {
		.has_stamp = true,
		.has_received =
			path->fsm.state == PROBE_UP && !path->silent_since_ns && path->sent_ns,
	};
	struct sbfd_packet bfd = {
		.state = path->fsm.state == PROBE_DOWN ? SBFD_DOWN : SBFD_UP,
		.demand = true,
		.detect_multiplier = (uint8_t)p->times.detect_multiplier,
		.my_discriminator = path->discriminator,
		.your_discriminator = sbfd_wire_discriminator(&peer->address),
		.desired_min_tx_us = (uint32_t)(p->times.interval_ns / 1000),
	};
	struct loss_rtt_probe probe;
	struct prober_socket *s;
	struct notice_ends ends;
	struct udp_packet *out;
	struct departure departure;

	if (!take_departure(p, peer, plane, now, &departure) ||
	    !prober_io_find_port(p, peer, &departure.port))
		return;
	s = &p->sockets[peer->gpu][!IN6_IS_ADDR_V4MAPPED(&peer->address)][departure.port];
	/*
	 * A cable is up before the routes over it are: until one probe comes back that way, none
	 * counts. Nor does a try; but where no way avoids what is gray, probes
	 * must count, or a dead path would go unnoticed.
	 */
	probe = (struct loss_rtt_probe){
		.nonce = nonces_next(&p->nonces),
		.local_sub_port = departure.sub_port,
		.port = departure.port,
		.remote = path->remote[departure.port],
		.back = path->back[departure.port],
		.void_ = departure.is_try || ((path->proven & g->live[plane]) &&
					      !(path->proven & 1u << departure.sub_port)),
	};
	probe.is_try = probe.void_;
	trailer.stamp.nonce = probe.nonce;
	trailer.stamp.sequence = loss_rtt_sent(&path->loss, now, &probe);
	path->tried = departure.is_try;
	path->n_turns += !departure.is_try; /* what counts meets all sub-ports, whatever is tried */
	if (departure.trial)
		gray_tried(&path->gray, departure.side, departure.gray_port, trailer.stamp.sequence,
			   now);
	if (!path->silent_since_ns && !probe.void_)
		path->silent_since_ns = now;
	add_notice(p, peer, now, &trailer);
	trailer.has_report = true;
	path->n_probed += !probe.void_;
	prober_report_fill(p, peer, plane, departure.sub_port, probe.void_, now, &trailer.report);
	ends = (struct notice_ends){s->address, peer->address};
	out = udp_next(p->udp);
	sbfd_wire_encode(&bfd, out->bytes);
	out->length = notice_wire_encode(&trailer, &p->keys->own, &ends, out->bytes);
	out->from = s->address;
	out->from_port = s->port;
	out->to = peer->address;
	out->to_port = SBFD_WIRE_PORT;
	out->ifindex = g->ifindex[plane][departure.sub_port];
	path->sent_ns = now;
	p->planes[peer->gpu][plane].n_sent++;
	p->counters.sent++;
	if (prober_is_traced(p, peer, plane))
		prober_trace(p, PROBER_TRACE_SENT, &probe, trailer.stamp.sequence, now);
}

/* ---- replies ------------------------------------------------------------- */

/* back: by which of our sub-ports the answer came. */
static void learn(struct prober_path *path, const struct loss_rtt_probe *probe,
		  const struct notice_arrival *arrival, uint32_t back)
{
	path->n_remote = arrival->n_sub_ports;
	path->remote[probe->port] = (int8_t)arrival->sub_port;
	path->back[probe->port] = (int8_t)back;
}

/* A gray sub-port's try was answered, if this was one: enough of them and it is in use again. */
static void take_trial(struct prober *p, struct prober_peer *peer, uint32_t plane,
		       uint32_t sequence, uint64_t now)
{
	struct gray *g = &peer->paths[plane].gray;
	enum gray_side side;
	uint32_t sub_port;

	if ((g->mask[GRAY_LOCAL] | g->mask[GRAY_REMOTE]) &&
	    gray_answered(g, sequence, now, &side, &sub_port))
		prober_show_gray(p, peer, plane, now, side, sub_port);
}

/*
 * Our clock has gone back since an incarnation of ours that a peer knows of: it ignores notices of
 * this one. What it says is used toward itself alone: a false number harms only the peer that sends
 * it.
 */
static void clock_went_back(struct prober *p, struct prober_peer *peer, uint64_t incarnation)
{
	if (!p->said_clock_back)
		p->handlers->on_log(
			p->arg, LOG_WARNING,
			"a peer knows a later incarnation of this server than this one: its "
			"clock has gone back and should be "
			"set; notices to such peers go on as of a later incarnation still");
	p->said_clock_back = true;
	peer->incarnation = incarnation + 1;
}

static void take_ack(struct prober *p, struct prober_peer *peer, const struct notice_ack *ack)
{
	const struct notice_capacity *c = &p->notices[peer->gpu].capacity;

	if (ack->incarnation > incarnation_to(p, peer) && ack->incarnation < UINT64_MAX &&
	    !HEALTH_PLANTED(clock_trusted))
		clock_went_back(p, peer, ack->incarnation);
	if (ack->incarnation != incarnation_to(p, peer) || ack->sequence != c->sequence ||
	    peer->acked == c->sequence)
		return;
	peer->acked = c->sequence;
	p->counters.acknowledged++;
}

/* Another nonce than before: the peer has forgotten which notices it had. */
static void prober_io_take_receiver(struct prober_peer *peer, uint64_t receiver)
{
	if (receiver == peer->receiver)
		return;
	peer->receiver = receiver;
	peer->acked = 0;
}

/*
 * A reply without a stamp proves little: its discriminator is the session's, not the probe's, and
 * it may arrive over any plane. So it is accepted only from a peer that does not stamp. Otherwise a
 * host that spoofs the peer's address could keep a dead path of that peer up.
 */
static bool is_foreign(const struct prober_peer *peer, uint64_t now)
{
	return !peer->stamped_ns || now >= peer->stamped_ns + HEALTH_FOREIGN_NS;
}

/* Whether the reply answers a probe that waits for one: *probe is it. */
static bool is_answer(struct prober_peer *peer, struct prober_path *path,
		      const struct notice_trailer *t, uint64_t waited_ns, uint64_t now,
		      struct loss_rtt_probe *probe)
{
	if (!t->has_stamp)
		return is_foreign(peer, now) &&
		       loss_rtt_answered_one(&path->loss, now, waited_ns, probe);
	if (!loss_rtt_answered(&path->loss, now, t->stamp.sequence, t->stamp.nonce,
			       waited_ns + t->held_us * UINT64_C(1000), probe))
		return false;
	peer->stamped_ns = now;
	return true;
}

#define CROSSED_AGAIN_NS                                                                           \
	UINT64_C(1000000000) /* of a sub-port that is crossed in part: none since */

/*
 * A reply to a probe of that path came in over plane `arrived` (-1: by no sub-port), or says that
 * the probe did.
 */
static void note_crossed(struct prober *p, struct prober_peer *peer, uint32_t plane,
			 const struct notice_trailer *t, int arrived, uint64_t now)
{
	struct prober_path *path = &peer->paths[plane];
	const struct loss_rtt_probe *probe = &path->loss.ring[t->stamp.sequence % LOSS_RTT_WINDOW];
	uint8_t bit = (uint8_t)(1u << probe->local_sub_port);

	if (!t->has_stamp || !probe->nonce || probe->nonce != t->stamp.nonce)
		return; /* no reply to a probe of this path */
	path->crossed_ns = now;
	path->is_crossed_there = t->has_arrival && t->arrival.plane != plane;
	path->crossed_plane = path->is_crossed_there ? (int8_t)t->arrival.plane : (int8_t)arrived;
	if (path->crossed & bit)
		return;
	path->crossed |= bit;
	prober_show_links(p, peer, plane, now);
}

/* A probe out of that sub-port was answered as it should be. */
static void note_uncrossed(struct prober *p, struct prober_peer *peer, uint32_t plane,
			   uint32_t local_sub_port, uint64_t now)
{
	struct prober_path *path = &peer->paths[plane];

	if (!(path->crossed >> local_sub_port & 1) || now < path->crossed_ns + CROSSED_AGAIN_NS)
		return;
	path->crossed &= (uint8_t) ~(1u << local_sub_port);
	prober_show_links(p, peer, plane, now);
}

/* Ordered guards; each is counted. */
static void take_reply(struct prober *p, const struct prober_socket *s, const struct udp_packet *in,
		       uint64_t now)
{
	struct sbfd_wire_error error;
	struct notice_ends ends = {in->from, s->address};
	struct loss_rtt_probe probe;
	struct prober_path *path;
	struct notice_trailer t;
	struct prober_peer *peer;
	struct sbfd_packet bfd;
	uint32_t plane, arrived, sub_port;
	bool is_sub_port;
	uint64_t *counter = &p->counters.malformed;

	if (sbfd_wire_decode(in->bytes, in->length, &bfd, &error) || bfd.demand ||
	    in->from_port != SBFD_WIRE_PORT)
		goto drop;
	counter = &p->counters.hop_limit;
	if (in->hop_limit < SBFD_WIRE_TTL_MIN - (int)p->ports->more_routers)
		goto drop;
	counter = &p->counters.unknown;
	peer = prober_peer_of(p, bfd.your_discriminator, &plane);
	if (!peer || peer->gpu != s->gpu || !IN6_ARE_ADDR_EQUAL(&peer->address, &in->from) ||
	    bfd.state != SBFD_UP)
		goto drop;
	counter = &p->counters.malformed; /* what costs a MAC comes after what costs nothing */
	if (notice_wire_decode(in->bytes, in->length, p->keys, &ends, &t, &error))
		goto drop;
	counter = &p->counters.wrong_plane;
	/* a foreign reflector answers over whatever plane its routing table says */
	is_sub_port = sub_ports_find(p->ports, s->gpu, in->ifindex, &arrived, &sub_port);
	if (!is_sub_port || (t.has_stamp && arrived != plane) ||
	    (t.has_arrival && t.arrival.plane != plane)) {
		note_crossed(p, peer, plane, &t, is_sub_port ? (int)arrived : -1, now);
		goto drop;
	}
	if (prober_extra_is_of_pair(p, peer, plane, &t, in))
		return;
	if (t.has_size) { /* says nothing else of the path */
		if (t.has_report)
			prober_report_take(p, peer, plane, &t.report, false, t.authentic,
					   in->waited_ns, now);
		prober_mtu_arrived(p, peer, plane, &t, now);
		return;
	}
	counter = &p->counters.unknown;
	path = &peer->paths[plane];
	if (!is_answer(peer, path, &t, in->waited_ns, now, &probe)) {
		if (t.has_report) /* too late for its probe, and it came all the same */
			prober_report_take(p, peer, plane, &t.report, false, t.authentic,
					   in->waited_ns, now);
		goto drop;
	}
	path->third_party = !t.has_stamp;
	path->proven |= 1u << probe.local_sub_port;
	note_uncrossed(p, peer, plane, probe.local_sub_port, now);
	if (path->returning >> probe.local_sub_port & 1) {
		path->returning &= (uint8_t) ~(1u << probe.local_sub_port);
		prober_show_links(p, peer, plane, now);
	}
	if (path->n_to_answer && !--path->n_to_answer)
		miss_sub_ports(p, peer, plane, now);
	if (t.has_arrival) {
		learn(path, &probe, &t.arrival, sub_port);
		take_trial(p, peer, plane, t.stamp.sequence, now);
	}
	if (t.has_report)
		prober_report_take(p, peer, plane, &t.report, true, t.authentic, in->waited_ns,
				   now);
	else
		prober_report_infer(p, peer, plane, &probe, now);
	if (t.has_receiver && t.has_stamp)
		prober_io_take_receiver(peer, t.receiver);
	if (t.has_ack && t.authentic)
		take_ack(p, peer, &t.ack);
	p->counters.answered++;
	if (prober_is_traced(p, peer, plane))
		prober_trace(p, PROBER_TRACE_ANSWERED, &probe, t.stamp.sequence, now);
	prober_answered(p, peer, plane, now);
	return;
drop:
	(*counter)++;
}

static void drain(struct prober *p, const struct prober_socket *s, uint64_t now)
{
	unsigned n = UDP_BATCH;

	for (int round = 0; round < UDP_ROUNDS && n == UDP_BATCH; round++) {
		n = udp_receive(p->udp, s->udp);
		for (unsigned i = 0; i < n; i++)
			take_reply(p, s, udp_received(p->udp, i), now);
	}
}

uint32_t prober_n_sockets(const struct prober *p)
{
	return p->n_open;
}

int prober_fd(const struct prober *p, uint32_t i)
{
	return udp_fd(p->polled[i]);
}

void prober_read(struct prober *p, uint32_t i, uint64_t now)
{
	drain(p, p->open[i], now);
}

void prober_io_drain(struct prober *p, uint64_t now)
{
	bool readable[PROBER_MAX_SOCKETS] = {false};

	/* one look tells which have something to read: of so many, mostly few */
	udp_poll(p->polled, p->n_open, readable);
	for (uint32_t i = 0; i < p->n_open; i++)
		if (readable[i])
			drain(p, p->open[i], now);
	if (p->handlers->on_drain)
		p->handlers->on_drain(p->arg);
}

/* ---- life ---------------------------------------------------------------- */

static int open_one(struct prober *p, uint32_t g, int family, uint8_t i)
{
	struct prober_socket *s = &p->sockets[g][family][i];
	int rc;

	s->address = p->ports->gpus[g].address[family];
	rc = udp_open(&s->udp, &s->address, 0);
	if (rc)
		return rc;
	s->gpu = g;
	s->port = udp_port(s->udp);
	p->polled[p->n_open] = s->udp;
	p->open[p->n_open++] = s;
	return 0;
}

int prober_io_open(struct prober *p)
{
	for (uint32_t g = 0; g < p->ports->n_gpus; g++)
		for (int family = 0; family < 2; family++)
			for (uint8_t i = 0; i < PROBER_PORTS; i++) {
				int rc;

				if (IN6_IS_ADDR_UNSPECIFIED(&p->ports->gpus[g].address[family]))
					continue;
				rc = open_one(p, g, family, i);
				if (rc)
					return rc;
			}
	return 0;
}

const struct in6_addr *prober_take_ports(struct prober *p)
{
	const struct in6_addr *without = NULL;

	for (uint32_t i = 0; i < p->n_open; i++) {
		struct prober_socket *s = p->open[i];

		if (!s->port && !udp_bind(s->udp))
			s->port = udp_port(s->udp);
		if (!s->port)
			without = &s->address;
	}
	return without;
}

void prober_io_close(struct prober *p)
{
	for (uint32_t i = 0; i < p->n_open; i++)
		udp_close(p->open[i]->udp);
}
