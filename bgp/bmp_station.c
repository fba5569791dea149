/* SPDX-License-Identifier: BSD-2-Clause */
#include "bmp_station.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "base/address.h"
#include "bgp_log.h"
#include "bgp_update.h"
#include "bmp_parse.h"
#include "rib.h"

/* A BGP session of the local bgpd, as BMP shows it; one per configured neighbour. */
struct session {
	bool up;
	uint32_t own_as;
	bool multiprotocol[BGP_FAMILY_COUNT]; /* both ends offered it */
	bool add_path[BGP_FAMILY_COUNT];      /* the peer sends path ids */
	struct bgp_open received; /* of the last Peer Up: says what a restart may keep */
	bool restarting; /* went down with routes kept by graceful restart, not resolved yet */
	uint64_t restart_end_ns;
	uint64_t quiet_limit_ns;
	uint64_t sweep_ns; /* stale routes go then; NEVER: none wait */
	bool end_of_rib[BGP_FAMILY_COUNT];
	bool has_routes; /* anything, since it came up */
	bool is_known;	 /* the stream has mentioned it */
	/* of its last Peer Up, if it is with a link-local neighbour */
	struct bmp_peer peer;
	struct bmp_connection connection;
};

struct bmp_station {
	const struct bgp_source_config *config;
	struct bgp_source_handlers handlers;
	void *arg;
	bmp_station_is_open *is_open;
	void *is_open_arg;
	uint64_t stale_ns;
	struct rib *rib;
	struct session *sessions;
	enum bgp_source_state state;
	uint64_t sync_ns;     /* while syncing: the table counts as whole then */
	char down_reason[96]; /* last reported: attempts that fail alike are reported once */
	bool warned_truncated;
	struct bgp_log log;
	struct bmp_seen seen;
	uint8_t *buffer; /* a message that is not whole yet */
	size_t n_buffer;
	size_t buffer_size;
};

static void bmp_station_set_state(struct bmp_station *s, enum bgp_source_state state,
				  const char *reason)
{
	s->state = state;
	s->handlers.on_state(s->arg, state, reason);
}

int bmp_station_create(struct bmp_station **out, uint64_t stale_ns,
		       const struct bgp_source_config *config,
		       const struct bgp_source_handlers *handlers, void *arg,
		       bmp_station_is_open *is_open, void *is_open_arg)
{
	struct bmp_station *s;
	int err;

	*out = NULL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->config = config;
	s->handlers = *handlers;
	s->arg = arg;
	s->is_open = is_open;
	s->is_open_arg = is_open_arg;
	s->stale_ns = stale_ns;
	s->sync_ns = BMP_STATION_NEVER;
	bgp_log_init(&s->log, handlers, arg);
	s->sessions = calloc(config->n_neighbors + 1, sizeof(*s->sessions));
	err = s->sessions ? rib_create(&s->rib, config, false, handlers->on_path, arg) : -ENOMEM;
	if (err) {
		bmp_station_destroy(s);
		return err;
	}
	for (size_t i = 0; i < config->n_neighbors; i++)
		s->sessions[i].sweep_ns = BMP_STATION_NEVER;
	*out = s;
	return 0;
}

void bmp_station_destroy(struct bmp_station *s)
{
	if (!s)
		return;
	rib_destroy(s->rib);
	free(s->sessions);
	free(s->buffer);
	free(s);
}

