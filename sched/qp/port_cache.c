/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/port_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/hash_table.h"
#include "qp/lane.h"
#include "qp/port_path.h"

/* rounds before going on with what came back, if anything did */
#define LEARN_SENDS 4
/*
 * A plane over which nothing came back, while messages of the peer came over others after so many
 * rounds, and for so long. (A peer that is slow answers late over all planes.)
 */
#define LEARN_MISSED	4
#define LEARN_SILENT_NS UINT64_C(1300000000)
/* an answer proves for so long that the plane carries */
#define PROOF_NS UINT64_C(1000000000)
/* for an answer from ports in use: the QPs' own time-out, beyond the longest queue that fills up */
#define WAIT_NS	    UINT64_C(134000000)
#define WATCH_SENDS 3
#define FIRST_NS    (2 * WAIT_NS)
/* what echoes have just found is not asked for again at once */
#define AFTER_LEARNING_NS (8 * FIRST_NS)
#define MAX_NS		  UINT64_C(32000000000)

struct port_peer {
	struct port_cache *cache;
	struct peer_address address;
	unsigned n_refs;
	uint64_t received_ns;
	struct handshake_rtt rtt;
	struct port_entry *entries[FARE_MAX_PLANES];
	UT_hash_handle hh;
};

enum port_state {
	PORT_REST,
	PORT_LEARN, /* for lanes that are to be made */
	PORT_OWN,   /* echoes under way from the ports in use */
	PORT_WIDE,  /* and from all others */
};

struct port_entry {
	struct port_cache *cache;
	struct port_peer *peer;
	uint16_t plane;
	enum port_state state;
	/* all ports of live sub-ports were asked for, and nothing changed since */
	bool is_complete;
	/*
	 * in the last exchange others on this host had all ports of the pool: QPs get ports of
	 * which nothing is known, and an echo from any port proves that the plane carries
	 */
	bool is_blind;
	struct lane *lanes; /* that use it */
	uint64_t began_ns;  /* the last exchange */
	uint64_t due_ns;    /* next round of the exchange under way */
	unsigned rounds;    /* of the ports asked for last */
	uint64_t sent_ns;   /* the last one */
	/* those after which nothing came over this plane, but something over others */
	unsigned missed;
	uint32_t met;	    /* bit r: a port led to remote sub-port r when all were asked */
	uint64_t proven_ns; /* the last answer; 0: doubted */
	uint64_t failed_ns; /* an exchange ended without any answer */
	int error;	    /* why */
	int send_error;	    /* of the last round, if no echo was sent at all */
	/* ports in use are asked for again: when, and how long after that; 0: no lane is up */
	uint64_t watch_ns, interval_ns;
	struct timer timer;
	struct port_path path; /* last: as long as it has sub-ports */
};

/* ---- peers and entries ---- */

void port_cache_init(struct port_cache *cache, struct endpoint *ep, struct handshake_pace *pace)
{
	*cache = (struct port_cache){.ep = ep, .pace = pace};
}

void port_cache_fini(struct port_cache *cache)
{
	timers_fini(&cache->timers);
}

static struct port_peer *find_peer(struct port_cache *cache, const struct peer_address *address)
{
	struct port_peer *peer;

	HASH_FIND(hh, cache->peers, address, PEER_ADDRESS_KEY_BYTES, peer);
	return peer;
}

struct port_peer *port_cache_get_peer(struct port_cache *cache, const struct peer_address *address)
{
	struct port_peer *peer = find_peer(cache, address);

	if (!peer) {
		peer = calloc(1, sizeof(*peer));
		if (!peer)
			return NULL;
		peer->cache = cache;
		peer->address = *address;
		HASH_ADD(hh, cache->peers, address, PEER_ADDRESS_KEY_BYTES, peer);
		if (!peer->hh.tbl) {
			free(peer);
			return NULL;
		}
	}
	peer->n_refs++;
	return peer;
}

void port_cache_put_peer(struct port_cache *cache, struct port_peer *peer)
{
	if (!peer || --peer->n_refs)
		return;
	HASH_DEL(cache->peers, peer);
	free(peer);
}

void port_cache_on_message(struct port_cache *cache, const struct peer_address *address)
{
	struct port_peer *peer = find_peer(cache, address);

	if (peer)
		peer->received_ns = cache->ep->now_ns;
}

uint32_t port_cache_live(struct port_cache *cache, const struct peer_address *address,
			 unsigned plane)
{
	const struct port_peer *peer = find_peer(cache, address);

	return peer && plane < FARE_MAX_PLANES && peer->entries[plane]
		       ? peer->entries[plane]->path.live
		       : 0;
}

