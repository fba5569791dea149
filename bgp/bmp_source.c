/* SPDX-License-Identifier: BSD-2-Clause */
#include "bmp_source.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bmp_station.h"
#include "connection.h"
#include "socket_owner.h"

#define SILENT_S 10. /* bgpd begins with Initiation (RFC 7854 4.3) */

struct bmp_source {
	struct bmp_station *station;
	struct connection *connection;
	uid_t owner;
	int fd; /* the connection's, while there is one */
	bool trusted;
	bool has_asked; /* for connections, since these bytes were read */
	struct socket_owner_connections connections;
	char reason[96];
};

/*
 * While bgpd does not listen, the kernel may choose bgpd's port as the source port. TCP then
 * connects the socket to itself, and bgpd could not bind the port any more.
 */
static bool bmp_source_is_own_end(int fd)
{
	struct sockaddr_storage ours = {0}, theirs = {0};
	socklen_t ours_bytes = sizeof(ours), theirs_bytes = sizeof(theirs);

	return !getsockname(fd, (struct sockaddr *)&ours, &ours_bytes) &&
	       !getpeername(fd, (struct sockaddr *)&theirs, &theirs_bytes) &&
	       ours_bytes == theirs_bytes && !memcmp(&ours, &theirs, ours_bytes);
}

/*
 * Closing sends a reset, as long as it is not known who is there: a process that never closes its
 * end cannot keep bgpd from the port.
 */
static void bmp_source_closes_by_reset(int fd, bool on)
{
	const struct linger reset = {.l_onoff = on};

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
}

/*
 * BMP has no authentication (RFC 7854 11), and while bgpd is down any local user may listen at its
 * port. So the kernel is asked which user's process accepted the connection. For another machine
 * it cannot tell, and the connection is accepted.
 */
static int bmp_source_check_owner(struct bmp_source *s, const char **reason)
{
	uid_t uid = 0;
	int rc = socket_owner_is_local(s->fd) ? socket_owner_uid(s->fd, &uid) : 0;

	s->trusted = !rc && (uid == 0 || uid == s->owner);
	if (s->trusted) {
		bmp_source_closes_by_reset(s->fd, false);
		bmp_station_connected(s->station);
		return 0;
	}
	if (rc)
		snprintf(s->reason, sizeof(s->reason),
			 "refused: the owner of the BMP connection is not known: %s",
			 strerror(-rc));
	else
		snprintf(s->reason, sizeof(s->reason),
			 "refused: uid %u is at the BMP port, neither root nor bgp.bmp_user",
			 (unsigned)uid);
	*reason = s->reason;
	return -EPERM;
}

static int bmp_source_on_connected(void *arg, int fd, uint64_t now_ns)
{
	struct bmp_source *s = arg;

	(void)now_ns;
	bmp_source_closes_by_reset(fd, true);
	if (bmp_source_is_own_end(fd))
		return -ECONNREFUSED;
	s->fd = fd;
	s->trusted = false;
	return 0;
}

/*
 * One question to the kernel for all sessions whose Peer Up and Peer Down were read at once, as
 * the initial dump has them. It is asked after the bytes were read: what they say was so by then.
 */
static bool bmp_source_is_open(void *arg, const char *dev, const struct in6_addr *remote,
			       const struct bmp_connection *connection)
{
	struct bmp_source *s = arg;

	if (!s->has_asked && socket_owner_link_local(&s->connections))
		return false;
	s->has_asked = true;
	for (size_t i = 0; i < s->connections.n; i++) {
		const struct socket_owner_connection *c = &s->connections.rows[i];

		if (c->local_port == connection->local_port &&
		    c->remote_port == connection->remote_port &&
		    IN6_ARE_ADDR_EQUAL(&c->local, &connection->local) &&
		    IN6_ARE_ADDR_EQUAL(&c->remote, remote) && (!dev || !strcmp(c->dev, dev)))
			return true;
	}
	return false;
}

static int bmp_source_on_bytes(void *arg, const uint8_t *bytes, size_t n, uint64_t now_ns,
			       const char **reason)
{
	struct bmp_source *s = arg;
	int rc;

	if (!s->trusted && bmp_source_check_owner(s, reason))
		return -EPERM;
	rc = bmp_station_receive(s->station, bytes, n, now_ns, reason);
	socket_owner_free(&s->connections);
	s->has_asked = false;
	return rc;
}

static void bmp_source_on_lost(void *arg, const char *reason, uint64_t now_ns)
{
	struct bmp_source *s = arg;

	bmp_station_lost(s->station, reason, now_ns);
}

static void bmp_source_on_tick(void *arg, uint64_t now_ns)
{
	struct bmp_source *s = arg;

	bmp_station_tick(s->station, now_ns);
}

/* Tells what changed, and for when the station waits now. */
static uint64_t bmp_source_settle(void *arg)
{
	struct bmp_source *s = arg;

	_Static_assert(BMP_STATION_NEVER == CONNECTION_NEVER, "passed on as it is");
	bmp_station_commit(s->station);
	return bmp_station_deadline_ns(s->station);
}

int bmp_source_create(struct bmp_source **out, struct ev_loop *loop,
		      const struct sockaddr_storage *address, uid_t owner, uint64_t stale_ns,
		      const struct bgp_source_config *config,
		      const struct bgp_source_handlers *handlers, void *arg)
{
	static const struct connection_handlers mine = {
		.on_connected = bmp_source_on_connected,
		.on_bytes = bmp_source_on_bytes,
		.on_lost = bmp_source_on_lost,
		.on_tick = bmp_source_on_tick,
		.settle = bmp_source_settle,
		.silent_s = SILENT_S,
	};
	socklen_t bytes = address->ss_family == AF_INET ? sizeof(struct sockaddr_in)
							: sizeof(struct sockaddr_in6);
	struct bmp_source *s;
	int err;

	*out = NULL;
	if (address->ss_family != AF_INET && address->ss_family != AF_INET6)
		return -EAFNOSUPPORT;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->owner = owner;
	err = bmp_station_create(&s->station, stale_ns, config, handlers, arg, bmp_source_is_open,
				 s);
	if (!err)
		err = connection_create(&s->connection, loop, (const struct sockaddr *)address,
					bytes, "bgpd", &mine, s);
	if (err)
		bmp_source_destroy(s);
	else
		*out = s;
	return err;
}

const struct bmp_seen *bmp_source_seen(const struct bmp_source *s)
{
	return bmp_station_seen(s->station);
}

enum bmp_session_state bmp_source_session(const struct bmp_source *s, size_t neighbor)
{
	return bmp_station_session(s->station, neighbor);
}

void bmp_source_destroy(struct bmp_source *s)
{
	if (!s)
		return;
	connection_destroy(s->connection);
	bmp_station_destroy(s->station);
	free(s);
}
