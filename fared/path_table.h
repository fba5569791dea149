/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * path_table.h - the usable bandwidth of every path (local GPU, peer, plane), and why.
 *
 * Solely owns: path state. Nothing else in the daemon decides a verdict or a bandwidth. In: link
 * state, what the BMP station and zebra's socket received, drain commands, and `now`. Out: for each
 * path exactly one verdict, the bandwidth that goes with it and the reason in words;
 * path_table_evaluate() hands over what changed. Thread: the loop's. Pure: no socket, clock or
 * loop; times are CLOCK_MONOTONIC nanoseconds given by the caller.
 *
 * A source that has said nothing withdraws nothing: a source in sync withdraws what it does not
 * advertise, but only once it has advertised any path since it was started. A router that has just
 * been started, or whose sessions are all still to come, knows no more than this table does.
 *
 * Implements FARE's rule (FARE-in-SUN 3.1; docs/routes.md, Bandwidth). Verdicts have their rules in
 * one ordered list in path_rules.c.
 */
#ifndef PATH_TABLE_H
#define PATH_TABLE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "address_fault.h"
#include "bgp_source.h"
#include "drain_set.h"
#include "fare_limits.h"
#include "fare_verdict.h"

struct path_table;

enum path_source {
	PATH_SOURCE_BMP,
	PATH_SOURCE_ZSERV,
	PATH_SOURCE_COUNT,
};

/* Who a path's numbers come from at the moment. */
enum path_route_source {
	PATH_FROM_NONE,
	PATH_FROM_BMP,	   /* raw bandwidth */
	PATH_FROM_ZSERV,   /* relative weights only */
	PATH_FROM_ADOPTED, /* what a former daemon published; nobody has said anything since */
};

struct path_table_gpu {
	uint32_t n_planes;		       /* 1..FARE_MAX_PLANES */
	uint32_t n_sub_ports[FARE_MAX_PLANES]; /* 0: not connected to that plane */
};

/* What fared takes for path_table_times; stale_ns is an operator's. */
#define PATH_INSTALLED_NS UINT64_C(1000000000)
#define PATH_RESTART_NS	  UINT64_C(10000000000) /* bgpd restarts well within this */
#define PATH_FALLBACK_NS  UINT64_C(3000000000)
#define PATH_FORGET_NS	  UINT64_C(3600000000000) /* an hour: to look at a peer that went away */

struct path_table_times {
	uint64_t stale_ns;     /* how long an adopted path outlives the daemon that published it */
	uint64_t installed_ns; /* how long zebra may disagree with BMP before it counts */
	/* how long, if BMP's route is old and zebra has no route to the peer at all */
	uint64_t restart_ns;
	uint64_t fallback_ns; /* how long BMP may be away before zebra's weights are used */
	uint64_t forget_ns;   /* how long a peer without any route is kept; 0: for ever */
};

/* What was received from one source of one path. */
struct path_received {
	bool known;	/* the source said something about this path since this daemon started */
	bool confirmed; /* ... and since its latest (re)start */
	bool reachable;
	bool stale;
	enum bgp_bandwidth_kind kind;
	double bps;	      /* BMP: bit/s; zserv: relative weight */
	uint64_t since_ns;    /* when reachable or stale last changed */
	uint64_t received_ns; /* when the source last advertised it */
};

/* What is known of the kernel's own route to a peer, over one plane. */
enum path_kernel_route {
	PATH_KERNEL_UNKNOWN,
	PATH_KERNEL_OVER,      /* it has a next hop over this plane */
	PATH_KERNEL_ELSEWHERE, /* it has, but none over this plane */
	PATH_KERNEL_NONE,      /* there is no route */
};

/* What probes across the plane say of one path. All zero: nothing is probed. */
struct path_probe {
	bool judged;			 /* probes have a say at all */
	bool answered;			 /* ... and are being answered */
	bool silent;			 /* none is, and it is no single reply that is late */
	uint32_t permille;		 /* of the path's bandwidth that may be used */
	const char *reason;		 /* static; why permille is less than 1000 */
	uint8_t gray_local, gray_remote; /* bit s: sub-port s alone loses what it is given */
	/* bit s: it has carrier again, and no route is proven over it yet */
	uint8_t returning_local;
	uint8_t n_remote; /* remote sub-ports, if any is gray or small */
	/* bit s: sub-port s alone passes only smaller packets than the path's others */
	uint8_t small_local, small_remote;
	/*
	 * bit s: what leaves by sub-port s is received over another plane than this one, by the
	 * peer or on its return
	 */
	uint8_t crossed;
	bool mtu_is_small;		  /* the whole path does, and another plane does not */
	uint16_t mtu_wanted, mtu_carried; /* path MTUs in bytes; 0: not known; none passes */
};

/* What a peer says that its own ports carry (in-band notice). */
struct path_notice {
	uint64_t incarnation; /* of the peer */
	uint32_t sequence;    /* within that incarnation */
	uint64_t expires_ns;
	uint32_t n_planes;
	uint64_t bps[FARE_MAX_PLANES]; /* UINT64_MAX: not limited */
};

