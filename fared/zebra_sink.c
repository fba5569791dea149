/* SPDX-License-Identifier: BSD-2-Clause */
#include "zebra_sink.h"

#include <errno.h>
#include <ev.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/hash_table.h"
#include "config.h"
#include "connection.h"
#include "zebra_hops.h"

struct zebra_peer {
	struct in6_addr address;
	UT_hash_handle hh;
	struct zebra_share *shares; /* NULL: forgotten, once zebra has no route of it */
	bool is_due;		    /* to be compared with what zebra was given; it is in due */
	TAILQ_ENTRY(zebra_peer) in_due;
	unsigned n_given, room;
	struct zapi_route_hop *given;
};

struct zebra_sink {
	struct ev_loop *loop;
	void (*on_state)(void *arg, bool is_connected, const char *reason);
	void *arg;
	struct config *config; /* NULL: none yet */
	struct zapi_layout layout;
	struct connection *connection; /* NULL: off, or FRR's release is not known */
	int fd;			       /* the connection's; -1: not connected */
	ev_timer again;		       /* the pause between two bursts */
	struct zebra_links links;
	struct zebra_peer *peers;
	TAILQ_HEAD(, zebra_peer) due;
	struct zebra_peer *by_pair[FARE_MAX_PAIRS];
	uint32_t gpu_of[FARE_MAX_PAIRS];
};

/* ---- peers ----------------------------------------------------------------- */

static void zebra_peer_due(struct zebra_sink *s, struct zebra_peer *peer)
{
	if (!peer->is_due)
		TAILQ_INSERT_TAIL(&s->due, peer, in_due);
	peer->is_due = true;
}

static void zebra_peers_due(struct zebra_sink *s)
{
	for (struct zebra_peer *p = s->peers; p; p = p->hh.next)
		zebra_peer_due(s, p);
}

static struct zebra_peer *zebra_peer_get(struct zebra_sink *s, const struct in6_addr *address)
{
	struct zebra_peer *peer;

	HASH_FIND(hh, s->peers, address, sizeof(*address), peer);
	if (peer)
		return peer;
	peer = calloc(1, sizeof(*peer));
	if (!peer)
		return NULL;
	peer->address = *address;
	HASH_ADD(hh, s->peers, address, sizeof(peer->address), peer);
	if (peer->hh.tbl)
		return peer;
	free(peer);
	return NULL;
}

static void zebra_peer_destroy(struct zebra_sink *s, struct zebra_peer *peer)
{
	HASH_DEL(s->peers, peer);
	if (peer->is_due)
		TAILQ_REMOVE(&s->due, peer, in_due);
	while (peer->shares) {
		struct zebra_share *share = peer->shares;

		peer->shares = share->next;
		free(share);
	}
	free(peer->given);
	free(peer);
}

/* The place of a local GPU's share: NULL is there if it has none. */
static struct zebra_share **zebra_peer_share(struct zebra_peer *peer, uint32_t gpu)
{
	struct zebra_share **at = &peer->shares;

	while (*at && (*at)->gpu != gpu)
		at = &(*at)->next;
	return at;
}

/* ---- what zebra is given --------------------------------------------------- */

static bool zebra_peer_is_given(const struct zebra_peer *peer, const struct zapi_route_hop *hops,
				unsigned n)
{
	bool same = n == peer->n_given;

	for (unsigned i = 0; same && i < n; i++)
		same = IN6_ARE_ADDR_EQUAL(&hops[i].gateway, &peer->given[i].gateway) &&
		       hops[i].ifindex == peer->given[i].ifindex &&
		       hops[i].weight == peer->given[i].weight;
	return same;
}

