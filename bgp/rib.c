/* SPDX-License-Identifier: BSD-2-Clause */
#include "rib.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/address.h"
#include "base/hash_table.h"

struct path_key {
	struct in6_addr peer;
	uint16_t local_gpu;
	uint16_t plane;
};

struct path {
	struct path_key key;
	struct route *routes;	       /* by path_prev, path_next */
	struct bgp_path_event emitted; /* what was last emitted */
	bool dirty;
	struct path *dirty_next;
	UT_hash_handle hh;
};

struct route_key {
	struct in6_addr peer;
	uint32_t neighbor;
	uint32_t path_id;
};

struct route {
	struct route_key key;
	struct rib_route value;
	bool stale;
	struct path *path;
	struct route *path_prev, *path_next;
	struct route *neighbor_prev, *neighbor_next;
	UT_hash_handle hh;
};

struct neighbor {
	struct route *routes; /* by neighbor_prev, neighbor_next */
	size_t n_routes, n_stale;
};

struct rib {
	const struct bgp_source_config *config;
	bool normalised;
	bool (*on_path)(void *arg, const struct bgp_path_event *event);
	void *arg;
	struct neighbor *neighbors;
	struct route *routes;
	struct path *paths;
	struct path *dirty;
};

/* ---- life ---- */

/* A link-local address is one link's: the other end of another link may have the same. */
static bool rib_is_same(const struct bgp_neighbor *a, const struct bgp_neighbor *b)
{
	return IN6_ARE_ADDR_EQUAL(&a->address, &b->address) &&
	       (!IN6_IS_ADDR_LINKLOCAL(&a->address) || !strcmp(a->dev, b->dev));
}

static bool rib_config_valid(const struct bgp_source_config *config)
{
	if (config->n_neighbors > UINT16_MAX || !(config->bandwidth_scale > 0))
		return false;
	for (size_t i = 0; i < config->n_neighbors; i++)
		for (size_t j = 0; j < i; j++)
			if (rib_is_same(&config->neighbors[i], &config->neighbors[j]))
				return false;
	return true;
}

int rib_create(struct rib **out, const struct bgp_source_config *config, bool normalised,
	       bool (*on_path)(void *arg, const struct bgp_path_event *event), void *arg)
{
	struct rib *rib;

	*out = NULL;
	if (!rib_config_valid(config))
		return -EINVAL;
	rib = calloc(1, sizeof(*rib));
	if (!rib)
		return -ENOMEM;
	rib->neighbors = calloc(config->n_neighbors + 1, sizeof(*rib->neighbors));
	if (!rib->neighbors) {
		free(rib);
		return -ENOMEM;
	}
	rib->config = config;
	rib->normalised = normalised;
	rib->on_path = on_path;
	rib->arg = arg;
	*out = rib;
	return 0;
}

void rib_destroy(struct rib *rib)
{
	struct route *route, *next_route;
	struct path *path, *next_path;

	if (!rib)
		return;
	HASH_ITER (hh, rib->routes, route, next_route) {
		HASH_DEL(rib->routes, route);
		free(route);
	}
	HASH_ITER (hh, rib->paths, path, next_path) {
		HASH_DEL(rib->paths, path);
		free(path);
	}
	free(rib->neighbors);
	free(rib);
}

/* ---- what is a peer ---- */

int rib_neighbor(const struct rib *rib, const struct in6_addr *address)
{
	for (size_t i = 0; i < rib->config->n_neighbors; i++)
		if (IN6_ARE_ADDR_EQUAL(&rib->config->neighbors[i].address, address))
			return (int)i;
	return -ENOENT;
}

/* ::/0 means IPv6: IPv4 is only mapped into it for our own convenience */
static bool rib_prefix_holds(const struct bgp_prefix *prefix, const struct in6_addr *address)
{
	return prefix->length <= 128 && (!IN6_IS_ADDR_V4MAPPED(address) || prefix->length >= 96) &&
	       address_in_prefix(address, &prefix->address, prefix->length);
}

bool rib_is_own(const struct rib *rib, const struct in6_addr *address)
{
	const struct bgp_source_config *c = rib->config;

	for (size_t i = 0; i < c->n_own_addresses; i++)
		if (IN6_ARE_ADDR_EQUAL(&c->own_addresses[i], address))
			return true;
	return false;
}

