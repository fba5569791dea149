/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * zapi_source.h - zebra's zserv socket: what is really installed, and the fallback route source
 * when BMP is absent.
 *
 * Solely owns: the unix socket to zebra. In: redistributed BGP routes. Out: bgp_source_handlers,
 * with normalised = true (zebra keeps relative weights, not bandwidths). Thread: the loop's.
 * Reconnects for ever.
 */
#ifndef ZAPI_SOURCE_H
#define ZAPI_SOURCE_H

#include "bgp_source.h"

struct zapi_source;

/*
 * path: zebra's socket. frr_version: "8.4.4" and the like, which decides the layout (the protocol's
 * own version number never changed); NULL, or one that is not known (with an on_log line): no
 * connection before zapi_source_set_version(). Borrowing and callbacks as in bmp_source.h. In an
 * event, advertised_bps carries the relative weight (> 0) of that plane for that peer, and
 * bandwidth_kind is ABSENT if zebra gave none.
 */
int zapi_source_create(struct zapi_source **out, struct ev_loop *loop, const char *path,
		       const char *frr_version, const struct bgp_source_config *config,
		       const struct bgp_source_handlers *handlers, void *arg);
void zapi_source_destroy(struct zapi_source *s);
/*
 * frr_version: what runs now, "FRRouting 10.1" and the like. Connects anew if it is another release
 * than before. Callbacks may run from here.
 */
void zapi_source_set_version(struct zapi_source *s, const char *frr_version);

#endif
