/* SPDX-License-Identifier: BSD-2-Clause */
#include "zapi_station.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "bgp_log.h"
#include "rib.h"

struct zapi_station {
	const struct bgp_source_config *config;
	struct zapi_layout layout;
	struct bgp_source_handlers handlers;
	void *arg;
	bool (*on_link)(void *arg, uint32_t ifindex, unsigned neighbor);
	void *on_link_arg;
	struct rib *rib;
	enum bgp_source_state state;
	uint64_t sync_ns; /* while syncing: the table counts as whole then */
	bool has_routes;  /* a BGP route, since it is connected */
	bool unread;	  /* a message, since then, that could not be read */
	char down_reason[96];
	struct bgp_log log;
	struct zapi_message message; /* large: kept off the stack */
	size_t n_buffer;
	uint8_t buffer[UINT16_MAX]; /* a message that is not whole yet */
};

int zapi_station_create(struct zapi_station **out, const struct zapi_layout *layout,
			const struct bgp_source_config *config,
			const struct bgp_source_handlers *handlers, void *arg,
			bool (*on_link)(void *arg, uint32_t ifindex, unsigned neighbor),
			void *on_link_arg)
{
	struct zapi_station *s;
	int err;

	*out = NULL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	err = rib_create(&s->rib, config, true, handlers->on_path, arg);
	if (err) {
		free(s);
		return err;
	}
	s->config = config;
	s->layout = *layout;
	s->handlers = *handlers;
	s->arg = arg;
	s->on_link = on_link;
	s->on_link_arg = on_link_arg;
	s->sync_ns = ZAPI_STATION_NEVER;
	bgp_log_init(&s->log, handlers, arg);
	*out = s;
	return 0;
}

void zapi_station_destroy(struct zapi_station *s)
{
	if (!s)
		return;
	rib_destroy(s->rib);
	free(s);
}

void zapi_station_set_layout(struct zapi_station *s, const struct zapi_layout *layout)
{
	s->layout = *layout;
}

static void zapi_station_set_state(struct zapi_station *s, enum bgp_source_state state,
				   const char *reason)
{
	s->state = state;
	s->handlers.on_state(s->arg, state, reason);
}

void zapi_station_connected(struct zapi_station *s, uint64_t now_ns)
{
	s->n_buffer = 0;
	s->has_routes = s->unread = false;
	s->sync_ns = now_ns + ZAPI_STATION_EMPTY_NS;
	zapi_station_set_state(s, BGP_SOURCE_SYNCING, "connected to zebra, no route received yet");
}

void zapi_station_lost(struct zapi_station *s, const char *reason)
{
	bool news = s->state != BGP_SOURCE_DOWN || strcmp(reason, s->down_reason) != 0;

	for (unsigned i = 0; i < s->config->n_neighbors; i++)
		for (enum bgp_family f = 0; f < BGP_FAMILY_COUNT; f++)
			rib_stale(s->rib, i, f);
	s->n_buffer = 0;
	s->sync_ns = ZAPI_STATION_NEVER;
	snprintf(s->down_reason, sizeof(s->down_reason), "%s", reason);
	if (news)
		zapi_station_set_state(s, BGP_SOURCE_DOWN, s->down_reason);
}

/* ---- routes ---- */

static bool zapi_station_leads_to(const struct zapi_station *s, const struct zapi_nexthop *nexthop,
				  unsigned neighbor)
{
	const struct in6_addr *address = &s->config->neighbors[neighbor].address;

	if (nexthop->has_address && !IN6_IS_ADDR_LINKLOCAL(&nexthop->address))
		return IN6_ARE_ADDR_EQUAL(&nexthop->address, address);
	return nexthop->ifindex != 0 && s->on_link(s->on_link_arg, nexthop->ifindex, neighbor);
}

/* The nexthop of the message in hand that leads to that neighbour, or NULL. */
static const struct zapi_nexthop *zapi_station_nexthop(const struct zapi_station *s,
						       unsigned neighbor)
{
	for (unsigned k = 0; k < s->message.n_nexthops; k++)
		if (zapi_station_leads_to(s, &s->message.nexthops[k], neighbor))
			return &s->message.nexthops[k];
	return NULL;
}

