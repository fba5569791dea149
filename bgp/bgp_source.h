/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bgp_source.h - what every route source (the BMP station, the zebra socket) tells.
 *
 * Owns nothing. In: the neighbours that belong to each local plane. Out: per (local GPU, peer,
 * plane) one event whenever what was received from that source changes. All calls and callbacks
 * run on the loop's thread.
 *
 * A source knows nothing of other sources, nor of what is done with its events.
 */
#ifndef BGP_SOURCE_H
#define BGP_SOURCE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ev_loop;

/*
 * A BGP session of ours: the leaf's address on one sub-port, and what that sub-port is. A
 * link-local address may be that of several: the device tells them apart. BGP_NEIGHBOR_UNNUMBERED,
 * the network's own address: whatever link-local address is at the other end of the device.
 */
struct bgp_neighbor {
	struct in6_addr address; /* the leaf's address; IPv4 as ::ffff:a.b.c.d */
	uint16_t local_gpu;
	uint16_t plane;
	uint16_t sub_port;
	const char *dev; /* of the sub-port; borrowed */
};

#define BGP_NEIGHBOR_UNNUMBERED ((struct in6_addr){.s6_addr = {0xfe, 0x80}})
#define BGP_NEIGHBOR_TEXT_MAX	(INET6_ADDRSTRLEN + 16) /* and a device (IFNAMSIZ) */

/* "198.18.0.0", "fe80::1%eth0", or "eth0" of an unnumbered one. Writes into out, and returns it. */
const char *bgp_neighbor_format(const struct bgp_neighbor *n, char out[BGP_NEIGHBOR_TEXT_MAX]);

/* A prefix that holds GPU loopbacks. Only host routes (/32, /128) inside one of these are peers. */
struct bgp_prefix {
	struct in6_addr address; /* IPv4 as ::ffff:a.b.c.d, length then counts from 96 */
	uint8_t length;		 /* 0..128 */
};

enum bgp_bandwidth_kind {
	BGP_BANDWIDTH_VALUE,   /* advertised_bps holds; zero means zero (RFC 10005) */
	BGP_BANDWIDTH_ABSENT,  /* no Link Bandwidth community: use the local bandwidth */
	BGP_BANDWIDTH_INVALID, /* NaN, infinite or negative: use the local bandwidth, and say so */
};

/* What is now received from one source of one path (local GPU, peer, plane). */
struct bgp_path_event {
	struct in6_addr peer; /* the destination GPU's loopback; IPv4 as ::ffff:a.b.c.d */
	uint16_t local_gpu;
	uint16_t plane;
	bool reachable; /* false: withdrawn on every session of that plane */
	/* kept although the session that advertised it is gone (graceful restart, source lost) */
	bool stale;
	/* a relative weight (zserv), not a bandwidth: only ratios within one peer mean anything */
	bool normalised;
	enum bgp_bandwidth_kind bandwidth_kind;
	/* bit/s, bandwidth_scale already applied; >= 0 and finite if kind is VALUE */
	double advertised_bps;
};

enum bgp_source_state {
	BGP_SOURCE_DOWN,    /* no session to FRR; all its routes are stale */
	BGP_SOURCE_SYNCING, /* connected, initial table on its way */
	BGP_SOURCE_UP,	    /* connected and in sync */
};

struct bgp_source_handlers {
	/* false: there is no room for it now; it comes again after what the source says next */
	bool (*on_path)(void *arg, const struct bgp_path_event *event);
	/* reason: a static or short-lived string for the operator, never NULL */
	void (*on_state)(void *arg, enum bgp_source_state state, const char *reason);
	/*
	 * a line for the event log (bad message, invalid community, truncated sum); priority as in
	 * syslog.h
	 */
	void (*on_log)(void *arg, int priority, const char *line);
	/*
	 * How the router at the other end describes itself ("FRRouting 10.1"), as soon as it does:
	 * printable, short-lived. BMP alone knows; may be NULL
	 */
	void (*on_router)(void *arg, const char *description);
};

struct bgp_source_config {
	const struct bgp_neighbor *neighbors; /* borrowed for the source's life */
	size_t n_neighbors;
	const struct bgp_prefix *peer_prefixes; /* borrowed for the source's life */
	size_t n_peer_prefixes;
	const struct in6_addr *own_addresses; /* local GPUs' loopbacks: never peers; borrowed */
	size_t n_own_addresses;
	double bandwidth_scale; /* > 0; real bit/s = advertised bit/s x this (1 outside of labs) */
	/* longest AS_PATH of a peer's route, own AS not counted: 2 = leaf, GPU; 0: any */
	unsigned max_as_path;
};

#endif
