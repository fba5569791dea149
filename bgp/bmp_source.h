/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bmp_source.h - BMP station (RFC 7854) toward the local bgpd: the source of raw path bandwidth.
 *
 * Solely owns: the TCP session to bgpd's `bmp listener` and the rib built from it. In: bytes from
 * bgpd. Out: bgp_source_handlers. Thread: the loop's. Reconnects for ever, with capped back-off.
 */
#ifndef BMP_SOURCE_H
#define BMP_SOURCE_H

#include <sys/socket.h>
#include <sys/types.h>

#include "bgp_source.h"
#include "bmp_seen.h"

struct bmp_source;

/*
 * Starts connecting to address (AF_INET or AF_INET6; copied). owner: the user that bgpd runs as
 * ((uid_t)-1: none). A connection on this machine is refused unless a process of owner or of root
 * accepted it; one to another machine is not checked. config and handlers' arg are borrowed,
 * handlers is copied. stale_ns: how long paths are kept after the session is lost, or after bgpd
 * returned without teaching them again. 0 or -errno; *out is NULL on error. Callbacks run from the
 * loop, never from here.
 */
int bmp_source_create(struct bmp_source **out, struct ev_loop *loop,
		      const struct sockaddr_storage *address, uid_t owner, uint64_t stale_ns,
		      const struct bgp_source_config *config,
		      const struct bgp_source_handlers *handlers, void *arg);
/* See bmp_station.h. */
const struct bmp_seen *bmp_source_seen(const struct bmp_source *s);
enum bmp_session_state bmp_source_session(const struct bmp_source *s, size_t neighbor);
void bmp_source_destroy(struct bmp_source *s); /* NULL is fine; no callback afterwards */

#endif
