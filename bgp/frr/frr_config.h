/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frr_config.h - the configuration of FRR's bgpd and zebra on a GPU server, and of bgpd on a leaf.
 *
 * Owns nothing; pure but for the stream. In: addresses, AS, timers. Out: text; write errors are
 * left for the caller's ferror(). Any thread. `fared --print-frr-config` and farelab write the
 * same.
 *
 * Both ends filter what they send: without that a GPU server is transit, and a dead destination
 * comes back through a neighbour with a bandwidth that nobody has. Neighbours are of any other AS
 * (remote-as external), so an address is all that is needed of them.
 */
#ifndef FRR_CONFIG_H
#define FRR_CONFIG_H

#include <stdio.h>

#include "bgp_source.h"

#define FRR_CONFIG_KEEPALIVE_S 1
#define FRR_CONFIG_HOLD_S      3

struct frr_config_speaker {
	uint32_t as;
	char router_id[INET_ADDRSTRLEN];
	unsigned keepalive_s, hold_s;
	unsigned graceful_restart_s; /* 0: off */
};

/* One GPU of a server. Addresses are IPv6, or IPv4 as ::ffff:a.b.c.d. */
struct frr_config_gpu {
	const struct in6_addr *loopbacks; /* borrowed; one of a family at most */
	size_t n_loopbacks;
	const struct in6_addr *leaves; /* borrowed: the leaves' addresses on its sub-ports */
	size_t n_leaves;
};

void frr_config_zebra(FILE *out);
/* Neighbours and loopbacks of a family that no loopback is of are left out. */
void frr_config_server(FILE *out, const struct frr_config_speaker *speaker,
		       const struct frr_config_gpu *gpus, size_t n_gpus, const char *bmp_address,
		       unsigned bmp_port);

struct frr_config_leaf {
	const struct in6_addr *servers; /* borrowed: the servers' addresses on their sub-ports */
	size_t n_servers;
	const struct bgp_prefix *loopbacks; /* borrowed: the prefixes that loopbacks are in */
	size_t n_loopbacks;
	/* Link Bandwidth of 64 bits, which FRR has since 10.1: for more than 25 Gb/s */
	bool extended_bandwidth;
};

void frr_config_leaf(FILE *out, const struct frr_config_speaker *speaker,
		     const struct frr_config_leaf *leaf);

#endif