struct path_source_view {
	bool configured;
	enum bgp_source_state state;
	char reason[96];
	uint64_t since_ns;   /* in sync, or not in sync, since */
	uint64_t entered_ns; /* in this very state since */
	bool has_advertised; /* of any path, since it was started */
};

/* A path as it stands after the last evaluation. reason is static text. */
struct path_view {
	struct in6_addr peer;
	uint32_t local_gpu;
	uint32_t plane;
	enum fare_verdict verdict;
	const char *reason;
	const char *look_next; /* what an operator looks at next */
	uint32_t rule;	       /* 1..n: place in the list of rules */
	uint64_t usable_bps;
	uint64_t since_ns; /* verdict and bandwidth unchanged since */
	enum path_route_source route_source;
	bool normalised; /* usable_bps follows relative weights: only ratios within one peer mean
			    anything */
	bool drained;
	uint32_t drained_sub_ports; /* bit s: local sub-port s */
	uint32_t unused_sub_ports;  /* those, and doubtful ones: not to be used though up */
	uint64_t local_bps;	    /* live local bandwidth toward the plane */
	uint32_t n_live_sub_ports;
	uint32_t n_sub_ports;
	uint64_t
		adopted_bps; /* what the former daemon published; 0: nothing, or usable no longer */
	struct path_received received[PATH_SOURCE_COUNT];
	struct path_probe probe;
	bool noticed; /* the peer limits this plane */
	uint64_t noticed_bps;
	enum path_kernel_route kernel_route;
};

/* One path's step from one evaluation to the next. */
struct path_change {
	uint32_t pair;
	struct in6_addr peer;
	uint32_t local_gpu;
	uint32_t plane;
	bool is_new; /* first evaluation of a path nobody adopted: old_* mean nothing */
	enum fare_verdict old_verdict, new_verdict;
	uint64_t old_bps, new_bps;
	const char *reason; /* static */
};

struct path_table_handlers {
	void (*on_change)(void *arg, const struct path_change *change);
	/* a pair has changed and is to be published: n_planes paths by path_table_view() */
	void (*on_pair)(void *arg, uint32_t pair, uint32_t n_planes);
};

/* gpus and times are copied. 0, -EINVAL (sizes beyond fare_limits.h) or -ENOMEM. */
int path_table_create(struct path_table **out, const struct path_table_gpu *gpus, uint32_t n_gpus,
		      const struct path_table_times *times);
void path_table_destroy(struct path_table *t); /* NULL is fine */
void path_table_set_times(struct path_table *t, const struct path_table_times *times);
/* The next evaluation hands out all pairs, whether anything was said of them or not. */
void path_table_mark_all(struct path_table *t);

/*
 * on_forget gets a pair that is about to be forgotten: for forget_ns it has had no route over
 * any plane, or there are FARE_MAX_PAIRS and it has been without for longest. Its id may be used
 * again for another one.
 */
void path_table_set_on_forget(struct path_table *t, void (*on_forget)(void *arg, uint32_t pair),
			      void *arg);

/* A local sub-port's state. speed_bps counts only while up. 0 or -EINVAL. */
int path_table_link(struct path_table *t, uint32_t gpu, uint32_t plane, uint32_t sub_port, bool up,
		    uint64_t speed_bps);

/*
 * This server's own addresses: of the GPU (by family), and of a sub-port (as a route of that family
 * needs it). Until they are called nothing is wrong. 0 or -EINVAL.
 */
int path_table_own_address(struct path_table *t, uint32_t gpu, bool is_v6,
			   enum address_fault fault);
int path_table_sub_port_address(struct path_table *t, uint32_t gpu, uint32_t plane,
				uint32_t sub_port, bool is_v6, enum address_fault fault);

/*
 * What a source says of a path; creates the pair on first mention. 0; -EINVAL: no such GPU or
 * plane, or a bandwidth that is not a number >= 0 (nothing is changed); -ENOSPC: there are
 * FARE_MAX_PAIRS with routes; -ENOMEM.
 */
int path_table_route(struct path_table *t, enum path_source source,
		     const struct bgp_path_event *event, uint64_t now);
void path_table_source_state(struct path_table *t, enum path_source source,
			     enum bgp_source_state state, const char *reason, uint64_t now);
/*
 * The source has been replaced by a new object (reload) or dropped (configured false). What it
 * advertised stays as stale until the new one is in sync and has advertised; what that one does not
 * send is then withdrawn.
 */
void path_table_source_replaced(struct path_table *t, enum path_source source, bool configured,
				uint64_t now);

/*
 * Paths are probed from now on: on_route (may be NULL) is called when a path becomes routed (local
 * ports and a route source) or ceases to be; was_down: a former daemon published it as probe-down.
 * May call path_table_probe(), which counts before that route is published.
 */
void path_table_set_probing(struct path_table *t,
			    void (*on_route)(void *arg, uint32_t local_gpu,
					     const struct in6_addr *peer, uint32_t plane,
					     bool routed, bool was_down),
			    void *arg);
