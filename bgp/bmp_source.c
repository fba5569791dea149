/* SPDX-License-Identifier: BSD-2-Clause */
#include "bmp_source.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "bmp_station.h"
#include "connection.h"

struct bmp_source {
	struct bmp_station *station;
	struct connection *connection;
};

static int bmp_source_on_connected(void *arg, int fd, uint64_t now_ns)
{
	struct bmp_source *s = arg;

	(void)fd; /* a station only listens */
	(void)now_ns;
	bmp_station_connected(s->station);
	return 0;
}

static int bmp_source_on_bytes(void *arg, const uint8_t *bytes, size_t n, uint64_t now_ns,
			       const char **reason)
{
	struct bmp_source *s = arg;

	return bmp_station_receive(s->station, bytes, n, now_ns, reason);
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
		      const struct sockaddr_storage *address, uint64_t stale_ns,
		      const struct bgp_source_config *config,
		      const struct bgp_source_handlers *handlers, void *arg)
{
	static const struct connection_handlers mine = {
		.on_connected = bmp_source_on_connected,
		.on_bytes = bmp_source_on_bytes,
		.on_lost = bmp_source_on_lost,
		.on_tick = bmp_source_on_tick,
		.settle = bmp_source_settle,
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
	err = bmp_station_create(&s->station, stale_ns, config, handlers, arg);
	if (!err)
		err = connection_create(&s->connection, loop, (const struct sockaddr *)address,
					bytes, "bgpd", &mine, s);
	if (err)
		bmp_source_destroy(s);
	else
		*out = s;
	return err;
}

void bmp_source_destroy(struct bmp_source *s)
{
	if (!s)
		return;
	connection_destroy(s->connection);
	bmp_station_destroy(s->station);
	free(s);
}