uint64_t port_peer_silence_ns(const struct port_peer *peer)
{
	return peer->cache->ep->now_ns - peer->received_ns;
}

void port_peer_measured(struct port_peer *peer, uint64_t rtt_ns)
{
	handshake_rtt_sample(&peer->rtt, rtt_ns);
	handshake_rtt_sample(&peer->cache->rtt, rtt_ns);
}

uint64_t port_peer_resend_ns(const struct port_peer *peer, unsigned n)
{
	return handshake_resend_ns(peer->rtt.smooth_ns ? &peer->rtt : &peer->cache->rtt, n);
}

static int make_entry(struct port_entry **out, struct lane *lane)
{
	struct port_cache *cache = lane->lanes->attr.peer->cache;
	unsigned n_sub_ports = cache->ep->attr.n_sub_ports[lane->index];
	struct port_entry *entry;

	if (timers_reserve(&cache->timers, cache->n_entries + 1))
		return -ENOMEM;
	entry = calloc(1, offsetof(struct port_entry, path) + port_path_bytes(n_sub_ports));
	if (!entry)
		return -ENOMEM;
	entry->cache = cache;
	entry->peer = lane->lanes->attr.peer;
	entry->plane = lane->index;
	entry->path.plane = lane->index;
	entry->path.n_planes = cache->ep->attr.n_planes;
	entry->path.n_sub_ports = (uint16_t)n_sub_ports;
	cache->n_entries++;
	*out = entry;
	return 0;
}

int port_cache_attach(struct lane *lane)
{
	struct port_entry **entry = &lane->lanes->attr.peer->entries[lane->index];
	int err = *entry ? 0 : make_entry(entry, lane);

	if (err)
		return err;
	lane->entry = *entry;
	lane->ports = &(*entry)->path;
	DL_APPEND((*entry)->lanes, lane);
	return 0;
}

void port_cache_detach(struct lane *lane)
{
	struct port_entry *entry = lane->entry;

	if (!entry)
		return;
	lane->entry = NULL;
	lane->ports = NULL;
	DL_DELETE(entry->lanes, lane);
	if (entry->lanes)
		return;
	timers_remove(&entry->cache->timers, &entry->timer);
	entry->cache->n_entries--;
	entry->peer->entries[entry->plane] = NULL;
	free(entry);
}

/* ---- timing ---- */

static bool learns_ports(const struct port_entry *entry)
{
	return entry->cache->ep->provider->echoes_learn_ports && !entry->is_blind;
}

static void set_timer(struct port_entry *entry)
{
	uint64_t when_ns = entry->state == PORT_REST ? entry->watch_ns : entry->due_ns;

	timers_set(&entry->cache->timers, &entry->timer, when_ns);
}

static void port_cache_set_state(struct port_entry *entry, enum port_state state)
{
	entry->state = state;
	entry->rounds = entry->missed = 0;
	if (state == PORT_REST)
		port_path_end(&entry->path);
	else
		entry->began_ns = entry->cache->ep->now_ns;
	set_timer(entry);
}

static void wake_lanes(struct port_entry *entry)
{
	struct lane *lane;

	DL_FOREACH (entry->lanes, lane)
		if (lane->state == LANE_LEARNING)
			run_queue_add(lane->lanes->attr.run);
}

/* One round: an echo from each port that was asked for and not answered. */
static void send_round(struct port_entry *entry, uint64_t wait_ns)
{
	struct control_message m = {.type = CONTROL_ECHO};
	struct port_echo echo;
	unsigned i = 0, n_sent = 0;
	int err = 0, rc;

	port_path_sent(&entry->path, entry->cache->ep->now_ns);
	entry->rounds++;
	while (port_path_next_echo(&entry->path, &i, &echo)) {
		m.echo.nonce = entry->path.nonce;
		m.echo.candidate = echo.candidate;
		rc = endpoint_send(entry->cache->ep, &entry->peer->address, &m, entry->plane,
				   echo.local, learns_ports(entry) ? echo.port : 0);
		n_sent += !rc;
		err = rc ? rc : err;
		if (failure_of_call(rc) == FAILURE_PORT)
			port_path_unusable(&entry->path, &echo);
	}
	entry->send_error = n_sent ? 0 : err;
	entry->sent_ns = entry->cache->ep->now_ns;
	if (port_path_all_answered(&entry->path)) /* none could be sent: not waited for */
		wait_ns = 0;
	entry->due_ns = entry->cache->ep->now_ns + wait_ns;
	set_timer(entry);
}

