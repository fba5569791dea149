/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bgp.h - what BGP says to each server: routes that leaves withdraw, replace and advertise again,
 * and two route sources a server (bgp_source.h) that restart, stall, or say nothing.
 *
 * Solely owns: what goes wrong with routes, and what each source has said. In: carriers, time. Out:
 * events to path tables. Everything comes from a seed of its own, so that faults of schedule.h stay
 * what they are.
 */
#ifndef SIM_HEALTH_BGP_H
#define SIM_HEALTH_BGP_H

#include "net.h"
#include "path_table.h"

#define BGP_EVENTS_MAX 3
#define BGP_PORT_BPS   UINT64_C(100000000000) /* of a sub-port */
#define BGP_WEIGHT_MAX 255.

enum bgp_event_kind {
	/* of one destination over one plane */
	BGP_WITHDRAWN,	 /* its leaf advertises no route */
	BGP_REPLACED,	 /* its leaf advertises less */
	BGP_UNINSTALLED, /* zebra of one server does not install it */
	/* of one server */
	BGP_BGPD_RESTART,  /* BMP is away, and zebra loses its routes */
	BGP_BGPD_STALLED,  /* BMP connects anew, and says nothing */
	BGP_ZEBRA_RESTART, /* zserv is away */
	BGP_RELOAD,	   /* both sources are new, in sync, and say nothing for a while */
	BGP_EVENT_KINDS,
};

struct bgp_event {
	enum bgp_event_kind kind;
	unsigned host, to, plane;
	uint32_t per_mille; /* of the bandwidth */
	uint64_t from_ns, to_ns;
};

struct bgp {
	const struct net *net;
	struct prng prng;
	unsigned n;
	struct bgp_event events[BGP_EVENTS_MAX];
};

/* What a source said last of a path, in this incarnation of the source. */
struct bgp_word {
	bool said, reachable, stale;
	double bps;	  /* zserv: a relative weight */
	uint64_t said_ns; /* when reachable changed last */
};

enum bgp_away { BGP_THERE, BGP_DOWN, BGP_MUTE, BGP_NEW };

/* One source of one server. */
struct bgp_feed {
	enum path_source source;
	enum bgp_source_state state;
	enum bgp_away away;
	bool has_spoken;
	uint64_t sync_ns;    /* in sync from then on */
	uint64_t up_ns;	     /* in sync, or not in sync, since */
	uint64_t entered_ns; /* in this state since: what a lost session withdrew is said anew */
	struct bgp_word word[NET_HOSTS][NET_PLANES];
	/* the last that it said, in whatever incarnation since the table was made */
	struct bgp_word last[NET_HOSTS][NET_PLANES];
	uint64_t due_ns[NET_HOSTS][NET_PLANES]; /* it says what has changed then */
};

/* Draws what happens between the two times. */
void bgp_init(struct bgp *b, const struct net *net, uint64_t seed, uint64_t from_ns,
	      uint64_t to_ns);
/* A source starts: of a table that is new as well. at_once: in sync, and all is said. */
void bgp_feed_start(struct bgp *b, struct bgp_feed *f, enum path_source source, unsigned host,
		    struct path_table *t, bool at_once);
/* Time has passed. */
void bgp_feed_step(struct bgp *b, struct bgp_feed *f, unsigned host, struct path_table *t);
/*
 * The source speaks, and says that there is no such route; since: for how long it has. One that is
 * in sync says so by silence, unless it has said nothing at all.
 */
bool bgp_feed_denies(const struct bgp_feed *f, unsigned to, unsigned plane, uint64_t *since_ns);
const char *bgp_event_name(enum bgp_event_kind kind);

#endif