/* What probes say of a path. 0 or -ENOENT. */
int path_table_probe(struct path_table *t, uint32_t gpu, const struct in6_addr *peer,
		     uint32_t plane, const struct path_probe *probe);
/*
 * Whether the kernel's own route to the peer has a next hop over that plane. A path without one is
 * not usable while probes are silent.
 */
void path_table_kernel_route(struct path_table *t, uint32_t gpu, const struct in6_addr *peer,
			     uint32_t plane, enum path_kernel_route route);
void path_table_kernel_routes_unknown(struct path_table *t); /* as before the first call */
/*
 * A peer's notice, already authenticated. It can only lower what BGP advertises, and expires.
 * Older than what is known: -ESTALE, nothing changes. Nor does a repetition change anything: who
 * recorded it could make it last for ever; its sender says the same under a new number. 0, -ENOENT
 * (no such peer).
 * *held: the newest that is known now, even if it has expired; untouched with -ENOENT.
 */
int path_table_notice(struct path_table *t, uint32_t gpu, const struct in6_addr *peer,
		      const struct path_notice *notice, struct path_notice *held);

/* Takes over what a former daemon published of one path. Only before the pair is first evaluated.
 */
int path_table_adopt(struct path_table *t, uint32_t gpu, const struct in6_addr *peer,
		     uint32_t plane, enum fare_verdict verdict, uint64_t usable_bps, uint64_t now);

/*
 * Puts other drains in force, for paths to come as well. drains is copied. -EINVAL: a rule of a
 * local GPU, plane or sub-port that there is not (nothing is changed).
 */
int path_table_set_drains(struct path_table *t, const struct drain_set *drains);
const struct drain_set *path_table_drains(const struct path_table *t);
/* Changes with each path_table_set_drains(). */
uint64_t path_table_drains_generation(const struct path_table *t);
/* Bit s: local sub-port s carries nothing, to any peer, because it or its plane is drained. */
uint32_t path_table_drained(const struct path_table *t, uint32_t gpu, uint32_t plane);
/* How many paths a rule concerns at present. */
uint32_t path_table_drain_count(const struct path_table *t, const struct drain_rule *rule);

/*
 * Re-evaluates what may have changed. handlers may be NULL. Returns when to call again at the
 * latest (absolute, ns; later than now), or 0 if only an input can change anything.
 */
uint64_t path_table_evaluate(struct path_table *t, uint64_t now,
			     const struct path_table_handlers *handlers, void *arg);

/* Ids of pairs are less than that; some may be free. */
uint32_t path_table_end(const struct path_table *t);
uint32_t path_table_n_pairs(const struct path_table *t);
void path_table_count(const struct path_table *t, uint32_t *n_paths, uint32_t *n_usable);
uint32_t path_table_n_planes(const struct path_table *t, uint32_t gpu);
/* false: no such pair. */
bool path_table_pair(const struct path_table *t, uint32_t pair, uint32_t *local_gpu,
		     struct in6_addr *peer);
/*
 * Its probes are silent over some plane toward which there has been a route for installed_ns: what
 * the kernel's own route says is of interest.
 */
bool path_table_is_silent(const struct path_table *t, uint32_t pair, uint64_t now);
/* Over some plane, as of the last evaluation. */
bool path_table_has_route(const struct path_table *t, uint32_t pair);
bool path_table_find(const struct path_table *t, uint32_t gpu, const struct in6_addr *peer,
		     uint32_t *pair);
bool path_table_view(const struct path_table *t, uint32_t pair, uint32_t plane,
		     struct path_view *out);
/* Of that, what grouping paths by their cause takes; reason and look_next are static. */
struct path_brief {
	enum fare_verdict verdict;
	uint64_t usable_bps;
	const char *reason, *look_next; /* reason: NULL before the first evaluation */
	enum path_route_source route_source;
	bool is_whole;	      /* nothing limits it */
	bool is_carrier_lost; /* no local sub-port has carrier */
	bool is_probe_lost;   /* probes find it down, and not crossed */
	bool is_stale;	      /* BMP is away, and that is all */
	bool is_lost_there;   /* the peer says that its own ports are down */
};
bool path_table_brief(const struct path_table *t, uint32_t pair, uint32_t plane,
		      struct path_brief *out);
/* Of that, what counting paths takes: of so many that views would take too long. */
bool path_table_verdict(const struct path_table *t, uint32_t pair, uint32_t plane,
			enum fare_verdict *verdict, uint64_t *usable_bps);
void path_table_source(const struct path_table *t, enum path_source source,
		       struct path_source_view *out);
/* Live local bandwidth of a plane and how many sub-ports make it up; 0 if there is no such plane.
 */
uint64_t path_table_local_bps(const struct path_table *t, uint32_t gpu, uint32_t plane,
			      uint32_t *n_live);

const char *path_route_source_name(enum path_route_source route_source);
const char *path_source_name(enum path_source source);
const char *path_source_state_name(enum bgp_source_state state);

#endif
