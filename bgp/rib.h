/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rib.h - the routes of each session, and what follows from it for each path.
 *
 * Solely owns: the routes learned, per (neighbour, peer, path id), and the paths (local GPU, peer,
 * plane) that they add up to. In: set, unset, stale, sweep, drop. Out: one event per path whose
 * result changed, at rib_flush() and never before; so that whatever happened between two flushes is
 * one event. Pure: no clock, no socket. One thread.
 *
 * FARE-in-SUN: path bandwidth belongs to a node and not to a session. The sessions of one plane
 * each advertise the whole of it: they are not summed; the lowest counts. Stale routes count only
 * where no live one is left.
 */
#ifndef RIB_H
#define RIB_H

#include "bgp_message.h"
#include "bgp_source.h"

/* Routes that one neighbour may advertise; beyond that it is broken or hostile and rib_set() says
 * -ENOSPC. */
#define RIB_MAX_ROUTES_PER_NEIGHBOR 16384

struct rib;

struct rib_route {
	enum bgp_bandwidth_kind kind;
	double bps; /* if kind is BGP_BANDWIDTH_VALUE; the scale already applied */
};

/*
 * config is borrowed; normalised and on_path(arg) go into every event. -EINVAL: two neighbours with
 * one address (a link-local one: over one device), more than 65,535 of them, or a scale that is not
 * positive. 0 or -errno; *out is NULL on error.
 */
int rib_create(struct rib **out, const struct bgp_source_config *config, bool normalised,
	       bool (*on_path)(void *arg, const struct bgp_path_event *event), void *arg);
void rib_destroy(struct rib *rib); /* NULL is fine; no events */

/* Index of the neighbour with that address, or -ENOENT. */
int rib_neighbor(const struct rib *rib, const struct in6_addr *address);

/* Whether prefix can be a peer: a host route inside peer_prefixes that is none of our own
 * addresses. */
bool rib_is_peer(const struct rib *rib, const struct bgp_prefix *prefix);

/* Whether address is a local GPU's. */
bool rib_is_own(const struct rib *rib, const struct in6_addr *address);
/* Whether peer_prefixes are in that net, or it is in one of them. */
bool rib_has_peers(const struct rib *rib, const struct bgp_prefix *net);

/* neighbor: an index into config->neighbors. Setting a route makes it live. 0, -ENOMEM, -ENOSPC. */
int rib_set(struct rib *rib, unsigned neighbor, const struct in6_addr *peer, uint32_t path_id,
	    const struct rib_route *route);
void rib_unset(struct rib *rib, unsigned neighbor, const struct in6_addr *peer, uint32_t path_id);

/* Every route of one family of this neighbour is: stale; removed if stale; removed. */
void rib_stale(struct rib *rib, unsigned neighbor, enum bgp_family family);
void rib_sweep(struct rib *rib, unsigned neighbor, enum bgp_family family);
void rib_drop(struct rib *rib, unsigned neighbor, enum bgp_family family);

size_t rib_n_stale(const struct rib *rib, unsigned neighbor); /* stale routes of that neighbour */

/*
 * Emits an event for every path whose result differs from what was last taken; one that is not
 * taken comes again with the next flush.
 */
void rib_flush(struct rib *rib);

#endif