static void send_learning(struct port_entry *entry)
{
	send_round(entry, port_peer_resend_ns(entry->peer, entry->rounds));
}

/* ---- learning ---- */

static bool covers(struct port_entry *entry, const struct lane *lane)
{
	unsigned n = (unsigned)__builtin_popcount(port_path_remotes(&entry->path));

	if (!learns_ports(entry) || entry->is_complete)
		return true;
	/* fewer remote sub-ports than there are here: others may show themselves */
	if (n < entry->path.n_sub_ports && n < lane->n_ports)
		return false;
	return lane_ports_cover(lane);
}

/* It waits for what is learned, or will. */
static bool is_to_be_made(const struct lane *lane)
{
	return lane->state == LANE_LEARNING || (lane->state == LANE_DOWN && !lane->attempted);
}

static bool covers_all(struct port_entry *entry)
{
	struct lane *lane;

	DL_FOREACH (entry->lanes, lane)
		if (is_to_be_made(lane) && !covers(entry, lane))
			return false;
	return true;
}

/*
 * Of each local sub-port: what a lane needs, and one to choose from. More are asked for if those do
 * not do: a peer that many others open to has room for some hundred datagrams.
 */
static unsigned step_of(const struct port_entry *entry)
{
	unsigned n_live = (unsigned)__builtin_popcount(entry->path.live), most = 1;
	const struct lane *lane;

	DL_FOREACH (entry->lanes, lane)
		if (is_to_be_made(lane) && lane->n_ports > most)
			most = lane->n_ports;
	return n_live ? (most + n_live - 1) / n_live + 1 : 1;
}

static void begin_exchange(struct port_entry *entry)
{
	port_path_begin(&entry->path, endpoint_random(entry->cache->ep));
	if (covers_all(entry)) /* a proof is enough */
		port_path_ask_more(&entry->path, 1, true);
	else
		port_path_ask_more(&entry->path, step_of(entry), false);
	port_cache_set_state(entry, PORT_LEARN);
	send_learning(entry);
}

static void begin_learning(struct port_entry *entry)
{
	entry->is_blind = false;
	begin_exchange(entry);
}

static void end_learning(struct port_entry *entry)
{
	entry->met |= port_path_remotes(&entry->path);
	port_cache_set_state(entry, PORT_REST);
	wake_lanes(entry);
}

static void fail_learning(struct port_entry *entry, int error)
{
	entry->failed_ns = entry->cache->ep->now_ns;
	entry->error = error;
	end_learning(entry);
}

/* What was asked for is answered, or will not be. */
static void judge_learning(struct port_entry *entry)
{
	bool is_proven = entry->proven_ns >= entry->began_ns;

	if (covers_all(entry) && is_proven) {
		end_learning(entry);
	} else if (port_path_ask_more(&entry->path, step_of(entry), false)) {
		entry->rounds = 0;
		send_learning(entry);
	} else if (is_proven) {
		entry->is_complete = true;
		end_learning(entry);
	} else if (failure_of_call(entry->send_error) == FAILURE_PORT && learns_ports(entry)) {
		entry->is_blind = true;
		begin_exchange(entry);
	} else {
		fail_learning(entry, entry->send_error ? entry->send_error : -EHOSTUNREACH);
	}
}

/*
 * An acceptor asks only because its peer has proven the plane just now, both ways. So it is in no
 * hurry to give it up, which costs the peer the QPs that it has made.
 */
static bool an_opener_waits(const struct port_entry *entry)
{
	const struct lane *lane;

	DL_FOREACH (entry->lanes, lane)
		if (lane->state == LANE_LEARNING && lane->lanes->attr.is_opener)
			return true;
	return false;
}

/* On this plane only; or on all, and for so long that the peer is not merely slow. */
static bool is_silent(const struct port_entry *entry)
{
	uint64_t took_ns = entry->cache->ep->now_ns - entry->began_ns;

	if (took_ns > HANDSHAKE_SILENT_NS &&
	    port_peer_silence_ns(entry->peer) > HANDSHAKE_SILENT_NS)
		return true;
	return entry->missed >= LEARN_MISSED &&
	       took_ns > LEARN_SILENT_NS + 4 * port_peer_resend_ns(entry->peer, 0) &&
	       an_opener_waits(entry);
}