/* Applies the route in hand: a route replaces what was known of its prefix, a withdrawal names
 * none. */
static void zapi_station_route(struct zapi_station *s, uint64_t now_ns)
{
	const struct in6_addr *peer = &s->message.prefix.address;
	const struct zapi_nexthop *nexthop;
	struct rib_route route;

	if (!rib_is_peer(s->rib, &s->message.prefix))
		return;
	for (unsigned i = 0; i < s->config->n_neighbors; i++) {
		nexthop = zapi_station_nexthop(s, i);
		if (!nexthop) {
			rib_unset(s->rib, i, peer, 0);
			continue;
		}
		route.kind = nexthop->weight ? BGP_BANDWIDTH_VALUE : BGP_BANDWIDTH_ABSENT;
		route.bps = (double)nexthop->weight;
		if (rib_set(s->rib, i, peer, 0, &route))
			bgp_log(&s->log, now_ns, LOG_ERR, "route not kept: too many, or no memory");
	}
}

/* It may have been the route of any path: none counts as missing until the next connection. */
static void zapi_station_misread(struct zapi_station *s, const struct octets_error *error,
				 uint64_t now_ns)
{
	bgp_log(&s->log, now_ns, LOG_WARNING, "message ignored reason=\"%s\" offset=%zu",
		error->reason, error->offset);
	if (s->unread)
		return;
	s->unread = true;
	s->sync_ns = now_ns + ZAPI_STATION_EMPTY_NS;
	zapi_station_set_state(s, BGP_SOURCE_SYNCING,
			       "a message of zebra's cannot be read: nothing is compared with it");
}

static void zapi_station_message(struct zapi_station *s, const uint8_t *data, size_t length,
				 uint64_t now_ns)
{
	struct octets_error error;

	if (zapi_parse(&s->layout, data, length, &s->message, &error)) {
		zapi_station_misread(s, &error, now_ns);
		return;
	}
	if (s->message.kind == ZAPI_OTHER || !s->message.bgp)
		return;
	s->has_routes = true;
	if (s->state == BGP_SOURCE_SYNCING && !s->unread)
		s->sync_ns = now_ns + ZAPI_STATION_QUIET_NS;
	zapi_station_route(s, now_ns);
}

int zapi_station_receive(struct zapi_station *s, const uint8_t *data, size_t length,
			 uint64_t now_ns, const char **reason)
{
	struct octets_error error;
	size_t part, at, bytes;
	int err;

	while (length > 0) {
		part = sizeof(s->buffer) - s->n_buffer; /* never 0: a whole message never stays */
		part = part < length ? part : length;
		memcpy(s->buffer + s->n_buffer, data, part);
		s->n_buffer += part;
		data += part;
		length -= part;
		for (at = 0; at < s->n_buffer; at += bytes) {
			err = zapi_parse_length(s->buffer + at, s->n_buffer - at, &bytes, &error);
			if (err == -EBADMSG) {
				*reason = error.reason;
				return err;
			}
			if (err || bytes > s->n_buffer - at)
				break;
			zapi_station_message(s, s->buffer + at, bytes, now_ns);
		}
		memmove(s->buffer, s->buffer + at, s->n_buffer - at);
		s->n_buffer -= at;
	}
	return 0;
}

/* ---- time ---- */

uint64_t zapi_station_deadline_ns(const struct zapi_station *s)
{
	return s->sync_ns;
}

void zapi_station_tick(struct zapi_station *s, uint64_t now_ns)
{
	if (s->sync_ns > now_ns)
		return;
	s->sync_ns = ZAPI_STATION_NEVER;
	for (unsigned i = 0; i < s->config->n_neighbors; i++)
		for (enum bgp_family f = 0; f < BGP_FAMILY_COUNT; f++)
			rib_sweep(s->rib, i, f);
	if (s->has_routes && !s->unread)
		zapi_station_set_state(s, BGP_SOURCE_UP, "initial sync complete");
}

void zapi_station_commit(struct zapi_station *s)
{
	rib_flush(s->rib);
}
