/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * port_map.h - which UDP source ports lead out of which local sub-port into which remote one, on
 * one path.
 *
 * Solely owns: PORT_MAP_SLOTS candidate ports, where each was last seen to arrive, and when to ask
 * again. In: which local sub-ports are live, arrivals that the peer reports, random bits, and
 * `now`. Out: the next probe to send, and the list once it is worth telling. Thread: any, one at a
 * time. Pure.
 *
 * The leaf hashes (addresses, ports) over its links to the peer: chance decides where a port leads,
 * and only trying tells. Ports are drawn until every (local, remote) pair has its share of the
 * slots or enough have been tried, and each is tried again for ever after. Those of the pool
 * (FARE_SOURCE_PORTS) come first: processes send data from them. One that leads elsewhere
 * than before means that the leaf hashes anew: then all others are in doubt until they have
 * been tried again.
 */
#ifndef PORT_MAP_H
#define PORT_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "roce_ports.h"

#define PORT_MAP_SLOTS 16u

#define PORT_MAP_LOCALS 32 /* as many as live has bits */

struct port_map_slot {
	uint16_t port; /* 0: to be drawn */
	uint8_t local;
	int8_t remote; /* -1: not known */
	uint8_t misses;
	bool pending, verified;
	uint64_t nonce, sent_ns;
};

struct port_map_entry {
	uint16_t port;
	uint8_t local, remote;
};

struct port_map {
	uint32_t live; /* bit s: local sub-port s */
	uint8_t n_remote, cursor, tries;
	bool answered_ever, rehashed;
	uint8_t n_verified; /* slots */
	uint32_t silent;    /* probes since the last answer */
	/* bit p: the local sub-port's port FARE_SOURCE_PORT_FIRST + p has, or had, a slot */
	uint16_t drawn[PORT_MAP_LOCALS];
	uint64_t next_ns, doubted_ns;
	struct port_map_slot slots[PORT_MAP_SLOTS];
	uint8_t n_told;
	struct port_map_entry told[PORT_MAP_SLOTS];
};

struct port_map_probe {
	uint8_t slot, local;
	uint16_t port;
};

void port_map_init(struct port_map *m);
/* true: send *out now, with that nonce. false: nothing is due, or no local sub-port is live. */
bool port_map_next(struct port_map *m, uint64_t now, uint32_t live, uint64_t nonce,
		   struct port_map_probe *out);
/*
 * The probe of that slot arrived on a remote sub-port. false: no such probe is under way; nothing
 * changes.
 */
bool port_map_arrived(struct port_map *m, uint64_t now, uint32_t slot, uint64_t nonce,
		      uint8_t remote, uint8_t n_remote);
/*
 * Something else on the path arrives elsewhere than before: all slots are in doubt until they have
 * been tried again.
 */
void port_map_doubt(struct port_map *m, uint64_t now);
/* Nothing to draw and nothing in doubt: what is known is tried again now and then. */
bool port_map_is_settled(const struct port_map *m);
/* true: the list, sorted, is not what was told last; *rehashed: because the leaf hashes anew. */
bool port_map_news(struct port_map *m, struct port_map_entry out[PORT_MAP_SLOTS], uint32_t *n,
		   bool *rehashed);

#endif
