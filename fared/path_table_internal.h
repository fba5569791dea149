/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * path_table_internal.h - what the table holds; for its two files alone (path_table.h).
 */
#ifndef PATH_TABLE_INTERNAL_H
#define PATH_TABLE_INTERNAL_H

#include "base/hash_table.h"
#include "drain_set.h"
#include "path_rules.h"
#include "path_table.h"

struct received_route {
	struct path_received b;
	uint32_t epoch; /* the source's epoch when it last advertised the path */
};

struct path {
	struct received_route received[PATH_SOURCE_COUNT];
	bool drained;
	bool evaluated;
	bool was_usable;     /* once, in this daemon or the former one */
	uint64_t waits_till; /* its first replies are waited for, without an event; 0: not yet */
	bool reported;	     /* on_change has been, of: */
	enum fare_verdict reported_verdict;
	uint64_t reported_bps;
	bool adopted;
	uint64_t adopted_bps;
	uint64_t adopted_ns;
	uint64_t since_ns;
	bool routed;
	uint64_t routed_ns; /* since then */
	struct path_probe probe;
	enum path_kernel_route kernel_route;
	struct path_result result;
};

struct pair_key { /* no padding: it is hashed and compared as bytes */
	struct in6_addr peer;
	uint32_t local_gpu;
};

struct pair {
	struct pair_key key;
	uint32_t id; /* its place in pairs */
	UT_hash_handle hh;
	uint32_t n_planes;
	bool dirty;
	uint64_t deadline_ns;
	uint64_t gone_ns;	   /* no route over any plane since then; 0: there is one */
	struct path_notice notice; /* incarnation 0: none yet */
	struct path paths[];	   /* n_planes */
};

struct link {
	bool up;
	uint64_t speed_bps;
	enum address_fault address[2]; /* for IPv4 and IPv6 routes */
};

struct gpu {
	struct path_table_gpu shape;
	struct link links[FARE_MAX_PLANES][FARE_MAX_SUB_PORTS];
	uint32_t drained[FARE_MAX_PLANES]; /* bit s: sub-port s */
	enum address_fault address[2];	   /* its own, IPv4 and IPv6 */
};

struct path_table {
	struct path_table_times times;
	uint32_t n_gpus;
	struct gpu gpus[FARE_MAX_LOCAL_GPUS];
	struct path_source_view sources[PATH_SOURCE_COUNT];
	uint32_t epoch[PATH_SOURCE_COUNT];
	struct drain_set drains;
	uint64_t drains_generation;
	bool probing;
	void (*on_route)(void *arg, uint32_t local_gpu, const struct in6_addr *peer, uint32_t plane,
			 bool routed, bool was_down);
	void *on_route_arg;
	void (*on_forget)(void *arg, uint32_t pair);
	void *on_forget_arg;
	uint32_t n_pairs;
	uint32_t end;			    /* ids are less */
	struct pair *pairs[FARE_MAX_PAIRS]; /* NULL: free */
	struct pair *by_key;		    /* the same, hashed */
};

/* NULL: no such pair. */
struct pair *path_table_locate(const struct path_table *t, uint32_t gpu,
			       const struct in6_addr *peer);
/*
 * Bit s: sub-port s has an address that cannot carry the pair's routes; *worst: what is wrong. Of
 * those that are up and not drained.
 */
uint32_t path_table_misaddressed(const struct path_table *t, const struct pair *pair,
				 uint32_t plane, enum address_fault *worst);
uint32_t path_table_unused(const struct path_table *t, const struct pair *pair, uint32_t plane);
struct path_received path_table_received(const struct path_table *t, const struct path *path,
					 enum path_source s);

#endif
