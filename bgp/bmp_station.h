/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bmp_station.h - the station's side of BMP (RFC 7854): which sessions bgpd has, the routes of
 * each, how long it counts after the session or bgpd itself is gone.
 *
 * Solely owns: the bytes of a message not yet whole, the sessions' state, the rib. In: connected,
 * bytes, lost, time. Out: bgp_source_handlers; path events only at bmp_station_commit(). Pure: no
 * socket, no clock, no loop. One thread.
 *
 * When a session goes (Peer Down), RFC 4724 and RFC 8538 decide: its routes are kept as stale for
 * the restart time that the peer advertised, if its OPEN said that forwarding survives; else they
 * are withdrawn. When it is back, what it does not send again goes with its End-of-RIB, or after a
 * quiet period: FRR passes no End-of-RIB on for a session that comes up while the station watches,
 * and the End-of-RIBs of its initial dump end the dump, which may be older than the peer's table.
 * When bgpd itself is gone, everything is stale and is kept for stale_ns, or until the session in
 * question is back and the same rule applies.
 */
#ifndef BMP_STATION_H
#define BMP_STATION_H

#include "bgp_source.h"
#include "bmp_parse.h"
#include "bmp_seen.h"

/* No route for this long after a session came up, and what it did not send again is swept. */
#define BMP_STATION_QUIET_NS (5ull * 1000000000)
/* ... and a session that never goes quiet is swept after this. */
#define BMP_STATION_QUIET_LIMIT_NS (120ull * 1000000000)
/* No message for this long after the Initiation, and the initial table counts as whole. */
#define BMP_STATION_SYNC_QUIET_NS (2ull * 1000000000)
#define BMP_STATION_NEVER	  UINT64_MAX

struct bmp_station;

/*
 * Whether bgpd has a connection with these ends over that device, or (NULL) over any. BMP does not
 * tell the sessions of link-local neighbours apart: the header has the far address, AS and router
 * id, and two links to one router have the same.
 */
typedef bool bmp_station_is_open(void *arg, const char *dev, const struct in6_addr *remote,
				 const struct bmp_connection *connection);

/*
 * config is borrowed, handlers copied. is_open: NULL if no neighbour is link-local. 0 or -errno
 * (rib_create()); *out is NULL on error.
 */
int bmp_station_create(struct bmp_station **out, uint64_t stale_ns,
		       const struct bgp_source_config *config,
		       const struct bgp_source_handlers *handlers, void *arg,
		       bmp_station_is_open *is_open, void *is_open_arg);
void bmp_station_destroy(struct bmp_station *s); /* NULL is fine; no callback */

/*
 * The byte stream from bgpd begins anew. Until something is said over it nothing follows: a kernel
 * accepts connections also for a bgpd that is stopped.
 */
void bmp_station_connected(struct bmp_station *s);
/*
 * Bytes of that stream, cut anywhere. 0; or -EBADMSG (framing lost), -ESHUTDOWN (bgpd said
 * goodbye), -ENOMEM: then the stream is of no more use, and *reason says why (a literal).
 */
int bmp_station_receive(struct bmp_station *s, const uint8_t *data, size_t length, uint64_t now_ns,
			const char **reason);
/* The stream ended. Harmless if it had not begun, but for telling the state again if the reason is
 * new. */
void bmp_station_lost(struct bmp_station *s, const char *reason, uint64_t now_ns);

/* When bmp_station_tick() is due next; BMP_STATION_NEVER if nothing waits. */
uint64_t bmp_station_deadline_ns(const struct bmp_station *s);
void bmp_station_tick(struct bmp_station *s, uint64_t now_ns);

/* What the stream that is read now, or was read last, has shown beside paths. */
const struct bmp_seen *bmp_station_seen(const struct bmp_station *s);
/* neighbor: an index into config->neighbors. */
enum bmp_session_state bmp_station_session(const struct bmp_station *s, size_t neighbor);

/* Emits the path events of all that happened since the last commit. */
void bmp_station_commit(struct bmp_station *s);

#endif
