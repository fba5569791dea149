/* SPDX-License-Identifier: BSD-2-Clause */
#include "zapi_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>

#include "connection.h"
#include "link_neighbors.h"
#include "zapi_station.h"

struct zapi_source {
	struct zapi_layout layout;
	struct ev_loop *loop;
	struct sockaddr_un address;
	struct bgp_source_handlers handlers;
	void *arg;
	struct link_neighbors *links;
	struct zapi_station *station;
	struct connection *connection; /* NULL: FRR's release is not known */
};

static bool zapi_source_on_link(void *arg, uint32_t ifindex, unsigned neighbor)
{
	const struct zapi_source *s = arg;

	return link_neighbors_has(s->links, ifindex, neighbor);
}

/* ---- the connection ---- */

/* Says who we are and which routes we want. All of it fits any socket buffer: a short write is a
 * failure. */
static int zapi_source_on_connected(void *arg, int fd, uint64_t now_ns)
{
	struct zapi_source *s = arg;
	uint8_t out[3 * ZAPI_PARSE_MAX_WRITE];
	size_t n = zapi_write_hello(&s->layout, 0, out);
	ssize_t sent;

	n += zapi_write_redistribute(&s->layout, BGP_FAMILY_IPV4, out + n);
	n += zapi_write_redistribute(&s->layout, BGP_FAMILY_IPV6, out + n);
	sent = send(fd, out, n, MSG_NOSIGNAL);
	if (sent != (ssize_t)n)
		return sent < 0 ? -errno : -EMSGSIZE;
	zapi_station_connected(s->station, now_ns);
	return 0;
}

static int zapi_source_on_bytes(void *arg, const uint8_t *bytes, size_t n, uint64_t now_ns,
				const char **reason)
{
	struct zapi_source *s = arg;
	char line[160];
	int err = link_neighbors_refresh(s->links);

	if (err) {
		snprintf(line, sizeof(line),
			 "our addresses cannot be read (%s): IPv6 routes over links that are "
			 "new count as not installed",
			 strerror(-err));
		s->handlers.on_log(s->arg, LOG_WARNING, line);
	}
	return zapi_station_receive(s->station, bytes, n, now_ns, reason);
}

static void zapi_source_on_lost(void *arg, const char *reason, uint64_t now_ns)
{
	struct zapi_source *s = arg;

	(void)now_ns;
	zapi_station_lost(s->station, reason);
}

static void zapi_source_on_tick(void *arg, uint64_t now_ns)
{
	struct zapi_source *s = arg;

	zapi_station_tick(s->station, now_ns);
}

static uint64_t zapi_source_settle(void *arg)
{
	struct zapi_source *s = arg;

	_Static_assert(ZAPI_STATION_NEVER == CONNECTION_NEVER, "passed on as it is");
	zapi_station_commit(s->station);
	return zapi_station_deadline_ns(s->station);
}

/* ---- life ---- */

static int zapi_source_connect(struct zapi_source *s)
{
	static const struct connection_handlers mine = {
		.on_connected = zapi_source_on_connected,
		.on_bytes = zapi_source_on_bytes,
		.on_lost = zapi_source_on_lost,
		.on_tick = zapi_source_on_tick,
		.settle = zapi_source_settle,
	};

	return connection_create(&s->connection, s->loop, (const struct sockaddr *)&s->address,
				 sizeof(s->address), "zebra", &mine, s);
}

/* Whether the release is known; else the log says that it is not, and layout.release is 0. */
static bool zapi_source_take_version(struct zapi_source *s, const char *frr_version)
{
	char line[256];

	if (zapi_parse_version(frr_version, &s->layout) == 0)
		return true;
	s->layout = (struct zapi_layout){0};
	snprintf(line, sizeof(line),
		 "FRR version \"%.100s\" is not known (8.4 to 10.x are): nothing is compared "
		 "with zebra",
		 frr_version);
	s->handlers.on_log(s->arg, LOG_ERR, line);
	return false;
}

int zapi_source_create(struct zapi_source **out, struct ev_loop *loop, const char *path,
		       const char *frr_version, const struct bgp_source_config *config,
		       const struct bgp_source_handlers *handlers, void *arg)
{
	struct zapi_source *s;
	int err;

	*out = NULL;
	if (strlen(path) >= sizeof(s->address.sun_path))
		return -ENAMETOOLONG;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->loop = loop;
	s->address.sun_family = AF_UNIX;
	strcpy(s->address.sun_path, path);
	s->handlers = *handlers;
	s->arg = arg;
	err = link_neighbors_create(&s->links, config);
	if (!err && frr_version)
		zapi_source_take_version(s, frr_version);
	if (!err)
		err = zapi_station_create(&s->station, &s->layout, config, handlers, arg,
					  zapi_source_on_link, s);
	if (!err && s->layout.release)
		err = zapi_source_connect(s);
	if (err)
		zapi_source_destroy(s);
	else
		*out = s;
	return err;
}

void zapi_source_set_version(struct zapi_source *s, const char *frr_version)
{
	uint16_t before = s->layout.release;
	bool known = zapi_source_take_version(s, frr_version);
	char reason[96];

	if (known && s->layout.release == before)
		return;
	connection_destroy(s->connection);
	s->connection = NULL;
	snprintf(reason, sizeof(reason), known ? "%.60s: connecting anew" : "%.60s is not known",
		 frr_version);
	zapi_station_lost(s->station, reason);
	zapi_station_commit(s->station);
	zapi_station_set_layout(s->station, &s->layout);
	if (known && zapi_source_connect(s))
		s->handlers.on_log(s->arg, LOG_ERR, "no memory to connect to zebra");
}

void zapi_source_destroy(struct zapi_source *s)
{
	if (!s)
		return;
	connection_destroy(s->connection);
	zapi_station_destroy(s->station);
	link_neighbors_destroy(s->links);
	free(s);
}
