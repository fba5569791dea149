/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * path_rules.h - the ordered rules that end every path with exactly one verdict.
 *
 * Owns nothing. In: everything known of one path, gathered by the path table. Out: route source,
 * verdict, bandwidth and reason. Thread: any. Pure.
 */
#ifndef PATH_RULES_H
#define PATH_RULES_H

#include "path_table.h"

/* Everything a verdict may depend on. */
struct path_facts {
	uint64_t now_ns;
	const struct path_table_times *times;
	const struct path_source_view *sources; /* PATH_SOURCE_COUNT of them */
	struct path_received received[PATH_SOURCE_COUNT];
	bool drained;
	struct path_probe probe;
	enum path_kernel_route kernel_route;
	uint64_t noticed_bps; /* what the peer says its own ports carry; UINT64_MAX: no limit */
	uint64_t notice_expires_ns;
	uint64_t local_bps;
	uint32_t n_live_sub_ports; /* that are used */
	uint32_t n_up_sub_ports, n_undrained_up, n_sub_ports;
	bool has_drained_sub_ports;
	enum address_fault own_address;	     /* the GPU's */
	enum address_fault sub_port_address; /* the worst of the undrained that are up */
	uint32_t n_misaddressed;	     /* of these: cannot carry the routes */
	double largest_weight; /* of zebra's weights toward this peer, over its planes; 0: none */
	bool installed_elsewhere;     /* zebra has a route to this peer over some plane */
	uint64_t installed_change_ns; /* when zebra's route to this peer last gained or lost a plane
				       */
	enum path_route_source before; /* in force until now */
	bool adopted;		       /* a former daemon published this path as usable */
	uint64_t adopted_bps;
	uint64_t adopted_ns;
};

struct path_result {
	enum fare_verdict verdict;
	uint32_t rule; /* 1.. */
	const char *reason;
	const char *look_next;
	enum path_route_source route_source;
	bool normalised;
	bool routed;  /* live local ports and a route source: there is something to probe */
	bool noticed; /* the peer limits it, and says less than BGP */
	uint64_t usable_bps;
	uint64_t deadline_ns; /* evaluate again then even if nothing else happens; 0: no need */
};

/* Some of the rules, for those who group paths by their cause. */
enum path_rule_kind {
	PATH_RULE_OTHER,
	PATH_RULE_WHOLE,    /* nothing limits the path */
	PATH_RULE_PROBES,   /* probes find it down */
	PATH_RULE_BMP_AWAY, /* it is kept or weighed without BMP */
};

bool path_rules_is(const struct path_result *result, enum path_rule_kind kind);
void path_rules_apply(const struct path_facts *facts, struct path_result *out);

#endif
