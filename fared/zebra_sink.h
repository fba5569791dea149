/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * zebra_sink.h - the sink that is the kernel's routing, for programs that know nothing of fared.
 *
 * Solely owns: fared's second connection to zebra, and what zebra was given on it. In: the pairs
 * that publish.h hands out, local links, which FRR runs. Out: a route to each peer that answers
 * probes (zebra_hops.h), in a table of its own. Thread: the loop's.
 *
 * Why a table of its own (docs/routes.md): it is asked before the main one (kernel_rule.h), and
 * what it has no next hop for is looked up there. So BGP's routes stay selected, installed and
 * shown by zebra as they are without fared; a probe that is bound to a device that no next hop of
 * fared's names finds BGP's; and when fared is gone, zebra takes all of fared's routes away.
 *
 * What a peer's route should be and what zebra was given are compared, never remembered as a list
 * of changes: a zebra that starts anew is given all. No call waits: a full socket is tried again.
 */
#ifndef ZEBRA_SINK_H
#define ZEBRA_SINK_H

#include "sink.h"
#include "zapi_route.h"

#define ZEBRA_SINK_TABLE    7784u
#define ZEBRA_SINK_BURST    64 /* messages at once: 13 kB of 4 planes with 2 sub-ports */
#define ZEBRA_SINK_PAUSE_NS 5000000u

struct config;
struct ev_loop;
struct zebra_sink;

/* A peer's route: what it should be, and whether zebra was given that. */
struct zebra_sink_view {
	struct in6_addr peer;
	bool answered; /* probes; else there is no route */
	bool given;
	unsigned n_hops;
	struct zapi_route_hop hops[ZAPI_ROUTE_MAX_HOPS];
};

/* on_state: connected to zebra, or not any more; once a change. It does nothing before
 * zebra_sink_set_config(). 0 or -ENOMEM. */
int zebra_sink_create(struct zebra_sink **out, struct ev_loop *loop,
		      void (*on_state)(void *arg, bool is_connected, const char *reason),
		      void *arg);
void zebra_sink_destroy(struct zebra_sink *s); /* NULL is fine */
/* Borrows s. */
struct sink zebra_sink_as_sink(struct zebra_sink *s);
/*
 * Routes as config says from now on, of which it becomes an owner. kernel_routes off: the
 * connection ends, and the routes with it. frr_version: as zapi_source_create(); NULL or unknown:
 * no connection.
 */
void zebra_sink_set_config(struct zebra_sink *s, struct config *config, const char *frr_version);

bool zebra_sink_is_connected(const struct zebra_sink *s);
/* The peer in place *cursor, which moves on; false: that was the last. */
bool zebra_sink_next(const struct zebra_sink *s, uint64_t *cursor, struct zebra_sink_view *out);

#endif