static uint64_t bmp_station_after(uint64_t now_ns, uint64_t wait_ns)
{
	return wait_ns >= BMP_STATION_NEVER - now_ns ? BMP_STATION_NEVER - 1 : now_ns + wait_ns;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void bmp_station_stale_all(struct bmp_station *s, unsigned i)
{
	for (enum bgp_family f = 0; f < BGP_FAMILY_COUNT; f++)
		rib_stale(s->rib, i, f);
}

/* The wait for routes to be received again is over: what is stale by now goes. */
static void bmp_station_resolve(struct bmp_station *s, unsigned i)
{
	for (enum bgp_family f = 0; f < BGP_FAMILY_COUNT; f++)
		rib_sweep(s->rib, i, f);
	s->sessions[i].restarting = false;
	s->sessions[i].sweep_ns = BMP_STATION_NEVER;
}

/* The one place where a session's state changes. */
static void bmp_station_set_session(struct bmp_station *s, unsigned i, bool up, const char *reason)
{
	char line[256], neighbor[BGP_NEIGHBOR_TEXT_MAX];
	bool was_up = s->sessions[i].up;

	s->sessions[i].up = up;
	if (was_up == up)
		return;
	snprintf(line, sizeof(line), "session neighbor=%s %s -> %s reason=\"%s\"",
		 bgp_neighbor_format(&s->config->neighbors[i], neighbor), was_up ? "up" : "down",
		 up ? "up" : "down", reason);
	s->handlers.on_log(s->arg, LOG_INFO, line);
}

/* ---- the stream begins and ends ---- */

void bmp_station_connected(struct bmp_station *s)
{
	s->n_buffer = 0;
	s->sync_ns = BMP_STATION_NEVER;
	s->seen = (struct bmp_seen){0};
	for (size_t i = 0; i < s->config->n_neighbors; i++)
		s->sessions[i].is_known = false;
	bmp_station_set_state(s, BGP_SOURCE_SYNCING, "connected to bgpd");
}

/* All routes of the sessions are stale, and go when the time is up that an earlier loss set, or
 * this one. */
static void bmp_station_lose_sessions(struct bmp_station *s, const char *reason, uint64_t now_ns)
{
	uint64_t end_ns = bmp_station_after(now_ns, s->stale_ns);

	for (unsigned i = 0; i < s->config->n_neighbors; i++) {
		struct session *session = &s->sessions[i];
		uint64_t earlier_ns = session->up ? BMP_STATION_NEVER : session->sweep_ns;

		bmp_station_stale_all(s, i);
		bmp_station_set_session(s, i, false, reason);
		session->sweep_ns = BMP_STATION_NEVER;
		if (rib_n_stale(s->rib, i) > 0)
			session->sweep_ns = min_u64(end_ns, earlier_ns);
	}
}

void bmp_station_lost(struct bmp_station *s, const char *reason, uint64_t now_ns)
{
	bool news = s->state != BGP_SOURCE_DOWN || strcmp(reason, s->down_reason) != 0;

	if (s->state != BGP_SOURCE_DOWN)
		bmp_station_lose_sessions(s, reason, now_ns);
	s->n_buffer = 0;
	s->sync_ns = BMP_STATION_NEVER;
	snprintf(s->down_reason, sizeof(s->down_reason), "%s", reason);
	if (news)
		bmp_station_set_state(s, BGP_SOURCE_DOWN, s->down_reason);
}

/*
 * Whether every session has sent the end of each family's table. One that is not up, or has an
 * empty table, may be about to advertise, if bgpd has only just started: then it is for the quiet
 * period to end the wait, or what that session is going to send again would count as withdrawn
 * meanwhile.
 */
static bool bmp_station_all_ended(const struct bmp_station *s)
{
	bool any = false;

	for (size_t i = 0; i < s->config->n_neighbors; i++) {
		const struct session *session = &s->sessions[i];

		if (!session->up || !session->has_routes)
			return false;
		for (enum bgp_family f = 0; f < BGP_FAMILY_COUNT; f++) {
			if (session->multiprotocol[f] && !session->end_of_rib[f])
				return false;
			any |= session->multiprotocol[f];
		}
	}
	return any;
}

/*
 * Called for the Initiation, with which a router begins (RFC 7854 4.3), and for every message that
 * tells of the table: the table counts as whole once they cease.
 */
static void bmp_station_progress(struct bmp_station *s, uint64_t now_ns)
{
	if (s->state == BGP_SOURCE_SYNCING)
		s->sync_ns = bmp_station_after(now_ns, BMP_STATION_SYNC_QUIET_NS);
}

static void bmp_station_in_sync(struct bmp_station *s, const char *reason)
{
	s->sync_ns = BMP_STATION_NEVER;
	bmp_station_set_state(s, BGP_SOURCE_UP, reason);
}

/* ---- Peer Up, Peer Down ---- */

static void bmp_station_negotiate(struct session *session, const struct bgp_open *sent,
				  const struct bgp_open *received)
{
	session->own_as = sent->as;
	session->received = *received;
	for (enum bgp_family f = 0; f < BGP_FAMILY_COUNT; f++) {
		session->multiprotocol[f] = sent->multiprotocol[f] && received->multiprotocol[f];
		session->add_path[f] = (sent->add_path[f] & BGP_OPEN_ADD_PATH_RECEIVE) &&
				       (received->add_path[f] & BGP_OPEN_ADD_PATH_SEND);
		session->end_of_rib[f] = false;
	}
	session->has_routes = false;
}

static void bmp_station_peer_up(struct bmp_station *s, unsigned i, const struct bmp_message *m,
				uint64_t now_ns)
{
	struct session *session = &s->sessions[i];
	const struct bgp_open *received = &m->peer_up.received;

	bmp_station_stale_all(s, i); /* a session that came up anew has no routes yet */
	for (enum bgp_family f = 0; f < BGP_FAMILY_COUNT; f++)
		/* RFC 4724 4.2: it restarted and did not keep its forwarding state after all */
		if (session->restarting && !(received->graceful_restart && received->forwarding[f]))
			rib_sweep(s->rib, i, f);
	bmp_station_negotiate(session, &m->peer_up.sent, received);
	bmp_station_set_session(s, i, true, "Peer Up");
	session->quiet_limit_ns = bmp_station_after(now_ns, BMP_STATION_QUIET_LIMIT_NS);
	session->sweep_ns = BMP_STATION_NEVER;
	if (rib_n_stale(s->rib, i) > 0)
		session->sweep_ns = bmp_station_after(now_ns, BMP_STATION_QUIET_NS);
	bmp_station_progress(s, now_ns);
}

/* RFC 4724 4.2 and RFC 8538 4: does this end of the session allow keeping that family's routes? */
static bool bmp_station_keeps(const struct session *session, const struct bmp_peer_down *down,
			      enum bgp_family family)
{
	const struct bgp_open *open = &session->received;
	bool hard_reset = down->code == 6 && down->subcode == 9;

	if (!open->graceful_restart || !open->forwarding[family] || open->restart_time_s == 0)
		return false;
	switch (down->reason) {
	case BMP_DOWN_LOCAL_FSM:
	case BMP_DOWN_REMOTE_CLOSED:
		return true;
	case BMP_DOWN_LOCAL_NOTIFICATION:
	case BMP_DOWN_REMOTE_NOTIFICATION:
		return open->notification && !hard_reset;
	default: /* de-configured, or a reason that says nothing of coming back */
		return false;
	}
}

/*
 * bgpd repeats Peer Down at every failed attempt to connect, and says it at the start of its stream
 * for sessions that are merely not up yet after its own restart. Neither is news, and what is stale
 * by then has its end set.
 */
static void bmp_station_peer_down(struct bmp_station *s, unsigned i,
				  const struct bmp_peer_down *down, uint64_t now_ns)
{
	struct session *session = &s->sessions[i];
	char reason[64];
	uint64_t end_ns;

	if (!session->up && down->reason != BMP_DOWN_DECONFIGURED)
		return;
	for (enum bgp_family f = 0; f < BGP_FAMILY_COUNT; f++) {
		if (bmp_station_keeps(session, down, f))
			rib_stale(s->rib, i, f);
		else
			rib_drop(s->rib, i, f);
	}
	snprintf(reason, sizeof(reason), "Peer Down, reason %u, code %u/%u", (unsigned)down->reason,
		 (unsigned)down->code, (unsigned)down->subcode);
	bmp_station_set_session(s, i, false, reason);
	session->sweep_ns = BMP_STATION_NEVER;
	if (rib_n_stale(s->rib, i) == 0) {
		session->restarting = false;
		return;
	}
	/* A session that comes and goes while it restarts does not extend its first restart time */
	end_ns = bmp_station_after(now_ns, session->received.restart_time_s * 1000000000ull);
	session->restart_end_ns =
		session->restarting ? min_u64(session->restart_end_ns, end_ns) : end_ns;
	session->restarting = true;
	session->sweep_ns = session->restart_end_ns;
}

/* ---- Route Monitoring ---- */

static struct rib_route bmp_station_route(struct bmp_station *s, unsigned i,
					  const struct link_bandwidth *bandwidth, uint64_t now_ns)
{
	char text[BGP_NEIGHBOR_TEXT_MAX];
	struct rib_route route = {.kind = bandwidth->kind};

	bgp_neighbor_format(&s->config->neighbors[i], text);
	/* what was cut says nothing of the path: as if it were no number */
	if (bandwidth->maybe_truncated)
		route.kind = BGP_BANDWIDTH_INVALID;
	else if (bandwidth->kind == BGP_BANDWIDTH_VALUE)
		route.bps = bandwidth->bytes_per_s * 8 * s->config->bandwidth_scale;
	if (bandwidth->kind == BGP_BANDWIDTH_INVALID)
		bgp_log(&s->log, now_ns, LOG_WARNING,
			"link bandwidth is no number >= 0, using local bandwidth neighbor=%s",
			text);
	if (bandwidth->maybe_truncated && !s->warned_truncated) {
		s->warned_truncated = true;
		bgp_log(&s->log, now_ns, LOG_WARNING,
			"link bandwidth looks cut to 32 bits by FRR, using local bandwidth; leaves "
			"need extended-link-bandwidth (FRR 10.1), or a smaller unit and "
			"bandwidth_scale here neighbor=%s bytes_per_s=%.0f",
			text, bandwidth->bytes_per_s);
	}
	return route;
}

static void bmp_station_unset_all(struct bmp_station *s, unsigned i, struct bgp_nlri nlri)
{
	struct bgp_nlri_prefix prefix;

	while (bgp_update_next(&nlri, &prefix))
		if (prefix.prefix.length == 128)
			rib_unset(s->rib, i, &prefix.prefix.address, prefix.path_id);
}

/* A route that is no peer's. Loopbacks of our own come back in their neighbours' tables. */
static void bmp_station_note_other(struct bmp_station *s, unsigned i,
				   const struct bgp_prefix *prefix)
{
	if (prefix->length == 128 && !rib_is_own(s->rib, &prefix->address))
		bmp_seen_note(&s->seen, BMP_SEEN_OUTSIDE, prefix, (int)i);
	else if (prefix->length < 128 && rib_has_peers(s->rib, prefix))
		bmp_seen_note(&s->seen, BMP_SEEN_NET, prefix, (int)i);
}

static void bmp_station_set_all(struct bmp_station *s, unsigned i, struct bgp_nlri nlri,
				const struct rib_route *route, uint64_t now_ns)
{
	struct bgp_nlri_prefix prefix;
	int err;

	while (bgp_update_next(&nlri, &prefix)) {
		if (!rib_is_peer(s->rib, &prefix.prefix)) {
			bmp_station_note_other(s, i, &prefix.prefix);
			continue;
		}
		err = rib_set(s->rib, i, &prefix.prefix.address, prefix.path_id, route);
		s->sessions[i].has_routes = true;
		if (err)
			bgp_log(&s->log, now_ns, LOG_ERR, "route not kept error=\"%s\"",
				strerror(-err));
	}
}

/* Why a peer that is advertised has no route. */
static void bmp_station_reject(struct bmp_station *s, unsigned i, const struct bgp_update *u,
			       enum bmp_seen_kind kind, uint64_t now_ns)
{
	char text[BGP_NEIGHBOR_TEXT_MAX], peer[ADDRESS_TEXT_MAX];
	struct bgp_nlri_prefix prefix;
	bool is_logged = false;

	for (unsigned k = 0; k < 2; k++)
		for (struct bgp_nlri nlri = u->reached[k]; bgp_update_next(&nlri, &prefix);) {
			if (!rib_is_peer(s->rib, &prefix.prefix))
				continue;
			bmp_seen_note(&s->seen, kind, &prefix.prefix, (int)i);
			if (is_logged || kind != BMP_SEEN_TOO_LONG)
				continue;
			is_logged = true;
			bgp_log(&s->log, now_ns, LOG_WARNING,
				"route rejected: its AS path has %u hops, bgp.max_as_path "
				"allows %u peer=%s neighbor=%s",
				u->as_hops, s->config->max_as_path,
				address_format(&prefix.prefix.address, peer),
				bgp_neighbor_format(&s->config->neighbors[i], text));
		}
}

/* Applies an UPDATE that was parsed as a whole: withdrawals first (RFC 4271 4.3). */
static void bmp_station_apply(struct bmp_station *s, unsigned i, const struct bgp_update *u,
			      uint64_t now_ns)
{
	unsigned limit = s->config->max_as_path;
	bool too_long = limit && u->as_hops > limit;
	/* a route that begins in our own AS has none: a route reflector's, or its client's */
	bool internal = s->sessions[i].own_as == s->sessions[i].received.as;
	bool no_path = !u->as_hops && !internal;
	bool usable = !u->treat_as_withdraw && !u->as_loop && !no_path && !too_long;
	bool any = u->reached[0].bytes.left > 0 || u->reached[1].bytes.left > 0;
	struct rib_route route;

	for (unsigned k = 0; k < 2; k++)
		bmp_station_unset_all(s, i, u->withdrawn[k]);
	if (u->treat_as_withdraw)
		bmp_station_reject(s, i, u, BMP_SEEN_MALFORMED, now_ns);
	else if (!u->as_loop && (too_long || no_path))
		bmp_station_reject(s, i, u, too_long ? BMP_SEEN_TOO_LONG : BMP_SEEN_NO_PATH,
				   now_ns);
	if (!usable) { /* also replaces what the same prefix had before */
		for (unsigned k = 0; k < 2; k++)
			bmp_station_unset_all(s, i, u->reached[k]);
		return;
	}
	if (!any)
		return;
	route = bmp_station_route(s, i, &u->bandwidth, now_ns);
	for (unsigned k = 0; k < 2; k++)
		bmp_station_set_all(s, i, u->reached[k], &route, now_ns);
}

/*
 * While the initial table comes, End-of-RIB ends what bgpd had, not what the peer has to say: a
 * session that came up a moment before may be still empty. So it sweeps nothing then, and the quiet
 * period does.
 */
static void bmp_station_end_of_rib(struct bmp_station *s, unsigned i, enum bgp_family family)
{
	struct session *session = &s->sessions[i];

	session->end_of_rib[family] = true;
	if (s->state == BGP_SOURCE_UP)
		rib_sweep(s->rib, i, family);
	if (rib_n_stale(s->rib, i) == 0)
		bmp_station_resolve(s, i);
	if (s->state == BGP_SOURCE_SYNCING && bmp_station_all_ended(s))
		bmp_station_in_sync(s, "every session's End-of-RIB seen");
}

static void bmp_station_update(struct bmp_station *s, unsigned i, const struct bmp_message *m,
			       uint64_t now_ns)
{
	struct session *session = &s->sessions[i];
	struct bgp_update_options options = {.own_as = session->own_as,
					     .four_octet_as = !m->peer.two_octet_as_path};
	char text[BGP_NEIGHBOR_TEXT_MAX];
	struct octets_error error;
	struct bgp_update u;

	memcpy(options.add_path, session->add_path, sizeof(options.add_path));
	bgp_neighbor_format(&s->config->neighbors[i], text);
	if (!session->up) {
		bgp_log(&s->log, now_ns, LOG_NOTICE,
			"route of a session that is not up neighbor=%s", text);
		return;
	}
	if (bgp_update_parse(m->update, &options, &u, &error)) {
		bgp_log(&s->log, now_ns, LOG_WARNING,
			"UPDATE ignored reason=\"%s\" offset=%zu neighbor=%s", error.reason,
			error.offset, text);
		return;
	}
	if (u.treat_as_withdraw)
		bgp_log(&s->log, now_ns, LOG_WARNING,
			"UPDATE taken as withdrawal reason=\"%s\" offset=%zu neighbor=%s",
			u.defect.reason, u.defect.offset, text);
	bmp_station_progress(s, now_ns);
	if (u.end_of_rib) {
		bmp_station_end_of_rib(s, i, u.end_of_rib_family);
		return;
	}
	bmp_station_apply(s, i, &u, now_ns);
	if (session->sweep_ns != BMP_STATION_NEVER)
		session->sweep_ns = min_u64(bmp_station_after(now_ns, BMP_STATION_QUIET_NS),
					    session->quiet_limit_ns);
}

/* ---- messages ---- */

/* What a router says of itself, made fit for a log: short, and without control characters. */
static void bmp_station_text(const struct bmp_text *in, char out[64])
{
	size_t n = in->length < 63 ? in->length : 63;

	for (size_t i = 0; i < n; i++)
		out[i] = in->p[i] >= ' ' && in->p[i] <= '~' && in->p[i] != '"' ? in->p[i] : '?';
	out[n] = '\0';
}

static void bmp_station_initiation(struct bmp_station *s, const struct bmp_message *m,
				   uint64_t now_ns)
{
	char description[64], name[64];

	bmp_station_text(&m->initiation.description, description);
	bmp_station_text(&m->initiation.name, name);
	bgp_log(&s->log, now_ns, LOG_INFO, "connected router=\"%s\" name=\"%s\"", description,
		name);
	if (s->handlers.on_router)
		s->handlers.on_router(s->arg, description);
	bmp_station_progress(s, now_ns);
}

static void bmp_station_session_message(struct bmp_station *s, unsigned i,
					const struct bmp_message *m, uint64_t now_ns)
{
	s->sessions[i].is_known = true;
	if (m->type == BMP_PEER_UP)
		bmp_station_peer_up(s, i, m, now_ns);
	else if (m->type == BMP_PEER_DOWN)
		bmp_station_peer_down(s, i, &m->peer_down, now_ns);
	else if (m->type == BMP_ROUTE_MONITORING && m->update.p)
		bmp_station_update(s, i, m, now_ns);
}

static bool bmp_station_is_connected(const struct bmp_station *s, unsigned i,
				     const struct bmp_peer *peer,
				     const struct bmp_connection *connection)
{
	return s->is_open &&
	       s->is_open(s->is_open_arg, s->config->neighbors[i].dev, &peer->address, connection);
}

/* Is that Peer Up of this link-local neighbour? Its link is that of its connection. */
static bool bmp_station_came_up(struct bmp_station *s, unsigned i, const struct bmp_message *m)
{
	const struct in6_addr *address = &s->config->neighbors[i].address;
	const struct bmp_connection *connection = &m->peer_up.connection;

	if (!IN6_ARE_ADDR_EQUAL(address, &m->peer.address) &&
	    !IN6_ARE_ADDR_EQUAL(address, &BGP_NEIGHBOR_UNNUMBERED))
		return false;
	if (!bmp_station_is_connected(s, i, &m->peer, connection))
		return false;
	s->sessions[i].peer = m->peer;
	s->sessions[i].connection = *connection;
	return true;
}

/*
 * Does any other message mean this link-local session? Routes of one router mean each of its
 * sessions with that address: it sends all of them the same. Peer Down means those whose connection
 * is gone. It has 0.0.0.0 for an address if the link has lost its own, and in repetitions the
 * router id 0.0.0.0, which no session has.
 */
static bool bmp_station_is_meant(const struct bmp_station *s, unsigned i,
				 const struct bmp_message *m)
{
	const struct session *session = &s->sessions[i];
	const struct bmp_peer *peer = &session->peer;

	if (!session->up || peer->as != m->peer.as || peer->router_id != m->peer.router_id)
		return false;
	if (m->type == BMP_PEER_DOWN)
		return !bmp_station_is_connected(s, i, peer, &session->connection);
	return IN6_ARE_ADDR_EQUAL(&peer->address, &m->peer.address);
}

static bool bmp_station_link_local(struct bmp_station *s, const struct bmp_message *m,
				   uint64_t now_ns)
{
	bool any = false;

	for (unsigned i = 0; i < s->config->n_neighbors; i++) {
		if (!IN6_IS_ADDR_LINKLOCAL(&s->config->neighbors[i].address))
			continue;
		if (m->type == BMP_PEER_UP ? !bmp_station_came_up(s, i, m)
					   : !bmp_station_is_meant(s, i, m))
			continue;
		any = true;
		bmp_station_session_message(s, i, m, now_ns);
	}
	return any;
}

/* Nobody's, unless it came and went before its Peer Up was read: then it may be anybody's. */
static void bmp_station_stranger(struct bmp_station *s, const struct bmp_peer *peer,
				 const struct bmp_connection *connection, uint64_t now_ns)
{
	struct bgp_prefix stranger = {.address = peer->address, .length = 128};
	char text[ADDRESS_TEXT_MAX];

	if (IN6_IS_ADDR_LINKLOCAL(&peer->address) && s->is_open &&
	    !s->is_open(s->is_open_arg, NULL, &peer->address, connection)) {
		bgp_log(&s->log, now_ns, LOG_NOTICE,
			"Peer Up of a session whose connection is gone address=%s",
			address_format(&peer->address, text));
		return;
	}
	bmp_seen_note(&s->seen, BMP_SEEN_STRANGER, &stranger, -1);
	bgp_log(&s->log, now_ns, LOG_NOTICE,
		"session is none of the configured neighbors address=%s",
		address_format(&peer->address, text));
}

static int bmp_station_dispatch(struct bmp_station *s, const struct bmp_message *m, uint64_t now_ns,
				const char **reason)
{
	int i;

	if (m->type == BMP_INITIATION) {
		bmp_station_initiation(s, m, now_ns);
		return 0;
	}
	if (m->type == BMP_TERMINATION) {
		*reason = "bgpd ended the BMP session";
		return -ESHUTDOWN;
	}
	if (!m->peer.pre_policy_global)
		return 0;
	i = rib_neighbor(s->rib, &m->peer.address);
	if (i >= 0 && !IN6_IS_ADDR_LINKLOCAL(&m->peer.address))
		bmp_station_session_message(s, (unsigned)i, m, now_ns);
	else if (!bmp_station_link_local(s, m, now_ns) && m->type == BMP_PEER_UP)
		bmp_station_stranger(s, &m->peer, &m->peer_up.connection, now_ns);
	return 0;
}

static int bmp_station_message(struct bmp_station *s, const uint8_t *data, size_t length,
			       uint64_t now_ns, const char **reason)
{
	struct octets_error error;
	struct bmp_message m;

	if (bmp_parse(data, length, &m,
		      &error)) { /* the framing holds: only this message is lost */
		bgp_log(&s->log, now_ns, LOG_WARNING,
			"message ignored type=%u reason=\"%s\" offset=%zu", data[5], error.reason,
			error.offset);
		return 0;
	}
	return bmp_station_dispatch(s, &m, now_ns, reason);
}

/* Takes the whole messages at the front; *taken is what they amount to. */
static int bmp_station_take(struct bmp_station *s, const uint8_t *data, size_t length,
			    uint64_t now_ns, size_t *taken, const char **reason)
{
	struct octets_error error;
	size_t bytes;
	int err;

	for (*taken = 0;; *taken += bytes) {
		err = bmp_parse_length(data + *taken, length - *taken, &bytes, &error);
		if (err == -EAGAIN || (!err && bytes > length - *taken))
			return 0;
		if (err) {
			*reason = error.reason;
			return err;
		}
		err = bmp_station_message(s, data + *taken, bytes, now_ns, reason);
		if (err)
			return err;
	}
}

static int bmp_station_append(struct bmp_station *s, const uint8_t *data, size_t length)
{
	size_t size = s->buffer_size ? s->buffer_size : 4096;
	uint8_t *buffer;

	while (size < s->n_buffer + length)
		size *= 2;
	if (size != s->buffer_size) {
		buffer = realloc(s->buffer, size);
		if (!buffer)
			return -ENOMEM;
		s->buffer = buffer;
		s->buffer_size = size;
	}
	memcpy(s->buffer + s->n_buffer, data, length);
	s->n_buffer += length;
	return 0;
}

int bmp_station_receive(struct bmp_station *s, const uint8_t *data, size_t length, uint64_t now_ns,
			const char **reason)
{
	size_t part, taken;
	int err;

	/* In parts, so that the buffer is bounded by one message and one part, whatever the caller
	 * read */
	for (; length > 0; data += part, length -= part) {
		part = length < BMP_PARSE_MAX_BYTES ? length : BMP_PARSE_MAX_BYTES;
		if (bmp_station_append(s, data, part)) {
			*reason = "out of memory";
			return -ENOMEM;
		}
		err = bmp_station_take(s, s->buffer, s->n_buffer, now_ns, &taken, reason);
		if (err)
			return err;
		memmove(s->buffer, s->buffer + taken, s->n_buffer - taken);
		s->n_buffer -= taken;
	}
	return 0;
}

/* ---- time ---- */

uint64_t bmp_station_deadline_ns(const struct bmp_station *s)
{
	uint64_t deadline_ns = s->sync_ns;

	for (size_t i = 0; i < s->config->n_neighbors; i++)
		deadline_ns = min_u64(deadline_ns, s->sessions[i].sweep_ns);
	return deadline_ns;
}

void bmp_station_tick(struct bmp_station *s, uint64_t now_ns)
{
	for (unsigned i = 0; i < s->config->n_neighbors; i++)
		if (s->sessions[i].sweep_ns <= now_ns)
			bmp_station_resolve(s, i);
	if (s->sync_ns <= now_ns)
		bmp_station_in_sync(s, "initial sync complete");
}

const struct bmp_seen *bmp_station_seen(const struct bmp_station *s)
{
	return &s->seen;
}

enum bmp_session_state bmp_station_session(const struct bmp_station *s, size_t neighbor)
{
	if (s->sessions[neighbor].up)
		return BMP_SESSION_UP;
	return s->sessions[neighbor].is_known ? BMP_SESSION_DOWN : BMP_SESSION_UNKNOWN;
}

void bmp_station_commit(struct bmp_station *s)
{
	rib_flush(s->rib);
}