bool rib_has_peers(const struct rib *rib, const struct bgp_prefix *net)
{
	for (size_t i = 0; i < rib->config->n_peer_prefixes; i++) {
		const struct bgp_prefix *p = &rib->config->peer_prefixes[i];

		if (rib_prefix_holds(net->length < p->length ? net : p,
				     net->length < p->length ? &p->address : &net->address))
			return true;
	}
	return false;
}

bool rib_is_peer(const struct rib *rib, const struct bgp_prefix *prefix)
{
	const struct bgp_source_config *c = rib->config;

	if (prefix->length != 128 || rib_is_own(rib, &prefix->address))
		return false;
	for (size_t i = 0; i < c->n_peer_prefixes; i++)
		if (rib_prefix_holds(&c->peer_prefixes[i], &prefix->address))
			return true;
	return false;
}

/* ---- routes ---- */

static void rib_dirty(struct rib *rib, struct path *path)
{
	if (path->dirty)
		return;
	path->dirty = true;
	path->dirty_next = rib->dirty;
	rib->dirty = path;
}

static struct route_key rib_route_key(unsigned neighbor, const struct in6_addr *peer,
				      uint32_t path_id)
{
	return (struct route_key){.peer = *peer, .neighbor = neighbor, .path_id = path_id};
}

static struct route *rib_find(const struct rib *rib, const struct route_key *key)
{
	struct route *route;

	HASH_FIND(hh, rib->routes, key, sizeof(*key), route);
	return route;
}

static struct path *rib_path(struct rib *rib, const struct bgp_neighbor *neighbor,
			     const struct in6_addr *peer)
{
	struct path_key key = {
		.peer = *peer, .local_gpu = neighbor->local_gpu, .plane = neighbor->plane};
	struct path *path;

	HASH_FIND(hh, rib->paths, &key, sizeof(key), path);
	if (path)
		return path;
	path = calloc(1, sizeof(*path));
	if (!path)
		return NULL;
	path->key = key;
	HASH_ADD(hh, rib->paths, key, sizeof(path->key), path);
	if (!path->hh.tbl) {
		free(path);
		return NULL;
	}
	return path;
}

static struct route *rib_add(struct rib *rib, const struct route_key *key)
{
	struct neighbor *neighbor = &rib->neighbors[key->neighbor];
	struct route *route = calloc(1, sizeof(*route));
	struct path *path;

	if (!route)
		return NULL;
	route->key = *key;
	HASH_ADD(hh, rib->routes, key, sizeof(route->key), route);
	if (!route->hh.tbl) {
		free(route);
		return NULL;
	}
	path = rib_path(rib, &rib->config->neighbors[key->neighbor], &key->peer);
	if (!path) {
		HASH_DEL(rib->routes, route);
		free(route);
		return NULL;
	}
	route->path = path;
	DL_APPEND2(path->routes, route, path_prev, path_next);
	DL_APPEND2(neighbor->routes, route, neighbor_prev, neighbor_next);
	neighbor->n_routes++;
	return route;
}

static void rib_remove(struct rib *rib, struct route *route)
{
	struct neighbor *neighbor = &rib->neighbors[route->key.neighbor];

	neighbor->n_routes--;
	neighbor->n_stale -= route->stale;
	DL_DELETE2(neighbor->routes, route, neighbor_prev, neighbor_next);
	DL_DELETE2(route->path->routes, route, path_prev, path_next);
	rib_dirty(rib, route->path);
	HASH_DEL(rib->routes, route);
	free(route);
}

int rib_set(struct rib *rib, unsigned neighbor, const struct in6_addr *peer, uint32_t path_id,
	    const struct rib_route *value)
{
	struct route_key key = rib_route_key(neighbor, peer, path_id);
	struct route *route = rib_find(rib, &key);

	if (!route && rib->neighbors[neighbor].n_routes >= RIB_MAX_ROUTES_PER_NEIGHBOR)
		return -ENOSPC;
	if (!route)
		route = rib_add(rib, &key);
	if (!route)
		return -ENOMEM;
	rib->neighbors[neighbor].n_stale -= route->stale;
	route->stale = false;
	route->value = *value;
	rib_dirty(rib, route->path);
	return 0;
}

void rib_unset(struct rib *rib, unsigned neighbor, const struct in6_addr *peer, uint32_t path_id)
{
	struct route_key key = rib_route_key(neighbor, peer, path_id);
	struct route *route = rib_find(rib, &key);

	if (route)
		rib_remove(rib, route);
}