static void step_learning(struct port_entry *entry)
{
	if (port_path_all_answered(&entry->path)) {
		judge_learning(entry);
		return;
	}
	if (entry->cache->ep->now_ns < entry->due_ns)
		return;
	entry->missed += entry->peer->received_ns > entry->sent_ns;
	if (entry->path.n_answered && entry->rounds >= LEARN_SENDS) {
		judge_learning(entry);
	} else if (entry->send_error && entry->rounds >= LEARN_SENDS) {
		fail_learning(entry, entry->send_error);
	} else if (!entry->path.n_answered && is_silent(entry)) {
		fail_learning(entry, -EHOSTUNREACH);
	} else {
		handshake_congested(entry->cache->pace, entry->cache->ep->now_ns);
		send_learning(entry);
	}
}

static bool is_ready(struct port_entry *entry, const struct lane *lane)
{
	return entry->proven_ns && entry->cache->ep->now_ns - entry->proven_ns < PROOF_NS &&
	       covers(entry, lane);
}

void port_cache_prepare(struct lane *lane)
{
	struct port_entry *entry = lane->entry;

	if (entry->state != PORT_LEARN && entry->path.live && !is_ready(entry, lane))
		begin_learning(entry);
}

int port_cache_ready(struct lane *lane)
{
	struct port_entry *entry = lane->entry;

	if (entry->failed_ns > lane->since_ns)
		return entry->error;
	if (entry->state == PORT_LEARN)
		return 1;
	if (is_ready(entry, lane))
		return 0;
	begin_learning(entry);
	return 1;
}

/* ---- watching the ports in use ---- */

static void port_cache_rest(struct port_entry *entry, bool changed)
{
	uint64_t interval_ns = changed ? FIRST_NS : entry->interval_ns;

	/* paths that began together need not ask together */
	entry->watch_ns = entry->cache->ep->now_ns + interval_ns -
			  endpoint_random(entry->cache->ep) % (interval_ns / 4);
	entry->interval_ns = interval_ns < MAX_NS / 2 ? interval_ns * 2 : MAX_NS;
	if (entry->state != PORT_LEARN)
		port_cache_set_state(entry, PORT_REST);
}

static bool can_be_uneven(const struct port_entry *entry)
{
	const struct lane *lane;

	DL_FOREACH (entry->lanes, lane)
		if (lane->state == LANE_UP && lane_ports_can_be_uneven(lane))
			return true;
	return false;
}

static bool all_even(const struct port_entry *entry, uint32_t remotes)
{
	const struct lane *lane;

	DL_FOREACH (entry->lanes, lane)
		if (lane->state == LANE_UP && lane_ports_can_be_uneven(lane) &&
		    !lane_ports_are_even(lane, remotes))
			return false;
	return true;
}

static void begin_own(struct port_entry *entry)
{
	if (!can_be_uneven(entry)) {
		entry->watch_ns = 0;
		set_timer(entry);
		return;
	}
	port_path_begin(&entry->path, endpoint_random(entry->cache->ep));
	if (!port_path_ask_used(&entry->path)) {
		port_cache_rest(entry, false);
		return;
	}
	port_cache_set_state(entry, PORT_OWN);
	send_round(entry, WAIT_NS);
}

/* What the ports in use answered stands; the others are asked, too. */
static void begin_wide(struct port_entry *entry)
{
	port_path_forget(&entry->path);
	entry->is_complete = false;
	if (!port_path_ask_more(&entry->path, FARE_SOURCE_PORTS, false)) {
		port_cache_rest(entry, false);
		return;
	}
	port_cache_set_state(entry, PORT_WIDE);
	send_round(entry, WAIT_NS);
}

static void judge_own(struct port_entry *entry)
{
	uint32_t remotes = port_path_remotes(&entry->path) | entry->met;
	unsigned n = (unsigned)__builtin_popcount(remotes);

	/* a plane that loses echoes has another trouble: nothing to conclude */
	if (!port_path_all_answered(&entry->path))
		port_cache_rest(entry, false);
	/*
	 * Fewer remote sub-ports than there are here: may be all that there are, or one is back
	 * that these ports do not meet. So others are asked, in vain where the peer has fewer.
	 */
	else if ((n < entry->path.n_asked && n < entry->path.n_sub_ports) ||
		 !all_even(entry, remotes))
		begin_wide(entry);
	else
		port_cache_rest(entry, false);
}

static void judge_wide(struct port_entry *entry)
{
	bool moved = false;
	struct lane *lane;

	entry->is_complete = true;
	entry->met = port_path_remotes(&entry->path);
	DL_FOREACH (entry->lanes, lane) {
		if (lane->state != LANE_UP || !lane_ports_can_be_uneven(lane))
			continue;
		moved |= lane_ports_even_out(lane);
		lane_export_lane(lane);
	}
	port_cache_rest(entry, moved);
	wake_lanes(entry);
}

