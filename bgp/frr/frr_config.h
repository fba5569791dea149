/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frr_config.h - the configuration of FRR's bgpd and zebra on a GPU server, and of bgpd on a leaf
 * and on a spine above leaves.
 *
 * Owns nothing; pure but for the stream. In: addresses, AS, timers. Out: text; write errors are
 * left for the caller's ferror(). Any thread. `fared --print-frr-config` and farelab write the
 * same.
 *
 * Both ends filter what they send: without that a GPU server is transit, and a dead destination
 * comes back through a neighbour with a bandwidth that nobody has. Neighbours are of any other AS
 * (remote-as external), so an address is all that is needed of them. How many paths bgpd uses for a
 * route is left to it: as many as it was built for.
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
};

/* One GPU of a server. Addresses are IPv6, or IPv4 as ::ffff:a.b.c.d. */
struct frr_config_gpu {
	const struct in6_addr *loopbacks; /* borrowed; one of a family at most */
	size_t n_loopbacks;
	const struct in6_addr *leaves; /* borrowed: the leaves' addresses on its sub-ports */
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
	const struct in6_addr *servers; /* borrowed: the servers' addresses on their sub-ports */
	size_t n_servers;
	/*
	 * Servers send bandwidths (leaf_mbps), and are sent their sums. Otherwise they are sent how
	 * many sub-ports are live, in Mbit/s. (FRR 8.4 adds up what comes with a route; a bandwidth
	 * that a route-map sets at ingress is listed, and counts for nothing.)
	 */
	bool sums;
	const struct in6_addr *spines; /* borrowed; they are sent how many sub-ports are live */
	size_t n_spines;
	const struct bgp_prefix *loopbacks; /* borrowed: the prefixes that loopbacks are in */
	size_t n_loopbacks;
};

void frr_config_leaf(FILE *out, const struct frr_config_speaker *speaker,
		     const struct frr_config_leaf *leaf);

/* Passes on what its leaves send, bandwidth included. leaves: their addresses on the uplinks. */
void frr_config_spine(FILE *out, const struct frr_config_speaker *speaker,
		      const struct in6_addr *leaves, size_t n_leaves,
		      const struct bgp_prefix *loopbacks, size_t n_loopbacks);

/* The commands by which a running bgpd of a server sends that leaf another bandwidth. */
void frr_config_leaf_mbps(FILE *out, const struct in6_addr *leaf, unsigned mbps);

#endif