static bool rib_in_family(const struct route *route, enum bgp_family family)
{
	return !!IN6_IS_ADDR_V4MAPPED(&route->key.peer) == (family == BGP_FAMILY_IPV4);
}

void rib_stale(struct rib *rib, unsigned neighbor, enum bgp_family family)
{
	struct route *route;

	DL_FOREACH2 (rib->neighbors[neighbor].routes, route, neighbor_next) {
		if (route->stale || !rib_in_family(route, family))
			continue;
		route->stale = true;
		rib->neighbors[neighbor].n_stale++;
		rib_dirty(rib, route->path);
	}
}

static void rib_remove_all(struct rib *rib, unsigned neighbor, enum bgp_family family,
			   bool only_stale)
{
	struct route *route, *next;

	DL_FOREACH_SAFE2(rib->neighbors[neighbor].routes, route, next, neighbor_next)
	if (rib_in_family(route, family) && (route->stale || !only_stale))
		rib_remove(rib, route);
}

void rib_sweep(struct rib *rib, unsigned neighbor, enum bgp_family family)
{
	rib_remove_all(rib, neighbor, family, true);
}

void rib_drop(struct rib *rib, unsigned neighbor, enum bgp_family family)
{
	rib_remove_all(rib, neighbor, family, false);
}

size_t rib_n_stale(const struct rib *rib, unsigned neighbor)
{
	return rib->neighbors[neighbor].n_stale;
}

/* ---- what follows from the routes ---- */

/* One more route into a path's result: the lowest value counts, and a value beats saying none or
 * nonsense. */
static void rib_fold(struct bgp_path_event *event, const struct rib_route *route)
{
	if (route->kind == BGP_BANDWIDTH_VALUE) {
		if (event->bandwidth_kind != BGP_BANDWIDTH_VALUE ||
		    route->bps < event->advertised_bps)
			event->advertised_bps = route->bps;
		event->bandwidth_kind = BGP_BANDWIDTH_VALUE;
	} else if (route->kind == BGP_BANDWIDTH_INVALID &&
		   event->bandwidth_kind == BGP_BANDWIDTH_ABSENT) {
		event->bandwidth_kind = BGP_BANDWIDTH_INVALID;
	}
}

static void rib_result(const struct rib *rib, const struct path *path, struct bgp_path_event *event)
{
	struct route *route;

	memset(event, 0, sizeof(*event));
	event->peer = path->key.peer;
	event->local_gpu = path->key.local_gpu;
	event->plane = path->key.plane;
	event->normalised = rib->normalised;
	event->bandwidth_kind = BGP_BANDWIDTH_ABSENT;
	event->reachable = path->routes != NULL;
	event->stale = event->reachable;
	DL_FOREACH2 (path->routes, route, path_next)
		event->stale &= route->stale;
	DL_FOREACH2 (path->routes, route, path_next)
		if (route->stale == event->stale)
			rib_fold(event, &route->value);
}

static bool rib_differs(const struct bgp_path_event *a, const struct bgp_path_event *b)
{
	if (a->reachable != b->reachable)
		return true;
	return a->reachable && (a->stale != b->stale || a->bandwidth_kind != b->bandwidth_kind ||
				a->advertised_bps != b->advertised_bps);
}

/*
 * What is not taken stays dirty. Once one was not, no other that is new is offered in this turn:
 * there is no room, and a neighbour may advertise thousands.
 */
static bool rib_emit(struct rib *rib, struct path *path, bool *is_full)
{
	struct bgp_path_event event;

	rib_result(rib, path, &event);
	if (!rib_differs(&event, &path->emitted))
		return true;
	if (*is_full && !path->emitted.reachable)
		return false;
	if (!rib->on_path(rib->arg, &event)) {
		*is_full = true;
		return false;
	}
	path->emitted = event;
	return true;
}

void rib_flush(struct rib *rib)
{
	struct path *path = rib->dirty, *next;
	bool is_full = false;

	rib->dirty = NULL;
	for (; path; path = next) {
		next = path->dirty_next;
		path->dirty = false;
		if (!rib_emit(rib, path, &is_full)) {
			rib_dirty(rib, path);
		} else if (!path->routes) {
			HASH_DEL(rib->paths, path);
			free(path);
		}
	}
}
