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
	struct bgp_source_handlers handlers;
	void *arg;
	struct link_neighbors *links;
	struct zapi_station *station;
	struct connection *connection;
};

static bool zapi_source_on_link(void *arg, uint32_t ifindex, unsigned neighbor)
{
	const struct zapi_source *s = arg;

	return link_neighbors_has(s->links, ifindex, neighbor);
}

/* ---- the connection ---- */

/* Says who we are and what we want to hear. All of it fits any socket buffer: a short write is a
 * failure. */
static int zapi_source_on_connected(void *arg, int fd, uint64_t now_ns)
{
	struct zapi_source *s = arg;
	uint8_t out[3 * ZAPI_PARSE_MAX_WRITE];
	size_t n = zapi_write_hello(&s->layout, out);
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
			 "zapi: our addresses cannot be read (%s): IPv6 routes over links that are "
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

/* What the installed zebra says of its version; the daemon itself tells nobody over its socket. */
static int zapi_source_ask_version(char *out, size_t size)
{
	FILE *f = popen("/usr/lib/frr/zebra --version 2>/dev/null", "re");
	bool got;

	if (!f)
		return -errno;
	got = fgets(out, (int)size, f) != NULL;
	pclose(f);
	return got ? 0 : -EPROTONOSUPPORT;
}

static int zapi_source_layout(struct zapi_layout *out, const char *frr_version,
			      const struct bgp_source_handlers *handlers, void *arg)
{
	char asked[128] = "", line[256];

	if (!frr_version) {
		if (zapi_source_ask_version(asked, sizeof(asked)) == 0)
			asked[strcspn(asked, "\r\n")] = '\0';
		frr_version = asked;
	}
	if (zapi_parse_version(frr_version, out) == 0)
		return 0;
	snprintf(line, sizeof(line),
		 "zapi: FRR version \"%.100s\" is not known (8.4 to 10.x are): set frr_version",
		 frr_version);
	handlers->on_log(arg, LOG_ERR, line);
	return -EPROTONOSUPPORT;
}

int zapi_source_create(struct zapi_source **out, struct ev_loop *loop, const char *path,
		       const char *frr_version, const struct bgp_source_config *config,
		       const struct bgp_source_handlers *handlers, void *arg)
{
	static const struct connection_handlers mine = {
		.on_connected = zapi_source_on_connected,
		.on_bytes = zapi_source_on_bytes,
		.on_lost = zapi_source_on_lost,
		.on_tick = zapi_source_on_tick,
		.settle = zapi_source_settle,
	};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct zapi_source *s;
	int err;

	*out = NULL;
	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	strcpy(address.sun_path, path);
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->handlers = *handlers;
	s->arg = arg;
	err = zapi_source_layout(&s->layout, frr_version, handlers, arg);
	if (!err)
		err = link_neighbors_create(&s->links, config);
	if (!err)
		err = zapi_station_create(&s->station, &s->layout, config, handlers, arg,
					  zapi_source_on_link, s);
	if (!err)
		err = connection_create(&s->connection, loop, (const struct sockaddr *)&address,
					sizeof(address), "zebra", &mine, s);
	if (err)
		zapi_source_destroy(s);
	else
		*out = s;
	return err;
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