static void step_watching(struct port_entry *entry)
{
	if (!port_path_all_answered(&entry->path)) {
		if (entry->cache->ep->now_ns < entry->due_ns)
			return;
		if (entry->rounds < WATCH_SENDS) {
			send_round(entry, WAIT_NS);
			return;
		}
	}
	if (entry->state == PORT_OWN)
		judge_own(entry);
	else
		judge_wide(entry);
}

/* Not sooner than an answer takes: what changes faster than that cannot be followed. */
static void watch_soon(struct port_entry *entry)
{
	uint64_t soonest_ns = entry->began_ns + WAIT_NS, now = entry->cache->ep->now_ns;

	entry->interval_ns = FIRST_NS;
	entry->watch_ns = soonest_ns > now ? soonest_ns : now;
	set_timer(entry);
}

void port_cache_watch(struct lane *lane)
{
	struct port_entry *entry = lane->entry;

	if (!learns_ports(entry) || !lane_ports_can_be_uneven(lane))
		return;
	/* a plane that just came back may not have its final routes */
	if (lane->epoch > 1) {
		watch_soon(entry);
	} else if (!entry->watch_ns) {
		entry->interval_ns = AFTER_LEARNING_NS;
		port_cache_rest(entry, false);
	}
}

void port_cache_hint(struct lane *lane)
{
	struct port_entry *entry = lane->entry;

	entry->is_complete = false;
	if (!entry->watch_ns)
		return;
	/* half of a round's answers may be old news */
	if (entry->state == PORT_OWN || entry->state == PORT_WIDE)
		port_cache_set_state(entry, PORT_REST);
	watch_soon(entry);
}

void port_cache_doubt(struct lane *lane)
{
	if (lane->entry && lane->entry->state == PORT_REST)
		lane->entry->proven_ns = 0;
}

void port_cache_follow(struct lane *lane)
{
	struct port_entry *entry = lane->entry;
	uint32_t live = group_paths_sub_ports(lane->lanes->attr.paths, lane->index);

	if (live == entry->path.live)
		return;
	port_path_set_live(&entry->path, live);
	entry->is_complete = false;
}

/*
 * One process at a time has an address and port. So a group whose peer was another incarnation
 * before the exchange began has lost it.
 */
static void close_lost(struct port_entry *entry, uint64_t incarnation)
{
	struct lane *lane;

	DL_FOREACH (entry->lanes, lane) {
		if (!lane->up_since_ns || lane->up_since_ns >= entry->began_ns ||
		    lane->lanes->attr.link->peer_incarnation == incarnation)
			continue;
		lane->events |= LANES_LOST;
		run_queue_add(lane->lanes->attr.run);
	}
}

void port_cache_on_reply(struct port_cache *cache, const struct peer_address *remote,
			 const struct control_message *m)
{
	struct port_peer *peer = find_peer(cache, remote);
	struct port_entry *entry;
	enum port_reply reply;
	uint64_t rtt_ns;

	/* an echo must have arrived on its own plane of the peer: else planes are miswired */
	if (!peer || m->echo.plane >= FARE_MAX_PLANES || !peer->entries[m->echo.plane])
		return;
	entry = peer->entries[m->echo.plane];
	reply = port_path_on_reply(&entry->path, cache->ep->now_ns, m->echo.nonce,
				   m->echo.candidate, m->echo.sub_port, learns_ports(entry),
				   &rtt_ns);
	if (reply == PORT_REPLY_STRAY)
		return;
	if (rtt_ns)
		port_peer_measured(peer, rtt_ns);
	entry->proven_ns = cache->ep->now_ns;
	if (reply == PORT_REPLY_CHANGED) {
		port_path_forget(&entry->path);
		entry->is_complete = false;
	}
	close_lost(entry, m->source);
	if (port_path_all_answered(&entry->path)) {
		entry->due_ns = cache->ep->now_ns;
		set_timer(entry);
	}
}

void port_cache_step(struct port_cache *cache)
{
	struct timer *timer;

	while ((timer = timers_expire(&cache->timers, cache->ep->now_ns))) {
		struct port_entry *entry =
			(struct port_entry *)((char *)timer - offsetof(struct port_entry, timer));

		if (entry->state == PORT_LEARN)
			step_learning(entry);
		else if (entry->state != PORT_REST)
			step_watching(entry);
		else if (entry->watch_ns && cache->ep->now_ns >= entry->watch_ns)
			begin_own(entry);
	}
}

uint64_t port_cache_due_ns(const struct port_cache *cache)
{
	uint64_t next = timers_next(&cache->timers);

	return next ? next : ENDPOINT_NEVER;
}