/* false: later. */
static bool zebra_sink_send(struct zebra_sink *s, const uint8_t *message, size_t n)
{
	ssize_t sent = send(s->fd, message, n, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (sent == (ssize_t)n)
		return true;
	if (sent >= 0 || (errno != EAGAIN && errno != EINTR)) {
		/* nothing could be read after a part of a message: connect anew, and give all */
		shutdown(s->fd, SHUT_RDWR);
		s->fd = -1;
	}
	return false;
}

static int zebra_peer_make_room(struct zebra_peer *peer, unsigned n)
{
	struct zapi_route_hop *more;

	if (n <= peer->room)
		return 0;
	more = realloc(peer->given, n * sizeof(*more));
	if (!more)
		return -ENOMEM;
	peer->given = more;
	peer->room = n;
	return 0;
}

/* Makes zebra's route what it should be. 1: a message was sent; 0: none was needed; -EAGAIN. */
static int zebra_peer_settle(struct zebra_sink *s, struct zebra_peer *peer)
{
	struct zapi_route_hop hops[ZAPI_ROUTE_MAX_HOPS];
	unsigned n = zebra_hops(&peer->address, peer->shares, &s->config->bgp, &s->links, hops);
	uint8_t message[ZAPI_ROUTE_MAX_WRITE];
	size_t bytes;

	if (zebra_peer_is_given(peer, hops, n))
		return 0;
	if (zebra_peer_make_room(peer, n))
		return -EAGAIN;
	bytes = n ? zapi_route_install(&s->layout, ZEBRA_SINK_TABLE, &peer->address, hops, n,
				       message)
		  : zapi_route_uninstall(&s->layout, ZEBRA_SINK_TABLE, &peer->address, message);
	if (!zebra_sink_send(s, message, bytes))
		return -EAGAIN;
	if (n)
		memcpy(peer->given, hops, n * sizeof(*hops));
	peer->n_given = n;
	return 1;
}

static void zebra_sink_pause(struct zebra_sink *s)
{
	ev_now_update(s->loop);
	ev_timer_set(&s->again, ZEBRA_SINK_PAUSE_NS / 1e9, 0.);
	ev_timer_start(s->loop, &s->again);
}

#define COMPARED_MAX (4 * ZEBRA_SINK_BURST) /* peers in one turn: most need no message */

/* A burst of what is due, unless the pause after the last one is not over. */
static void zebra_sink_flush(struct zebra_sink *s)
{
	unsigned n_sent = 0, n_compared = 0;

	if (s->fd < 0 || ev_is_active(&s->again))
		return;
	while (!TAILQ_EMPTY(&s->due)) {
		struct zebra_peer *peer = TAILQ_FIRST(&s->due);
		bool is_over = n_sent >= ZEBRA_SINK_BURST || n_compared++ >= COMPARED_MAX;
		int rc = is_over ? -EAGAIN : zebra_peer_settle(s, peer);

		if (rc < 0) {
			zebra_sink_pause(s);
			return;
		}
		n_sent += (unsigned)rc;
		TAILQ_REMOVE(&s->due, peer, in_due);
		peer->is_due = false;
		if (!peer->shares)
			zebra_peer_destroy(s, peer);
	}
	if (n_sent)
		zebra_sink_pause(s);
}

static void zebra_sink_on_again(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)loop;
	(void)revents;
	zebra_sink_flush(w->data);
}

/* ---- the connection -------------------------------------------------------- */

static int zebra_sink_on_connected(void *arg, int fd, uint64_t now_ns)
{
	uint8_t hello[ZAPI_PARSE_MAX_WRITE];
	struct zebra_sink *s = arg;

	(void)now_ns;
	s->fd = fd;
	if (!zebra_sink_send(s, hello, zapi_write_hello(&s->layout, ZAPI_ROUTE_INSTANCE, hello)))
		return -EPIPE;
	zebra_peers_due(s);
	zebra_sink_flush(s);
	s->on_state(s->arg, true, "zebra is given a route to each peer that answers probes");
	return 0;
}

/* zebra removes what it was given. */
static void zebra_sink_forget_given(struct zebra_sink *s)
{
	struct zebra_peer *peer, *next;

	s->fd = -1;
	HASH_ITER (hh, s->peers, peer, next) {
		peer->n_given = 0;
		if (!peer->shares)
			zebra_peer_destroy(s, peer);
	}
}

static void zebra_sink_on_lost(void *arg, const char *reason, uint64_t now_ns)
{
	struct zebra_sink *s = arg;

	(void)now_ns;
	zebra_sink_forget_given(s);
	s->on_state(s->arg, false, reason);
}

/* ---- the sink -------------------------------------------------------------- */

static void zebra_sink_link(void *arg, const struct sink_link *link)
{
	struct zebra_sink *s = arg;

	s->links.of[link->gpu][link->plane][link->sub_port] =
		(struct zebra_link){link->ifindex, link->is_up ? link->speed_bps : 0};
	zebra_peers_due(s);
}

static int zebra_sink_pair(void *arg, const struct sink_pair *pair)
{
	struct zebra_sink *s = arg;
	struct zebra_peer *peer = zebra_peer_get(s, &pair->peer);
	struct zebra_share **at = peer ? zebra_peer_share(peer, pair->gpu) : NULL;

	if (at && !*at)
		*at = calloc(1, sizeof(**at));
	if (!at || !*at)
		return -ENOMEM;
	(*at)->gpu = pair->gpu;
	(*at)->n_planes = pair->n_planes;
	(*at)->answered = pair->answered;
	(*at)->lossy = pair->lossy;
	memcpy((*at)->paths, pair->paths, pair->n_planes * sizeof(*pair->paths));
	s->by_pair[pair->id] = peer;
	s->gpu_of[pair->id] = pair->gpu;
	zebra_peer_due(s, peer);
	return 0;
}

