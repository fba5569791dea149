/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * zapi_station.h - the listener's side of zebra's socket: which planes zebra has installed for each
 * peer.
 *
 * Solely owns: the bytes of a message not yet whole, the rib of installed routes. In: connected,
 * bytes, lost, time. Out: bgp_source_handlers, events normalised; path events only at
 * zapi_station_commit(). Pure: no socket, no clock, no loop. One thread.
 *
 * Zebra tells a route with all its nexthops at once. A nexthop is a neighbour by its address; IPv6
 * nexthops are link-local, so they are one by their interface, which only the caller knows. zebra
 * gives no sign of the end of its table: quiet after its first route is taken for it. What it
 * sent before it went is stale until then, however long it is away.
 *
 * A zebra that has sent no route, or sent a message that cannot be read, is not in sync: it may
 * wait for bgpd, or be of another release than the layout is for. So no path counts as not
 * installed. What an earlier connection showed is removed after a while.
 */
#ifndef ZAPI_STATION_H
#define ZAPI_STATION_H

#include "zapi_parse.h"

#define ZAPI_STATION_QUIET_NS (1ull * 1000000000)
/* Far longer than bgpd needs to learn its routes after a start (12 s for 64 servers). */
#define ZAPI_STATION_EMPTY_NS (60ull * 1000000000)
#define ZAPI_STATION_NEVER    UINT64_MAX

struct zapi_station;

/*
 * on_link(arg, ifindex, neighbor): whether that neighbour (an index into config->neighbors) is on
 * the link of that interface; asked for every nexthop and neighbour of a route, so it must be
 * quick. config is borrowed, layout and handlers are copied. 0 or -errno; *out is NULL on error.
 */
int zapi_station_create(struct zapi_station **out, const struct zapi_layout *layout,
			const struct bgp_source_config *config,
			const struct bgp_source_handlers *handlers, void *arg,
			bool (*on_link)(void *arg, uint32_t ifindex, unsigned neighbor),
			void *on_link_arg);
void zapi_station_destroy(struct zapi_station *s); /* NULL is fine; no callback */
/* For the next connection; copied. */
void zapi_station_set_layout(struct zapi_station *s, const struct zapi_layout *layout);

/* As their counterparts in bmp_station.h. */
void zapi_station_connected(struct zapi_station *s, uint64_t now_ns);
int zapi_station_receive(struct zapi_station *s, const uint8_t *data, size_t length,
			 uint64_t now_ns, const char **reason);
void zapi_station_lost(struct zapi_station *s, const char *reason);
uint64_t zapi_station_deadline_ns(const struct zapi_station *s);
void zapi_station_tick(struct zapi_station *s, uint64_t now_ns);
void zapi_station_commit(struct zapi_station *s);

#endif
