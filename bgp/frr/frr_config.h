/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frr_config.h - the configuration of FRR's bgpd and zebra on a GPU server, and of bgpd on a leaf
 * and on a spine above leaves and a superspine above spines.
 *
 * Owns nothing; pure but for the stream. In: addresses, AS, timers. Out: text; write errors are
 * left for the caller's ferror(). Any thread. `fared --print-frr-config` and farelab write the
 * same.
 *
 * Both ends filter what they send: without that a GPU server is transit, and a dead destination
 * comes back through a neighbour with a bandwidth that nobody has. Neighbours are of any other AS
 * (remote-as external), or all of one (internal), so an address or a device is all that is needed
 * of them. In one AS leaves and spines are route reflectors (RFC 4456) for what is below them, and
 * the next hop of what they pass on: no other protocol carries the links' addresses. How many paths
 * bgpd uses for a route is left to it: as many as it was built for.
 */
#ifndef FRR_CONFIG_H
#define FRR_CONFIG_H

#include <stdio.h>

#include "bgp_source.h"
#include "frr_release.h"

#define FRR_CONFIG_KEEPALIVE_S 1
#define FRR_CONFIG_HOLD_S      3

struct frr_config_speaker {
	uint32_t as;
	char router_id[INET_ADDRSTRLEN];
	unsigned keepalive_s, hold_s;
	unsigned graceful_restart_s; /* 0: off */
	/*
	 * bandwidths go out in 64 bits (frr_release.h); where leaves add up what servers send, both
	 * need it: FRR 10.3 puts a sum only in the place of one of the same kind
	 */
	bool extended_bandwidth;
	bool internal; /* iBGP */
};

/*
 * Who is at the other end of a port. A link-local address is not written, but the device: an
 * unnumbered session, which carries both families (RFC 8950).
 */
struct frr_config_peer {
	struct in6_addr address; /* IPv6, or IPv4 as ::ffff:a.b.c.d */
	char dev[16];		 /* IFNAMSIZ */
};

/* One GPU of a server. Addresses are IPv6, or IPv4 as ::ffff:a.b.c.d. */
struct frr_config_gpu {
	const struct in6_addr *loopbacks; /* borrowed; one of a family at most */
	size_t n_loopbacks;
	const struct frr_config_peer *leaves; /* borrowed: on its sub-ports */
	size_t n_leaves;
	/* borrowed, as many: Link Bandwidth in Mbit/s, 1 to 25600, of what it sends there; NULL:
	 * none */
	const unsigned *leaf_mbps;
};

void frr_config_zebra(FILE *out, const struct frr_release *release);
/* Neighbours and loopbacks of a family that no loopback is of are left out. */
void frr_config_server(FILE *out, const struct frr_config_speaker *speaker,
		       const struct frr_config_gpu *gpus, size_t n_gpus, const char *bmp_address,
		       unsigned bmp_port);

struct frr_config_leaf {
	const struct frr_config_peer *servers; /* borrowed: on their sub-ports */
	size_t n_servers;
	/*
	 * Servers send bandwidths (leaf_mbps), and are sent their sums. Otherwise they are sent how
	 * many sub-ports are live, in Mbit/s. (FRR 8.4 adds up what comes with a route; a bandwidth
	 * that a route-map sets at ingress is listed, and counts for nothing.)
	 */
	bool sums;
	const struct frr_config_peer *spines; /* borrowed; sent how many sub-ports are live */
	size_t n_spines;
	const struct bgp_prefix *loopbacks; /* borrowed: the prefixes that loopbacks are in */
	size_t n_loopbacks;
};

void frr_config_leaf(FILE *out, const struct frr_config_speaker *speaker,
		     const struct frr_config_leaf *leaf);

/* A spine, or a superspine. */
struct frr_config_spine {
	const char *below_name;		     /* of their peer-group: "LEAF", or "SPINE" */
	const struct frr_config_peer *below; /* borrowed, as all here */
	size_t n_below;
	const struct frr_config_peer *superspines; /* above it */
	size_t n_superspines;
	const struct bgp_prefix *loopbacks; /* the prefixes that loopbacks are in */
	size_t n_loopbacks;
};

/*
 * Passes on what it is sent, bandwidth included. It has one path to each server: bgpd
 * announces the sum of several.
 */
void frr_config_spine(FILE *out, const struct frr_config_speaker *speaker,
		      const struct frr_config_spine *spine);

/*
 * The commands by which a running bgpd of a server sends that leaf another bandwidth, with routes
 * of IPv4 or IPv6.
 */
void frr_config_leaf_mbps(FILE *out, const struct frr_config_peer *leaf, bool is_v6, unsigned mbps);

#endif