static void zebra_sink_forget(void *arg, uint32_t id)
{
	struct zebra_sink *s = arg;
	struct zebra_peer *peer = s->by_pair[id];
	struct zebra_share **at = peer ? zebra_peer_share(peer, s->gpu_of[id]) : NULL, *share;

	s->by_pair[id] = NULL;
	if (!at || !*at)
		return;
	share = *at;
	*at = share->next;
	free(share);
	zebra_peer_due(s, peer);
	if (!peer->shares && !peer->n_given)
		zebra_peer_destroy(s, peer);
}

static uint64_t zebra_sink_commit(void *arg)
{
	zebra_sink_flush(arg);
	return 0;
}

struct sink zebra_sink_as_sink(struct zebra_sink *s)
{
	return (struct sink){.arg = s,
			     .link = zebra_sink_link,
			     .pair = zebra_sink_pair,
			     .forget = zebra_sink_forget,
			     .commit = zebra_sink_commit};
}

/* ---- life ------------------------------------------------------------------ */

int zebra_sink_create(struct zebra_sink **out, struct ev_loop *loop,
		      void (*on_state)(void *arg, bool is_connected, const char *reason), void *arg)
{
	struct zebra_sink *s = calloc(1, sizeof(*s));

	*out = s;
	if (!s)
		return -ENOMEM;
	s->loop = loop;
	s->on_state = on_state;
	s->arg = arg;
	s->fd = -1;
	TAILQ_INIT(&s->due);
	ev_init(&s->again, zebra_sink_on_again);
	s->again.data = s;
	return 0;
}

void zebra_sink_destroy(struct zebra_sink *s)
{
	struct zebra_peer *peer, *next;

	if (!s)
		return;
	connection_destroy(s->connection);
	ev_timer_stop(s->loop, &s->again);
	HASH_ITER (hh, s->peers, peer, next)
		zebra_peer_destroy(s, peer);
	config_destroy(s->config);
	free(s);
}

static void zebra_sink_connect(struct zebra_sink *s)
{
	/* what zebra says of itself and of interfaces is of no use here */
	static const struct connection_handlers mine = {.on_connected = zebra_sink_on_connected,
							.on_lost = zebra_sink_on_lost};
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	_Static_assert(sizeof(address.sun_path) >= sizeof(s->config->zserv_path), "it fits");
	strcpy(address.sun_path, s->config->zserv_path);
	if (connection_create(&s->connection, s->loop, (struct sockaddr *)&address, sizeof(address),
			      "zebra", &mine, s))
		s->on_state(s->arg, false, "no memory to connect to zebra");
}

void zebra_sink_set_config(struct zebra_sink *s, struct config *config, const char *frr_version)
{
	bool moved = !s->config || strcmp(s->config->zserv_path, config->zserv_path) != 0;
	struct zapi_layout layout = {0};
	bool on = config->kernel_routes && frr_version && !zapi_parse_version(frr_version, &layout);

	config = config_take(config);
	config_destroy(s->config);
	s->config = config;
	if (s->connection && (!on || moved || layout.release != s->layout.release)) {
		connection_destroy(s->connection);
		s->connection = NULL;
		zebra_sink_forget_given(s);
		s->on_state(s->arg, false, on ? "connecting anew" : "kernel_routes: off");
	}
	s->layout = layout;
	if (on && !s->connection)
		zebra_sink_connect(s);
	zebra_peers_due(s);
}

/* ---- for an operator ------------------------------------------------------- */

bool zebra_sink_is_connected(const struct zebra_sink *s)
{
	return s->fd >= 0;
}

bool zebra_sink_next(const struct zebra_sink *s, uint64_t *cursor, struct zebra_sink_view *out)
{
	const struct zebra_peer *peer = s->peers;

	for (uint64_t i = 0; peer && i < *cursor; i++)
		peer = peer->hh.next;
	if (!peer || !s->config)
		return false;
	(*cursor)++;
	*out = (struct zebra_sink_view){.peer = peer->address};
	for (const struct zebra_share *share = peer->shares; share; share = share->next)
		out->answered |= share->answered;
	out->n_hops =
		zebra_hops(&peer->address, peer->shares, &s->config->bgp, &s->links, out->hops);
	out->given = s->fd >= 0 && zebra_peer_is_given(peer, out->hops, out->n_hops);
	return true;
}
